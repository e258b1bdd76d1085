// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upstream finds pristine modules in the module cache and checks them.
package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/fault"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
)

// Info is what `go mod download` tells about a module.
type Info struct {
	Dir, GoMod, Sum, Error string
}

// Dir returns the directory of a pristine module, once its content has the sum
// of the lock.
func Dir(m repo.Locked) (string, error) {
	if m.Sum == "" {
		return "", fault.New("fill it with `patchset sum --write`", "upstream.lock has no sum for %s", m.Version)
	}
	dir, err := find(m.Version)
	if err != nil {
		return "", err
	}
	sum, err := dirhash.HashDir(dir, m.String(), dirhash.Hash1)
	if err != nil {
		return "", fmt.Errorf("sum of %s: %w", m.Version, err)
	}
	if sum != m.Sum {
		return "", fault.New("if the lock is right, the module cache was changed: go clean -modcache",
			"%s: sum is %s, upstream.lock has %s", m.Version, sum, m.Sum)
	}
	return dir, nil
}

func find(v module.Version) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	name, err := escaped(v, "@")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, name)
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir, nil
	}
	info, err := Download(v)
	return info.Dir, err
}

// GoMod returns the go.mod file of a module.
func GoMod(v module.Version) ([]byte, error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	name, err := escaped(v, "/@v/")
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(cache, "cache", "download", name+".mod"))
	if err == nil {
		return data, nil
	}
	info, err := Download(v)
	if err != nil {
		return nil, err
	}
	data, err = os.ReadFile(info.GoMod)
	if err != nil {
		return nil, fmt.Errorf("go.mod of %s: %w", v, err)
	}
	return data, nil
}

// Download lets the go command fetch a module and check it with the sum
// database.
func Download(v module.Version) (info Info, err error) {
	// Outside of every module, so that no go.mod has a say.
	dir, err := os.MkdirTemp("", "patchset-download-")
	if err != nil {
		return Info{}, fmt.Errorf("download %s: %w", v, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cmd := exec.Command("go", "mod", "download", "-json", v.String())
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GO111MODULE=on")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, runErr := cmd.Output()
	// The JSON has the error of the module; stderr, one of the command.
	if err := json.Unmarshal(out, &info); err != nil || (runErr != nil && info.Error == "") {
		info.Error = firstLine(stderr.String())
	}
	if info.Error != "" {
		return Info{}, fault.New("check the version in upstream.lock, and the network or GOPROXY; `go mod download "+v.String()+"` tells more",
			"%s is not in the module cache and cannot be downloaded: %s", v, firstLine(info.Error))
	}
	return info, nil
}

// cacheDir spares the go command when the environment knows the answer.
func cacheDir() (string, error) {
	if dir := os.Getenv("GOMODCACHE"); dir != "" {
		return dir, nil
	}
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMODCACHE: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

func escaped(v module.Version, between string) (string, error) {
	help := "write: <module> <version> <h1 sum>"
	path, err := module.EscapePath(v.Path)
	if err != nil {
		return "", fault.New(help, "upstream.lock: %w", err)
	}
	version, err := module.EscapeVersion(v.Version)
	if err != nil {
		return "", fault.New(help, "upstream.lock: %s: %w", v.Path, err)
	}
	return filepath.FromSlash(path + between + version), nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
