// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// Unchanged reports whether a request leaves all unions as they were, so that an object that is being deleted may keep
// its errors (rule U7): none was added, removed or changed. Unlike matching for normalization it compares atomic and
// set lists, as a whole: such a union cannot be told from another, but it can be told that nothing happened to any.
func (p *Plan) Unchanged(object, old map[string]any, s scope.Scope) bool {
	root := p.root(s)
	return root == nil || root.isUnchanged(object, old)
}

func (n *node) isUnchanged(value, old any) bool {
	switch value := value.(type) {
	case map[string]any:
		old, matched := old.(map[string]any)
		switch {
		case !matched:
			return false
		case n.kind == anObject:
			return n.isUnchangedObject(value, old)
		case n.kind == aMap:
			return n.areUnchangedValues(value, old)
		}
	case []any:
		old, matched := old.([]any)
		if matched && n.kind == aListMap && n.areUnchangedItems(value, old) {
			return true
		}
	}
	return jsonvalue.Equal(value, old)
}

func (n *node) isUnchangedObject(object, old map[string]any) bool {
	for i := range n.unions {
		if !n.unions[i].isUnchanged(object, old) {
			return false
		}
	}
	for i := range n.fields {
		if c := &n.fields[i]; !c.node.isUnchanged(object[c.name], old[c.name]) {
			return false
		}
	}
	return true
}

func (n *node) areUnchangedValues(object, old map[string]any) bool {
	if len(object) != len(old) {
		return false
	}
	for key, value := range object {
		if oldValue, matched := old[key]; !matched || !n.each.isUnchanged(value, oldValue) {
			return false
		}
	}
	return true
}

// areUnchangedItems takes a list in another order for the same: the order of a list map has no meaning. Items without
// proper keys it cannot tell apart.
func (n *node) areUnchangedItems(list, old []any) bool {
	if len(list) != len(old) {
		return false
	}
	persisted := jsonvalue.NewListMap(old, n.keys)
	for i := range list {
		item, ok := list[i].(map[string]any)
		if !ok {
			return false
		}
		if counterpart := persisted.Take(item, i); counterpart == nil || !n.each.isUnchanged(item, counterpart) {
			return false
		}
	}
	return true
}
