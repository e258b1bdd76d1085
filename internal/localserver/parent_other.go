// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package localserver

import "syscall"

func endWithParent(*syscall.SysProcAttr) {} // only Linux offers it
