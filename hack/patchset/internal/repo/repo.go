// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package repo knows where things are: the lines, their locks and series, the
// patches, and the staged trees.
package repo

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/fault"
)

// Root is the directory of the repository.
type Root string

// Find returns the nearest directory at or above dir that has staging/lines.
func Find(dir string) (Root, error) {
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, "staging", "lines")); err == nil && info.IsDir() {
			return Root(at), nil
		}
		if at == filepath.Dir(at) {
			return "", fault.Usage("run inside the repository, or name it with --root",
				"no staging/lines in %s or above", dir)
		}
	}
}

// LinesDir holds a directory per line.
func (r Root) LinesDir() string { return filepath.Join(string(r), "staging", "lines") }

// PatchesDir holds the patches of all lines.
func (r Root) PatchesDir() string { return filepath.Join(string(r), "staging", "patches") }

// PatchFile is the file of a patch that a series names.
func (r Root) PatchFile(name string) string {
	return filepath.Join(r.PatchesDir(), filepath.FromSlash(name))
}

// SourceDir holds the staged trees of all lines.
func (r Root) SourceDir() string { return filepath.Join(string(r), "staging", "src") }

// Lines lists the lines that exist.
func (r Root) Lines() ([]string, error) {
	entries, err := os.ReadDir(r.LinesDir())
	if err != nil {
		return nil, fmt.Errorf("list lines: %w", err)
	}
	var lines []string
	for _, e := range entries {
		if e.IsDir() {
			lines = append(lines, e.Name())
		}
	}
	return lines, nil
}

// Line is a Kubernetes line: upstream versions and the patches on them.
type Line struct {
	Root   Root
	Name   string
	Lock   Lock
	Series Series
}

// Open reads the lock and the series of a line.
func (r Root) Open(name string) (*Line, error) {
	lines, err := r.Lines()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(lines, name) {
		return nil, fault.Usage("lines: "+strings.Join(lines, " "), "unknown line %q", name)
	}
	l := &Line{Root: r, Name: name}
	if l.Lock, err = readLock(l.LockFile()); err != nil {
		return nil, err
	}
	if l.Series, err = readSeries(l.SeriesFile()); err != nil {
		return nil, err
	}
	return l, nil
}

// LockFile is the file with the upstream versions and sums.
func (l *Line) LockFile() string {
	return filepath.Join(l.Root.LinesDir(), l.Name, "upstream.lock")
}

// SeriesFile is the file with the order of patches.
func (l *Line) SeriesFile() string {
	return filepath.Join(l.Root.LinesDir(), l.Name, "series")
}

// SourceDir is where the line is staged.
func (l *Line) SourceDir() string { return filepath.Join(l.Root.SourceDir(), l.Name) }

// Command spells a patchset command for this line, to show in advice.
func (l *Line) Command(args string) string {
	name, rest, _ := strings.Cut(args, " ")
	return strings.TrimSpace(fmt.Sprintf("go run -C hack/patchset . %s --line %s %s", name, l.Name, rest))
}
