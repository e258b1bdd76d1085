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

// Requested returns a copy of the requested object: the one that Evaluate was called with, as it was before. It returns
// nil if the evaluation did not change it. It must be called before anything else changes the object: the copy is made
// of the object itself, in which the changes are undone meanwhile. So requests that change no disabled field are not
// copied.
func (r *Result) Requested() map[string]any {
	if !r.ChangedObject() {
		return nil
	}
	for i := range slices.Backward(r.changes) {
		r.changes[i].swap()
	}
	requested := runtime.DeepCopyJSON(r.root)
	for i := range r.changes {
		r.changes[i].swap()
	}
	return requested
}

// ChangedObject reports whether the evaluation changed the object.
func (r *Result) ChangedObject() bool {
	return r != nil && len(r.changes) > 0
}
