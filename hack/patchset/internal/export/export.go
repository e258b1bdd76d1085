// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package export turns edits in a staged tree into canonical patches.
package export

import (
	"fmt"
	"io"
	"slices"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/atomicfile"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/fault"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/overlay"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/replay"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/stage"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/tree"
)

// Options are the choices of a run.
type Options struct {
	// Into names patches that take edits of their module.
	Into []string
	// Check tells what would change and changes nothing.
	Check bool
	Out   io.Writer
}

// Run exports the edits of a line.
func Run(line *repo.Line, opts Options) error {
	unlock, err := tree.Lock(line.SourceDir(), opts.Out)
	if err != nil {
		return err
	}
	defer unlock()
	if err := tree.Recover(line.SourceDir()); err != nil {
		return err
	}
	x, err := open(line)
	if err != nil {
		return err
	}
	if err := x.attribute(opts.Into); err != nil {
		return err
	}
	outputs, err := x.render()
	if err != nil {
		return err
	}
	// The later patches may only fail after the others are safe on disk.
	later, laterErr := x.later()
	outputs = append(outputs, later...)
	if opts.Check {
		return check(line, opts.Out, outputs, laterErr)
	}
	if err := x.write(outputs, opts.Out); err != nil {
		return err
	}
	if laterErr != nil {
		return laterErr
	}
	return x.restage(opts.Out)
}

// exporter is what an export works on.
type exporter struct {
	line   *repo.Line
	stamp  *tree.Stamp
	plan   *stage.Plan
	result *replay.Replay
	// edits are files of the staged tree that patches do not make so.
	edits []edit
	// created are the steps whose patch is new.
	created map[*replay.Step]bool
}

func open(line *repo.Line) (*exporter, error) {
	stamp, err := tree.ReadStamp(line.SourceDir())
	if err != nil {
		return nil, err
	}
	x := &exporter{line: line, stamp: stamp, created: map[*replay.Step]bool{}}
	if x.plan, err = x.newPlan(); err != nil {
		return nil, err
	}
	if x.result, err = replay.New(line, x.plan.Modules); err != nil {
		return nil, err
	}
	if err := x.result.Apply(line.Root, x.plan.Series, stamp != nil && stamp.Relocated); err != nil {
		return nil, err
	}
	x.edits, err = x.findEdits()
	return x, err
}

func (x *exporter) newPlan() (*stage.Plan, error) {
	if x.stamp != nil {
		return stage.NewPlan(x.line, x.stamp.Until, x.stamp.Extra)
	}
	files, err := tree.Files(x.line.SourceDir())
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fault.New("make stage", "%s is not staged, so there is nothing to export", x.line.Name)
	}
	return stage.NewPlan(x.line, "", modulesWith(x.line.Lock, files))
}

// output is a patch file and the text that it should have.
type output struct {
	name, text string
	changed    bool
	// created patches need a place in the series too.
	created bool
}

func (x *exporter) render() ([]output, error) {
	var outputs []output
	for _, step := range x.result.Steps {
		text, err := render(step)
		if err != nil {
			return nil, err
		}
		out, err := x.output(step.Patch.Name, text)
		if err != nil {
			return nil, err
		}
		out.created = x.created[step]
		outputs = append(outputs, out)
	}
	return outputs, nil
}

func (x *exporter) output(name, text string) (output, error) {
	was, err := overlay.ReadFile(x.line.Root.PatchFile(name))
	return output{name: name, text: text, changed: string(was) != text}, err
}

func check(line *repo.Line, out io.Writer, outputs []output, laterErr error) error {
	failed := false
	for _, o := range outputs {
		if o.changed {
			failed = true
			_, _ = fmt.Fprintf(out, "export would change %s\n", o.name)
		}
	}
	if laterErr != nil {
		return laterErr
	}
	if failed {
		return fault.New("make export", "%s: patches differ from the staged tree", line.Name)
	}
	return nil
}

func (x *exporter) write(outputs []output, out io.Writer) error {
	for _, o := range outputs {
		if !o.changed {
			continue
		}
		if err := atomicfile.Write(x.line.Root.PatchFile(o.name), []byte(o.text)); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(out, "exported %s\n", o.name)
		if !o.created {
			continue
		}
		if err := x.addToSeries(o.name); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(out, "added %s to the series; now fill the fields of its header\n", o.name)
	}
	return nil
}

// addToSeries puts a new patch where its step is: before the next one that the
// series has already.
func (x *exporter) addToSeries(name string) error {
	at := slices.IndexFunc(x.result.Steps, func(s *replay.Step) bool { return s.Patch.Name == name })
	before := ""
	if next := slices.IndexFunc(x.result.Steps[at:], func(s *replay.Step) bool { return !x.created[s] }); next >= 0 {
		before = x.result.Steps[at+next].Patch.Name
	} else if rest := x.line.Series[len(x.plan.Series):]; len(rest) > 0 {
		before = rest[0]
		x.plan.Until = name
	}
	text, err := overlay.ReadFile(x.line.SeriesFile())
	if err != nil {
		return err
	}
	return atomicfile.Write(x.line.SeriesFile(), []byte(repo.InsertRow(string(text), name, before)))
}

// restage proves that the patches make the very tree they came from.
func (x *exporter) restage(out io.Writer) error {
	line, err := x.line.Root.Open(x.line.Name)
	if err != nil {
		return err
	}
	return stage.Locked(line, stage.Options{Until: x.plan.Until, Modules: x.plan.Extra, Out: out})
}
