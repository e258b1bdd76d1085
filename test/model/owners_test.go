// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/line"
)

// owners are the fields that each managedFields entry lists. The key identifies the entry: manager, operation,
// subresource and, unless the operation is Apply, version.
type owners map[string]fieldSet

// fieldSet is a set of fields, by the text of their position.
type fieldSet map[string]position

// ownersOf reads managedFields. A nil object has no owners.
func ownersOf(object map[string]any) owners {
	out := owners{}
	for _, entry := range (&unstructured.Unstructured{Object: object}).GetManagedFields() {
		version := entry.APIVersion
		if entry.Operation == "Apply" {
			version = ""
		}
		set := fieldSet{}
		set.add(nil, decode[map[string]any](line.FieldsText(entry.FieldsV1)))
		out[strings.Join([]string{entry.Manager, string(entry.Operation), entry.Subresource, version}, " ")] = set
	}
	return out
}

// add adds what FieldsV1 lists below a position.
func (f fieldSet) add(at position, fields map[string]any) {
	for element, below := range fields {
		p := at
		if element != "." {
			p = at.child(element)
		}
		below := below.(map[string]any)
		if len(below) == 0 {
			f[p.String()] = p
		}
		f.add(p, below)
	}
}

// within returns the fields at a position or inside it.
func (f fieldSet) within(p position) fieldSet {
	out := fieldSet{}
	for text, field := range f {
		if p.contains(field) {
			out[text] = field
		}
	}
	return out
}

// texts returns the positions as sorted texts.
func (f fieldSet) texts() []string { return slices.Sorted(maps.Keys(f)) }

// minus returns the fields that other lacks.
func (f fieldSet) minus(other fieldSet) fieldSet {
	out := fieldSet{}
	for text, field := range f {
		if _, ok := other[text]; !ok {
			out[text] = field
		}
	}
	return out
}

// applyEntry returns the key of the entry of a manager that applies.
func applyEntry(manager, subresource string) string {
	return strings.Join([]string{manager, "Apply", subresource, ""}, " ")
}

// withoutVolatile returns a copy of an object without what may differ between two equal writes: the resourceVersion,
// the times of managedFields, and what a dry run generates.
func withoutVolatile(object map[string]any) map[string]any {
	u := (&unstructured.Unstructured{Object: object}).DeepCopy()
	for _, field := range []string{"resourceVersion", "uid", "creationTimestamp", "name"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	entries := u.GetManagedFields()
	for i := range entries {
		entries[i].Time = nil
	}
	// The server sorts them by time first.
	slices.SortFunc(entries, func(a, b metav1.ManagedFieldsEntry) int { return strings.Compare(a.String(), b.String()) })
	u.SetManagedFields(entries)
	return u.Object
}

// isRewritten reports whether a request changed the persisted object. Another order of the managedFields entries alone
// does not count: upstream sorts them by time, so a request without effect may change the order if it is sent a second
// later.
func isRewritten(before, after map[string]any) bool {
	if resourceVersion(before) == resourceVersion(after) {
		return false
	}
	return slices.Equal(entryOrder(before), entryOrder(after)) || !equal(withoutVolatile(before), withoutVolatile(after))
}

func entryOrder(object map[string]any) []string {
	var out []string
	for _, entry := range (&unstructured.Unstructured{Object: object}).GetManagedFields() {
		out = append(out, entry.Manager+" "+string(entry.Operation)+" "+entry.Subresource+" "+entry.APIVersion)
	}
	return out
}
