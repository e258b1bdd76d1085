// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package overlay is a module directory with changes on top that live in memory.
package overlay

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Overlay reads from a directory and keeps changes to itself. Paths are
// relative and slash separated; nil content means that there is no such file.
type Overlay struct {
	dir     string
	changed map[string][]byte
}

// New returns an overlay of dir without changes.
func New(dir string) *Overlay {
	return &Overlay{dir: dir, changed: map[string][]byte{}}
}

// Dir is the directory below the changes.
func (o *Overlay) Dir() string { return o.dir }

// Get returns the content of a file, nil if there is none.
func (o *Overlay) Get(path string) ([]byte, error) {
	if content, ok := o.changed[path]; ok {
		return content, nil
	}
	return ReadFile(filepath.Join(o.dir, filepath.FromSlash(path)))
}

// Set changes a file; nil removes it.
func (o *Overlay) Set(path string, content []byte) { o.changed[path] = content }

// Changed lists the files that were set, sorted.
func (o *Overlay) Changed() []string { return slices.Sorted(maps.Keys(o.changed)) }

// IsChanged tells whether a file was set.
func (o *Overlay) IsChanged(path string) bool {
	_, ok := o.changed[path]
	return ok
}

// Files lists the files that exist with the changes, sorted.
func (o *Overlay) Files() ([]string, error) {
	var files []string
	err := filepath.WalkDir(o.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(o.dir, name)
		if rel = filepath.ToSlash(rel); err == nil && !o.IsChanged(rel) {
			files = append(files, rel)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	for path, content := range o.changed {
		if content != nil {
			files = append(files, path)
		}
	}
	slices.Sort(files)
	return files, nil
}

// ReadFile returns the content of a file, nil if there is none.
func ReadFile(name string) ([]byte, error) {
	content, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	return content, nil
}
