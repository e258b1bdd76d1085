// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line of patchset.
package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/fault"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
)

// Main runs the command line of the process and returns its exit code: 0, 1 for
// a failure, 2 for a command line that makes no sense.
func Main() int {
	err := newCommand().Execute()
	if err == nil {
		return 0
	}
	if !errors.Is(err, fault.ErrReported) {
		_, _ = fmt.Fprintln(os.Stderr, "patchset:", oneLine(err))
		if help := fault.Help(err); help != "" {
			_, _ = fmt.Fprintln(os.Stderr, "help:", help)
		}
	}
	if fault.IsUsage(err) {
		return 2
	}
	return 1
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// flags are those that all commands share.
type flags struct {
	root, line string
}

func newCommand() *cobra.Command {
	f := &flags{}
	root := &cobra.Command{
		Use:           "patchset",
		Short:         "Stage, export and check the patches on upstream modules",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE: func(*cobra.Command, []string) error {
			return fault.Usage("patchset --help", "no command")
		},
	}
	root.PersistentFlags().StringVar(&f.root, "root", "", "repository (default: nearest parent with staging/lines)")
	root.PersistentFlags().StringVar(&f.line, "line", "", "Kubernetes line, such as v1.37 (required)")
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fault.Usage(cmd.CommandPath()+" --help", "%w", err)
	})
	for _, c := range []*cobra.Command{
		stageCommand(f), exportCommand(f), lintCommand(f), statCommand(f),
		statusCommand(f), replacesCommand(f), sumCommand(f),
	} {
		c.Args = noArgs
		root.AddCommand(c)
	}
	return root
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fault.Usage(cmd.Root().Name()+" --help", "unknown command or argument %q", args[0])
	}
	return nil
}

// open finds the repository and reads the line.
func (f *flags) open() (*repo.Line, error) {
	root := repo.Root(f.root)
	if f.root == "" {
		dir, err := os.Getwd()
		if err != nil {
			return nil, fmt.Errorf("find the repository: %w", err)
		}
		if root, err = repo.Find(dir); err != nil {
			return nil, err
		}
	}
	if f.line == "" {
		lines, err := root.Lines()
		if err != nil {
			return nil, err
		}
		return nil, fault.Usage("lines: "+strings.Join(lines, " "), "say which line: --line <line>")
	}
	return root.Open(f.line)
}
