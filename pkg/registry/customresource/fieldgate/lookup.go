// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"

// DisabledGate returns the qualified name of the disabled gate that guards the field at a path, or "" if there is none
// (rule U6.3). Gates of objects around the field do not count.
func (p *Plan) DisabledGate(path fieldpath.Path) string {
	if p == nil {
		return ""
	}
	n := &p.root
	for _, step := range path {
		if n = n.below(step); n == nil {
			return ""
		}
	}
	if !p.isDisabled(n) {
		return ""
	}
	return p.gates.QualifiedName(p.guards[n.guard].gate)
}

// below returns the node that a step leads to, or nil if there is none.
func (n *node) below(step fieldpath.Step) *node {
	if step.Each {
		return n.each()
	}
	if c := n.field(step.Name); c != nil {
		return &c.node
	}
	return nil
}
