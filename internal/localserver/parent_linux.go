// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package localserver

import "syscall"

// endWithParent stops the process even if this program is killed. Linux sends the signal when the thread that started
// the process ends; threads of Go programs stay unless a goroutine is locked to them.
func endWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGTERM }
