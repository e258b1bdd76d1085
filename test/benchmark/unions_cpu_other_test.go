//go:build !linux

// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"testing"
	"time"
)

var start = time.Now()

// threadTime returns the time since the start, for lack of a portable clock of CPU time.
func threadTime(*testing.T) time.Duration { return time.Since(start) }
