// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The reasons of failures, which are label values of metrics (rule V1).
const (
	Unsupported = "unsupported"
	Forbidden   = "forbidden"
	Required    = "required"
)

// Failure is a reason why a union failed validation. Validate returns each Failure once, even if many objects or items
// have the error (rule V1).
type Failure struct {
	// Ordinal is the index of the union within the schema, as in Cleared.
	Ordinal int
	// Reason is one of Unsupported, Forbidden and Required.
	Reason string
}

// maxErrors is the maximum number of errors for a request (rule R1). An error is much longer than a small invalid item,
// so without a limit the response could be much larger than the request.
const maxErrors = 128

func (v *validator) isFull() bool { return len(v.errs) >= maxErrors }

// union adds the errors of a union of the object at pos. If the discriminator has an error, the members are not
// validated (rule U6).
func (v *validator) union(u *union, pos *position, object, old map[string]any) {
	discriminator := object[u.discriminator]
	value, _ := discriminator.(string)
	selected := u.selectionFor(discriminator)
	switch {
	case discriminator == nil && v.omittedDiscriminator(u, pos, object, old):
	case selected == nil:
		v.unsupportedDiscriminator(u, pos.String(), discriminator)
	default:
		v.members(u, pos, object, *selected, value)
	}
}

// omittedDiscriminator adds an error if the discriminator is persisted and the request leaves it out but sets a member.
// Clients whose types lack the discriminator send such requests (rule U4.3). It reports whether it added the error.
func (v *validator) omittedDiscriminator(u *union, pos *position, object, old map[string]any) bool {
	persisted := old[u.discriminator]
	set := u.unselectedMembers(object, noMember)
	if persisted == nil || len(set) == 0 {
		return false
	}
	path := pos.String()
	detail := fmt.Sprintf("must be given when %s is set: the persisted value is %s",
		fieldPath(path, u.members[set[0]]), quote(persisted))
	v.add(u, Required, field.Required(atPath(path, u.discriminator), detail))
	return true
}

// members adds an error for each member that is set but not selected, and for the selected member if it is missing.
func (v *validator) members(u *union, pos *position, object map[string]any, selected selection, value string) {
	unselected := u.unselectedMembers(object, selected.member)
	isMissing := selected.member != noMember && !selected.optional && object[u.members[selected.member]] == nil
	if len(unselected) == 0 && !isMissing {
		return
	}
	path := pos.String()
	discriminator := fieldPath(path, u.discriminator)
	for _, i := range unselected {
		detail := fmt.Sprintf("must not be set when %s is %q: a client that changes the members of a union must change "+
			"the discriminator too", discriminator, value)
		v.add(u, Forbidden, field.Forbidden(atPath(path, u.members[i]), detail))
	}
	if isMissing {
		member := u.members[selected.member]
		v.add(u, Required, field.Required(atPath(path, member), u.requiredDetail(member, discriminator, value)))
	}
}

// unsupportedDiscriminator adds the error of a discriminator whose value is not allowed (rule U6.1). value is nil if
// the discriminator is absent. A value of another type is also reported, since ratcheting may skip schema validation
// (rule U7).
func (v *validator) unsupportedDiscriminator(u *union, path string, value any) {
	values := u.values
	if u.forAbsent != nil && value != "" && !slices.Contains(values, "") {
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

func (u *union) requiredDetail(member, discriminator, value string) string {
	detail := fmt.Sprintf("must be set when %s is %q", discriminator, value)
	if gate := u.gates[member]; gate != "" {
		detail += fmt.Sprintf(", but is dropped: feature gate %q is disabled", gate)
	}
	return detail
}

func (v *validator) add(u *union, reason string, err *field.Error) {
	if v.isFull() {
		return
	}
	v.errs = append(v.errs, err)
	if failure := (Failure{Ordinal: u.ordinal, Reason: reason}); !slices.Contains(v.failures, failure) {
		v.failures = append(v.failures, failure)
	}
}

// quote formats the value of a discriminator for a message.
func quote(value any) string {
	if text, ok := value.(string); ok {
		return strconv.Quote(text)
	}
	return fmt.Sprint(brief(value))
}

// brief returns a scalar, or the name of the type of an object or array, which may be too large for a message.
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
