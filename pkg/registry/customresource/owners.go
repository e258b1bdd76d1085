// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/ownership"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// fieldManagement is what a request remembers of the field management of its last attempt. managedFields are kept as
// they are in the objects: to decode them costs as much as a write, and few writes need them.
type fieldManagement struct {
	// done reports whether it ran, leftEntries whether it left any entries.
	done, leftEntries bool
	// sent are the managedFields that the client sent with an update.
	sent any
	// applier is who made a server-side apply request, or nil.
	applier *ownership.Applier
	// adjusted reports whether the applier's configuration was adjusted.
	adjusted bool
	// conflict is what the gates do to the configuration as the applier sent it, if that was in conflict.
	conflict *fieldgate.Result
}

// managedFields returns the managedFields of an object as they are in it, or nil if there are none.
func managedFields(u *unstructured.Unstructured) any {
	entries, _, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields")
	return entries
}

// setManagedFields is the opposite. managedFields are copied.
func setManagedFields(u *unstructured.Unstructured, managedFields any) {
	if metadata, ok := u.Object["metadata"].(map[string]any); ok && managedFields != nil {
		metadata["managedFields"] = runtime.DeepCopyJSONValue(managedFields)
	}
}

// entriesOf decodes what managedFields returned.
func entriesOf(managedFields any) []metav1.ManagedFieldsEntry {
	u := unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": managedFields}}}
	return u.GetManagedFields()
}

// configuration returns what the manager of a server-side apply request sent, or nil if it is no such request.
func (m *fieldManagement) configuration() map[string]any {
	if m.applier == nil {
		return nil
	}
	return m.applier.Configuration
}

// BeforeApply implements fieldmanager.Participant: disabled fields of the configuration are adjusted (rules G4, G7).
func (r *Request) BeforeApply(live, configuration runtime.Object, manager string) runtime.Object {
	r.managed = fieldManagement{done: true}
	persisted, ok := live.(*unstructured.Unstructured)
	sent, isObject := configuration.(*unstructured.Unstructured)
	if !ok || !isObject {
		return configuration
	}
	e := r.endpoint
	r.managed.applier = &ownership.Applier{
		Manager: manager, Subresource: e.subresource(), Configuration: sent.Object, Adjusted: sent.Object,
	}
	if e.gates == nil || !e.pathsApply() {
		return configuration
	}
	root, _ := e.gates.DisabledFields(e.scope)
	r.managed.applier.DisabledFields = &root
	adjusted, changed := e.gates.AdjustConfiguration(sent.Object, persisted.Object, e.schema(), e.scope)
	return r.applyAdjusted(adjusted, changed)
}

func (r *Request) applyAdjusted(adjusted map[string]any, changed bool) runtime.Object {
	r.managed.applier.Adjusted, r.managed.adjusted = adjusted, changed
	return &unstructured.Unstructured{Object: adjusted}
}

// AfterConflict implements fieldmanager.Participant. Where a webhook converts, nobody knows where a version other than
// the stored one has the disabled fields: they are those that the gates set back (rule G7.3).
func (r *Request) AfterConflict(live, configuration runtime.Object, forced func() (runtime.Object, error)) runtime.Object {
	e := r.endpoint
	sent, ok := configuration.(*unstructured.Unstructured)
	if !ok || e.gates == nil || e.pathsApply() {
		return nil
	}
	obj, err := forced()
	requested, ok := obj.(*unstructured.Unstructured)
	if err != nil || !ok {
		return nil
	}
	final := &unstructured.Unstructured{Object: requested.Object}
	try := &Request{endpoint: e}
	if stored, err := try.evaluateConverted(final, persistedObject(live)); err != nil || stored == nil {
		return nil // the conflict is what there is to say
	}
	r.managed.conflict = try.outcome
	return r.applyAdjusted(adjustedBy(sent.Object, requested.Object, final.Object))
}

// adjustedBy returns a configuration with what became of its fields in final, where that is not what was requested. It
// reports whether there is such a field. The configuration itself is left alone.
func adjustedBy(configuration, requested, final map[string]any) (map[string]any, bool) {
	out, changed := maps.Clone(configuration), false
	for name, value := range configuration {
		became, stays := final[name]
		if name == "metadata" || jsonvalue.Equal(requested[name], became) {
			continue
		}
		changed = true
		fields, isObject := value.(map[string]any)
		finalFields, staysObject := became.(map[string]any)
		switch {
		case !stays:
			delete(out, name)
		case isObject && staysObject:
			requestedFields, _ := requested[name].(map[string]any)
			out[name], _ = adjustedBy(fields, requestedFields, finalFields)
		default:
			out[name] = runtime.DeepCopyJSONValue(became)
		}
	}
	return out, changed
}

// BeforeUpdate implements fieldmanager.Participant.
func (r *Request) BeforeUpdate(_, newObj runtime.Object) {
	r.managed = fieldManagement{done: true}
	if u, ok := newObj.(*unstructured.Unstructured); ok {
		r.managed.sent = managedFields(u)
	}
}

// AfterUpdateError implements fieldmanager.ErrorResolver. A value of the wrong type fails field management, and then
// schema validation, but for a disabled field, which a gate drops or keeps: owners follow from what that makes of it.
func (r *Request) AfterUpdateError(live, newObj runtime.Object) runtime.Object {
	e := r.endpoint
	sent, ok := newObj.(*unstructured.Unstructured)
	if !ok || e.gates == nil || !e.pathsApply() {
		return nil
	}
	u := sent.DeepCopy()
	setManagedFields(u, r.managed.sent) // which field management has taken out
	write := fieldgate.Write{Object: u.Object, Scope: e.scope}
	if persisted := persistedObject(live); persisted != nil {
		write.Old = persisted.Object
	}
	if !e.gates.Evaluate(write).ChangedObject() {
		return nil
	}
	return u
}

// AfterUpdate implements fieldmanager.Participant.
func (r *Request) AfterUpdate(newObj runtime.Object, err error) {
	if err != nil {
		r.managed.sent = nil // the persisted ones are taken
	}
	if u, ok := newObj.(*unstructured.Unstructured); ok {
		r.managed.leftEntries = managedFields(u) != nil
	}
}

// subresource returns the subresource in the managedFields of the endpoint's writes.
func (e *Endpoint) subresource() string {
	switch {
	case e.isScale:
		return "scale"
	case e.scope == scope.OnlyStatus:
		return "status"
	}
	return ""
}

// correctOwners makes managedFields of an object say what field management would have said of what became of it since
// (rules G7, U8). old is nil on create. requested is the object as field management saw it.
func (r *Request) correctOwners(u, old *unstructured.Unstructured, requested map[string]any, stored *ownership.Objects) error {
	after := u.GetManagedFields()
	if !r.mustCorrect(old, after) {
		return nil
	}
	here := &ownership.Objects{Requested: requested, Final: u.Object}
	if old != nil {
		here.Old = old.Object
	}
	views := objectViews{plan: r.endpoint.plan, version: u.GetAPIVersion(), here: here, stored: stored}
	entries, err := ownership.Correct(ownership.Write{
		Before: r.before(old), After: after, Applier: r.managed.applier,
		Objects: views.in, SameFields: r.endpoint.plan.haveSameFields,
	})
	if err != nil {
		return err
	}
	u.SetManagedFields(entries)
	return nil
}

// before returns the entries that field management started from. Scale works on an object of its own, and takes all
// from the persisted one.
func (r *Request) before(old *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	switch {
	case old == nil:
		return nil
	case r.endpoint.isScale, r.managed.applier != nil:
		return old.GetManagedFields()
	}
	return ownership.Before(old.GetManagedFields(), entriesOf(r.managed.sent), r.endpoint.subresource() != "")
}

// mustCorrect reports whether the object has managedFields to correct. It has none to correct where field management
// did not run, or where somebody removed what it left: upstream's handlers do that when an object is too large.
func (r *Request) mustCorrect(old *unstructured.Unstructured, after []metav1.ManagedFieldsEntry) bool {
	if old == nil || r.endpoint.isScale {
		return true
	}
	return r.managed.done && (len(after) > 0 || !r.managed.leftEntries)
}

// objectViews returns the objects of a write in the versions of managedFields.
type objectViews struct {
	plan    *Plan
	version string // of the request, as group and version
	here    *ownership.Objects
	// stored are the objects in the storage version where a gate changed the object, else nil.
	stored *ownership.Objects
}

// in implements ownership.Write.Objects. Where a webhook converts, other versions are converted to only for what a
// gate changed: what normalization cleared is left alone there (rule U8).
func (v *objectViews) in(apiVersion string, changed bool) (*ownership.Objects, error) {
	switch {
	case v.plan.haveSameFields(apiVersion, v.version):
		return v.here, nil
	case v.plan.convertor == nil || v.stored == nil || !changed || !v.plan.serves(apiVersion):
		return nil, nil
	case apiVersion == v.plan.storage.String():
		return v.stored, nil
	}
	return v.plan.convertObjects(v.stored, apiVersion)
}
