// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package localserver

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestCertificatesAreRenewedInTime(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		after  time.Duration
		change func(dir string) error
		renew  bool
	}{
		"still valid":              {},
		"valid for long enough":    {after: validity - renewBefore - time.Minute},
		"about to expire":          {after: validity - renewBefore + time.Minute, renew: true},
		"expired":                  {after: 2 * validity, renew: true},
		"from the future":          {after: -48 * time.Hour, renew: true},
		"a key is gone":            {change: remove("admin.key"), renew: true},
		"the authority is gone":    {change: remove("ca.crt"), renew: true},
		"another authority":        {change: replaceAuthority, renew: true},
		"the key of another":       {change: replace("admin.key", "serving.key"), renew: true},
		"the server's as a client": {change: replaceAdmin, renew: true},
		"a certificate is damaged": {change: truncate("serving.crt"), renew: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			first := ensure(t, dir, now)
			key := read(t, filepath.Join(dir, serviceAccountFile))
			if test.change != nil {
				if err := test.change(dir); err != nil {
					t.Fatal(err)
				}
			}
			second := ensure(t, dir, now.Add(test.after))
			if renewed := !bytes.Equal(first.crt, second.crt); renewed != test.renew {
				t.Errorf("renewed: %v, want %v", renewed, test.renew)
			}
			if !bytes.Equal(key, read(t, filepath.Join(dir, serviceAccountFile))) {
				t.Error("the key for service accounts changed")
			}
		})
	}
}

func ensure(t *testing.T, dir string, now time.Time) *credentials {
	t.Helper()
	c, err := ensureCredentials(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func remove(name string) func(string) error {
	return func(dir string) error { return os.Remove(filepath.Join(dir, name)) }
}

func truncate(name string) func(string) error {
	return func(dir string) error { return os.Truncate(filepath.Join(dir, name), 100) }
}

func replace(name, by string) func(string) error {
	return func(dir string) error {
		data, err := os.ReadFile(filepath.Join(dir, by))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), data, 0o600)
	}
}

func replaceAuthority(dir string) error {
	other, err := os.MkdirTemp(dir, "")
	if err != nil {
		return err
	}
	if err := renewCertificates(other, time.Now()); err != nil {
		return err
	}
	return os.Rename(filepath.Join(other, caFile), filepath.Join(dir, caFile))
}

func replaceAdmin(dir string) error {
	if err := replace("admin.crt", "serving.crt")(dir); err != nil {
		return err
	}
	return replace("admin.key", "serving.key")(dir)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAdministrator(t *testing.T) {
	c := ensure(t, t.TempDir(), time.Now())
	if groups := c.admin.Leaf.Subject.Organization; !slices.Equal(groups, []string{"system:masters"}) {
		t.Errorf("groups %v", groups)
	}
}

func TestFilesAreForTheOwnerOnly(t *testing.T) {
	dir := t.TempDir()
	if err := writeKubeconfig(filepath.Join(dir, "kubeconfig"), "https://127.0.0.1:1", ensure(t, dir, time.Now())); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
