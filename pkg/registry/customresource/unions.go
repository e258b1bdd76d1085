// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/fairlead-dev/fairlead/pkg/features"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/union"
)

// UnionNormalizer returns the function that the request handlers call after mutating admission, which clears the
// members that a changed discriminator does not select (rule U4). It returns nil if the endpoint writes no unions.
func (e *Endpoint) UnionNormalizer() func(ctx context.Context, obj, old runtime.Object) (runtime.Object, error) {
	if e == nil || !e.unions.Covers(e.scope) {
		return nil
	}
	return e.normalizeUnions
}

func (e *Endpoint) normalizeUnions(ctx context.Context, obj, old runtime.Object) (runtime.Object, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil
	}
	unnormalized := u.Object
	var cleared []union.Cleared
	if persisted := persistedObject(old); persisted != nil {
		u.Object, cleared = e.unions.Normalize(u.Object, persisted.Object, e.scope)
	}
	if r := requestFrom(ctx); r != nil {
		r.setCleared(cleared, unnormalized)
	}
	return obj, nil
}

// setCleared sets what normalization cleared, and the object before normalization. It copies the object, since the
// normalized object shares parts with it and the gates modify the normalized object in place.
func (r *Request) setCleared(cleared []union.Cleared, unnormalized map[string]any) {
	r.cleared, r.unnormalized = cleared, nil
	if len(cleared) > 0 {
		r.unnormalized = runtime.DeepCopyJSON(unnormalized)
	}
}

// persistedObject returns the persisted object of an update. It returns nil if server-side apply creates the object:
// then old has no UID.
func persistedObject(old runtime.Object) *unstructured.Unstructured {
	if u, ok := old.(*unstructured.Unstructured); ok && u.GetUID() != "" {
		return u
	}
	return nil
}

// ignoreRestored removes the unions from r.cleared in which the gates restored a member: a disabled gate may restore an
// object with a union in it.
func (r *Request) ignoreRestored(object map[string]any) {
	r.cleared = slices.DeleteFunc(r.cleared, func(c union.Cleared) bool { return !isCleared(object, c) })
}

// isCleared reports whether none of the cleared members is set in an object.
func isCleared(object map[string]any, c union.Cleared) bool {
	var at any = object
	for _, step := range c.Path {
		if step.Keys == nil {
			fields, _ := at.(map[string]any)
			at = fields[step.Name]
		} else {
			items, _ := at.([]any)
			at = itemAt(items, step)
		}
	}
	fields, _ := at.(map[string]any)
	for _, member := range c.Members {
		if fields[member] != nil {
			return false
		}
	}
	return true
}

// itemAt returns the item of a list map with the keys of a step, or nil if there is none. It first looks at the index
// that the item had before.
func itemAt(items []any, step union.Step) any {
	if step.Index < len(items) && isItem(items[step.Index], step) {
		return items[step.Index]
	}
	for _, item := range items {
		if isItem(item, step) {
			return item
		}
	}
	return nil
}

func isItem(item any, step union.Step) bool {
	fields, ok := item.(map[string]any)
	return ok && jsonvalue.Contains(fields, step.Keys)
}

// Defaulter wraps fill, the defaulter of objects in requests, and of the results of admission and server-side apply.
// The wrapper does not default a discriminator if the object sets a member that the default does not select (rule
// U4.3). It is not for objects that are read from etcd.
func (p *Plan) Defaulter(fill runtime.ObjectDefaulter) runtime.ObjectDefaulter {
	if p == nil || !slices.ContainsFunc(p.versions, func(v version) bool { return v.unions.HasDefaults() }) {
		return fill
	}
	return unionDefaulter{plan: p, fill: fill}
}

type unionDefaulter struct {
	plan *Plan
	fill runtime.ObjectDefaulter
}

// Default implements runtime.ObjectDefaulter.
func (d unionDefaulter) Default(obj runtime.Object) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok || u.GroupVersionKind().Group != d.plan.storage.Group {
		d.fill.Default(obj)
		return
	}
	v, _ := d.plan.version(u.GroupVersionKind().Version)
	v.unions.Default(u.Object, func() { d.fill.Default(obj) })
}

// ValidateUnions validates the unions of obj and returns errs, the errors of schema validation, together with its own
// (rules U6, U7). old is nil on create. If the context has a Request, its endpoint decides what is validated, which
// differs for scale, and the failures are added to it for metrics.
func (e *Endpoint) ValidateUnions(
	ctx context.Context, obj, old *unstructured.Unstructured, errs field.ErrorList,
) field.ErrorList {
	if e == nil || e.unions == nil {
		return errs
	}
	options := union.Options{
		Scope:   e.validated,
		Ratchet: utilfeature.DefaultFeatureGate.Enabled(features.APIUnionsRatcheting),
	}
	r := requestFrom(ctx)
	if r != nil {
		options.Scope, r.failures = r.endpoint.validated, nil
	}
	found, failures := e.unions.Validate(obj.Object, contentOf(old), options)
	if len(found) == 0 || e.isExempt(obj, old, options.Scope) {
		return errs
	}
	if r != nil {
		r.failures = failures
	}
	return mergeErrors(errs, found)
}

func contentOf(u *unstructured.Unstructured) map[string]any {
	if u == nil {
		return nil
	}
	return u.Object
}

// isExempt reports whether invalid unions do not fail a write: it changes metadata only, or it does not change the
// unions of an object that is being deleted (rule U7).
func (e *Endpoint) isExempt(obj, old *unstructured.Unstructured, s scope.Scope) bool {
	switch {
	case old == nil:
		return false
	case old.GetDeletionTimestamp() != nil && e.unions.Unchanged(obj.Object, old.Object, s):
		return true
	default:
		return isEqualExceptMetadata(obj.Object, old.Object)
	}
}

func isEqualExceptMetadata(object, old map[string]any) bool {
	if len(object) != len(old) {
		return false
	}
	for name, value := range object {
		persisted, found := old[name]
		if !found || name != "metadata" && !jsonvalue.Equal(value, persisted) {
			return false
		}
	}
	return true
}

// mergeErrors returns the errors of schema validation and those of the unions, with one error for a value that both
// report (rule U6). If both report that a field is required, it returns the error of the union, which has the reason.
func mergeErrors(errs, found field.ErrorList) field.ErrorList {
	required := sets.New[string]()
	for _, err := range found {
		if err.Type == field.ErrorTypeRequired {
			required.Insert(err.Field)
		}
	}
	reported := sets.New[string]()
	all := make(field.ErrorList, 0, len(errs)+len(found))
	for _, err := range errs {
		if err.Type == field.ErrorTypeRequired && required.Has(err.Field) {
			continue
		}
		reported.Insert(err.Field)
		all = append(all, err)
	}
	for _, err := range found {
		if err.Type == field.ErrorTypeForbidden || !reported.Has(err.Field) {
			all = append(all, err)
		}
	}
	return all
}
