// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
)

// Evaluate applies the plan to obj, a custom resource as the request would persist it; old is the persisted one, nil
// on create. It drops from obj, or restores in it, the fields of disabled gates (rules G2-G5), and changes nothing
// else. old is never modified (rule R4), nor does obj share anything with it afterwards.
//
// The Result is nil where there is nothing to tell the client; then nothing was allocated either.
func (p *Plan) Evaluate(obj, old map[string]any) *Result {
	if p == nil {
		return nil
	}
	e := evaluation{plan: p}
	e.fields(&p.root, obj, old)
	return e.result
}

type evaluation struct {
	plan   *Plan
	result *Result
}

// fields walks the fields of an object. old is the persisted object at the same place, nil if there is none: a new
// object has no persisted fields (rule G5).
func (e *evaluation) fields(n *node, obj, old map[string]any) {
	for i := range n.fields {
		name, place := n.fields[i].name, n.fields[i].node
		if e.plan.isDisabled(place) {
			e.settle(place, name, obj, old)
			continue
		}
		value, oldValue := obj[name], old[name]
		if e.plan.isDeprecated(place) && value != nil && !jsonvalue.Equal(value, oldValue) {
			e.note(place, deprecated)
		}
		e.below(place, value, oldValue)
	}
}

// below walks what is inside a value. What is not of the type that the schema has is left to schema validation
// (rule R1). An ancestor that the request removed takes the guarded fields with it (rule G4).
func (e *evaluation) below(n *node, value, oldValue any) {
	switch value := value.(type) {
	case map[string]any:
		if value == nil { // a typed nil cannot be written to; no decoder makes one
			return
		}
		old, _ := oldValue.(map[string]any)
		e.fields(n, value, old)
		if n.each != nil {
			e.values(n.each, value, old)
		}
	case []any:
		if n.each != nil && len(n.keys) > 0 {
			old, _ := oldValue.([]any)
			e.items(n, value, old)
		}
	}
}

func (e *evaluation) values(n *node, obj, old map[string]any) {
	for key, value := range obj {
		e.below(n, value, old[key])
	}
}

func (e *evaluation) items(n *node, list, old []any) {
	persisted := jsonvalue.NewListMap(old, n.keys)
	for i := range list {
		if item, ok := list[i].(map[string]any); ok {
			e.below(n.each, item, nilIfNone(persisted.Get(item, i)))
		}
	}
}

// nilIfNone keeps a nil map from becoming an interface that is not nil.
func nilIfNone(item map[string]any) any {
	if item == nil {
		return nil
	}
	return item
}

// settle makes a field of a disabled gate what it is in the persisted object: absent, or exactly as persisted.
func (e *evaluation) settle(n *node, name string, obj, old map[string]any) {
	value, present := obj[name]
	oldValue, persisted := old[name]
	switch {
	case oldValue != nil:
		if !jsonvalue.Equal(value, oldValue) {
			obj[name] = runtime.DeepCopyJSONValue(oldValue)
			e.note(n, kept)
		}
	case persisted:
		obj[name] = nil
		e.noteDropped(n, value)
	case present:
		delete(obj, name)
		e.noteDropped(n, value)
	}
}

// noteDropped leaves out a null, with which the client did not set the field.
func (e *evaluation) noteDropped(n *node, value any) {
	if value != nil {
		e.note(n, dropped)
	}
}

func (e *evaluation) note(n *node, what effect) {
	if e.result == nil {
		e.result = &Result{guards: e.plan.guards, effects: make([]effect, len(e.plan.guards))}
	}
	e.result.effects[n.guard] |= what
}
