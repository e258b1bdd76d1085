// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import "strconv"

// place is where a walk is in an object. The root is nil.
type place struct {
	parent *place
	name   string // of a field, or the key in a map
	index  int    // of the item in its list; notAnItem for a field
}

const notAnItem = -1

// String returns the path as in validation errors.
func (p *place) String() string {
	switch {
	case p == nil:
		return ""
	case p.index == notAnItem:
		return fieldPath(p.parent.String(), p.name)
	default:
		return itemPath(p.parent.String(), p.index)
	}
}

// fieldPath and itemPath write paths just as the schema validation of custom resources does, so that errors of both at
// one place can be told to be of one place. It writes the values of a map like fields, and quotes nothing.

func fieldPath(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

func itemPath(parent string, index int) string {
	return parent + "[" + strconv.Itoa(index) + "]"
}
