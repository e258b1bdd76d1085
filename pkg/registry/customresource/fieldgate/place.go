// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"slices"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// Place is a place in an object as the gates see it, to follow a path of managedFields. The zero Place is one below which
// no gate guards anything.
type Place struct {
	plan *Plan
	node *node
}

// Disabled returns the root of the object for an endpoint of that scope, and whether that would write any disabled
// field (rule G9).
func (p *Plan) Disabled(written scope.Scope) (root Place, found bool) {
	if p == nil {
		return Place{}, false
	}
	n := p.root
	n.fields = slices.DeleteFunc(slices.Clone(n.fields), func(c child) bool { return !written.Includes(c.name) })
	if !p.disables(&n) {
		return Place{}, false
	}
	return Place{p, &n}, true
}

// disables reports whether a disabled gate guards a field at n or below.
func (p *Plan) disables(n *node) bool {
	if p.isDisabled(n) || slices.ContainsFunc(n.fields, func(c child) bool { return p.disables(&c.node) }) {
		return true
	}
	each := n.each()
	return each != nil && p.disables(each)
}

// Field returns the place of a field, or of the value of a key if this is a map: managedFields do not tell them apart.
func (p Place) Field(name string) Place {
	if p.node == nil {
		return Place{}
	}
	if c := p.node.field(name); c != nil {
		return Place{p.plan, &c.node}
	}
	return p.Item()
}

// Item returns the place of the items of a list.
func (p Place) Item() Place {
	if p.node == nil || p.node.elements == nil {
		return Place{}
	}
	return Place{p.plan, p.node.each()}
}

// IsDisabled tells whether a disabled gate guards the field at this place.
func (p Place) IsDisabled() bool { return p.node != nil && p.plan.isDisabled(p.node) }
