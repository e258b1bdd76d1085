// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the CPU time of the current thread. Other threads and processes do not count.
func threadTime(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}
