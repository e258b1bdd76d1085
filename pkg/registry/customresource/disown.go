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

// disown makes owners what they are when fields that a gate set back do not count (rule G7): whom this request made an
// owner of such a field is none, and who lost one to it has it again. It is for a version whose fields the gates do not
// speak of, where reset fields cannot do it: asked is the object before the evaluation, settled after it, both of that
// version. old is nil on create.
func disown(settled *unstructured.Unstructured, asked map[string]any, old *unstructured.Unstructured) error {
	entries := settled.GetManagedFields()
	var before []metav1.ManagedFieldsEntry
	if old != nil {
		before = old.GetManagedFields()
	}
	d := disowner{version: settled.GetAPIVersion(), asked: asked, settled: settled.Object}
	var kept []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		entry, err := d.entry(entry, counterpart(entry, before))
		if err != nil {
			return err
		}
		if entry != nil {
			kept = append(kept, *entry)
		}
	}
	for _, entry := range before {
		if counterpart(entry, entries) != nil {
			continue
		}
		// All that the manager owned went to this request; what a gate set back returns.
		gone := entry
		gone.FieldsV1 = metav1.NewFieldsV1("{}")
		restored, err := d.entry(gone, &entry)
		if err != nil {
			return err
		}
		if restored != nil {
			kept = append(kept, *restored)
		}
	}
	settled.SetManagedFields(kept)
	return nil
}

// counterpart returns the entry of the same manager.
func counterpart(entry metav1.ManagedFieldsEntry, entries []metav1.ManagedFieldsEntry) *metav1.ManagedFieldsEntry {
	for i := range entries {
		e := &entries[i]
		if e.Manager == entry.Manager && e.Operation == entry.Operation && e.APIVersion == entry.APIVersion && e.Subresource == entry.Subresource {
			return e
		}
	}
	return nil
}

type disowner struct {
	version        string
	asked, settled map[string]any
}

// entry returns an entry of managedFields as it should be, nil if it should not be. before is what it was, nil if it
// is new.
func (d disowner) entry(entry metav1.ManagedFieldsEntry, before *metav1.ManagedFieldsEntry) (*metav1.ManagedFieldsEntry, error) {
	if entry.APIVersion != d.version || entry.FieldsV1 == nil {
		return &entry, nil
	}
	if before != nil && apiequality.Semantic.DeepEqual(entry, *before) {
		return &entry, nil // the request left it alone
	}
	fields, err := decodeFields(entry)
	if err != nil {
		return nil, err
	}
	owned := map[string]any{}
	if before != nil {
		if owned, err = decodeFields(*before); err != nil {
			return nil, err
		}
	}
	lost := missing(owned, fields)
	disownFields(fields, d.asked, d.settled)
	keepSetBack(lost, d.asked, d.settled)
	merge(fields, lost)
	if len(fields) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	entry.FieldsV1 = metav1.NewFieldsV1(string(raw))
	return &entry, nil
}

func decodeFields(entry metav1.ManagedFieldsEntry) (map[string]any, error) {
	fields := map[string]any{}
	if entry.FieldsV1 == nil {
		return fields, nil
	}
	err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields)
	return fields, err
}

// missing returns the part of a set of fields that another one lacks.
func missing(fields, other map[string]any) map[string]any {
	lost := map[string]any{}
	for key, below := range fields {
		otherBelow, found := other[key].(map[string]any)
		belowFields, _ := below.(map[string]any)
		if !found {
			lost[key] = below
		} else if part := missing(belowFields, otherBelow); len(part) > 0 {
			lost[key] = part
		}
	}
	return lost
}

// keepSetBack removes from a set all but the fields that a gate set back.
func keepSetBack(fields map[string]any, asked, settled any) {
	find := pairs{asked: asked, settled: settled}
	for key, below := range fields {
		askedValue, settledValue := find.at(key)
		belowFields, _ := below.(map[string]any)
		isLeaf := len(belowFields) == 0
		if !isLeaf {
			keepSetBack(belowFields, askedValue, settledValue)
		}
		if len(belowFields) == 0 && (!isLeaf || jsonvalue.Equal(askedValue, settledValue)) {
			delete(fields, key)
		}
	}
}

// merge adds one set of fields to another.
func merge(fields, more map[string]any) {
	for key, below := range more {
		if existing, ok := fields[key].(map[string]any); ok {
			belowFields, _ := below.(map[string]any)
			merge(existing, belowFields)
		} else {
			fields[key] = below
		}
	}
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
	return jsonvalue.OrNil(p.askedItems.Get(keys, math.MaxInt)), jsonvalue.OrNil(p.settledItems.Get(keys, math.MaxInt))
}
