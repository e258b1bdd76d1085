// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// Options are the options of Validate.
type Options struct {
	// Scope is the part of the object that is validated.
	Scope scope.Scope
	// Ratchet ignores, on update, the errors of unchanged unions (rule U7). A union is unchanged if its discriminator
	// and members equal the persisted ones, or if it is in an atomic or set list that equals the persisted list.
	Ratchet bool
}

// Validate returns the errors of the unions of an object (rule U6) in the order of their paths, at most maxErrors, and
// their distinct reasons. old is nil on create. Validate does not allocate if the object is valid, unless a member is
// set without a discriminator.
func (p *Plan) Validate(object, old map[string]any, opts Options) (field.ErrorList, []Failure) {
	root := p.root(opts.Scope)
	if root == nil || root.isValidObject(object) {
		return nil, nil
	}
	v := validator{ratchet: opts.Ratchet}
	v.object(root, nil, object, old)
	return v.errs, v.failures
}

// isValid returns true only if no union in the value has an error, see union.isValid. A value whose type differs from
// the schema has no union; schema validation reports it (rule R1).
func (n *node) isValid(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		switch n.kind {
		case objectNode:
			return n.isValidObject(value)
		case mapNode:
			return n.areValidValues(value)
		}
	case []any:
		if n.kind == listMapNode || n.kind == listNode {
			return n.areValidItems(value)
		}
	}
	return true
}

func (n *node) isValidObject(object map[string]any) bool {
	for i := range n.unions {
		if !n.unions[i].isValid(object) {
			return false
		}
	}
	for i := range n.fields {
		if c := &n.fields[i]; !c.node.isValid(object[c.name]) {
			return false
		}
	}
	return true
}

func (n *node) areValidValues(object map[string]any) bool {
	for _, value := range object {
		if !n.elements.isValid(value) {
			return false
		}
	}
	return true
}

func (n *node) areValidItems(list []any) bool {
	for i := range list {
		if !n.elements.isValid(list[i]) {
			return false
		}
	}
	return true
}

// validator collects the errors of an object. Its methods take the current node of the plan, the position of the value,
// the value, and the persisted value that it is matched with, if any.
type validator struct {
	ratchet  bool
	errs     field.ErrorList
	failures []Failure
}

func (v *validator) value(n *node, pos *position, value, old any) {
	if v.isFull() {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		old, _ := old.(map[string]any)
		switch n.kind {
		case objectNode:
			v.object(n, pos, value, old)
		case mapNode:
			v.values(n, pos, value, old)
		}
	case []any:
		if n.kind == listMapNode || n.kind == listNode {
			old, _ := old.([]any)
			v.items(n, pos, value, old)
		}
	}
}

func (v *validator) object(n *node, pos *position, object, old map[string]any) {
	for i := range n.unions {
		u := &n.unions[i]
		if u.isValid(object) || v.ratchet && old != nil && u.isUnchanged(object, old) {
			continue
		}
		v.union(u, pos, object, old)
	}
	for i := range n.fields {
		c := &n.fields[i]
		v.field(c.node, pos, c.name, object, old)
	}
}

func (v *validator) values(n *node, pos *position, object, old map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		v.field(n.elements, pos, key, object, old)
	}
}

// field validates the value of a field or map key.
func (v *validator) field(n *node, parent *position, name string, object, old map[string]any) {
	pos := position{parent: parent, name: name, index: notAnItem}
	v.value(n, &pos, object[name], old[name])
}

// items validates the items of a list. Only items of list maps are matched with persisted items (rule U5). With
// ratcheting, the items of another list are not validated if the whole list is equal (rule U7).
func (v *validator) items(n *node, pos *position, list, old []any) {
	if n.kind != listMapNode {
		if v.ratchet && jsonvalue.Equal(list, old) {
			return
		}
		old = nil
	}
	persisted := jsonvalue.NewListMap(old, n.keys)
	for i := range list {
		if item, ok := list[i].(map[string]any); ok {
			v.item(n, pos, i, item, persisted.Take(item, i))
		} else {
			v.item(n, pos, i, list[i], nil)
		}
	}
}

func (v *validator) item(n *node, parent *position, index int, item any, old map[string]any) {
	pos := position{parent: parent, index: index}
	v.value(n.elements, &pos, item, jsonvalue.OrNil(old))
}
