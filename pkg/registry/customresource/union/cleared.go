// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Cleared describes a union of which Normalize cleared members.
type Cleared struct {
	// Ordinal is the index of the union within the schema. All items of a list, and all values of a map, share it.
	Ordinal int
	// Discriminator is the field name of the discriminator.
	Discriminator string
	// From is the persisted value of the discriminator, or "" if it is absent (rule U3). It is not a string if the field
	// was persisted with a schema of another type.
	From any
	// To is the requested value of the discriminator.
	To string
	// Members are the sorted names of the cleared members.
	Members []string
	// Path is the path of the object that holds the union. It is empty for the root.
	Path []Step
}

// Step is an element of a path. It selects a field of an object or a value of a map by Name, or an item of a list map
// by Keys.
type Step struct {
	// Name is the name of the field, or the key in the map. It is unset if Keys is set.
	Name string
	// Keys are the key fields that are present in the item of a list map, by name. It is nil for a field.
	Keys map[string]any
	// Index is the index of the item in its list.
	Index int
}

// MemberPath returns the path of a member as in validation errors, such as spec.items[2].git. Cleared does not store
// paths as text: if a map key is long, the paths of many unions below it would take a lot of memory.
func (c Cleared) MemberPath(member string) string {
	return fieldPath(c.objectPath(), member)
}

// discriminatorPath returns the path of the discriminator as in validation errors.
func (c Cleared) discriminatorPath() string {
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

// compareCleared orders by path and then by discriminator: an object comes before its fields, fields and map keys are
// sorted by name, and items are in the order of their list.
func compareCleared(a, b Cleared) int {
	return cmp.Or(slices.CompareFunc(a.Path, b.Path, compareSteps), cmp.Compare(a.Ordinal, b.Ordinal))
}

func compareSteps(a, b Step) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Index, b.Index))
}

// warning returns the text of the warning for the client (rule V3).
func (c Cleared) warning() string {
	members := make([]string, len(c.Members))
	for i, member := range c.Members {
		members[i] = c.MemberPath(member)
	}
	return fmt.Sprintf("%s: cleared: %s changed from %s to %q",
		strings.Join(members, ", "), c.discriminatorPath(), quote(c.From), c.To)
}

// maxWarnings is the maximum number of warnings for a request (rule V3).
const maxWarnings = 20

// Warnings returns a warning for each union. If there are more than maxWarnings unions, the last warning counts the
// rest (rule V3).
func Warnings(cleared []Cleared) []string {
	var warnings []string
	for i, c := range cleared {
		if rest := len(cleared) - i; i == maxWarnings-1 && rest > 1 {
			return append(warnings, fmt.Sprintf("members of %d more unions: cleared: their discriminators changed", rest))
		}
		warnings = append(warnings, c.warning())
	}
	return warnings
}
