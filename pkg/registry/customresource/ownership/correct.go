// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"sort"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/line"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
)

// Write is a write whose object was changed after field management.
type Write struct {
	// Before are the entries that field management started from. It is nil on create.
	Before []metav1.ManagedFieldsEntry
	// After are the entries that field management made.
	After []metav1.ManagedFieldsEntry
	// Objects returns the states of the object in the version of an entry, or nil if entries of that version are not to be
	// corrected. changed reports whether field management changed the fields of the entry.
	Objects func(apiVersion string, changed bool) (*Objects, error)
	// SameFields reports whether two versions have the same fields at the same paths.
	SameFields func(apiVersion, other string) bool
	// Applier is the manager of a server-side apply request. It is nil for other requests.
	Applier *Applier
}

// Objects are the states of the object in one version.
type Objects struct {
	// Old is the persisted object. It is nil on create.
	Old map[string]any
	// Requested is the object that the request would persist if there were no gates and no unions, and that field
	// management saw.
	Requested map[string]any
	// Final is the object that will be persisted.
	Final map[string]any
}

// Applier is the manager of a server-side apply request, with its configuration.
type Applier struct {
	// Manager and Subresource identify the entry of the applier.
	Manager, Subresource string
	// Configuration is the configuration in the request, and Adjusted the one that field management applied instead.
	Configuration, Adjusted map[string]any
	// DisabledFields is the cursor over the disabled fields at the root of the object, or nil if the paths of the gates do
	// not apply in the version of the configuration.
	DisabledFields *fieldgate.Cursor
}

// Correct returns the corrected entries of a write in the order in which field management stores them, or nil if there
// are none.
//
// It adds an entry that field management removed if one of its fields has its owner again. It returns an error if an
// entry of w.After cannot be decoded. If an entry of w.Before cannot be decoded, it uses none of them, as field
// management does.
func Correct(w Write) ([]metav1.ManagedFieldsEntry, error) {
	c := corrector{
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
		return nil, nil // an empty list would be set in the object
	}
	sortEntries(c.corrected)
	return inOrderOf(c.corrected, w.Before), nil
}

// corrector corrects the entries of a write.
type corrector struct {
	Write
	before    map[identity]decoded
	seen      map[identity]bool // the entries in w.After
	corrected []metav1.ManagedFieldsEntry
	// byVersion and states cache the objects, since several entries may have the same version.
	byVersion map[view]*Objects
	states    map[*Objects]states
}

// view has the arguments of Write.Objects.
type view struct {
	apiVersion string
	changed    bool
}

// statesOf returns the states of the object in a view. It returns false if entries of the view are not to be corrected.
func (c *corrector) statesOf(v view) (states, bool, error) {
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

// restore corrects an entry of w.Before if field management removed it.
func (c *corrector) restore(entry metav1.ManagedFieldsEntry) error {
	was, known := c.before[identityOf(entry)]
	if !known || c.seen[identityOf(entry)] {
		return nil
	}
	return c.correct(was.entry, line.NewSet())
}

// correct adds the corrected entry, unless it has no fields. after are the fields that field management gave it.
func (c *corrector) correct(entry metav1.ManagedFieldsEntry, after *line.Set) error {
	was := c.before[identityOf(entry)]
	c.seen[identityOf(entry)] = true
	before := was.fields
	if before == nil || !c.SameFields(was.entry.APIVersion, entry.APIVersion) {
		before = line.NewSet()
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

// applierOf returns the applier if an entry is its entry, or nil otherwise.
func (w *Write) applierOf(entry metav1.ManagedFieldsEntry) *Applier {
	a := w.Applier
	if a == nil || entry.Operation != metav1.ManagedFieldsOperationApply ||
		entry.Manager != a.Manager || entry.Subresource != a.Subresource {
		return nil
	}
	return a
}

// identity identifies an entry, as upstream's BuildManagerIdentifier does. An applier has one entry for all versions.
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

// decoded is an entry with its decoded fields.
type decoded struct {
	entry  metav1.ManagedFieldsEntry
	fields *line.Set
}

// encode returns the encoded fields of an entry. d is the entry before field management. If it has the same fields, its
// bytes are returned, so that upstream's store finds no difference.
func (d decoded) encode(entry metav1.ManagedFieldsEntry, fields *line.Set) (*metav1.FieldsV1, error) {
	if d.fields != nil && d.entry.APIVersion == entry.APIVersion && fields.Equals(d.fields) {
		return d.entry.FieldsV1, nil
	}
	raw, err := fields.ToJSON()
	if err != nil {
		return nil, fmt.Errorf("encoding the fields of manager %q: %w", entry.Manager, err)
	}
	return line.NewFields(string(raw)), nil
}

// decodeBefore decodes the entries that field management started from. Like field management, it returns nil if one of
// them cannot be decoded, and the last one if several have the same identity.
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

// decode returns the fields of an entry. It returns an error if upstream's field manager cannot decode the entry.
func decode(entry metav1.ManagedFieldsEntry) (*line.Set, error) {
	switch {
	case entry.Operation != metav1.ManagedFieldsOperationApply && entry.Operation != metav1.ManagedFieldsOperationUpdate:
		return nil, fmt.Errorf("operation of manager %q must be Apply or Update", entry.Manager)
	case entry.APIVersion == "":
		return nil, fmt.Errorf("apiVersion of manager %q must not be empty", entry.Manager)
	case entry.FieldsType != "FieldsV1":
		return nil, fmt.Errorf("fieldsType of manager %q must be FieldsV1", entry.Manager)
	}
	fields := line.NewSet()
	if entry.FieldsV1 == nil {
		return fields, nil
	}
	if err := fields.FromJSON(line.FieldsReader(entry.FieldsV1)); err != nil {
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

// inOrderOf returns the entries in the order of persisted if they differ in nothing but times. Upstream's store
// compares the encoded objects when it decides whether a request changed anything (rule G6).
func inOrderOf(entries, persisted []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	if len(entries) != len(persisted) {
		return entries
	}
	byIdentity := make(map[identity]metav1.ManagedFieldsEntry, len(entries))
	for _, entry := range entries {
		byIdentity[identityOf(entry)] = entry
	}
	ordered := make([]metav1.ManagedFieldsEntry, 0, len(entries))
	for i := range persisted {
		entry, found := byIdentity[identityOf(persisted[i])]
		if !found || !isEqualExceptTime(entry, persisted[i]) {
			return entries
		}
		ordered = append(ordered, entry)
	}
	return ordered
}

func isEqualExceptTime(a, b metav1.ManagedFieldsEntry) bool {
	return a.APIVersion == b.APIVersion && a.FieldsV1 != nil && b.FieldsV1 != nil &&
		line.FieldsText(a.FieldsV1) == line.FieldsText(b.FieldsV1)
}
