// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replay applies a series to pristine modules in memory and remembers
// what each patch did.
package replay

import (
	"path"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/fault"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/overlay"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/patch"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/upstream"
)

// Step is a patch and the files that it touches, before and after it.
type Step struct {
	Patch         *patch.Patch
	Before, After map[string][]byte
}

// Replay is pristine modules with patches applied on top.
type Replay struct {
	Steps    []*Step
	Moves    []patch.Move
	overlays map[string]*overlay.Overlay
}

// New opens modules of a line; their content is checked against the lock.
func New(line *repo.Line, modules []string) (*Replay, error) {
	r := &Replay{overlays: map[string]*overlay.Overlay{}}
	for _, path := range modules {
		m, ok := line.Lock.Get(path)
		if !ok {
			return nil, fault.New("add: "+path+" <version>, then run `"+line.Command("sum --write")+"`",
				"%s: the series of %s patches %s, which is not there", line.LockFile(), line.Name, path)
		}
		dir, err := upstream.Dir(m)
		if err != nil {
			return nil, err
		}
		r.overlays[path] = overlay.New(dir)
	}
	return r, nil
}

// Apply applies a series on top of what is there.
func (r *Replay) Apply(root repo.Root, series repo.Series, relocate bool) error {
	for _, name := range series {
		p, err := Load(root, name)
		if err != nil {
			return err
		}
		if err := r.apply(p, relocate); err != nil {
			return err
		}
	}
	return nil
}

func (r *Replay) apply(p *patch.Patch, relocate bool) error {
	o := r.overlays[repo.ModuleOf(p.Name)]
	before, err := snapshot(o, p)
	if err != nil {
		return err
	}
	moves, err := patch.Apply(p, o, relocate)
	if err != nil {
		return err
	}
	after, err := snapshot(o, p)
	if err != nil {
		return err
	}
	r.Moves = append(r.Moves, moves...)
	r.Steps = append(r.Steps, &Step{Patch: p, Before: before, After: after})
	return nil
}

func snapshot(o *overlay.Overlay, p *patch.Patch) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, f := range p.Files {
		content, err := o.Get(f.Path)
		if err != nil {
			return nil, err
		}
		files[f.Path] = content
	}
	return files, nil
}

// Load reads a patch that a series names.
func Load(root repo.Root, name string) (*patch.Patch, error) {
	data, err := overlay.ReadFile(root.PatchFile(name))
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, fault.New("restore the file, or remove its line from the series",
			"the series names %s, but there is no staging/patches/%s", name, name)
	}
	return patch.Parse(name, data)
}

// Modules lists the modules, sorted.
func (r *Replay) Modules() []string {
	var modules []string
	for path := range r.overlays {
		modules = append(modules, path)
	}
	slices.Sort(modules)
	return modules
}

// Module returns one module with the patches applied.
func (r *Replay) Module(path string) *overlay.Overlay { return r.overlays[path] }

// Split divides a file of the staged tree into module and path inside.
func (r *Replay) Split(file string) (module, inside string, ok bool) {
	for path := range r.overlays {
		if rest, found := strings.CutPrefix(file, path+"/"); found && len(path) > len(module) {
			module, inside = path, rest
		}
	}
	return module, inside, module != ""
}

// Get returns a file of the staged tree as it should be; nil if there is none.
func (r *Replay) Get(file string) ([]byte, error) {
	module, inside, ok := r.Split(file)
	if !ok {
		return nil, nil
	}
	return r.overlays[module].Get(inside)
}

// Files lists all files of the staged tree as it should be, sorted.
func (r *Replay) Files() ([]string, error) {
	var all []string
	for module, o := range r.overlays {
		files, err := o.Files()
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			all = append(all, path.Join(module, f))
		}
	}
	slices.Sort(all)
	return all, nil
}
