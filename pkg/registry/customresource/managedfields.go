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

// fieldManagement is what a Request keeps from the field management of its last attempt. managedFields are kept
// undecoded: to decode them costs as much as a write, and few writes need them.
type fieldManagement struct {
	// ran reports whether field management ran, and hasEntries whether its result has managedFields.
	ran, hasEntries bool
	// sent are the managedFields in the object of an update request.
	sent any
	// applier is the manager of a server-side apply request with its configuration. It is nil for other requests.
	applier *ownership.Applier
	// adjusted reports whether the applier's configuration was adjusted.
	adjusted bool
	// conflict is the outcome of AfterConflict: what the gates do to the applied configuration. It is nil if AfterConflict
	// changed nothing.
	conflict *fieldgate.Result
}

// managedFields returns the undecoded managedFields of an object, or nil if there are none.
func managedFields(u *unstructured.Unstructured) any {
	entries, _, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields")
	return entries
}

// setManagedFields sets a copy of undecoded managedFields in an object.
func setManagedFields(u *unstructured.Unstructured, managedFields any) {
	if metadata, ok := u.Object["metadata"].(map[string]any); ok && managedFields != nil {
		metadata["managedFields"] = runtime.DeepCopyJSONValue(managedFields)
	}
}

// entriesOf decodes the result of managedFields.
func entriesOf(managedFields any) []metav1.ManagedFieldsEntry {
	u := unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": managedFields}}}
	return u.GetManagedFields()
}

// configuration returns the applied configuration of a server-side apply request, or nil for other requests.
func (m *fieldManagement) configuration() map[string]any {
	if m.applier == nil {
		return nil
	}
	return m.applier.Configuration
}

// BeforeApply implements fieldmanager.Participant. It returns the configuration with its disabled fields as the gates
// will drop or keep them (rules G4, G7).
func (r *Request) BeforeApply(live, configuration runtime.Object, manager string) runtime.Object {
	r.managed = fieldManagement{ran: true}
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

// AfterConflict implements fieldmanager.ConflictResolver, for versions in which the paths of the gates do not apply. It
// evaluates the gates on the result of a forced apply, and returns the configuration with the fields as they are after
// that (rule G7.3).
func (r *Request) AfterConflict(
	live, configuration runtime.Object, forced func() (runtime.Object, error),
) runtime.Object {
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
		return nil // the client gets the conflict
	}
	r.managed.conflict = try.outcome
	return r.applyAdjusted(adjustedBy(sent.Object, requested.Object, final.Object))
}

// adjustedBy returns a copy of a configuration. Fields that differ between requested and final have the value of final,
// or are removed if final does not have them. It reports whether there are such fields.
func adjustedBy(configuration, requested, final map[string]any) (map[string]any, bool) {
	out, changed := maps.Clone(configuration), false
	for name, value := range configuration {
		finalValue, inFinal := final[name]
		if name == "metadata" || jsonvalue.Equal(requested[name], finalValue) {
			continue
		}
		changed = true
		fields, isObject := value.(map[string]any)
		finalFields, isFinalObject := finalValue.(map[string]any)
		switch {
		case !inFinal:
			delete(out, name)
		case isObject && isFinalObject:
			requestedFields, _ := requested[name].(map[string]any)
			out[name], _ = adjustedBy(fields, requestedFields, finalFields)
		default:
			out[name] = runtime.DeepCopyJSONValue(finalValue)
		}
	}
	return out, changed
}

// BeforeUpdate implements fieldmanager.Participant. It keeps the managedFields that the client sent.
func (r *Request) BeforeUpdate(_, newObj runtime.Object) {
	r.managed = fieldManagement{ran: true}
	if u, ok := newObj.(*unstructured.Unstructured); ok {
		r.managed.sent = managedFields(u)
	}
}

// AfterUpdateError implements fieldmanager.ErrorResolver. Field management fails if a value has the wrong type. The
// request may still succeed: the value may be that of a member that normalization clears, or that of a disabled field,
// which its gate drops or keeps. So AfterUpdateError returns the object without that value.
func (r *Request) AfterUpdateError(live, newObj runtime.Object) runtime.Object {
	sent, ok := newObj.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	u := sent.DeepCopy()
	setManagedFields(u, r.managed.sent) // field management has removed them from the object
	persisted := persistedObject(live)
	cleared := r.endpoint.clearMembers(u, persisted)
	evaluated := r.endpoint.evaluateGates(u, persisted)
	if !cleared && !evaluated {
		return nil
	}
	return u
}

// clearMembers normalizes the unions of u and reports whether that cleared anything.
func (e *Endpoint) clearMembers(u, persisted *unstructured.Unstructured) bool {
	if persisted == nil || !e.unions.Covers(e.scope) {
		return false
	}
	normalized, cleared := e.unions.Normalize(u.Object, persisted.Object, e.scope)
	u.Object = normalized
	return len(cleared) > 0
}

// evaluateGates evaluates the gates on u and reports whether that changed it. Gates whose paths do not apply to the
// version of the request are not evaluated.
func (e *Endpoint) evaluateGates(u, persisted *unstructured.Unstructured) bool {
	if e.gates == nil || !e.pathsApply() {
		return false
	}
	write := fieldgate.Write{Object: u.Object, Old: contentOf(persisted), Scope: e.scope}
	return e.gates.Evaluate(write).ChangedObject()
}

// AfterUpdate implements fieldmanager.Participant. It keeps whether there are managedFields to correct.
func (r *Request) AfterUpdate(newObj runtime.Object, err error) {
	if err != nil {
		r.managed.sent = nil // field management took those of the persisted object
	}
	if u, ok := newObj.(*unstructured.Unstructured); ok {
		r.managed.hasEntries = managedFields(u) != nil
	}
}

// subresource returns the subresource that managedFields have for writes of the endpoint.
func (e *Endpoint) subresource() string {
	switch {
	case e.isScale:
		return "scale"
	case e.scope == scope.OnlyStatus:
		return "status"
	}
	return ""
}

// correctManagedFields corrects the managedFields of u, the final object, for what normalization and the gates changed
// after field management (rules G7, U8). old is nil on create. requested is the object that field management saw.
// stored are the states of the object in the storage version, or nil if the gates changed nothing.
func (r *Request) correctManagedFields(
	u, old *unstructured.Unstructured, requested map[string]any, stored *ownership.Objects,
) error {
	after := u.GetManagedFields()
	if !r.mustCorrect(old, after) {
		return nil
	}
	objects := &ownership.Objects{Requested: requested, Final: u.Object}
	if old != nil {
		objects.Old = old.Object
	}
	views := objectViews{plan: r.endpoint.plan, apiVersion: u.GetAPIVersion(), objects: objects, stored: stored}
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

// before returns the entries that field management started from. For scale these are the entries of the persisted
// object, since field management runs on a Scale object.
func (r *Request) before(old *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	switch {
	case old == nil:
		return nil
	case r.endpoint.isScale, r.managed.applier != nil:
		return old.GetManagedFields()
	}
	return ownership.Before(old.GetManagedFields(), entriesOf(r.managed.sent), r.endpoint.subresource() != "")
}

// mustCorrect reports whether managedFields are to be corrected. An update has none to correct if field management did
// not run, or if its entries were removed afterwards: upstream's handlers do that if an object is too large.
func (r *Request) mustCorrect(old *unstructured.Unstructured, after []metav1.ManagedFieldsEntry) bool {
	if old == nil || r.endpoint.isScale {
		return true
	}
	return r.managed.ran && (len(after) > 0 || !r.managed.hasEntries)
}

// objectViews returns the states of the object in the versions of managedFields entries.
type objectViews struct {
	plan *Plan
	// apiVersion is the group and version of the request, and objects are the states in it.
	apiVersion string
	objects    *ownership.Objects
	// stored are the states in the storage version, or nil if the gates changed nothing.
	stored *ownership.Objects
}

// in implements ownership.Write.Objects. With a conversion webhook it only converts to another version if the gates
// changed the object. Entries of other versions are not corrected for members that normalization cleared (rule U8).
func (v *objectViews) in(apiVersion string, changed bool) (*ownership.Objects, error) {
	switch {
	case v.plan.haveSameFields(apiVersion, v.apiVersion):
		return v.objects, nil
	case v.plan.convertor == nil || v.stored == nil || !changed || !v.plan.serves(apiVersion):
		return nil, nil
	case apiVersion == v.plan.storage.String():
		return v.stored, nil
	}
	return v.plan.convertObjects(v.stored, apiVersion)
}
