// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"cmp"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
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
	// Applied is the configuration of a server-side apply request as its manager sent it, else nil. Field management
	// applied what AdjustConfiguration made of it, so that only Applied says which disabled fields the manager named.
	Applied map[string]any
	// Schema is the structural schema of the version of Applied. It says which objects and lists are applied as a whole.
	Schema *structuralschema.Structural
	// Scope is that of the endpoint.
	Scope scope.Scope
}

// Evaluate applies the plan to a write: it drops from the object, or restores in it, the fields of disabled gates
// (rules G2-G5), and changes nothing else. The object shares nothing with the old one afterwards.
//
// The Result is nil if there is nothing to report: the object was not changed, the request did not try to change a
// disabled field, and no deprecated field was used. Then nothing was allocated either.
func (p *Plan) Evaluate(w Write) *Result {
	if p == nil {
		return nil
	}
	e := evaluation{plan: p, root: w.Object, schemas: guardSchemas{plan: p, root: w.Schema}}
	for i := range p.root.fields {
		if c := &p.root.fields[i]; w.Scope.Includes(c.name) {
			e.field(c, w.Object, w.Old, w.Applied)
		}
	}
	return e.result
}

type evaluation struct {
	plan   *Plan
	root   map[string]any
	result *Result
	// schemas are those of Write.Applied.
	schemas guardSchemas
	// unchanged reports that the walk is inside a deprecated field whose value is that of the persisted object.
	unchanged bool
	changes   int // that were made to the object
}

// fields walks the fields of an object. old and applied are the objects at the same position, nil if there are none: a
// new object has no persisted fields (rule G5).
func (e *evaluation) fields(n *node, obj, old, applied map[string]any) {
	if len(n.fields) <= len(obj)+len(old)+len(applied) {
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
	for name := range applied {
		_, inOld := old[name]
		if _, inObject := obj[name]; !inOld && !inObject {
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
		e.disabled(c, obj, old, applied)
		return
	}
	value, oldValue := obj[c.name], old[c.name]
	if value == nil {
		if oldValue == nil {
			return
		}
		value = e.named(&c.node, c.name, obj, oldValue, applied[c.name])
	}
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
// (rule R1). What the request removed takes the guarded fields in it along (rules G4, G5).
func (e *evaluation) below(n *node, value, oldValue, appliedValue any) {
	switch value := value.(type) {
	case map[string]any:
		if value == nil { // a typed nil cannot be written to; no decoder makes one
			return
		}
		old, _ := oldValue.(map[string]any)
		applied, _ := appliedValue.(map[string]any)
		e.fields(n, value, old, applied)
		if n.elements != nil {
			e.values(n.each(), value, old, applied)
		}
		if old != nil {
			return
		}
	case []any:
		old, _ := oldValue.([]any)
		if n.elements != nil && len(n.elements.keys) > 0 {
			applied, _ := appliedValue.([]any)
			e.items(n.elements, value, old, applied)
		}
		if old != nil {
			return
		}
	}
	e.removed(n, oldValue, 0)
}

// values walks the values of a map. Those that the request removed are walked, too: an applied configuration may name
// them.
func (e *evaluation) values(each *node, object, old, applied map[string]any) {
	for key, value := range object {
		if value == nil && applied != nil {
			value = e.named(each, key, object, old[key], applied[key])
		}
		e.below(each, value, old[key], applied[key])
	}
	for key, oldValue := range old {
		if _, stays := object[key]; !stays {
			e.below(each, e.named(each, key, object, oldValue, applied[key]), oldValue, applied[key])
		}
	}
}

// named returns the value of a field that is absent or null in an object. It makes the field an empty object if an
// applied configuration names one, and it or the persisted object has a disabled field in it: pruning leaves null where
// a manager names an object without what it applied before (rule G4).
func (e *evaluation) named(n *node, name string, obj map[string]any, oldValue, appliedValue any) any {
	old, wasObject := oldValue.(map[string]any)
	applied, isNamed := appliedValue.(map[string]any)
	if !isNamed || !wasObject || !e.holdsDisabled(n, old) && !e.holdsDisabled(n, applied) {
		return nil
	}
	value := map[string]any{}
	e.set(obj, name, value)
	return value
}

// holdsDisabled reports whether an object has a disabled field at any depth.
func (e *evaluation) holdsDisabled(n *node, old map[string]any) bool {
	return !e.plan.eachDisabled(n, old, 0, func(*node, int) bool { return false })
}

func (e *evaluation) items(n *elements, list, old, applied []any) {
	persisted, configured := jsonvalue.NewListMapWithDefaults(old, n.keys, n.keyDefaults),
		jsonvalue.NewListMapWithDefaults(applied, n.keys, n.keyDefaults)
	for i := range list {
		if item, ok := list[i].(map[string]any); ok {
			e.below(&n.node, item, jsonvalue.OrNil(persisted.Take(item, i)), jsonvalue.OrNil(configured.Take(item, i)))
		}
	}
	if persisted.HasRemaining() {
		for item := range persisted.Remaining() {
			e.removed(&n.node, item, 0)
		}
	}
}

// removed notes the disabled fields that the persisted object has at n or below, which the request removed with the
// value that is the given number of steps above n.
func (e *evaluation) removed(n *node, old any, steps int) {
	e.plan.eachDisabled(n, old, steps, func(n *node, steps int) bool {
		e.noteRemoved(n, steps)
		return true
	})
}

// eachDisabled calls yield with each disabled field that a persisted object has at n or below, and the number of steps
// that lead to it and to n. It reports whether yield always returned true, and stops if it does not.
func (p *Plan) eachDisabled(n *node, old any, steps int, yield func(n *node, steps int) bool) bool {
	if old == nil {
		return true
	}
	if p.isDisabled(n) {
		return yield(n, steps)
	}
	switch old := old.(type) {
	case map[string]any:
		return p.eachDisabledField(n, old, steps, yield)
	case []any:
		if n.elements == nil || len(n.elements.keys) == 0 {
			return true
		}
		for _, item := range old {
			if !p.eachDisabled(&n.elements.node, item, steps+1, yield) {
				return false
			}
		}
	}
	return true
}

func (p *Plan) eachDisabledField(n *node, old map[string]any, steps int, yield func(n *node, steps int) bool) bool {
	each := n.each()
	for name, value := range old {
		if c := n.field(name); c != nil && !p.eachDisabled(&c.node, value, steps+1, yield) {
			return false
		}
		if each != nil && !p.eachDisabled(each, value, steps+1, yield) {
			return false
		}
	}
	return true
}

// disabled makes a field of a disabled gate what it is in the persisted object: absent, or exactly as persisted. A
// union may move off a member all the same (rule U9).
func (e *evaluation) disabled(c *child, obj, old, applied map[string]any) {
	value, present := obj[c.name]
	oldValue, persisted := old[c.name]
	switch {
	case value == nil && c.member != nil && !c.member.isSelected(obj):
		e.remove(obj, c.name)
		if oldValue == nil {
			e.noteDropped(&c.node, nil, applied[c.name])
		}
	case oldValue != nil:
		e.keep(c, obj, oldValue, applied)
	case persisted:
		if !present || value != nil {
			e.set(obj, c.name, nil)
		}
		e.noteDropped(&c.node, value, applied[c.name])
	default:
		e.remove(obj, c.name)
		e.noteDropped(&c.node, value, applied[c.name])
	}
}

// keep makes a field what is persisted. A configuration that names it with nothing but (part of) that does not try to
// change it; it may leave out what others applied.
func (e *evaluation) keep(c *child, obj map[string]any, oldValue any, applied map[string]any) {
	value := obj[c.name]
	isSame := jsonvalue.Identical(value, oldValue)
	if isSame && applied == nil {
		return
	}
	wanted, named := applied[c.name]
	if !isSame {
		e.set(obj, c.name, runtime.DeepCopyJSONValue(oldValue))
	}
	if !isSame && !jsonvalue.Equal(value, oldValue) || named && !e.isConfirmed(&c.node, wanted, oldValue) {
		e.note(&c.node, kept)
	}
}

// isConfirmed reports whether a configuration names nothing of a field but what is persisted.
func (e *evaluation) isConfirmed(n *node, wanted, oldValue any) bool {
	return jsonvalue.Equal(wanted, oldValue) || confirms(e.schemas.of(n.guard), wanted, oldValue)
}

// set and remove change a field of an object that is part of the root.

func (e *evaluation) set(obj map[string]any, name string, value any) {
	e.noteChange(obj, name)
	obj[name] = value
}

func (e *evaluation) remove(obj map[string]any, name string) {
	if _, present := obj[name]; present {
		e.noteChange(obj, name)
		delete(obj, name)
	}
}

// noteChange keeps what a field was before its change.
func (e *evaluation) noteChange(obj map[string]any, name string) {
	r := e.reported()
	if r.changes == nil {
		r.root, r.changes = e.root, make([]change, 0, fewChanges)
	}
	r.changes = append(r.changes, changeOf(obj, name))
	e.changes++
}

// noteDropped notes that a field with that value, or for which the configuration has that value, was dropped. A null
// is no value, so dropping it is not reported.
func (e *evaluation) noteDropped(n *node, value, applied any) {
	if value != nil || applied != nil {
		e.note(n, dropped)
	}
}

// noteRemoved keeps the ancestor that is farthest from the field, so that the outcome does not depend on the order of
// a map.
func (e *evaluation) noteRemoved(n *node, steps int) {
	e.note(n, removed)
	if e.result.ancestors == nil {
		e.result.ancestors = map[int]int{}
	}
	e.result.ancestors[n.guard] = max(steps, e.result.ancestors[n.guard])
}

func (e *evaluation) note(n *node, what effect) {
	e.reported().effects[n.guard] |= what
}

// reported returns the result of an evaluation that has something to report.
func (e *evaluation) reported() *Result {
	if e.result == nil {
		e.result = &Result{plan: e.plan, effects: make([]effect, len(e.plan.guards))}
	}
	return e.result
}
