// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testcost bounds the work of a function in tests by what it allocates, which is the same on every machine. No
// time is measured. Work that takes far more than linear time without allocating exceeds the timeout of go test.
package testcost

import (
	"runtime"
	"testing"
)

// Cost is what a function allocates.
type Cost struct {
	// Mallocs is the number of allocations.
	Mallocs uint64
	// Bytes is the number of allocated bytes.
	Bytes uint64
}

// Of returns the Cost of a function.
func Of(do func()) Cost {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return Cost{Mallocs: after.Mallocs - before.Mallocs, Bytes: after.TotalAlloc - before.TotalAlloc}
}

// AssertLinear checks that the cost grows linearly, from an input of some size to one ten times as large (rule R3). It
// allows for a constant cost, and for the steps in which maps and slices grow.
func AssertLinear(t *testing.T, small, large Cost) {
	t.Helper()
	t.Logf("n: %+v, 10n: %+v", small, large)
	const factor, constantMallocs, constantBytes = 20, 500, 1 << 17
	if large.Mallocs > factor*small.Mallocs+constantMallocs {
		t.Errorf("R3: %d allocations for n, %d for 10n", small.Mallocs, large.Mallocs)
	}
	if large.Bytes > factor*small.Bytes+constantBytes {
		t.Errorf("R3: %d bytes for n, %d for 10n", small.Bytes, large.Bytes)
	}
}
