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
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
)

// settlement is what an evaluation made of a write in a version whose fields the gates do not speak of. Upstream's
// reset fields cannot keep managedFields true there, so that is done here, afterwards (rule G7).
type settlement struct {
	// settled is the object after the evaluation, asked what it was before.
	settled *unstructured.Unstructured
	asked   map[string]any
	// old is the persisted object in the same version, nil on create.
	old *unstructured.Unstructured
	// applied is the configuration of an apply, nil for all other writes.
	applied map[string]any
	// without returns the settled object without any disabled field, nil where it has none. It costs a conversion.
	without func() (map[string]any, error)
}

// disown makes owners what they are when disabled fields do not count: whom this request made an owner of a field that
// a gate set back is none, who lost one to it has it again, and who made the request owns no disabled field, also if
// the evaluation left that as it was.
func (s settlement) disown() error {
	entries := s.settled.GetManagedFields()
	var before []metav1.ManagedFieldsEntry
	if s.old != nil {
		before = s.old.GetManagedFields()
	}
	d := disowner{version: s.settled.GetAPIVersion(), asked: s.asked, settled: s.settled.Object}
	entries = append(entries, d.gone(entries, before)...)
	writer, err := s.writer(entries, before)
	if err != nil {
		return err
	}
	if writer != nil {
		if d.without, err = s.without(); err != nil {
			return err
		}
		d.writer = writer
	}
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
	s.settled.SetManagedFields(kept)
	return nil
}

// writer returns the entry of who made the request, as far as managedFields tell, nil where they do not: then what the
// request left alone has the owners that it had. On create there is nothing to tell, since what was not set back is
// not disabled.
func (s settlement) writer(entries, before []metav1.ManagedFieldsEntry) (*metav1.ManagedFieldsEntry, error) {
	if s.old == nil {
		return nil, nil
	}
	var candidates []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		if entry.APIVersion != s.settled.GetAPIVersion() {
			continue
		}
		fields, err := decodeFields(entry)
		if err != nil {
			return nil, err
		}
		if s.isWriter(entry.Operation, fields) {
			candidates = append(candidates, entry)
		}
	}
	if len(candidates) > 1 {
		// Several managers own the same. The request is of the one for whom it changed something.
		candidates = slices.DeleteFunc(candidates, func(entry metav1.ManagedFieldsEntry) bool {
			return isLeftAlone(entry, counterpart(entry, before))
		})
	}
	if len(candidates) != 1 {
		return nil, nil
	}
	return &candidates[0], nil
}

// isWriter tells whether a manager of these fields may have made the request: who applies owns exactly what it applied;
// who updates owns what it changed, and nobody else does.
func (s settlement) isWriter(operation metav1.ManagedFieldsOperationType, fields map[string]any) bool {
	if s.applied == nil {
		return operation == metav1.ManagedFieldsOperationUpdate && ownsChange(fields, s.old.Object, s.settled.Object)
	}
	if operation != metav1.ManagedFieldsOperationApply {
		return false
	}
	fields, applied := maps.Clone(fields), maps.Clone(s.applied)
	delete(fields, "f:metadata") // which is not owned as a whole
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(applied, name)
	}
	return len(fields) == len(applied) && isSetOf(fields, applied)
}

// ownsChange tells whether a set of fields has one that differs.
func ownsChange(fields map[string]any, old, settled any) bool {
	find := pairs{asked: old, settled: settled}
	for key, below := range fields {
		oldValue, settledValue := find.at(key)
		if jsonvalue.Equal(oldValue, settledValue) {
			continue
		}
		belowFields, _ := below.(map[string]any)
		if len(belowFields) == 0 || ownsChange(belowFields, oldValue, settledValue) {
			return true
		}
	}
	return false
}

// isSetOf tells whether a set of fields is that of a value. A field without anything below stands for any value: that
// of atomic ones is their own.
func isSetOf(fields map[string]any, value any) bool {
	find := pairs{asked: value}
	members := 0
	for key, below := range fields {
		if key == "." {
			continue
		}
		members++
		if strings.HasPrefix(key, "v:") {
			continue
		}
		member, _ := find.at(key)
		belowFields, _ := below.(map[string]any)
		if member == nil || !isSetOf(belowFields, member) {
			return false
		}
	}
	switch value := value.(type) {
	case map[string]any:
		return members == 0 || members == len(value)
	case []any:
		return members == 0 || members == len(value)
	}
	return members == 0
}

// counterpart returns the entry of the same manager.
func counterpart(entry metav1.ManagedFieldsEntry, entries []metav1.ManagedFieldsEntry) *metav1.ManagedFieldsEntry {
	for i := range entries {
		if isSameManager(entry, entries[i]) {
			return &entries[i]
		}
	}
	return nil
}

func isSameManager(a, b metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.APIVersion == b.APIVersion &&
		a.Subresource == b.Subresource
}

// isLeftAlone tells whether the request left an entry as it was before.
func isLeftAlone(entry metav1.ManagedFieldsEntry, before *metav1.ManagedFieldsEntry) bool {
	return before != nil && apiequality.Semantic.DeepEqual(entry, *before)
}

// disowner changes entries of managedFields. without is nil where no disabled field is there.
type disowner struct {
	version                 string
	asked, settled, without map[string]any
	writer                  *metav1.ManagedFieldsEntry // nil if unknown
}

// gone returns entries, with no fields, of managers that lost all they had to this request.
func (d disowner) gone(entries, before []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var gone []metav1.ManagedFieldsEntry
	for _, entry := range before {
		if entry.APIVersion == d.version && counterpart(entry, entries) == nil {
			entry.FieldsV1 = metav1.NewFieldsV1("{}")
			gone = append(gone, entry)
		}
	}
	return gone
}

// entry returns an entry of managedFields as it should be, nil if it should not be. before is what it was, nil if it
// is new.
func (d disowner) entry(entry metav1.ManagedFieldsEntry, before *metav1.ManagedFieldsEntry) (*metav1.ManagedFieldsEntry, error) {
	if entry.APIVersion != d.version || entry.FieldsV1 == nil {
		return &entry, nil
	}
	isWriter := d.writer != nil && isSameManager(entry, *d.writer)
	if !isWriter && isLeftAlone(entry, before) {
		return &entry, nil
	}
	found, err := decodeFields(entry)
	if err != nil {
		return nil, err
	}
	owned := map[string]any{}
	if before != nil {
		if owned, err = decodeFields(*before); err != nil {
			return nil, err
		}
	}
	fields := runtime.DeepCopyJSON(found)
	lost := missing(owned, fields)
	disownFields(fields, d.asked, d.settled)
	keepSetBack(lost, d.asked, d.settled)
	merge(fields, lost)
	if isWriter && d.without != nil {
		lapse(fields, d.settled, d.without)
	}
	if len(fields) == 0 {
		return nil, nil
	}
	if jsonvalue.Equal(fields, found) {
		return &entry, nil // as upstream wrote it
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	entry.FieldsV1 = metav1.NewFieldsV1(string(raw))
	return &entry, nil
}

// lapse removes from a set of fields those that vanish without disabled fields. One that only changes has content of
// its own, and is its owner's. A value that a type without absence writes in its place is none.
func lapse(fields map[string]any, settled, without any) {
	find := pairs{asked: settled, settled: without}
	for key, below := range fields {
		value, rest := find.at(key)
		if jsonvalue.Equal(value, rest) {
			continue
		}
		belowFields, _ := below.(map[string]any)
		isLeaf := len(belowFields) == 0
		if rest == nil || (isLeaf && isEmpty(rest)) {
			delete(fields, key)
			continue
		}
		if lapse(belowFields, value, rest); !isLeaf && len(belowFields) == 0 {
			delete(fields, key)
		}
	}
}

// isEmpty tells whether a value is what Go types encode where nothing is set.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	case string:
		return value == ""
	case bool:
		return !value
	case int64:
		return value == 0
	case float64:
		return value == 0
	}
	return value == nil
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
		// Of an object that is not there nothing is owned, not even the object itself.
		if isLeaf || len(belowFields) == 0 || settledValue == nil {
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
