// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upstream gets pristine modules from the module cache and checks their sums.
package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
)

// Pristine returns the directory of a locked module, whose content has the sum of the lock.
func Pristine(m repo.Locked) (string, error) {
	dir, err := download(m.String())
	if err != nil {
		return "", err
	}
	sum, err := dirhash.HashDir(dir, m.String(), dirhash.Hash1)
	if err != nil {
		return "", fmt.Errorf("sum of %s: %w", m.Version, err)
	}
	if sum != m.Sum {
		return "", fmt.Errorf("%s has the sum %s, but upstream.lock has %q: run hack/lock.sh, "+
			"or if the lock is right: go clean -modcache", m.Version, sum, m.Sum)
	}
	return dir, nil
}

// download returns the directory of a module in the module cache. The go command fetches it if it is not there.
func download(module string) (dir string, err error) {
	// A directory outside of every module, so that no go.mod file applies.
	work, err := os.MkdirTemp("", "patchset-download-")
	if err != nil {
		return "", fmt.Errorf("download %s: %w", module, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	var stderr bytes.Buffer
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir, cmd.Stderr = work, &stderr
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, runErr := cmd.Output()
	var downloaded struct{ Dir, Error string }
	if err := json.Unmarshal(out, &downloaded); err != nil || runErr != nil {
		return "", fmt.Errorf("%s is not in the module cache and cannot be downloaded: %s%s", module, downloaded.Error, stderr.String())
	}
	return downloaded.Dir, nil
}
