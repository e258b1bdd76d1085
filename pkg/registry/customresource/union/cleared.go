// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Cleared is a union of which Normalize cleared members.
type Cleared struct {
	// Ordinal is the index of the union within the schema. It is the same for all items of a list, and all values of a map.
	Ordinal int
	// Discriminator is the name of the discriminator's field.
	Discriminator string
	// From is the persisted value of the discriminator: "" if it is absent (rule U3), and no string where an older
	// schema of the CRD had another type.
	From any
	// To is the requested value.
	To string
	// Members are the names of the cleared members, in alphabetical order.
	Members []string
	// Path leads to the object that holds the union. It is empty for the root.
	Path []Step
}

// Step leads from an object to a value in it: to a field or the value of a map by Name, or to an item of a list map
// by its Keys.
type Step struct {
	// Name of the field, or key in the map. It has no meaning where Keys is set.
	Name string
	// Keys are the key fields that the item of a list map has, by name; nil for a field.
	Keys map[string]any
	// Index is the position of the item in its list.
	Index int
}

// MemberPath returns the path of a member of the union as in validation errors, such as spec.items[2].git. Paths are
// made when they are asked for: the name of a field may be long, and many unions below it.
func (c Cleared) MemberPath(member string) string {
	return fieldPath(c.objectPath(), member)
}

// DiscriminatorPath returns the path of the discriminator, in the same form.
func (c Cleared) DiscriminatorPath() string {
	return fieldPath(c.objectPath(), c.Discriminator)
}

func (c Cleared) objectPath() string {
	path := ""
	for _, step := range c.Path {
		if step.Keys != nil {
			path = itemPath(path, step.Index)
		} else {
			path = fieldPath(path, step.Name)
		}
	}
	return path
}

// compareCleared orders by the positions in the object: an object before what is in it, fields and keys of maps in
// alphabetical order, items as in their list.
func compareCleared(a, b Cleared) int {
	return cmp.Or(slices.CompareFunc(a.Path, b.Path, compareSteps), cmp.Compare(a.Ordinal, b.Ordinal))
}

func compareSteps(a, b Step) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Index, b.Index))
}

// Warning returns what the client is told (rule V3), without the prefix that clients add.
func (c Cleared) Warning() string {
	members := make([]string, len(c.Members))
	for i, member := range c.Members {
		members[i] = c.MemberPath(member)
	}
	return fmt.Sprintf("%s: cleared: %s changed from %s to %q",
		strings.Join(members, ", "), c.DiscriminatorPath(), quote(c.From), c.To)
}

// maxWarnings is how many warnings a request gets at most (rule V3).
const maxWarnings = 20

// Warnings returns what the client is told of all unions: one warning for each, at most 20, of which the last counts
// the rest (rule V3).
func Warnings(cleared []Cleared) []string {
	var warnings []string
	for i, c := range cleared {
		if rest := len(cleared) - i; i == maxWarnings-1 && rest > 1 {
			return append(warnings, fmt.Sprintf("members of %d more unions: cleared: their discriminators changed", rest))
		}
		warnings = append(warnings, c.Warning())
	}
	return warnings
}
