// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package patch reads patches, applies them strictly, and writes diffs in one
// canonical form.
package patch

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/fault"
)

// Patch is a header and the files that it changes.
type Patch struct {
	// Name is the path relative to staging/patches.
	Name   string
	Header Header
	Files  []*File
}

// File is the change of one file.
type File struct {
	Path        string
	Add, Delete bool
	Hunks       []*gitdiff.TextFragment
}

const fileMark = "diff --git "

// Parse reads a patch. What git would tolerate but silently skip is an error.
func Parse(name string, data []byte) (*Patch, error) {
	chunks := strings.Split("\n"+string(data), "\n"+fileMark)
	row := strings.Count(chunks[0], "\n") + 1
	header := strings.TrimPrefix(chunks[0], "\n")
	if len(chunks) > 1 && header != "" {
		header += "\n"
	}
	p := &Patch{Name: name, Header: parseHeader(header)}
	seen := map[string]bool{}
	for i, chunk := range chunks[1:] {
		if i < len(chunks)-2 {
			chunk += "\n"
		}
		file, err := parseFile(fileMark + chunk)
		if err == nil && seen[file.Path] {
			err = fmt.Errorf("%s is there twice", file.Path)
		}
		if err != nil {
			return nil, fault.New("repair the diff, or make it anew with `patchset export`",
				"%s: the diff at line %d: %w", name, row, err)
		}
		seen[file.Path] = true
		p.Files = append(p.Files, file)
		row += strings.Count(chunk, "\n")
	}
	return p, nil
}

func parseFile(text string) (*File, error) {
	files, _, err := gitdiff.Parse(strings.NewReader(text))
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "gitdiff: "))
	}
	if len(files) != 1 {
		return nil, errors.New("not a diff of one file")
	}
	f := files[0]
	renamed := f.IsCopy || f.IsRename || (!f.IsNew && !f.IsDelete && f.OldName != f.NewName)
	if f.IsBinary || renamed || (f.OldMode != 0 && f.NewMode != 0 && f.OldMode != f.NewMode) {
		return nil, errors.New("only text changes are supported: no binary, copy, rename or mode change")
	}
	file := &File{Path: f.NewName, Add: f.IsNew, Delete: f.IsDelete, Hunks: f.TextFragments}
	if file.Delete {
		file.Path = f.OldName
	}
	if !fs.ValidPath(file.Path) {
		return nil, fmt.Errorf("%q is not a path inside the module", file.Path)
	}
	return file, checkComplete(file, text)
}

// checkComplete finds lines that the parser skipped, as it does after a hunk
// whose @@ line counts too few.
func checkComplete(f *File, text string) error {
	rows := strings.SplitAfter(text, "\n")
	at := 0
	for at < len(rows) && rows[at] != "" && !strings.HasPrefix(rows[at], "@@ ") {
		at++
	}
	if len(f.Hunks) == 0 && !f.Add && !f.Delete {
		return fmt.Errorf("%s: no hunk", f.Path)
	}
	for _, hunk := range f.Hunks {
		at++
		for _, line := range hunk.Lines {
			at++
			if line.NoEOL() {
				at++
			}
		}
	}
	if at < len(rows) && strings.Join(rows[at:], "") != "" {
		return fmt.Errorf("%s: line %d of it is in no hunk; the @@ line above counts wrong", f.Path, at+1)
	}
	return nil
}

// Generated tells whether a script makes the patch.
func (p *Patch) Generated() bool {
	_, ok := p.Header.Get("Generated-By")
	return ok
}

// Touches tells whether the patch changes a file.
func (p *Patch) Touches(file string) bool {
	for _, f := range p.Files {
		if f.Path == file {
			return true
		}
	}
	return false
}

// IsGeneratedFile tells whether upstream's generators write a file.
func IsGeneratedFile(file string) bool {
	base := path.Base(file)
	return strings.HasPrefix(base, "zz_generated.") || base == "generated.pb.go" ||
		base == "generated.proto" || strings.HasPrefix(file, "pkg/client/")
}
