// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"os"
	"path/filepath"
	"testing"
)

func makeTree(t *testing.T, dir, content string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func expectFile(t *testing.T, dir, want string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, "file"))
	if err != nil || string(got) != want {
		t.Errorf("%s has %q (%v), want %q", dir, got, err, want)
	}
}

func TestSwap(t *testing.T) {
	for name, swap := range map[string]func(next, dir string) error{
		"exchange where it works":         swap,
		"two renames where it does not":   renameBoth,
		"the first tree is just moved in": func(next, dir string) error { return remove(dir, swap, next) },
	} {
		t.Run(name, func(t *testing.T) {
			work := t.TempDir()
			dir := makeTree(t, filepath.Join(work, "v1.37"), "old")
			next := makeTree(t, filepath.Join(work, ".v1.37.new-1"), "new")
			if err := swap(next, dir); err != nil {
				t.Fatal(err)
			}
			expectFile(t, dir, "new")
			if _, err := os.Lstat(oldDir(dir)); err == nil {
				t.Error("the old tree is left over")
			}
		})
	}
}

func remove(dir string, then func(next, dir string) error, next string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return then(next, dir)
}

func TestRenameBothKeepsTheOldTreeOnFailure(t *testing.T) {
	dir := makeTree(t, filepath.Join(t.TempDir(), "v1.37"), "old")
	if err := renameBoth(dir+"-absent", dir); err == nil {
		t.Error("no error for an absent new tree")
	}
	expectFile(t, dir, "old")
}
