// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"fmt"
	"slices"
	"strconv"

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
	// Ordinal is the index of the union within the schema, as in Cleared.
	Ordinal int
	// Reason is one of Unsupported, Forbidden and Required.
	Reason string
}

// maxErrors is the number of errors after which the rest is left for the next attempt (rule R1). An error is many
// times as long as the item of a list that it may be about.
const maxErrors = 128

func (v *validation) isFull() bool { return len(v.errs) >= maxErrors }

// judge adds the errors of a union of the object at a position. A discriminator that makes no sense is the only one
// (rule U6).
func (v *validation) judge(u *union, here *position, object, old map[string]any) {
	discriminator := object[u.discriminator]
	value, _ := discriminator.(string)
	selected := u.selectionBy(discriminator)
	switch {
	case discriminator == nil && v.leftOut(u, here, object, old):
	case selected == nil:
		v.discriminator(u, here.String(), discriminator)
	default:
		v.members(u, here, object, *selected, value)
	}
}

// leftOut adds the error of a discriminator that old has and the request leaves out although it sets a member: a client
// may have been built before there was a discriminator (rule U4.3). It reports whether that is so.
func (v *validation) leftOut(u *union, here *position, object, old map[string]any) bool {
	persisted := old[u.discriminator]
	set := u.unselected(object, noMember)
	if persisted == nil || len(set) == 0 {
		return false
	}
	path := here.String()
	detail := fmt.Sprintf("must be given when %s is set: the persisted value is %s",
		fieldPath(path, u.members[set[0]]), quote(persisted))
	v.add(u, Required, field.Required(atPath(path, u.discriminator), detail))
	return true
}

// members adds the errors of members that are set and not selected, and of the selected one if it is missing.
func (v *validation) members(u *union, here *position, object map[string]any, selected selection, value string) {
	unselected := u.unselected(object, selected.member)
	isMissing := selected.member != noMember && !selected.optional && object[u.members[selected.member]] == nil
	if len(unselected) == 0 && !isMissing {
		return
	}
	path := here.String()
	discriminator := fieldPath(path, u.discriminator)
	for _, i := range unselected {
		detail := fmt.Sprintf("must not be set when %s is %q: a client that changes the members of a union must change "+
			"the discriminator too", discriminator, value)
		v.add(u, Forbidden, field.Forbidden(atPath(path, u.members[i]), detail))
	}
	if isMissing {
		member := u.members[selected.member]
		v.add(u, Required, field.Required(atPath(path, member), u.whyRequired(member, discriminator, value)))
	}
}

// discriminator adds the error of a discriminator with a value that is none of the union's, nil if it is absent. A
// value of another type is one, too: nobody else reports it where upstream's ratcheting forgives it (rules U6.1, U7).
func (v *validation) discriminator(u *union, path string, value any) {
	values := u.values
	if u.absent != nil && value != "" && !slices.Contains(values, "") {
		values = append([]string{""}, values...)
	}
	unsupported := field.NotSupported(atPath(path, u.discriminator), brief(value), values)
	if value == nil {
		v.add(u, Required, field.Required(atPath(path, u.discriminator), unsupported.Detail))
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
	if failure := (Failure{Ordinal: u.ordinal, Reason: reason}); !slices.Contains(v.failures, failure) {
		v.failures = append(v.failures, failure)
	}
}

// quote returns the value of a discriminator for a message.
func quote(value any) string {
	if text, ok := value.(string); ok {
		return strconv.Quote(text)
	}
	return fmt.Sprint(brief(value))
}

// brief returns a value, or the name of its type if it may be of any size: a discriminator should be none such.
func brief(value any) any {
	switch value.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	default:
		return value
	}
}
