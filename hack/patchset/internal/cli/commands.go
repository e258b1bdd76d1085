// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/atomicfile"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/export"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/fault"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/lint"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/replaces"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/stage"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/stat"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/upstream"
)

// command is a command that works on a line.
func command(f *flags, use, short string, run func(*repo.Line) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, RunE: func(*cobra.Command, []string) error {
		line, err := f.open()
		if err != nil {
			return err
		}
		return run(line)
	}}
}

func stageCommand(f *flags) *cobra.Command {
	opts := stage.Options{Out: os.Stderr}
	c := command(f, "stage", "Make staging/src/<line> from pristine modules and patches",
		func(line *repo.Line) error { return stage.Run(line, opts) })
	c.Flags().StringVar(&opts.Until, "until", "", "apply patches only up to and including this one")
	c.Flags().StringArrayVar(&opts.Modules, "module", nil, "stage this module too, to write its first patch (repeatable)")
	c.Flags().BoolVar(&opts.Relocate, "relocate", false, "apply a hunk elsewhere if only one place has its old text")
	c.Flags().BoolVar(&opts.Force, "force", false, "discard edits that no patch has")
	c.Flags().BoolVarP(&opts.Verbose, "verbose", "v", false, "say so if there is nothing to do")
	return c
}

func exportCommand(f *flags) *cobra.Command {
	opts := export.Options{Out: os.Stderr}
	c := command(f, "export", "Turn edits in staging/src/<line> into canonical patches",
		func(line *repo.Line) error { return export.Run(line, opts) })
	c.Flags().StringArrayVar(&opts.Into, "into", nil, "patch, perhaps new, that takes the edits of its module (repeatable)")
	c.Flags().BoolVar(&opts.Check, "check", false, "change nothing; fail if patches would change")
	return c
}

func lintCommand(f *flags) *cobra.Command {
	return command(f, "lint", "Check headers, series and lock", func(line *repo.Line) error {
		failures, err := lint.Run(line)
		if err != nil {
			return err
		}
		return report(failures)
	})
}

// report prints failures, a line each, and fails if there are any.
func report(failures []string) error {
	for _, failure := range failures {
		_, _ = fmt.Fprintln(os.Stdout, failure)
	}
	if len(failures) > 0 {
		return fault.ErrReported
	}
	return nil
}

func statCommand(f *flags) *cobra.Command {
	return command(f, "stat", "Count patches, files, hunks and lines", func(line *repo.Line) error {
		table, err := stat.Table(line)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(os.Stdout, table)
		return err
	})
}

func statusCommand(f *flags) *cobra.Command {
	return command(f, "status", "Fail if the line is not staged as patches and lock say", func(line *repo.Line) error {
		status, err := stage.Status(line)
		if err != nil || status == "" {
			return err
		}
		return report([]string{status})
	})
}

func replacesCommand(f *flags) *cobra.Command {
	var write, check bool
	var modFile string
	c := command(f, "replaces", "Keep the replaces of a go.mod file", func(line *repo.Line) error {
		if write == check {
			return fault.Usage("patchset replaces --help", "say one of --write and --check")
		}
		if !filepath.IsAbs(modFile) {
			modFile = filepath.Join(string(line.Root), modFile)
		}
		if write {
			_, err := replaces.Write(line, modFile)
			return err
		}
		differences, err := replaces.Check(line, modFile)
		if err != nil || len(differences) == 0 {
			return err
		}
		return report(append(differences, "repair: "+replaces.Repair()))
	})
	c.Flags().BoolVar(&write, "write", false, "write the replaces")
	c.Flags().BoolVar(&check, "check", false, "fail if --write would change something")
	c.Flags().StringVar(&modFile, "modfile", "go.mod", "file to keep, relative to the repository")
	return c
}

func sumCommand(f *flags) *cobra.Command {
	var write bool
	c := command(f, "sum", "Print upstream.lock with the sums of its modules", func(line *repo.Line) error {
		sums := map[string]string{}
		for _, m := range line.Lock.Modules {
			info, err := upstream.Download(m.Version)
			if err != nil {
				return err
			}
			sums[m.Path] = info.Sum
		}
		text := line.Lock.WithSums(sums)
		if write {
			return atomicfile.Write(line.LockFile(), []byte(text))
		}
		_, err := fmt.Fprint(os.Stdout, text)
		return err
	})
	c.Flags().BoolVar(&write, "write", false, "write the file instead")
	return c
}
