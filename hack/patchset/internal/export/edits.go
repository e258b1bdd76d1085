// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/fault"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/overlay"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/stage"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/tree"
)

// edit is a file that is not as the patches make it.
type edit struct {
	// file is relative to the staged tree; module and path divide it.
	file, module, path string
	// content is what the file is now; nil if it was deleted.
	content []byte
}

func (x *exporter) findEdits() ([]edit, error) {
	candidates, err := x.candidates()
	if err != nil {
		return nil, err
	}
	var edits []edit
	var behind []string
	for _, file := range candidates {
		e, want, err := x.compare(file)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(e.content, want) && (e.content == nil) == (want == nil) {
			continue
		}
		if x.isBehind(file, want) {
			behind = append(behind, file)
		}
		edits = append(edits, e)
	}
	if len(behind) > 0 {
		return nil, fault.New("put the old patches back (git stash), export, then bring both together",
			"%s: files were edited, and their patches changed too since the tree was staged: %s",
			x.line.Name, stage.Few(behind))
	}
	return edits, nil
}

// candidates lists files that may be edited: by the stamp, or all.
func (x *exporter) candidates() ([]string, error) {
	dir := x.line.SourceDir()
	if x.stamp != nil {
		return x.stamp.Edits(dir)
	}
	staged, err := tree.Files(dir)
	if err != nil {
		return nil, err
	}
	expected, err := x.result.Files()
	if err != nil {
		return nil, err
	}
	all := slices.Concat(staged, expected)
	slices.Sort(all)
	return slices.Compact(all), nil
}

func (x *exporter) compare(file string) (e edit, want []byte, err error) {
	e.file = file
	ok := false
	if e.module, e.path, ok = x.result.Split(file); !ok {
		return e, nil, fault.New("remove it, or stage its module with: "+x.line.Command("stage --module <module>"),
			"%s: %s is in no module that is staged", x.line.Name, file)
	}
	name := filepath.Join(x.line.SourceDir(), filepath.FromSlash(file))
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return e, nil, fault.New("put a file there, or remove it", "%s: not a regular file", file)
	}
	if e.content, err = overlay.ReadFile(name); err != nil {
		return e, nil, err
	}
	want, err = x.result.Get(file)
	return e, want, err
}

// isBehind tells whether an edit was made on something else than what the
// patches make now, so that exporting it would undo their change.
func (x *exporter) isBehind(file string, want []byte) bool {
	if x.stamp == nil {
		return false
	}
	was, ok := x.stamp.Files[file]
	if !ok || want == nil {
		return ok != (want != nil)
	}
	return was.Hash != tree.Hash(want)
}

// modulesWith lists the locked modules that have files in a staged tree.
func modulesWith(lock repo.Lock, files []string) []string {
	var modules []string
	for _, m := range lock.Modules {
		has := func(file string) bool { return strings.HasPrefix(file, m.Path+"/") }
		if slices.ContainsFunc(files, has) {
			modules = append(modules, m.Path)
		}
	}
	return modules
}

func listFiles(edits []edit) string {
	var files []string
	for _, e := range edits {
		files = append(files, e.file)
	}
	return stage.Few(files)
}
