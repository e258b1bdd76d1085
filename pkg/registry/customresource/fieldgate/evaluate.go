// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// Write is a write of a custom resource.
type Write struct {
	// Object is the requested object. Evaluate modifies it.
	Object map[string]any
	// Old is the persisted object, or nil on create. Evaluate does not modify it (rule R4).
	Old map[string]any
	// Applied is the configuration of a server-side apply request as the manager sent it, or nil for other requests. Field
	// management applied the adjusted configuration, so only Applied has the values that the manager tried to set.
	Applied map[string]any
	// Schema is the structural schema of the version of Applied. It is used only if there is a configuration.
	Schema *structuralschema.Structural
	// Scope is the scope of the endpoint.
	Scope scope.Scope
}

// Evaluate applies the gates to Write.Object: it drops or restores disabled fields (rules G2 to G5), and changes
// nothing else. Afterwards the object shares nothing with the persisted object.
//
// Evaluate returns nil, and allocates nothing, if there is nothing to report: the object was not changed, the request
// did not try to change a disabled field, and it used no deprecated field.
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

// evaluation is the walk over the objects of a Write.
type evaluation struct {
	plan    *Plan
	root    map[string]any // Write.Object
	result  *Result        // nil until there is something to report
	schemas guardSchemas   // of the version of Write.Applied
	// isUnchanged is whether the walk is inside a deprecated field whose value equals the persisted value.
	isUnchanged bool
	changes     int // the number of changes to the object
}

// fields walks the fields of an object. old and applied are the values at the same position in the persisted object and
// in the applied configuration, or nil if there are none. A new object has no persisted fields (rule G5).
func (e *evaluation) fields(n *node, obj, old, applied map[string]any) {
	if len(n.fields) <= len(obj)+len(old)+len(applied) {
		for i := range n.fields {
			e.field(&n.fields[i], obj, old, applied)
		}
		return
	}
	// The object has fewer fields than the node, so walk the fields of the object (rule R3).
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

// field walks a field of obj, which may be absent there.
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
		value = e.restoreApplied(&c.node, c.name, obj, oldValue, applied[c.name])
	}
	if e.isUnchanged || value == nil || !e.plan.isDeprecated(&c.node) {
		e.value(&c.node, value, oldValue, applied[c.name])
		return
	}
	// If the value is unchanged, so are the deprecated fields inside. They are not compared again.
	e.isUnchanged = jsonvalue.Equal(value, oldValue)
	differs, changes := !e.isUnchanged, e.changes
	e.value(&c.node, value, oldValue, applied[c.name])
	e.isUnchanged = false
	// If disabled fields inside were restored, compare again: the value may be unchanged after that.
	if differs && (e.changes == changes || !jsonvalue.Equal(value, oldValue)) {
		e.note(&c.node, deprecated)
	}
}

// value walks a value that is not disabled. Values of a wrong type are left to schema validation (rule R1). If the
// request removed or replaced a persisted object or list, the disabled fields in it are removed with it (rules G4, G5).
func (e *evaluation) value(n *node, value, oldValue, appliedValue any) {
	switch value := value.(type) {
	case map[string]any:
		if value == nil { // decoders do not produce it, but writing to it would panic
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
	e.noteRemovedFields(n, oldValue)
}

// values walks the values of a map. It also walks the values that the request removed, since the applied configuration
// may set them.
func (e *evaluation) values(each *node, object, old, applied map[string]any) {
	for key, value := range object {
		if value == nil && applied != nil {
			value = e.restoreApplied(each, key, object, old[key], applied[key])
		}
		e.value(each, value, old[key], applied[key])
	}
	for key, oldValue := range old {
		if _, present := object[key]; !present {
			e.value(each, e.restoreApplied(each, key, object, oldValue, applied[key]), oldValue, applied[key])
		}
	}
}

// restoreApplied returns the value of a field that is absent or null in obj. If the applied configuration sets the
// field to an object, and the persisted value is one, restoreApplied sets the field to an empty object and returns
// that, provided that there is a disabled field in either of them. Otherwise it returns nil.
//
// Field management sets such a field to null if it removes all that the manager had applied in it before. But the
// manager still applies the object, so the disabled fields in it are kept (rule G4).
func (e *evaluation) restoreApplied(n *node, name string, obj map[string]any, oldValue, appliedValue any) any {
	old, wasObject := oldValue.(map[string]any)
	applied, isApplied := appliedValue.(map[string]any)
	if !isApplied || !wasObject || !e.holdsDisabled(n, old) && !e.holdsDisabled(n, applied) {
		return nil
	}
	value := map[string]any{}
	e.set(obj, name, value)
	return value
}

// items walks the items of a list map. Persisted items without a counterpart in list were removed by the request.
func (e *evaluation) items(n *elements, list, old, applied []any) {
	persisted, configured := jsonvalue.NewListMapWithDefaults(old, n.keys, n.keyDefaults),
		jsonvalue.NewListMapWithDefaults(applied, n.keys, n.keyDefaults)
	for i := range list {
		if item, ok := list[i].(map[string]any); ok {
			e.value(&n.node, item, jsonvalue.OrNil(persisted.Take(item, i)), jsonvalue.OrNil(configured.Take(item, i)))
		}
	}
	if persisted.HasRemaining() {
		for item := range persisted.Remaining() {
			e.noteRemovedFields(&n.node, item)
		}
	}
}

// disabled sets a disabled field to its persisted state: absent, or exactly as persisted. The exception is a member of
// a union that the discriminator does not select any more: the request may remove it (rule U9).
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

// keep sets a disabled field to its persisted value. It reports the field as kept if the request tried to change it. A
// configuration that sets the field to (part of) its persisted value does not: it may leave out what other managers
// applied.
func (e *evaluation) keep(c *child, obj map[string]any, oldValue any, applied map[string]any) {
	value := obj[c.name]
	isSame := jsonvalue.Identical(value, oldValue)
	if isSame && applied == nil {
		return
	}
	wanted, isApplied := applied[c.name]
	if !isSame {
		e.set(obj, c.name, runtime.DeepCopyJSONValue(oldValue))
	}
	switch {
	case isApplied && jsonvalue.Equal(wanted, oldValue):
		// Field management may have pruned it all the same: nobody owns an empty list.
	case !isSame && !jsonvalue.Equal(value, oldValue), isApplied && !isPersistedPart(e.schemas.of(c.node.guard), wanted, oldValue):
		e.note(&c.node, kept)
	}
}

// set sets a field of Write.Object or of an object in it.
func (e *evaluation) set(obj map[string]any, name string, value any) {
	e.noteChange(obj, name)
	obj[name] = value
}

// remove removes a field of Write.Object or of an object in it, if it is there.
func (e *evaluation) remove(obj map[string]any, name string) {
	if _, present := obj[name]; present {
		e.noteChange(obj, name)
		delete(obj, name)
	}
}

// noteChange records the state of a field before it is changed.
func (e *evaluation) noteChange(obj map[string]any, name string) {
	r := e.reported()
	if r.changes == nil {
		r.root, r.changes = e.root, make([]change, 0, initialChanges)
	}
	r.changes = append(r.changes, changeOf(obj, name))
	e.changes++
}

// noteDropped reports a field as dropped. value is the value in the requested object, applied the one in the applied
// configuration. A null is not a value, so dropping it is not reported.
func (e *evaluation) noteDropped(n *node, value, applied any) {
	if value != nil || applied != nil {
		e.note(n, dropped)
	}
}

// note reports an effect on the field at n.
func (e *evaluation) note(n *node, what effect) {
	e.reported().effects[n.guard] |= what
}

// reported returns the result, which it creates if there is none yet.
func (e *evaluation) reported() *Result {
	if e.result == nil {
		e.result = &Result{plan: e.plan, effects: make([]effect, len(e.plan.guards))}
	}
	return e.result
}
