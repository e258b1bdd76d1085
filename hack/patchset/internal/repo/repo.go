// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package repo finds the files of the repository: the lines, their locks and series, the patches and the staged modules.
package repo

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Line is a Kubernetes line: locked upstream modules, and the series of patches on them.
type Line struct {
	// Root is the directory of the repository.
	Root, Name string
	Lock       Lock
	Series     Series
}

// Open reads the lock and the series of a line.
func Open(root, name string) (*Line, error) {
	lines, err := Lines(root)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(lines, name) {
		return nil, fmt.Errorf("%q is no Kubernetes line: there are %s", name, strings.Join(lines, ", "))
	}
	l := &Line{Root: root, Name: name}
	if l.Lock, err = readLock(l.LockFile()); err != nil {
		return nil, err
	}
	l.Series, err = readSeries(l.SeriesFile())
	return l, err
}

// Lines lists the lines of a repository.
func Lines(root string) ([]string, error) {
	dirs, err := os.ReadDir(filepath.Join(root, "staging", "lines"))
	if err != nil {
		return nil, fmt.Errorf("no lines, give --root the directory of the repository: %w", err)
	}
	var lines []string
	for _, dir := range dirs {
		if dir.IsDir() {
			lines = append(lines, dir.Name())
		}
	}
	return lines, nil
}

// LockFile is the file of the upstream versions and sums.
func (l *Line) LockFile() string {
	return filepath.Join(l.Root, "staging", "lines", l.Name, "upstream.lock")
}

// SeriesFile is the file of the order of patches.
func (l *Line) SeriesFile() string {
	return filepath.Join(l.Root, "staging", "lines", l.Name, "series")
}

// PatchesDir holds the patches of all lines.
func (l *Line) PatchesDir() string { return filepath.Join(l.Root, "staging", "patches") }

// PatchFile is the file of a patch, which is named as in the series.
func (l *Line) PatchFile(name string) string {
	return filepath.Join(l.PatchesDir(), filepath.FromSlash(name))
}

// ReadPatch returns the text of a patch, which is named as in the series.
func (l *Line) ReadPatch(name string) (string, error) {
	text, err := os.ReadFile(l.PatchFile(name))
	if err != nil {
		return "", fmt.Errorf("the series of %s names %s: remove it there, or add the file: %w", l.Name, name, err)
	}
	return string(text), nil
}

// SourceDir is the directory of the staged modules.
func (l *Line) SourceDir() string { return filepath.Join(l.Root, "staging", "src", l.Name) }

// ModuleDir is the repository in which a module is staged.
func (l *Line) ModuleDir(module string) string {
	return filepath.Join(l.SourceDir(), filepath.FromSlash(module))
}
