// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

// noteRemovedFields reports the disabled fields at and below n as removed. old is the persisted value at n, which the
// request removed.
func (e *evaluation) noteRemovedFields(n *node, old any) {
	e.plan.eachDisabled(n, old, 0, func(n *node, steps int) bool {
		e.noteRemoved(n, steps)
		return true
	})
}

// noteRemoved reports a field as removed, along with the value that is the given number of steps above it. If several
// fields under one path were removed, the largest number counts, so that the result does not depend on the order in
// which Go ranges over a map.
func (e *evaluation) noteRemoved(n *node, steps int) {
	e.note(n, removed)
	if e.result.ancestors == nil {
		e.result.ancestors = map[int]int{}
	}
	e.result.ancestors[n.guard] = max(steps, e.result.ancestors[n.guard])
}

// holdsDisabled reports whether an object at n has a disabled field at any depth.
func (e *evaluation) holdsDisabled(n *node, object map[string]any) bool {
	return !e.plan.eachDisabled(n, object, 0, func(*node, int) bool { return false })
}

// eachDisabled calls yield for each disabled field that a value at n is or has inside. The second argument of yield is
// steps plus the number of steps from n to the field. eachDisabled stops if yield returns false. It reports whether all
// calls returned true.
func (p *Plan) eachDisabled(n *node, value any, steps int, yield func(n *node, steps int) bool) bool {
	if value == nil {
		return true
	}
	if p.isDisabled(n) {
		return yield(n, steps)
	}
	switch value := value.(type) {
	case map[string]any:
		return p.eachDisabledField(n, value, steps, yield)
	case []any:
		if n.elements == nil || len(n.elements.keys) == 0 {
			return true
		}
		for _, item := range value {
			if !p.eachDisabled(&n.elements.node, item, steps+1, yield) {
				return false
			}
		}
	}
	return true
}

func (p *Plan) eachDisabledField(n *node, object map[string]any, steps int, yield func(n *node, steps int) bool) bool {
	each := n.each()
	for name, value := range object {
		if c := n.field(name); c != nil && !p.eachDisabled(&c.node, value, steps+1, yield) {
			return false
		}
		if each != nil && !p.eachDisabled(each, value, steps+1, yield) {
			return false
		}
	}
	return true
}
