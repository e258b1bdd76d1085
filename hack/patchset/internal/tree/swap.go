// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Marks in the names of directories that only live during a run.
const (
	newMark = ".new-"
	oldMark = ".old"
)

// swap puts next in the place of dir; next is the old tree afterwards, or gone.
func swap(next, dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return rename(next, dir)
	}
	if exchange(next, dir) == nil {
		return nil
	}
	return renameBoth(next, dir)
}

// renameBoth is for file systems that cannot exchange. Between the renames there
// is no tree; if the run ends there, Recover brings the old one back.
func renameBoth(next, dir string) error {
	old := oldDir(dir)
	if err := rename(dir, old); err != nil {
		return err
	}
	if err := rename(next, dir); err != nil {
		return errors.Join(err, rename(old, dir))
	}
	if err := os.RemoveAll(old); err != nil {
		return fmt.Errorf("remove old tree: %w", err)
	}
	return nil
}

// Recover tidies up after a run that was killed.
func Recover(dir string) error {
	old := oldDir(dir)
	_, dirErr := os.Lstat(dir)
	_, oldErr := os.Lstat(old)
	if errors.Is(dirErr, fs.ErrNotExist) && oldErr == nil {
		if err := rename(old, dir); err != nil {
			return err
		}
	}
	leftover, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+newMark+"*"))
	if err != nil {
		return fmt.Errorf("find leftover trees: %w", err)
	}
	for _, path := range append(leftover, old) {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove leftover tree: %w", err)
		}
	}
	return nil
}

func oldDir(dir string) string {
	return filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+oldMark)
}

func rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("swap trees: %w", err)
	}
	return nil
}
