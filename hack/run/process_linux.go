// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "syscall"

// dieWithParent stops the server even if we are killed without a chance to do it.
func dieWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGTERM }
