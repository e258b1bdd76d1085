// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/fault"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/patch"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/replay"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
)

// render writes the canonical text of a patch: its header byte for byte, then
// the files by path.
func render(step *replay.Step) (string, error) {
	var b strings.Builder
	b.WriteString(step.Patch.Header.Raw)
	diffs := 0
	for _, path := range slices.Sorted(maps.Keys(step.After)) {
		diff, err := patch.Diff(path, step.Before[path], step.After[path])
		if err != nil {
			return "", err
		}
		if diff != "" {
			diffs++
		}
		b.WriteString(diff)
	}
	if diffs == 0 && len(step.After) > 0 {
		return "", fault.New("remove it: delete staging/patches/"+step.Patch.Name+" and its line in the series, then run make stage",
			"%s would be empty: the staged tree has none of its changes", step.Patch.Name)
	}
	return b.String(), verify(step, b.String())
}

// verify applies the new text to what the patch found, so that no edit can be
// lost between a diff and the next stage.
func verify(step *replay.Step, text string) error {
	p, err := patch.Parse(step.Patch.Name, []byte(text))
	if err != nil {
		return err
	}
	for path, want := range step.After {
		got := step.Before[path]
		for _, f := range p.Files {
			if f.Path == path {
				if got, err = patch.ApplyFile(p.Name, f, step.Before[path]); err != nil {
					return err
				}
			}
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("%s: %s: the new diff does not make the staged file", p.Name, path)
		}
	}
	return nil
}

// later carries the patches after --until over to the new state below them.
// Their text stays; only line numbers may follow.
func (x *exporter) later() ([]output, error) {
	names := x.line.Series[len(x.plan.Series):]
	if len(names) == 0 {
		return nil, nil
	}
	old, err := x.wholeSeries()
	if err != nil {
		return nil, x.laterError(err)
	}
	var outputs []output
	for _, step := range old.Steps[len(x.plan.Series):] {
		moved, err := x.carry(step)
		if err != nil {
			return outputs, x.laterError(err)
		}
		if !moved {
			continue
		}
		text, err := render(step)
		if err != nil {
			return outputs, x.laterError(err)
		}
		out, err := x.output(step.Patch.Name, text)
		if err != nil {
			return outputs, err
		}
		outputs = append(outputs, out)
	}
	return outputs, nil
}

func (x *exporter) laterError(err error) error {
	return fault.New("the edits are exported up to there; repair the later patch, or stage --until it and redo its change: "+fault.Help(err),
		"%s: the patches after %s no longer apply: %w", x.line.Name, x.plan.Until, err)
}

// wholeSeries replays what the series made before this export.
func (x *exporter) wholeSeries() (*replay.Replay, error) {
	modules := slices.Concat(x.line.Series.Modules(), x.plan.Modules)
	old, err := replay.New(x.line, modules)
	if err != nil {
		return nil, err
	}
	return old, old.Apply(x.line.Root, x.line.Series, x.stamp != nil && x.stamp.Relocated)
}

// carry moves a later patch; it tells whether a file below it changed.
func (x *exporter) carry(step *replay.Step) (bool, error) {
	o := x.result.Module(repo.ModuleOf(step.Patch.Name))
	if o == nil {
		return false, nil
	}
	moved := false
	for _, f := range step.Patch.Files {
		now, err := o.Get(f.Path)
		if err != nil {
			return false, err
		}
		before := step.Before[f.Path]
		if !bytes.Equal(now, before) || (now == nil) != (before == nil) {
			moved = true
			if err := carryFile(step, f, now); err != nil {
				return false, err
			}
		}
		o.Set(f.Path, step.After[f.Path])
	}
	return moved, nil
}

func carryFile(step *replay.Step, f *patch.File, now []byte) error {
	before := step.Before[f.Path]
	if now == nil || before == nil || f.Delete {
		return fmt.Errorf("%s: %s: an earlier patch now adds, deletes or changes it", step.Patch.Name, f.Path)
	}
	if err := patch.Shift(step.Patch.Name, f, before, now); err != nil {
		return err
	}
	after, err := patch.ApplyFile(step.Patch.Name, f, now)
	if err != nil {
		return err
	}
	step.Before[f.Path], step.After[f.Path] = now, after
	return nil
}
