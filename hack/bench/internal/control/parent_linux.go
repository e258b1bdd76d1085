// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package control

import "syscall"

// endWithParent ends a child even where this program is killed.
func endWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }
