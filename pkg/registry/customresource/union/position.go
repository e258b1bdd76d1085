// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import "strconv"

// position is a position of a walk in an object. The root is nil.
type position struct {
	parent *position
	name   string // of a field, or the key in a map
	index  int    // of the item in its list; notAnItem for a field
}

const notAnItem = -1

// String returns the path as in validation errors.
func (p *position) String() string {
	switch {
	case p == nil:
		return ""
	case p.index == notAnItem:
		return fieldPath(p.parent.String(), p.name)
	default:
		return itemPath(p.parent.String(), p.index)
	}
}

// fieldPath and itemPath format paths as the schema validation of custom resources does, so that two errors about the
// same value have the same path: the values of a map are written like fields, without quotes.

func fieldPath(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

func itemPath(parent string, index int) string {
	return parent + "[" + strconv.Itoa(index) + "]"
}
