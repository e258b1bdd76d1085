// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// initialChanges is the capacity of Result.changes when the first change is recorded.
const initialChanges = 16

// change is the previous state of a field that an evaluation changed.
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

// swap exchanges the recorded state of the field and its current one. A second call undoes the first.
func (c *change) swap() {
	current := changeOf(c.object, c.name)
	if c.present {
		c.object[c.name] = c.value
	} else {
		delete(c.object, c.name)
	}
	*c = current
}

// Requested returns a copy of the requested object: Write.Object as it was before the evaluation. It returns nil if the
// evaluation did not change the object.
//
// Requested undoes the changes in Write.Object, copies it, and makes the changes again. So it must be called before
// anything else modifies the object. In return, a request that changes no disabled field is not copied.
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
