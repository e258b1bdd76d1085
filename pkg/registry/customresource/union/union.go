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

// union is one union of an object: a discriminator and the members that its values select.
type union struct {
	ordinal       int // the index of the union within the schema
	discriminator string
	members       []string          // sorted
	nullable      []string          // the members that may be null
	values        []string          // the values that the discriminator may be set to, sorted
	selections    []selection       // what values select, by the same index
	forAbsent     *selection        // what an absent discriminator selects, or nil if it must not be absent
	forDefault    *selection        // what the default of the discriminator selects, or nil if there is no default
	gates         map[string]string // the disabled feature gates that drop members, by member; may be nil
}

// selection is what a value of the discriminator selects: a member, or none.
type selection struct {
	member   int // index in union.members, or noMember
	optional bool
}

const noMember = -1

// union compiles the union with the given discriminator. object is the schema of the object that holds it, at path.
func (c *compiler) union(discriminator string, object *structuralschema.Structural, path fieldpath.Path) union {
	property := object.Properties[discriminator]
	u := union{ordinal: c.unions, discriminator: discriminator, members: memberNames(property.XUnions, object)}
	c.unions++
	for _, member := range u.members {
		if object.Properties[member].Nullable {
			u.nullable = append(u.nullable, member)
		}
	}
	u.values = sets.List(sets.KeySet(property.XUnions.FieldMembers))
	if u.values[0] == "" && !allowsEmpty(property.ValueValidation) {
		u.values = u.values[1:] // it may be absent, but not set to "" (rule U2)
	}
	u.selections = make([]selection, len(u.values))
	for i, value := range u.values {
		u.selections[i] = *u.compileSelection(value, property.XUnions)
	}
	if preset, ok := property.Default.Object.(string); ok {
		u.forDefault = u.compileSelection(preset, property.XUnions)
		c.hasDefaults = true
	} else {
		u.forAbsent = u.compileSelection("", property.XUnions)
	}
	u.gates = c.gatesOf(path, u.members)
	return u
}

// memberNames returns the sorted names of the members. It leaves out discriminators: validation rejects a CRD in which
// a discriminator is a member, but one may be persisted (rules U2, F5).
func memberNames(declared *apiextensions.Unions, object *structuralschema.Structural) []string {
	names := sets.New[string]()
	for _, declaredMember := range declared.FieldMembers {
		if name := declaredMember.Name; name != "" && object.Properties[name].XUnions == nil {
			names.Insert(name)
		}
	}
	return sets.List(names)
}

// compileSelection returns what a value selects, or nil if the union does not declare the value.
func (u *union) compileSelection(value string, declared *apiextensions.Unions) *selection {
	selected, known := declared.FieldMembers[value]
	if !known {
		return nil
	}
	return &selection{member: u.indexOf(selected.Name), optional: selected.Optional}
}

// allowsEmpty reports whether every enum of the discriminator, including those in allOf, contains "" (rule U2).
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

// gatesOf returns the disabled gates that guard members of the object at path, by member, or nil if there are none.
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

// indexOf returns the index of a member, or noMember if the union has no member with that name.
func (u *union) indexOf(name string) int {
	return slices.Index(u.members, name)
}

// withoutMember returns a copy of the union without a member. The values that selected it select no member.
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
	u.forAbsent, u.forDefault = u.forAbsent.without(removed), u.forDefault.without(removed)
	return u
}

// without adjusts a selection, which may be nil, to the removal of the member with that index.
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

// selectionFor returns what a discriminator selects, or nil if its value is not allowed. The discriminator may be
// absent (nil) or of any type.
func (u *union) selectionFor(discriminator any) *selection {
	if discriminator == nil {
		return u.forAbsent
	}
	if value, isString := discriminator.(string); isString {
		if s, known := u.selectionOf(value); known {
			return &s
		}
	}
	return nil
}

// selectionOf returns what a value selects. It returns false, and a selection of no member, if the value is unknown.
func (u *union) selectionOf(value string) (selection, bool) {
	i := slices.Index(u.values[:min(linearSearchLimit, len(u.values))], value)
	if i < 0 {
		return u.searchSelection(value)
	}
	return u.selections[i], true
}

// linearSearchLimit is the number of values up to which a linear search is as fast as a binary search. Comparing
// strings of different length, as most values are, is cheap.
const linearSearchLimit = 16

// searchSelection is selectionOf with a binary search.
func (u *union) searchSelection(value string) (selection, bool) {
	i, known := slices.BinarySearch(u.values, value)
	if !known {
		return selection{member: noMember}, false
	}
	return u.selections[i], true
}

// selectedMember returns the index of the member that a value selects, or noMember.
func (u *union) selectedMember(value string) int {
	s, _ := u.selectionOf(value)
	return s.member
}

// unselectedMembers returns the indexes of the members that are set in an object, except the selected one.
func (u *union) unselectedMembers(object map[string]any, selected int) []int {
	var found []int
	for i := range u.members {
		if i != selected && object[u.members[i]] != nil {
			found = append(found, i)
		}
	}
	return found
}

// hasUnselected reports whether unselectedMembers would return any. others is an upper bound for the number of fields
// in the object that may be such members. It is often 0, which makes the search unnecessary.
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

// isSmall reports whether iterating over all fields of an object is cheaper than that many lookups in it. A step of the
// iteration costs about as much as three lookups.
func isSmall(object map[string]any, lookups int) bool { return 3*len(object) < lookups }

// hasUnselectedAmong is hasUnselected for an object with few fields.
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

// isValid returns true only if the union has no error (rule U6). It is a fast check without the path and the persisted
// object, and enough for most valid objects. If it returns false, validator.union decides.
func (u *union) isValid(object map[string]any) bool {
	discriminator := object[u.discriminator]
	value, isString := discriminator.(string)
	if !isString {
		return discriminator == nil && u.isValidWithout(object)
	}
	s, known := u.selectionOf(value)
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

// isValidWithout is isValid for an absent discriminator. It returns false if any member is set, because validation then
// depends on the persisted discriminator (rule U4.3).
func (u *union) isValidWithout(object map[string]any) bool {
	isComplete := u.forAbsent != nil && (u.forAbsent.member == noMember || u.forAbsent.optional)
	return isComplete && !u.hasUnselected(object, noMember, len(object))
}

// isUnchanged reports whether the discriminator and the members are equal in both objects. A null equals an absent
// field, since neither is set.
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
