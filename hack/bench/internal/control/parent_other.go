// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package control

import "syscall"

// endWithParent has no counterpart elsewhere. Without /proc nothing can be measured there anyway.
func endWithParent(*syscall.SysProcAttr) {}
