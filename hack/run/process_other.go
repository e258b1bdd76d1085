// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import "syscall"

func dieWithParent(*syscall.SysProcAttr) {} // only Linux offers it
