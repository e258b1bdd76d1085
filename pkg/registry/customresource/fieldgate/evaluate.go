// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// Write is a write of a custom resource.
type Write struct {
	// Object is what the request would persist. Evaluate changes it.
	Object map[string]any
	// Old is the persisted object, nil on create. It is never modified (rule R4).
	Old map[string]any
	// Applied is the configuration of a server-side apply request, else nil. It decides whether the client tried
	// to change a field: that the merged object lacks one may be for lost ownership alone.
	Applied map[string]any
	// Scope is that of the endpoint.
	Scope scope.Scope
}

// Evaluate applies the plan to a write: it drops from the object, or restores in it, the fields of disabled gates
// (rules G2-G5), and changes nothing else. The object shares nothing with the old one afterwards.
//
// The Result is nil where nothing was changed and no deprecated field used; then nothing was allocated either.
func (p *Plan) Evaluate(w Write) *Result {
	if p == nil {
		return nil
	}
	e := evaluation{plan: p, apply: w.Applied != nil}
	for i := range p.root.fields {
		if c := &p.root.fields[i]; w.Scope.Includes(c.name) {
			e.field(c, w.Object, w.Old, w.Applied)
		}
	}
	return e.result
}

type evaluation struct {
	plan   *Plan
	apply  bool
	result *Result
	// unchanged tells that a deprecated field is walked whose value is that of the persisted object.
	unchanged bool
	changes   int // that were made to the object
}

// fields walks the fields of an object. old and applied are the objects at the same place, nil if there are none: a
// new object has no persisted fields (rule G5).
func (e *evaluation) fields(n *node, obj, old, applied map[string]any) {
	if len(n.fields) <= len(obj)+len(old) {
		for i := range n.fields {
			e.field(&n.fields[i], obj, old, applied)
		}
		return
	}
	// A small object costs what it holds, not what the plan has for it (rule R3).
	for name := range old {
		e.fieldNamed(n, name, obj, old, applied)
	}
	for name := range obj {
		if _, done := old[name]; !done {
			e.fieldNamed(n, name, obj, old, applied)
		}
	}
}

func (e *evaluation) fieldNamed(n *node, name string, obj, old, applied map[string]any) {
	if c := n.field(name); c != nil {
		e.field(c, obj, old, applied)
	}
}

func (n *node) field(name string) *child {
	i, found := slices.BinarySearchFunc(n.fields, name, func(c child, name string) int { return cmp.Compare(c.name, name) })
	if !found {
		return nil
	}
	return &n.fields[i]
}

func (e *evaluation) field(c *child, obj, old, applied map[string]any) {
	if e.plan.isDisabled(&c.node) {
		e.settle(c, obj, old, applied)
		return
	}
	value, oldValue := obj[c.name], old[c.name]
	if e.unchanged || value == nil || !e.plan.isDeprecated(&c.node) {
		e.below(&c.node, value, oldValue, applied[c.name])
		return
	}
	// What is the same has nothing inside that is not: fields inside are not compared again.
	e.unchanged = jsonvalue.Equal(value, oldValue)
	differs, changes := !e.unchanged, e.changes
	e.below(&c.node, value, oldValue, applied[c.name])
	e.unchanged = false
	// What is changed is judged after disabled fields inside are what they were.
	if differs && (e.changes == changes || !jsonvalue.Equal(value, oldValue)) {
		e.note(&c.node, deprecated)
	}
}

// below walks what is inside a value. What is not of the type that the schema has is left to schema validation
// (rule R1). An ancestor that the request removed takes the guarded fields with it (rule G4).
func (e *evaluation) below(n *node, value, oldValue, appliedValue any) {
	switch value := value.(type) {
	case map[string]any:
		if value == nil { // a typed nil cannot be written to; no decoder makes one
			return
		}
		old, _ := oldValue.(map[string]any)
		applied, _ := appliedValue.(map[string]any)
		e.fields(n, value, old, applied)
		if each := n.each(); each != nil {
			for key := range value {
				e.below(each, value[key], old[key], applied[key])
			}
		}
	case []any:
		if n.elements != nil && len(n.elements.keys) > 0 {
			old, _ := oldValue.([]any)
			applied, _ := appliedValue.([]any)
			e.items(n.elements, value, old, applied)
		}
	}
}

func (e *evaluation) items(n *elements, list, old, applied []any) {
	persisted := jsonvalue.NewListMap(old, n.keys)
	configured := jsonvalue.NewListMap(applied, n.keys)
	for i := range list {
		if item, ok := list[i].(map[string]any); ok {
			e.below(&n.node, item, jsonvalue.OrNil(persisted.Get(item, i)), jsonvalue.OrNil(configured.Get(item, i)))
		}
	}
}

// settle makes a field of a disabled gate what it is in the persisted object: absent, or exactly as persisted. A union
// may move off a member all the same (rule U9).
func (e *evaluation) settle(c *child, obj, old, applied map[string]any) {
	value, present := obj[c.name]
	oldValue, persisted := old[c.name]
	switch {
	case value == nil && c.member != nil && !c.member.isSelected(obj):
		if present {
			delete(obj, c.name)
			e.note(&c.node, settled)
		}
	case oldValue != nil:
		if jsonvalue.Identical(value, oldValue) {
			return
		}
		obj[c.name] = runtime.DeepCopyJSONValue(oldValue)
		if jsonvalue.Equal(value, oldValue) || (e.apply && isConfirmed(applied, c.name, oldValue)) {
			e.note(&c.node, settled)
		} else {
			e.note(&c.node, kept)
		}
	case persisted && present && value == nil:
	case persisted:
		obj[c.name] = nil
		e.noteDropped(&c.node, value)
	case present:
		delete(obj, c.name)
		e.noteDropped(&c.node, value)
	}
}

// isConfirmed tells whether an applied configuration names a field with nothing but what is persisted.
func isConfirmed(applied map[string]any, name string, oldValue any) bool {
	value, named := applied[name]
	return named && jsonvalue.Contains(oldValue, value)
}

// noteDropped owes the client nothing for a null, with which it did not set the field.
func (e *evaluation) noteDropped(n *node, value any) {
	if value == nil {
		e.note(n, settled)
	} else {
		e.note(n, dropped)
	}
}

func (e *evaluation) note(n *node, what effect) {
	if e.result == nil {
		e.result = &Result{plan: e.plan, effects: make([]effect, len(e.plan.guards))}
	}
	e.result.effects[n.guard] |= what
	if what != deprecated {
		e.changes++
	}
}
