// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command patchset keeps fairlead's patches on upstream modules: it stages them as git repositories, exports commits as
// patch files, and checks them. docs/patches.md is its guide; start reading in package stage.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/lint"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/stage"
)

func main() {
	if err := newCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "patchset:", err)
		os.Exit(1)
	}
}

// flags are those that all commands have.
type flags struct{ root, line string }

func newCommand() *cobra.Command {
	f := &flags{}
	root := &cobra.Command{
		Use: "patchset", Short: "Stage, export and check the patches on upstream modules",
		SilenceErrors: true, SilenceUsage: true,
	}
	root.PersistentFlags().StringVar(&f.root, "root", ".", "directory of the repository")
	root.PersistentFlags().StringVar(&f.line, "line", "", "Kubernetes line, such as v1.37 (required)")
	stageOptions := stage.Options{Out: os.Stderr}
	stageCommand := f.command("stage", "Write the commits of staging/src/<line> from lock and patches",
		func(line *repo.Line) error { return stage.Run(line, stageOptions) })
	stageCommand.Flags().BoolVar(&stageOptions.Force, "force", false, "discard edits that no patch has")
	exportOptions := stage.ExportOptions{Out: os.Stderr}
	exportCommand := f.command("export", "Write the commits of staging/src/<line> as patches",
		func(line *repo.Line) error { return stage.Export(line, exportOptions) })
	exportCommand.Flags().BoolVar(&exportOptions.Check, "check", false, "change nothing; fail if something would change")
	root.AddCommand(stageCommand, exportCommand,
		f.command("lint", "Check patches and series", checkLine))
	return root
}

// command returns a command that works on a line and has no arguments.
func (f *flags) command(use, short string, run func(*repo.Line) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		line, err := repo.Open(f.root, f.line)
		if err != nil {
			return err
		}
		return run(line)
	}}
}

func checkLine(line *repo.Line) error {
	failures, err := lint.Run(line)
	if err != nil || len(failures) == 0 {
		return err
	}
	fmt.Println(strings.Join(failures, "\n"))
	return errors.New("lint failed")
}
