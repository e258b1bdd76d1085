// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tree keeps the staged tree of a line on disk: it builds one beside
// the old, swaps the two, and knows which files were edited since.
package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// StampFile is the stamp's name in the staged tree of a line.
const StampFile = ".patchset.json"

// format changes when older stamps can no longer be understood.
const format = 1

// Stamp tells what a tree was staged from, and what was written.
type Stamp struct {
	Format int
	// Inputs is a hash of the locked versions and the patches.
	Inputs string
	// Until is the last patch applied, if it is not the last of the series.
	Until string `json:",omitempty"`
	// Extra are modules staged without a patch.
	Extra []string `json:",omitempty"`
	// Relocated tells that patches applied at other lines than they say.
	Relocated bool `json:",omitempty"`
	Files     map[string]File
}

// File is a staged file as it was written.
type File struct {
	Size    int64
	ModTime int64
	Hash    string
	// Patched files are compared by content: they are few, young and the ones
	// that people edit.
	Patched bool `json:",omitempty"`
}

// ReadStamp reads the stamp of a staged tree; nil if there is none of use.
func ReadStamp(dir string) (*Stamp, error) {
	data, err := os.ReadFile(filepath.Join(dir, StampFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read stamp: %w", err)
	}
	stamp := &Stamp{}
	if json.Unmarshal(data, stamp) != nil || stamp.Format != format {
		return nil, nil //nolint:nilerr // what cannot be read was written by another version: none of use
	}
	return stamp, nil
}

func (s *Stamp) write(dir string) error {
	s.Format = format
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write stamp: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, StampFile), data, 0o644); err != nil {
		return fmt.Errorf("write stamp: %w", err)
	}
	return nil
}

// Edits lists the files that are not as the stamp has them: changed, new or
// deleted, sorted.
func (s *Stamp) Edits(dir string) ([]string, error) {
	var edits []string
	seen := 0
	err := walk(dir, func(file string, info fs.FileInfo) error {
		was, ok := s.Files[file]
		if !ok {
			edits = append(edits, file)
			return nil
		}
		seen++
		same, err := was.matches(filepath.Join(dir, file), info)
		if err == nil && !same {
			edits = append(edits, file)
		}
		return err
	})
	if err != nil || seen == len(s.Files) {
		return edits, err
	}
	for file := range s.Files {
		if _, err := os.Lstat(filepath.Join(dir, file)); errors.Is(err, fs.ErrNotExist) {
			edits = append(edits, file)
		}
	}
	slices.Sort(edits)
	return edits, nil
}

func (f File) matches(name string, info fs.FileInfo) (bool, error) {
	if info.Size() != f.Size || !info.Mode().IsRegular() {
		return false, nil
	}
	if !f.Patched && info.ModTime().UnixNano() == f.ModTime {
		return true, nil
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return false, fmt.Errorf("read staged file: %w", err)
	}
	return Hash(content) == f.Hash, nil
}

// Files lists the files of a staged tree, sorted; none if there is no tree.
func Files(dir string) ([]string, error) {
	var files []string
	err := walk(dir, func(file string, _ fs.FileInfo) error {
		files = append(files, file)
		return nil
	})
	slices.Sort(files)
	return files, err
}

func walk(dir string, visit func(file string, info fs.FileInfo) error) error {
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil || rel == StampFile {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(rel), info)
	})
	if _, statErr := os.Lstat(dir); errors.Is(statErr, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("walk staged tree: %w", err)
	}
	return nil
}

// Hash is the hash of a file's content that stamps have.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
