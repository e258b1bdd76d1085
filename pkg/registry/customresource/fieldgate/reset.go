// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"slices"

	smdfieldpath "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// ResetFilter returns what takes the disabled fields, and all inside them, out of a set of owned fields: what upstream
// calls reset fields (rule G7). It is for an endpoint of that scope, and nil where that would write no disabled field.
//
// Upstream's own filter by patterns (fieldpath.NewIncludeMatcherFilter) is of no use here: of several patterns below one
// list it sees the first alone, and it takes out the list's items, too.
func (p *Plan) ResetFilter(written scope.Scope) smdfieldpath.Filter {
	if len(p.DisabledPaths(written)) == 0 {
		return nil
	}
	root := p.root
	root.fields = slices.DeleteFunc(slices.Clone(root.fields), func(c child) bool { return !written.Includes(c.name) })
	return resetFilter{plan: p, root: &root}
}

type resetFilter struct {
	plan *Plan
	root *node
}

// Filter returns a set without the disabled fields, the set itself if it has none. It never modifies the set.
func (f resetFilter) Filter(set *smdfieldpath.Set) *smdfieldpath.Set {
	if !f.has(f.root, set) {
		return set
	}
	return f.without(f.root, set)
}

// has tells whether a set at the place of n has a disabled field.
func (f resetFilter) has(n *node, set *smdfieldpath.Set) bool {
	found := false
	set.Members.Iterate(func(e smdfieldpath.PathElement) {
		found = found || f.isDisabled(n.element(e))
	})
	set.Children.Iterate(func(e smdfieldpath.PathElement) {
		below := n.element(e)
		if found || below == nil {
			return
		}
		if found = f.isDisabled(below); !found {
			child, _ := set.Children.Get(e)
			found = f.has(below, child)
		}
	})
	return found
}

// without copies what is on the way to a guarded field, and shares the rest.
func (f resetFilter) without(n *node, set *smdfieldpath.Set) *smdfieldpath.Set {
	kept := smdfieldpath.NewSet()
	set.Members.Iterate(func(e smdfieldpath.PathElement) {
		if !f.isDisabled(n.element(e)) {
			kept.Members.Insert(e)
		}
	})
	set.Children.Iterate(func(e smdfieldpath.PathElement) {
		below := n.element(e)
		if f.isDisabled(below) {
			return
		}
		child, _ := set.Children.Get(e)
		if below != nil {
			child = f.without(below, child)
		}
		if !child.Empty() {
			*kept.Children.Descend(e) = *child
		}
	})
	return kept
}

func (f resetFilter) isDisabled(n *node) bool { return n != nil && f.plan.isDisabled(n) }

// element returns the node of a part of an owned path, nil if no gate guards anything there. The keys of a map are
// fields in such a path.
func (n *node) element(e smdfieldpath.PathElement) *node {
	if e.FieldName != nil {
		if c := n.field(*e.FieldName); c != nil {
			return &c.node
		}
	}
	return n.each()
}
