// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrInUse is returned if another process uses the data directory.
var ErrInUse = errors.New("in use by another process")

// dataDir is a data directory that this process has locked. Closing lock releases it.
type dataDir struct {
	path string
	lock *os.File
}

// openDataDir creates the directory if it does not exist, locks it, and checks that etcd and this minor version of
// Kubernetes may open the data in it. It does not modify an existing directory.
func openDataDir(path, kubernetes string) (*dataDir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := ensureDir(path); err != nil {
		return nil, err
	}
	dir, err := lockDir(path)
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", path, err)
	}
	err = checkKubernetes(path, kubernetes)
	if err == nil {
		err = checkData(path)
	}
	if err != nil {
		dir.close()
		return nil, fmt.Errorf("data directory %s: %w", path, err)
	}
	return dir, nil
}

// ensureDir creates the directory if it does not exist, and checks that it can be read and written. It does not create
// parent directories, because a missing one usually means that the path is mistyped.
func ensureDir(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.Mkdir(path, 0o700)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("data directory %s: the parent directory does not exist", path)
		}
		return describe(path, err)
	}
	if err != nil {
		return describe(path, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("data directory %s: not a directory", path)
	}
	return describe(path, unix.Access(path, unix.R_OK|unix.W_OK|unix.X_OK))
}

// describe adds the path to an error, and removes the path that the errors of package os already have.
func describe(path string, err error) error {
	if err == nil {
		return nil
	}
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return fmt.Errorf("data directory %s: cannot be used: %w", path, err)
}

// lockDir locks the directory itself, so that no lock file is needed. etcd's own locks are no replacement: they are on
// files that do not exist before the first start, and etcd waits for them without a limit.
func lockDir(path string) (*dataDir, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		_ = file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrInUse
		}
		return nil, fmt.Errorf("lock: %w", err)
	}
	return &dataDir{path: path, lock: file}, nil
}

func (d *dataDir) close() {
	_ = d.lock.Close() // nothing was written that an error could lose
}
