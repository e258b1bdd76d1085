// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
)

// union is one union of an object.
type union struct {
	ordinal       int // the index of the union within the schema
	discriminator string
	members       []string          // in alphabetical order
	values        []string          // that a request may write, in alphabetical order
	selections    []selection       // of the value with the same index
	absent        *selection        // of an absent discriminator; nil if it must not be absent
	preset        *selection        // of the discriminator's default; nil if it has none
	gates         map[string]string // by member, the disabled feature gate that drops it; nil if none is dropped
}

// selection is what a value of the discriminator selects.
type selection struct {
	member   int // as an index into union.members, or noMember
	optional bool
}

const noMember = -1

// union compiles the union of an object at path whose discriminator is a property of the object's schema.
func (c *compiler) union(discriminator string, object *structuralschema.Structural, path fieldpath.Path) union {
	property := object.Properties[discriminator]
	u := union{ordinal: c.unions, discriminator: discriminator, members: memberNames(property.XUnions, object)}
	c.unions++
	u.values = sets.List(sets.KeySet(property.XUnions.FieldMembers))
	if u.values[0] == "" && !allowsEmpty(property.ValueValidation) {
		u.values = u.values[1:] // the discriminator may be absent, but not "" (rule U2)
	}
	u.selections = make([]selection, len(u.values))
	for i, value := range u.values {
		u.selections[i] = *u.selectionOf(value, property.XUnions)
	}
	if preset, ok := property.Default.Object.(string); ok {
		u.preset = u.selectionOf(preset, property.XUnions)
		c.hasDefaults = true
	} else {
		u.absent = u.selectionOf("", property.XUnions)
	}
	u.gates = c.gatesOf(path, u.members)
	return u
}

// memberNames returns the members in alphabetical order, each of them once. Discriminators of the object are none:
// validation refuses such a CRD, but one may be stored (rules U2, F5).
func memberNames(declared *apiextensions.Unions, object *structuralschema.Structural) []string {
	names := sets.New[string]()
	for _, declaredMember := range declared.FieldMembers {
		if name := declaredMember.Name; name != "" && object.Properties[name].XUnions == nil {
			names.Insert(name)
		}
	}
	return sets.List(names)
}

// selectionOf returns what a value selects by the schema, or nil if it is none of the union's.
func (u *union) selectionOf(value string, declared *apiextensions.Unions) *selection {
	selected, known := declared.FieldMembers[value]
	if !known {
		return nil
	}
	return &selection{member: u.indexOf(selected.Name), optional: selected.Optional}
}

// allowsEmpty reports whether "" is in every enum of a discriminator: in its own, and in those under allOf (rule U2).
func allowsEmpty(validation *structuralschema.ValueValidation) bool {
	if validation == nil {
		return true
	}
	isEmpty := func(value structuralschema.JSON) bool { return value.Object == "" }
	if len(validation.Enum) > 0 && !slices.ContainsFunc(validation.Enum, isEmpty) {
		return false
	}
	for i := range validation.AllOf {
		if !allowsEmpty(&validation.AllOf[i].ValueValidation) {
			return false
		}
	}
	return true
}

// gatesOf returns the disabled gates of the members of an object at path, nil if there are none.
func (c *compiler) gatesOf(path fieldpath.Path, members []string) map[string]string {
	if c.disabledGate == nil {
		return nil
	}
	var gates map[string]string
	for _, name := range members {
		gate := c.disabledGate(append(path, fieldpath.Field(name)))
		if gate == "" {
			continue
		}
		if gates == nil {
			gates = map[string]string{}
		}
		gates[name] = gate
	}
	return gates
}

// indexOf returns the index of a member, noMember if the union has none of that name.
func (u *union) indexOf(name string) int {
	return slices.Index(u.members, name)
}

// withoutMember returns the union without one of its members: the values that select it select none.
func (u union) withoutMember(name string) union {
	removed := u.indexOf(name)
	if removed == noMember {
		return u
	}
	u.members = slices.Delete(slices.Clone(u.members), removed, removed+1)
	u.selections = slices.Clone(u.selections)
	for i := range u.selections {
		u.selections[i] = *u.selections[i].without(removed)
	}
	u.absent, u.preset = u.absent.without(removed), u.preset.without(removed)
	return u
}

// without returns the selection among the members but for one, nil if there is none.
func (s *selection) without(removed int) *selection {
	switch {
	case s == nil || s.member < removed:
		return s
	case s.member == removed:
		return &selection{member: noMember, optional: s.optional}
	default:
		return &selection{member: s.member - 1, optional: s.optional}
	}
}

// selectionBy returns what a discriminator selects, which may be absent or of any type, or nil if it is none of the
// union's values.
func (u *union) selectionBy(discriminator any) *selection {
	if discriminator == nil {
		return u.absent
	}
	if value, isString := discriminator.(string); isString {
		if s, known := u.selection(value); known {
			return &s
		}
	}
	return nil
}

// selection returns what a value that is written out selects. It is false for a value that is none of the union's.
func (u *union) selection(value string) (selection, bool) {
	i := slices.Index(u.values[:min(fewValues, len(u.values))], value)
	if i < 0 {
		return u.searchSelection(value)
	}
	return u.selections[i], true
}

// fewValues are as many as are compared one by one in the time of a search: most differ in length.
const fewValues = 16

func (u *union) searchSelection(value string) (selection, bool) {
	i, known := slices.BinarySearch(u.values, value)
	if !known {
		return selection{member: noMember}, false
	}
	return u.selections[i], true
}

// selected returns the member that a value selects, noMember if the value is none of the union's.
func (u *union) selected(value string) int {
	s, _ := u.selection(value)
	return s.member
}

// unselected returns the members that are set in an object, but for the selected one, as indexes.
func (u *union) unselected(object map[string]any, selected int) []int {
	var found []int
	for i := range u.members {
		if i != selected && object[u.members[i]] != nil {
			found = append(found, i)
		}
	}
	return found
}

// hasUnselected reports whether there is any such member. others is how many fields the object has beside the
// discriminator and the selected member: mostly none, and then there is nothing to look for.
func (u *union) hasUnselected(object map[string]any, selected, others int) bool {
	switch {
	case others == 0:
		return false
	case isSmall(object, len(u.members)):
		return u.hasUnselectedAmong(object, selected)
	}
	for i := range u.members {
		if i != selected && object[u.members[i]] != nil {
			return true
		}
	}
	return false
}

// isSmall reports whether it is cheaper to look at all fields of an object than to look that many up in it. A step of a
// range over a map costs about as much as three look-ups.
func isSmall(object map[string]any, lookups int) bool { return 3*len(object) < lookups }

func (u *union) hasUnselectedAmong(object map[string]any, selected int) bool {
	for name, value := range object {
		if value == nil {
			continue
		}
		if i, isMember := slices.BinarySearch(u.members, name); isMember && i != selected {
			return true
		}
	}
	return false
}

// isValid reports whether a union surely has no error (rule U6). It is all that most valid objects cost, so it is done
// without knowing where the union is and what old has.
func (u *union) isValid(object map[string]any) bool {
	discriminator := object[u.discriminator]
	value, isString := discriminator.(string)
	if !isString {
		return discriminator == nil && u.isValidWithout(object)
	}
	s, known := u.selection(value)
	if !known {
		return false
	}
	others := len(object) - 1
	if s.member != noMember {
		value, present := object[u.members[s.member]]
		if value == nil && !s.optional {
			return false
		}
		if present {
			others--
		}
	}
	return !u.hasUnselected(object, s.member, others)
}

// isValidWithout reports the same where the discriminator is absent. If a member is set, what old has decides (rule
// U4.3).
func (u *union) isValidWithout(object map[string]any) bool {
	isComplete := u.absent != nil && (u.absent.member == noMember || u.absent.optional)
	return isComplete && !u.hasUnselected(object, noMember, len(object))
}

// isUnchanged reports whether the union's own fields are the same in both objects. It takes a null for absent: neither
// is set.
func (u *union) isUnchanged(object, old map[string]any) bool {
	if !jsonvalue.Equal(object[u.discriminator], old[u.discriminator]) {
		return false
	}
	for _, name := range u.members {
		if !jsonvalue.Equal(object[name], old[name]) {
			return false
		}
	}
	return true
}
