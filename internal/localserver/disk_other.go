// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package localserver

import "errors"

// FillDisk returns an error, because only Linux can limit a process that runs.
func (p *Process) FillDisk() error {
	return errors.New("the disk of a process can be filled on Linux only")
}
