// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// Unchanged reports whether a request adds, removes and changes no union in the scope. The unions of an object under
// deletion need not be valid then (rule U7). Unions in an atomic or set list are unchanged if the whole list is equal.
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
		case n.kind == objectNode:
			return n.isUnchangedObject(value, old)
		case n.kind == mapNode:
			return n.areUnchangedValues(value, old)
		}
	case []any:
		old, matched := old.([]any)
		if matched && n.kind == listMapNode && n.areUnchangedItems(value, old) {
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
		if oldValue, present := old[key]; !present || !n.elements.isUnchanged(value, oldValue) {
			return false
		}
	}
	return true
}

// areUnchangedItems reports whether the items of a list map are unchanged. Their order does not matter. It returns
// false if an item cannot be matched by its keys.
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
		if counterpart := persisted.Take(item, i); counterpart == nil || !n.elements.isUnchanged(item, counterpart) {
			return false
		}
	}
	return true
}
