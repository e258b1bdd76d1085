// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"slices"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// Cursor is a position in an object. It is for following a path of managedFields to a disabled field. At and below the
// position of the zero Cursor there are no disabled fields.
type Cursor struct {
	plan *Plan
	node *node
}

// DisabledFields returns a cursor at the root of the object, over the disabled fields that an endpoint of the scope
// writes (rule G9). It also reports whether there are any.
func (p *Plan) DisabledFields(written scope.Scope) (root Cursor, found bool) {
	if p == nil {
		return Cursor{}, false
	}
	n := p.root
	n.fields = slices.DeleteFunc(slices.Clone(n.fields), func(c child) bool { return !written.Includes(c.name) })
	if !p.disables(&n) {
		return Cursor{}, false
	}
	return Cursor{p, &n}, true
}

// disables reports whether there is a disabled field at n or below.
func (p *Plan) disables(n *node) bool {
	if p.isDisabled(n) || slices.ContainsFunc(n.fields, func(c child) bool { return p.disables(&c.node) }) {
		return true
	}
	each := n.each()
	return each != nil && p.disables(each)
}

// Field returns the cursor of a field or of a value in a map, which managedFields do not distinguish.
func (c Cursor) Field(name string) Cursor {
	if c.node == nil {
		return Cursor{}
	}
	if field := c.node.field(name); field != nil {
		return Cursor{c.plan, &field.node}
	}
	return c.Item()
}

// Item returns the cursor of the items of a list.
func (c Cursor) Item() Cursor {
	if c.node == nil || c.node.elements == nil {
		return Cursor{}
	}
	return Cursor{c.plan, c.node.each()}
}

// IsDisabled reports whether the field at the cursor is disabled. It returns false for the fields inside a disabled
// field.
func (c Cursor) IsDisabled() bool { return c.node != nil && c.plan.isDisabled(c.node) }
