// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
)

// disown takes fields that a gate set back from the owners that this request made of them (rule G7). It is for a
// version whose fields the gates do not speak of, where reset fields cannot do it: asked is the object before the
// evaluation, settled after it, both of that version. old is nil on create.
func disown(settled *unstructured.Unstructured, asked map[string]any, old *unstructured.Unstructured) error {
	entries := settled.GetManagedFields()
	var kept []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		if entry.APIVersion == settled.GetAPIVersion() && entry.FieldsV1 != nil && !isPersisted(entry, old) {
			empty, err := disownEntry(&entry, asked, settled.Object)
			if err != nil {
				return err
			}
			if empty {
				continue
			}
		}
		kept = append(kept, entry)
	}
	settled.SetManagedFields(kept)
	return nil
}

// isPersisted tells whether the request left an entry as it was.
func isPersisted(entry metav1.ManagedFieldsEntry, old *unstructured.Unstructured) bool {
	if old == nil {
		return false
	}
	for _, persisted := range old.GetManagedFields() {
		if apiequality.Semantic.DeepEqual(entry, persisted) {
			return true
		}
	}
	return false
}

// disownEntry tells whether nothing is left of the entry.
func disownEntry(entry *metav1.ManagedFieldsEntry, asked, settled map[string]any) (empty bool, err error) {
	var fields map[string]any
	if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
		return false, err
	}
	disownFields(fields, asked, settled)
	raw, err := json.Marshal(fields)
	if err != nil {
		return false, err
	}
	entry.FieldsV1 = metav1.NewFieldsV1(string(raw))
	return len(fields) == 0, nil
}

// disownFields removes from a set of fields, as managedFields write it, those whose values differ. A field of the set
// is a leaf if nothing is below it.
func disownFields(fields map[string]any, asked, settled any) {
	find := pairs{asked: asked, settled: settled}
	for key, below := range fields {
		askedValue, settledValue := find.at(key)
		if jsonvalue.Equal(askedValue, settledValue) {
			continue
		}
		belowFields, _ := below.(map[string]any)
		isLeaf := len(belowFields) == 0
		if !isLeaf {
			disownFields(belowFields, askedValue, settledValue)
		}
		if isLeaf || len(belowFields) == 0 {
			delete(fields, key)
		}
	}
}

// pairs finds what a key of a set of fields means in two values.
type pairs struct {
	asked, settled           any
	askedItems, settledItems *jsonvalue.ListMap
}

// at returns the fields f:name, or the items with the keys k:{...}. All else, the value itself and the items of a set,
// is told by the value around it, and the same on both sides.
func (p *pairs) at(key string) (asked, settled any) {
	if name, ok := strings.CutPrefix(key, "f:"); ok {
		askedObject, _ := p.asked.(map[string]any)
		settledObject, _ := p.settled.(map[string]any)
		return askedObject[name], settledObject[name]
	}
	if text, ok := strings.CutPrefix(key, "k:"); ok {
		var keys map[string]any
		if json.Unmarshal([]byte(text), &keys) == nil {
			return p.items(keys)
		}
	}
	return nil, nil
}

// items indexes the lists once; all items of a list map have the same keys.
func (p *pairs) items(keys map[string]any) (asked, settled any) {
	if p.askedItems == nil {
		names := slices.Sorted(maps.Keys(keys))
		askedList, _ := p.asked.([]any)
		settledList, _ := p.settled.([]any)
		askedItems, settledItems := jsonvalue.NewListMap(askedList, names), jsonvalue.NewListMap(settledList, names)
		p.askedItems, p.settledItems = &askedItems, &settledItems
	}
	return orNil(p.askedItems.Get(keys, math.MaxInt)), orNil(p.settledItems.Get(keys, math.MaxInt))
}

// orNil keeps a nil map from becoming an interface that is not nil.
func orNil(item map[string]any) any {
	if item == nil {
		return nil
	}
	return item
}
