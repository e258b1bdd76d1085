// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package tree

import "errors"

func exchange(string, string) error { return errors.ErrUnsupported }
