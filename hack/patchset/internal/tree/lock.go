// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Lock makes sure that one process at a time changes the tree in dir. It waits,
// and says so. The kernel releases the lock of a process that ends.
func Lock(dir string, out io.Writer) (unlock func(), err error) {
	name := filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+".lock")
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	err = flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		_, _ = fmt.Fprintf(out, "waiting for another patchset that works on %s (lock: %s)\n", filepath.Base(dir), name)
		err = flock(f, unix.LOCK_EX)
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, errors.Join(err, f.Close()))
	}
	return func() { _ = f.Close() }, nil
}

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
