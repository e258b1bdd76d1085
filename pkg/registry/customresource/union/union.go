// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
)

// union is one union of an object.
type union struct {
	place         int // which one of the schema it is
	discriminator string
	members       []string          // in alphabetical order
	values        []string          // of the discriminator, in alphabetical order
	selections    []selection       // of the value with the same index
	gates         map[string]string // by member, the disabled feature gate that drops it; nil if none is dropped
}

// selection is what a value of the discriminator selects.
type selection struct {
	member   int // as an index into union.members, or noMember
	optional bool
}

const noMember = -1

// union compiles a union of the object at path.
func (c *compiler) union(discriminator string, declared *apiextensions.Unions, path fieldpath.Path) union {
	u := union{place: c.places, discriminator: discriminator, members: memberNames(discriminator, declared)}
	c.places++
	u.values = sets.List(sets.KeySet(declared.FieldMembers))
	u.selections = make([]selection, len(u.values))
	for i, value := range u.values {
		selected := declared.FieldMembers[value]
		u.selections[i] = selection{member: u.indexOf(selected.Name), optional: selected.Optional}
	}
	u.gates = c.gatesOf(path, u.members)
	return u
}

// memberNames returns the members in alphabetical order, each of them once. The discriminator is none of them.
func memberNames(discriminator string, declared *apiextensions.Unions) []string {
	names := sets.New[string]()
	for _, declaredMember := range declared.FieldMembers {
		if name := declaredMember.Name; name != "" && name != discriminator {
			names.Insert(name)
		}
	}
	return sets.List(names)
}

// gatesOf returns the disabled gates of the members of an object at path, nil if there are none.
func (c *compiler) gatesOf(path fieldpath.Path, members []string) map[string]string {
	if c.disabledGate == nil {
		return nil
	}
	var gates map[string]string
	for _, name := range members {
		gate := c.disabledGate(append(slices.Clip(path), fieldpath.Field(name)))
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
		switch selected := &u.selections[i]; {
		case selected.member == removed:
			selected.member = noMember
		case selected.member > removed:
			selected.member--
		}
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

// selection returns what a value selects. It is false for a value that is none of the union's.
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
		if i != selected && object[u.members[i]] != nil {
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
		if i, isMember := slices.BinarySearch(u.members, name); isMember && i != selected {
			return true
		}
	}
	return false
}

// isValid tells whether a union has no error (rule U6). It is all that a valid object costs, so it is done without
// knowing where the union is and what old has.
func (u *union) isValid(object map[string]any) bool {
	discriminator, present := object[u.discriminator]
	value, isString := discriminator.(string)
	if !isString && discriminator != nil {
		return true // as in valueIn
	}
	s, known := u.selection(value)
	if !known {
		return false
	}
	others := len(object)
	if present {
		others--
	}
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

// isUnchanged tells whether the union's own fields are the same in both objects. It takes a null for absent: neither
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
