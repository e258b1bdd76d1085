// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The reasons of failures, in the words of metrics (rule V1).
const (
	Unsupported = "unsupported"
	Forbidden   = "forbidden"
	Required    = "required"
)

// Failure is why validation failed at a union of the schema. A request has each of them once, however many objects it
// is about (rule V1).
type Failure struct {
	// Place is which union of the schema it is, as in Cleared.
	Place int
	// Reason is one of Unsupported, Forbidden and Required.
	Reason string
}

// maxErrors is the number of errors after which the rest is left for the next attempt (rule R1). An error is many
// times as long as the item of a list that it may be about.
const maxErrors = 128

func (v *validation) isFull() bool { return len(v.errs) >= maxErrors }

// union adds the errors of a union of the object at path. A discriminator that makes no sense is the only one
// (rule U6).
func (v *validation) union(u *union, path string, object map[string]any) {
	value, _ := u.valueIn(object)
	discriminator := fieldPath(path, u.discriminator)
	selected, known := u.selection(value)
	if !known {
		v.discriminator(u, discriminator, object[u.discriminator])
		return
	}
	for _, i := range u.unselected(object, selected.member) {
		detail := fmt.Sprintf("must not be set when %s is %q: a client that changes the members of a union must change "+
			"the discriminator too", discriminator, value)
		v.add(u, Forbidden, field.Forbidden(atPath(path, u.members[i]), detail))
	}
	if selected.member == noMember || selected.optional {
		return
	}
	if member := u.members[selected.member]; object[member] == nil {
		v.add(u, Required, field.Required(atPath(path, member), u.whyRequired(member, discriminator, value)))
	}
}

// discriminator adds the error of a discriminator with a value that is none of the union's, nil if it is absent.
func (v *validation) discriminator(u *union, path string, value any) {
	unsupported := field.NotSupported(field.NewPath(path), value, u.values)
	if value == nil {
		v.add(u, Required, field.Required(field.NewPath(path), unsupported.Detail))
		return
	}
	v.add(u, Unsupported, unsupported)
}

func atPath(parent, name string) *field.Path {
	return field.NewPath(fieldPath(parent, name))
}

func (u *union) whyRequired(member, discriminator, value string) string {
	detail := fmt.Sprintf("must be set when %s is %q", discriminator, value)
	if gate := u.gates[member]; gate != "" {
		detail += fmt.Sprintf(", but is dropped: feature gate %q is disabled", gate)
	}
	return detail
}

func (v *validation) add(u *union, reason string, err *field.Error) {
	if v.isFull() {
		return
	}
	v.errs = append(v.errs, err)
	if failure := (Failure{Place: u.place, Reason: reason}); !slices.Contains(v.failures, failure) {
		v.failures = append(v.failures, failure)
	}
}
