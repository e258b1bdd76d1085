//go:build !linux

// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"testing"
	"time"
)

var start = time.Now()

// threadTime is the time that has passed, since there is no better clock.
func threadTime(*testing.T) time.Duration { return time.Since(start) }
