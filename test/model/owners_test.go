// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// owners are the fields that entries of managedFields name, by the identity of the entry: manager, operation,
// subresource and, for all but apply, version.
type owners map[string]fieldSet

// fieldSet is the fields of an entry, by their text.
type fieldSet map[string]place

// ownersOf reads managedFields. An object that is not there has no owners.
func ownersOf(object map[string]any) owners {
	out := owners{}
	for _, entry := range (&unstructured.Unstructured{Object: object}).GetManagedFields() {
		version := entry.APIVersion
		if entry.Operation == "Apply" {
			version = ""
		}
		set := fieldSet{}
		set.add(nil, decode[map[string]any](entry.FieldsV1.GetRawString()))
		out[strings.Join([]string{entry.Manager, string(entry.Operation), entry.Subresource, version}, " ")] = set
	}
	return out
}

// add reads what FieldsV1 has below a place.
func (f fieldSet) add(at place, fields map[string]any) {
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

// in returns the fields at a place and inside of it.
func (f fieldSet) in(p place) fieldSet {
	out := fieldSet{}
	for text, field := range f {
		if p.contains(field) {
			out[text] = field
		}
	}
	return out
}

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

// applied returns the identity of an applier's entry.
func applied(manager, subresource string) string {
	return strings.Join([]string{manager, "Apply", subresource, ""}, " ")
}

// settled returns a copy of an object without what may differ between two equal writes: the resourceVersion, the
// times of managedFields, and what a dry run makes up.
func settled(object map[string]any) map[string]any {
	u := (&unstructured.Unstructured{Object: object}).DeepCopy()
	for _, field := range []string{"resourceVersion", "uid", "creationTimestamp", "name"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	entries := u.GetManagedFields()
	for i := range entries {
		entries[i].Time = nil
	}
	// They are sorted by time first.
	slices.SortFunc(entries, func(a, b metav1.ManagedFieldsEntry) int { return strings.Compare(a.String(), b.String()) })
	u.SetManagedFields(entries)
	return u.Object
}

// isRewritten reports whether a request wrote an object. What only changed the order of managedFields does not count:
// upstream sorts them by time, so that a request without effect changes the order when it comes a second later.
func isRewritten(before, after map[string]any) bool {
	if resourceVersion(before) == resourceVersion(after) {
		return false
	}
	return slices.Equal(entryOrder(before), entryOrder(after)) || !equal(settled(before), settled(after))
}

func entryOrder(object map[string]any) []string {
	var out []string
	for _, entry := range (&unstructured.Unstructured{Object: object}).GetManagedFields() {
		out = append(out, entry.Manager+" "+string(entry.Operation)+" "+entry.Subresource+" "+entry.APIVersion)
	}
	return out
}
