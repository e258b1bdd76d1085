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

// UnionNormalizer returns what the request handlers call after mutating admission (rule U4), or nil if the endpoint
// writes no unions.
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
	if r := requestOf(ctx); r != nil {
		r.noteCleared(cleared, unnormalized)
	}
	return obj, nil
}

// noteCleared keeps what normalization cleared, and a copy of the object before that: the normalized object shares parts
// with it, and the gates change the normalized object.
func (r *Request) noteCleared(cleared []union.Cleared, unnormalized map[string]any) {
	r.cleared, r.unnormalized = cleared, nil
	if len(cleared) > 0 {
		r.unnormalized = runtime.DeepCopyJSON(unnormalized)
	}
}

// persistedObject returns the object to update, or nil if server-side apply creates it: then it has no UID.
func persistedObject(old runtime.Object) *unstructured.Unstructured {
	if u, ok := old.(*unstructured.Unstructured); ok && u.GetUID() != "" {
		return u
	}
	return nil
}

// dropRestored removes from r.cleared the unions of which the gates restored a member: a disabled gate may have restored
// an object with a union in it.
func (r *Request) dropRestored(object map[string]any) {
	r.cleared = slices.DeleteFunc(r.cleared, func(c union.Cleared) bool { return !isCleared(object, c) })
}

// isCleared reports whether an object has none of the members that were cleared.
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

// itemAt returns the item of a list map that a step leads to, or nil if it is gone. Mostly it is where it was.
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

// Defaulter returns what fills in the defaults of objects that requests send, and of what admission and server-side
// apply make of them: fill, but for the discriminators that no default may decide (rule U4.3). Objects that are read
// from etcd are for fill alone.
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

// ValidateUnions returns the errors of schema validation, and with them those of the unions (rules U6, U7). old is nil
// on create. It validates every write, also without a Request in the context. The Request says whether the write is one
// of scale, and takes the failures for metrics.
func (e *Endpoint) ValidateUnions(ctx context.Context, obj, old *unstructured.Unstructured, errs field.ErrorList) field.ErrorList {
	if e == nil || e.unions == nil {
		return errs
	}
	options := union.Options{
		Scope:   e.validated,
		Ratchet: utilfeature.DefaultFeatureGate.Enabled(features.APIUnionsRatcheting),
	}
	r := requestOf(ctx)
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
	return merged(errs, found)
}

func contentOf(u *unstructured.Unstructured) map[string]any {
	if u == nil {
		return nil
	}
	return u.Object
}

// isExempt reports whether a write need not pass: it changes nothing but metadata, or it leaves the unions of an object
// that is being deleted as they were (rule U7).
func (e *Endpoint) isExempt(obj, old *unstructured.Unstructured, s scope.Scope) bool {
	switch {
	case old == nil:
		return false
	case old.GetDeletionTimestamp() != nil && e.unions.Unchanged(obj.Object, old.Object, s):
		return true
	default:
		return isEqualButMetadata(obj.Object, old.Object)
	}
}

func isEqualButMetadata(object, old map[string]any) bool {
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

// merged returns the errors of schema validation and those of the unions, with one error for a value that both report
// (rule U6). Where a field is required, the unions know why.
func merged(errs, found field.ErrorList) field.ErrorList {
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
