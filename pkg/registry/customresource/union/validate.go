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

// Options says what Validate looks at.
type Options struct {
	// Scope is that of the endpoint.
	Scope scope.Scope
	// Ratchet forgives, on update, the errors of a union whose own fields are equal in old and new, or that is in an
	// atomic or set list which is equal as a whole (rule U7).
	Ratchet bool
}

// Validate returns the errors of the unions of an object (rule U6), in the order of their positions, and the same as
// failures for metrics. old is nil on create. A valid object costs no allocation, unless a member is set without a
// discriminator; of one with very many errors the first are returned.
func (p *Plan) Validate(object, old map[string]any, opts Options) (field.ErrorList, []Failure) {
	root := p.root(opts.Scope)
	if root == nil || root.isValidObject(object) {
		return nil, nil
	}
	v := validation{ratchet: opts.Ratchet}
	v.object(root, nil, object, old)
	return v.errs, v.failures
}

// isValid reports whether there is surely no error in a value. What is not of the type that the schema has is left to
// schema validation (rule R1): it has no union.
func (n *node) isValid(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		switch n.kind {
		case anObject:
			return n.isValidObject(value)
		case aMap:
			return n.areValidValues(value)
		}
	case []any:
		if n.kind == aListMap || n.kind == aList {
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
		if !n.each.isValid(value) {
			return false
		}
	}
	return true
}

func (n *node) areValidItems(list []any) bool {
	for i := range list {
		if !n.each.isValid(list[i]) {
			return false
		}
	}
	return true
}

// validation is the walk over an object that may have an error. It knows where it is, and what old has there.
type validation struct {
	ratchet  bool
	errs     field.ErrorList
	failures []Failure
}

func (v *validation) value(at *node, here *position, value, old any) {
	if v.isFull() {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		old, _ := old.(map[string]any)
		switch at.kind {
		case anObject:
			v.object(at, here, value, old)
		case aMap:
			v.values(at, here, value, old)
		}
	case []any:
		if at.kind == aListMap || at.kind == aList {
			old, _ := old.([]any)
			v.items(at, here, value, old)
		}
	}
}

func (v *validation) object(at *node, here *position, object, old map[string]any) {
	for i := range at.unions {
		u := &at.unions[i]
		if u.isValid(object) || v.ratchet && old != nil && u.isUnchanged(object, old) {
			continue
		}
		v.judge(u, here, object, old)
	}
	for i := range at.fields {
		c := &at.fields[i]
		v.named(c.node, here, c.name, object, old)
	}
}

func (v *validation) values(at *node, here *position, object, old map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		v.named(at.each, here, key, object, old)
	}
}

func (v *validation) named(at *node, parent *position, name string, object, old map[string]any) {
	here := position{parent: parent, name: name, index: notAnItem}
	v.value(at, &here, object[name], old[name])
}

// items matches the items of list maps only: those of other lists have no counterpart (rule U5), but nothing happened
// to any of them where the list is as it was (rule U7).
func (v *validation) items(at *node, here *position, list, old []any) {
	if at.kind != aListMap {
		if v.ratchet && jsonvalue.Equal(list, old) {
			return
		}
		old = nil
	}
	persisted := jsonvalue.NewListMap(old, at.keys)
	for i := range list {
		if item, ok := list[i].(map[string]any); ok {
			v.item(at, here, i, item, persisted.Take(item, i))
		} else {
			v.item(at, here, i, list[i], nil)
		}
	}
}

func (v *validation) item(at *node, parent *position, index int, item any, old map[string]any) {
	here := position{parent: parent, index: index}
	v.value(at.each, &here, item, jsonvalue.OrNil(old))
}
