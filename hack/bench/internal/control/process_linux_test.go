// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"os"
	"testing"
	"time"
)

func TestCPUOfThisProcess(t *testing.T) {
	before, err := CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); time.Since(start) < 50*time.Millisecond; {
		continue
	}
	after, err := CPU(os.Getpid())
	if err != nil || after <= before {
		t.Errorf("%v, then %v, %v", before, after, err)
	}
}
