// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stage makes the tree of a line from pristine modules and patches.
package stage

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/fault"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/overlay"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/replay"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/tree"
)

// Options are the choices of a run.
type Options struct {
	// Until is the last patch to apply; empty for the whole series.
	Until string
	// Modules are staged even if no patch is for them.
	Modules []string
	// Relocate lets hunks apply where upstream moved their text.
	Relocate bool
	// Force discards edits.
	Force   bool
	Verbose bool
	// Out gets the progress.
	Out io.Writer
}

// Run stages a line.
func Run(line *repo.Line, opts Options) error {
	unlock, err := tree.Lock(line.SourceDir(), opts.Out)
	if err != nil {
		return err
	}
	defer unlock()
	return Locked(line, opts)
}

// Locked is Run for callers that hold the lock of the tree.
func Locked(line *repo.Line, opts Options) error {
	dir := line.SourceDir()
	if err := tree.Recover(dir); err != nil {
		return err
	}
	plan, err := NewPlan(line, opts.Until, opts.Modules)
	if err != nil {
		return err
	}
	stamp, edits, err := examine(dir)
	if err != nil {
		return err
	}
	if len(edits) == 0 && isCurrent(stamp, plan, opts.Relocate) {
		if opts.Verbose {
			_, _ = fmt.Fprintf(opts.Out, "stage %s: nothing to do\n", line.Name)
		}
		return nil
	}
	result, err := replayPlan(line, plan, opts.Relocate)
	if err != nil {
		return err
	}
	if !opts.Force {
		if err := refuseLoss(line, stamp, edits, result); err != nil {
			return err
		}
	}
	return build(line, plan, result, stamp, opts.Out)
}

func examine(dir string) (*tree.Stamp, []string, error) {
	stamp, err := tree.ReadStamp(dir)
	if err != nil || stamp == nil {
		return nil, nil, err
	}
	edits, err := stamp.Edits(dir)
	return stamp, edits, err
}

func isCurrent(stamp *tree.Stamp, plan *Plan, relocate bool) bool {
	return stamp != nil && stamp.Inputs == plan.Inputs && stamp.Until == plan.Until &&
		(relocate || !stamp.Relocated)
}

func replayPlan(line *repo.Line, plan *Plan, relocate bool) (*replay.Replay, error) {
	result, err := replay.New(line, plan.Modules)
	if err != nil {
		return nil, err
	}
	return result, result.Apply(line.Root, plan.Series, relocate)
}

// refuseLoss finds edits that the new tree would not have.
func refuseLoss(line *repo.Line, stamp *tree.Stamp, edits []string, result *replay.Replay) error {
	dir := line.SourceDir()
	if stamp == nil {
		// A tree of unknown origin: every file may be someone's work.
		all, err := tree.Files(dir)
		if err != nil {
			return err
		}
		edits = all
	}
	var lost []string
	for _, file := range edits {
		same, err := asExpected(filepath.Join(dir, file), file, result)
		if err != nil {
			return err
		}
		if !same {
			lost = append(lost, file)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return fault.New("keep them: make export; discard them: "+line.Command("stage --force"),
		"%s: stage would lose edits that no patch has: %s", line.Name, Few(lost))
}

func asExpected(name, file string, result *replay.Replay) (bool, error) {
	want, err := result.Get(file)
	if err != nil {
		return false, err
	}
	got, err := overlay.ReadFile(name)
	if err != nil {
		return false, err
	}
	return bytes.Equal(got, want) && (got == nil) == (want == nil), nil
}

func build(line *repo.Line, plan *Plan, result *replay.Replay, old *tree.Stamp, out io.Writer) error {
	for _, move := range result.Moves {
		_, _ = fmt.Fprintln(out, move)
	}
	stamp := &tree.Stamp{
		Inputs: plan.Inputs, Until: plan.Until, Extra: plan.Extra, Relocated: len(result.Moves) > 0,
	}
	if err := tree.Build(line.SourceDir(), result, stamp, old); err != nil {
		return err
	}
	for _, path := range result.Modules() {
		m, _ := line.Lock.Get(path)
		patches := 0
		for _, name := range plan.Series {
			if repo.ModuleOf(name) == path {
				patches++
			}
		}
		_, _ = fmt.Fprintf(out, "staged %s: %s with %d patches over %d files\n",
			line.Name, m.Version, patches, len(result.Module(path).Changed()))
	}
	if len(result.Moves) > 0 {
		_, _ = fmt.Fprintln(out, "make export writes the new line numbers into the patches")
	}
	return nil
}

// Few names the first few of a list and counts the rest.
func Few(list []string) string {
	const few = 5
	if len(list) <= few {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:few], ", "), len(list)-few)
}
