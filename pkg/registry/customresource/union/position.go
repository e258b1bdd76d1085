// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import "strconv"

// position is the path of a value in an object, as a linked list. A nil position is the root.
type position struct {
	parent *position
	name   string // of the field, or key in the map
	index  int    // of the item in its list, or notAnItem
}

const notAnItem = -1

// String formats the path as in validation errors.
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

// fieldPath and itemPath format paths like the schema validation of custom resources does: the key of a map is written
// like a field name, without brackets or quotes. Errors about the same value therefore have the same path (rule U6.1).

func fieldPath(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

func itemPath(parent string, index int) string {
	return parent + "[" + strconv.Itoa(index) + "]"
}
