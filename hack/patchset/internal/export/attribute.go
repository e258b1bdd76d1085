// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"path"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/fault"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/overlay"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/patch"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/replay"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
)

// attribute gives every edit to a patch. into names patches that take edits
// which would have no patch or another one.
func (x *exporter) attribute(into []string) error {
	for _, name := range into {
		if err := x.prepare(name); err != nil {
			return err
		}
	}
	var orphans []edit
	for _, e := range x.edits {
		owner, err := x.owner(e, into)
		if err != nil {
			return err
		}
		if owner == nil {
			orphans = append(orphans, e)
			continue
		}
		if err := x.give(e, owner); err != nil {
			return err
		}
	}
	if len(orphans) > 0 {
		return fault.New("say which patch takes them: "+x.line.Command("export --into "+suggestion(orphans[0])),
			"%s: no patch touches these edited files: %s", x.line.Name, listFiles(orphans))
	}
	return nil
}

func suggestion(e edit) string {
	if patch.IsGeneratedFile(e.path) {
		return e.module + "/generated.patch"
	}
	return e.module + "/<name>.patch"
}

func (x *exporter) owner(e edit, into []string) (*replay.Step, error) {
	generated := patch.IsGeneratedFile(e.path)
	var last, chosen *replay.Step
	for _, step := range x.result.Steps {
		if repo.ModuleOf(step.Patch.Name) != e.module || step.Patch.Generated() != generated {
			continue
		}
		_, touches := step.After[e.path]
		if touches || generated {
			last = step
		}
		if slices.Contains(into, step.Patch.Name) {
			chosen = step
		}
	}
	if chosen == nil {
		return last, nil
	}
	return chosen, x.checkLast(e, chosen)
}

// checkLast refuses to put an edit below a later patch of the same file: the
// edit was made on top of both.
func (x *exporter) checkLast(e edit, chosen *replay.Step) error {
	for _, step := range x.result.Steps[slices.Index(x.result.Steps, chosen)+1:] {
		if _, touches := step.After[e.path]; touches && repo.ModuleOf(step.Patch.Name) == e.module {
			return fault.New("undo the edit, run `"+x.line.Command("stage --until "+chosen.Patch.Name)+"`, edit, then export",
				"%s: the later patch %s touches it too, so the edit cannot go into %s",
				e.file, step.Patch.Name, chosen.Patch.Name)
		}
	}
	return nil
}

func (x *exporter) give(e edit, owner *replay.Step) error {
	if _, touches := owner.Before[e.path]; !touches {
		before, err := x.result.Module(e.module).Get(e.path)
		if err != nil {
			return err
		}
		owner.Before[e.path] = before
	}
	owner.After[e.path] = e.content
	x.result.Module(e.module).Set(e.path, e.content)
	return nil
}

// prepare makes sure that a patch has a step; a new one gets the template of a
// header, and its place before the generated patch of the module.
func (x *exporter) prepare(name string) error {
	module := repo.ModuleOf(name)
	if slices.ContainsFunc(x.result.Steps, func(s *replay.Step) bool { return s.Patch.Name == name }) {
		return nil
	}
	if err := x.checkNew(name, module); err != nil {
		return err
	}
	header := patch.Template(x.line.Name, strings.HasSuffix(path.Base(name), "generated.patch"))
	p, err := patch.Parse(name, []byte(header))
	if err != nil {
		return err
	}
	step := &replay.Step{Patch: p, Before: map[string][]byte{}, After: map[string][]byte{}}
	at := slices.IndexFunc(x.result.Steps, func(s *replay.Step) bool {
		return repo.ModuleOf(s.Patch.Name) == module && s.Patch.Generated()
	})
	if at < 0 || p.Generated() {
		at = len(x.result.Steps)
	}
	x.result.Steps = slices.Insert(x.result.Steps, at, step)
	x.created[step] = true
	return nil
}

func (x *exporter) checkNew(name, module string) error {
	if slices.Contains(x.line.Series, name) {
		return fault.New("run `"+x.line.Command("stage")+"` without --until first",
			"%s is in the series, but the tree is staged only until %s", name, x.plan.Until)
	}
	if x.result.Module(module) == nil || !strings.HasSuffix(name, ".patch") {
		return fault.Usage("write: --into <module path>/<name>.patch; modules staged: "+strings.Join(x.result.Modules(), " "),
			"--into %s is not a patch of a staged module", name)
	}
	content, err := overlay.ReadFile(x.line.Root.PatchFile(name))
	if err == nil && content != nil {
		return fault.New("add it to "+x.line.SeriesFile()+", or choose another name",
			"staging/patches/%s exists, but the series does not name it", name)
	}
	return err
}
