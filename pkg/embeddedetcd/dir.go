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

// ErrInUse says that another process has the data directory open.
var ErrInUse = errors.New("in use by another process")

// dataDir is a data directory that is ours for as long as lock is open.
type dataDir struct {
	path string
	lock *os.File
}

// openDataDir creates the directory if need be, takes it into possession and checks that etcd may open what is in
// it. An existing directory is not changed.
func openDataDir(path string) (*dataDir, error) {
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
	if err := checkData(path); err != nil {
		dir.close()
		return nil, fmt.Errorf("data directory %s: %w", path, err)
	}
	return dir, nil
}

// ensureDir makes path a directory we can write to. Missing parents are more often a slip of the pen than meant,
// and are not created.
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

// describe names the path once, where the errors of package os would name it a second time.
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

// lockDir locks the directory itself, so that a refused start leaves no lock file behind. etcd's own locks lie on
// files that a first start has yet to write, and it waits for them without end.
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
	_ = d.lock.Close() // opened for reading: there is nothing to lose
}
