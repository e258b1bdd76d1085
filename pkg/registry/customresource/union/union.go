// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
)

// union is one union of an object.
type union struct {
	place         int // which one of the schema it is
	discriminator string
	members       []member // in alphabetical order
	values        map[string]selection
}

type member struct {
	name string
	gate string // the disabled feature gate that drops the member, "" if there is none
}

// selection is what a value of the discriminator selects.
type selection struct {
	member   int // as an index into union.members, or noMember
	optional bool
}

const noMember = -1

// union compiles a union of the object at path.
func (c *compiler) union(discriminator string, declared *apiextensions.Unions, path fieldpath.Path) union {
	values := make(map[string]selection, len(declared.FieldMembers))
	u := union{place: c.places, discriminator: discriminator, values: values}
	c.places++
	for _, name := range memberNames(discriminator, declared) {
		u.members = append(u.members, member{name: name, gate: c.gateOf(path, name)})
	}
	for value, declaredMember := range declared.FieldMembers {
		u.values[value] = selection{member: u.indexOf(declaredMember.Name), optional: declaredMember.Optional}
	}
	return u
}

// memberNames returns the members in alphabetical order, each of them once. The discriminator is none of them.
func memberNames(discriminator string, declared *apiextensions.Unions) []string {
	names := map[string]bool{}
	for _, declaredMember := range declared.FieldMembers {
		if name := declaredMember.Name; name != "" && name != discriminator {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (c *compiler) gateOf(path fieldpath.Path, name string) string {
	if c.disabledGate == nil {
		return ""
	}
	return c.disabledGate(append(slices.Clip(path), fieldpath.Field(name)))
}

func (u *union) indexOf(name string) int {
	return slices.IndexFunc(u.members, func(m member) bool { return m.name == name }) // noMember if there is none
}

// withoutMember returns the union without one of its members: the values that select it select none.
func (u union) withoutMember(name string) union {
	removed := u.indexOf(name)
	if removed == noMember {
		return u
	}
	u.members = slices.Delete(slices.Clone(u.members), removed, removed+1)
	u.values = maps.Clone(u.values)
	for value, selected := range u.values {
		switch {
		case selected.member == removed:
			selected.member = noMember
		case selected.member > removed:
			selected.member--
		}
		u.values[value] = selected
	}
	return u
}

// valueIn returns the value of the discriminator in an object: "" if it is absent or null (rule U3). It is false where
// the value is no string, which is left to schema validation (rule R1).
func (u *union) valueIn(object map[string]any) (value string, ok bool) {
	switch value := object[u.discriminator].(type) {
	case nil:
		return "", true
	case string:
		return value, true
	default:
		return "", false
	}
}

// selected returns what a value selects: no member if it is none of the union's.
func (u *union) selected(value string) int {
	if s, known := u.values[value]; known {
		return s.member
	}
	return noMember
}

// unselected returns the members that are set in an object, but for the selected one, as indexes.
func (u *union) unselected(object map[string]any, selected int) []int {
	var found []int
	for i := range u.members {
		if i != selected && object[u.members[i].name] != nil {
			found = append(found, i)
		}
	}
	return found
}

// hasUnselected tells whether there is any such member. others is how many fields the object has beside the
// discriminator and the selected member: mostly none, and then there is nothing to look for.
func (u *union) hasUnselected(object map[string]any, selected, others int) bool {
	switch {
	case others == 0:
		return false
	case isSmall(object, len(u.members)):
		return u.hasUnselectedAmong(object, selected)
	}
	for i := range u.members {
		if i != selected && object[u.members[i].name] != nil {
			return true
		}
	}
	return false
}

// isSmall tells whether it is cheaper to look at all fields of an object than to look that many up in it. A step of a
// range over a map costs about as much as three look-ups.
func isSmall(object map[string]any, lookups int) bool { return 3*len(object) < lookups }

func (u *union) hasUnselectedAmong(object map[string]any, selected int) bool {
	for name, value := range object {
		if value == nil {
			continue
		}
		if i, isMember := slices.BinarySearchFunc(u.members, name, compareName); isMember && i != selected {
			return true
		}
	}
	return false
}

func compareName(m member, name string) int { return cmp.Compare(m.name, name) }

// isValid tells whether a union has no error (rule U6). It is all that a valid object costs, so it is done without
// knowing where the union is and what old has.
func (u *union) isValid(object map[string]any) bool {
	discriminator, present := object[u.discriminator]
	value, isString := discriminator.(string)
	if !isString && discriminator != nil {
		return true // as in valueIn
	}
	s, known := u.values[value]
	if !known {
		return false
	}
	others := len(object)
	if present {
		others--
	}
	if s.member != noMember {
		value, present := object[u.members[s.member].name]
		if value == nil && !s.optional {
			return false
		}
		if present {
			others--
		}
	}
	return !u.hasUnselected(object, s.member, others)
}

// isUnchanged tells whether the union's own fields are the same in both objects. It takes a null for absent: neither
// is set.
func (u *union) isUnchanged(object, old map[string]any) bool {
	if !jsonvalue.Equal(object[u.discriminator], old[u.discriminator]) {
		return false
	}
	for i := range u.members {
		if name := u.members[i].name; !jsonvalue.Equal(object[name], old[name]) {
			return false
		}
	}
	return true
}
