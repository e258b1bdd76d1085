// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"slices"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// Cursor is a position in an object, for following a path of managedFields to the fields that disabled gates guard. No
// gate guards anything at or below the zero Cursor.
type Cursor struct {
	plan *Plan
	node *node
}

// DisabledFields returns a cursor over the disabled fields that an endpoint of a scope writes, at the root of the object,
// and whether there are any (rule G9).
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

// disables reports whether a disabled gate guards a field at n or below.
func (p *Plan) disables(n *node) bool {
	if p.isDisabled(n) || slices.ContainsFunc(n.fields, func(c child) bool { return p.disables(&c.node) }) {
		return true
	}
	each := n.each()
	return each != nil && p.disables(each)
}

// Field returns the cursor of a field, or of the value of a key in a map. managedFields do not distinguish them.
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

// IsDisabled reports whether a disabled gate guards the field at the cursor.
func (c Cursor) IsDisabled() bool { return c.node != nil && c.plan.isDisabled(c.node) }
