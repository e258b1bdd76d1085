// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"sort"

	"k8s.io/apiextensions-apiserver/pkg/fairleadline"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
)

// Write is a write of which the object was changed after field management.
type Write struct {
	// Before are the entries that field management started from, nil on create.
	Before []metav1.ManagedFieldsEntry
	// After are the entries that it made.
	After []metav1.ManagedFieldsEntry
	// Objects returns the objects in the version of an entry, or nil if the entry is to be left alone. changed reports
	// whether field management changed the entry.
	Objects func(apiVersion string, changed bool) (*Objects, error)
	// SameFields reports whether two versions have the same fields at the same paths.
	SameFields func(apiVersion, other string) bool
	// Applier is who made a server-side apply request, nil for all other requests.
	Applier *Applier
}

// Objects are the states of the object in one version.
type Objects struct {
	// Old is the persisted object, nil on create.
	Old map[string]any
	// Requested is the object that the request would persist if there were no gates and no unions. Field management saw it.
	Requested map[string]any
	// Final is the object that will be persisted.
	Final map[string]any
}

// Applier is who made a server-side apply request.
type Applier struct {
	// Manager and Subresource are those of the applier's entry.
	Manager, Subresource string
	// Configuration is what the manager sent, Adjusted what field management applied instead.
	Configuration, Adjusted map[string]any
	// DisabledFields is the cursor over the disabled fields at the root of the object, or nil if the paths of the gates do
	// not apply in the version of the configuration.
	DisabledFields *fieldgate.Cursor
}

// Correct returns the entries as they should be, in the order in which field management stores them, or nil if there are
// none.
//
// An entry that field management removed is added if any of its fields are restored. Entries that cannot be decoded
// are an error only where field management made them: it has forgiven those that it started from.
func Correct(w Write) ([]metav1.ManagedFieldsEntry, error) {
	c := correcting{
		Write: w, before: decodeBefore(w.Before), seen: map[identity]bool{},
		byVersion: map[view]*Objects{}, states: map[*Objects]states{},
	}
	for _, entry := range w.After {
		after, err := decode(entry)
		if err != nil {
			return nil, err
		}
		if err := c.correct(entry, after); err != nil {
			return nil, err
		}
	}
	for _, entry := range w.Before {
		if err := c.restore(entry); err != nil {
			return nil, err
		}
	}
	if len(c.corrected) == 0 {
		return nil, nil // an object without managedFields has no empty list of them
	}
	sortEntries(c.corrected)
	return inOrderOf(c.corrected, w.Before), nil
}

// correcting is a write while its entries are corrected.
type correcting struct {
	Write
	before    map[identity]decoded
	seen      map[identity]bool // of those that were corrected
	corrected []metav1.ManagedFieldsEntry
	// The objects of a version are asked for, and prepared, once for all entries.
	byVersion map[view]*Objects
	states    map[*Objects]states
}

// view is what Write.Objects is asked for.
type view struct {
	apiVersion string
	changed    bool
}

// statesOf returns the states of the objects in a view, and whether its entries are to be corrected.
func (c *correcting) statesOf(v view) (states, bool, error) {
	objects, known := c.byVersion[v]
	if !known {
		var err error
		if objects, err = c.Objects(v.apiVersion, v.changed); err != nil {
			return states{}, false, err
		}
		c.byVersion[v] = objects
		if _, prepared := c.states[objects]; !prepared && objects != nil {
			c.states[objects] = statesOf(objects)
		}
	}
	return c.states[objects], objects != nil, nil
}

// restore corrects an entry that field management removed.
func (c *correcting) restore(entry metav1.ManagedFieldsEntry) error {
	was, known := c.before[identityOf(entry)]
	if !known || c.seen[identityOf(entry)] {
		return nil
	}
	return c.correct(was.entry, fairleadline.NewSet())
}

// correct adds an entry as it should be, unless nothing is left of it. after are the fields that field management gave it.
func (c *correcting) correct(entry metav1.ManagedFieldsEntry, after *fairleadline.Set) error {
	was := c.before[identityOf(entry)]
	c.seen[identityOf(entry)] = true
	before := was.fields
	if before == nil || !c.SameFields(was.entry.APIVersion, entry.APIVersion) {
		before = fairleadline.NewSet()
	}
	objects, found, err := c.statesOf(view{entry.APIVersion, !after.Equals(before)})
	if err != nil {
		return err
	}
	fields := after
	if found {
		fields = correction{after: after, before: before}.correct(objects, c.applierOf(entry))
	}
	if fields.Empty() {
		return nil
	}
	if !fields.Equals(after) {
		if entry.FieldsV1, err = was.encode(entry, fields); err != nil {
			return err
		}
	}
	c.corrected = append(c.corrected, entry)
	return nil
}

// applierOf returns the applier if the entry is that of the request, else nil.
func (w *Write) applierOf(entry metav1.ManagedFieldsEntry) *Applier {
	a := w.Applier
	if a == nil || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Manager != a.Manager || entry.Subresource != a.Subresource {
		return nil
	}
	return a
}

// identity is what makes two entries those of one manager, as upstream's BuildManagerIdentifier has it: an applier is
// the same in all versions.
type identity struct {
	manager, apiVersion, subresource string
	operation                        metav1.ManagedFieldsOperationType
}

func identityOf(entry metav1.ManagedFieldsEntry) identity {
	id := identity{manager: entry.Manager, operation: entry.Operation, subresource: entry.Subresource}
	if entry.Operation != metav1.ManagedFieldsOperationApply {
		id.apiVersion = entry.APIVersion
	}
	return id
}

// decoded is an entry with its fields.
type decoded struct {
	entry  metav1.ManagedFieldsEntry
	fields *fairleadline.Set
}

// encode returns the fields of an entry that was this one before, to the byte as they were if they are the same.
func (d decoded) encode(entry metav1.ManagedFieldsEntry, fields *fairleadline.Set) (*metav1.FieldsV1, error) {
	if d.fields != nil && d.entry.APIVersion == entry.APIVersion && fields.Equals(d.fields) {
		return d.entry.FieldsV1, nil
	}
	raw, err := fields.ToJSON()
	if err != nil {
		return nil, fmt.Errorf("encoding the fields of manager %q: %w", entry.Manager, err)
	}
	return fairleadline.NewFields(string(raw)), nil
}

// decodeBefore returns the entries that field management started from. Like it, it takes none where one of them cannot
// be decoded, and the last where several are of one manager.
func decodeBefore(entries []metav1.ManagedFieldsEntry) map[identity]decoded {
	before := make(map[identity]decoded, len(entries))
	for _, entry := range entries {
		fields, err := decode(entry)
		if err != nil {
			return nil
		}
		before[identityOf(entry)] = decoded{entry: entry, fields: fields}
	}
	return before
}

// decode returns the fields of an entry. It refuses what upstream's field manager cannot decode.
func decode(entry metav1.ManagedFieldsEntry) (*fairleadline.Set, error) {
	switch {
	case entry.Operation != metav1.ManagedFieldsOperationApply && entry.Operation != metav1.ManagedFieldsOperationUpdate:
		return nil, fmt.Errorf("operation of manager %q must be Apply or Update", entry.Manager)
	case entry.APIVersion == "":
		return nil, fmt.Errorf("apiVersion of manager %q must not be empty", entry.Manager)
	case entry.FieldsType != "FieldsV1":
		return nil, fmt.Errorf("fieldsType of manager %q must be FieldsV1", entry.Manager)
	}
	fields := fairleadline.NewSet()
	if entry.FieldsV1 == nil {
		return fields, nil
	}
	if err := fields.FromJSON(fairleadline.FieldsReader(entry.FieldsV1)); err != nil {
		return nil, fmt.Errorf("decoding the fields of manager %q: %w", entry.Manager, err)
	}
	return fields, nil
}

// sortEntries sorts as upstream's field manager does when it encodes entries.
func sortEntries(entries []metav1.ManagedFieldsEntry) {
	sort.SliceStable(entries, func(i, j int) bool {
		a, b := &entries[i], &entries[j]
		switch {
		case a.Operation != b.Operation:
			return a.Operation < b.Operation
		case seconds(a) != seconds(b):
			return seconds(a) < seconds(b)
		case a.Manager != b.Manager:
			return a.Manager < b.Manager
		case a.APIVersion != b.APIVersion:
			return a.APIVersion < b.APIVersion
		}
		return a.Subresource < b.Subresource
	})
}

func seconds(entry *metav1.ManagedFieldsEntry) int64 {
	if entry.Time == nil {
		return 0
	}
	return entry.Time.Unix()
}

// inOrderOf returns the entries in the order of others, if they differ from them in nothing but times. Upstream's store
// compares entries in their order when it decides whether a request changed anything (rule G6).
func inOrderOf(entries, others []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	if len(entries) != len(others) {
		return entries
	}
	byIdentity := make(map[identity]metav1.ManagedFieldsEntry, len(entries))
	for _, entry := range entries {
		byIdentity[identityOf(entry)] = entry
	}
	ordered := make([]metav1.ManagedFieldsEntry, 0, len(entries))
	for i := range others {
		entry, found := byIdentity[identityOf(others[i])]
		if !found || !isSameButTime(entry, others[i]) {
			return entries
		}
		ordered = append(ordered, entry)
	}
	return ordered
}

func isSameButTime(a, b metav1.ManagedFieldsEntry) bool {
	return a.APIVersion == b.APIVersion && a.FieldsV1 != nil && b.FieldsV1 != nil &&
		fairleadline.FieldsText(a.FieldsV1) == fairleadline.FieldsText(b.FieldsV1)
}
