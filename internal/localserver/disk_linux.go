// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package localserver

import "golang.org/x/sys/unix"

// FillDisk lets the process write no file beyond a few bytes from now on, so that its next write fails. To the process
// it is as if its disk were full, but for the number of the error: EFBIG, not ENOSPC. A file system of its own, which
// could really be full, only a privileged user can mount everywhere.
func (p *Process) FillDisk() error {
	const logged = 256 << 10 // its log is a file, too, and shall have the error
	limit := &unix.Rlimit{Cur: logged, Max: logged}
	return unix.Prlimit(p.PID(), unix.RLIMIT_FSIZE, limit, nil)
}
