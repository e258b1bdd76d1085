// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// fewChanges is how many changes an evaluation has room for from the first one on.
const fewChanges = 16

// change is what a field of an object was before an evaluation changed it.
type change struct {
	object  map[string]any
	name    string
	value   any
	present bool
}

func changeOf(object map[string]any, name string) change {
	value, present := object[name]
	return change{object: object, name: name, value: value, present: present}
}

// swap makes the field what it was before, and keeps what it is.
func (c *change) swap() {
	now := changeOf(c.object, c.name)
	if c.present {
		c.object[c.name] = c.value
	} else {
		delete(c.object, c.name)
	}
	*c = now
}

// Asked returns a copy of the object as it was before the evaluation, or nil if the evaluation did not change it. It
// must be called before anything else changes the object. Few requests are about a disabled field, so that the copy is
// made here: from the object itself, with the changes undone for as long as that takes.
func (r *Result) Asked() map[string]any {
	if !r.ChangedObject() {
		return nil
	}
	for i := range slices.Backward(r.changes) {
		r.changes[i].swap()
	}
	asked := runtime.DeepCopyJSON(r.root)
	for i := range r.changes {
		r.changes[i].swap()
	}
	return asked
}

// ChangedObject reports whether the evaluation changed the object.
func (r *Result) ChangedObject() bool {
	return r != nil && len(r.changes) > 0
}
