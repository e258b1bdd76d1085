// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/fairlead-dev/fairlead/pkg/features"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/union"
)

// UnionNormalizer returns what the request handlers call after mutating admission (rule U4), nil where the endpoint
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
	var cleared []union.Cleared
	if persisted := persistedObject(old); persisted != nil {
		u.Object, cleared = e.unions.Normalize(u.Object, persisted.Object, e.scope)
	}
	if r := requestOf(ctx); r != nil {
		r.cleared = cleared
	}
	return obj, nil
}

// persistedObject returns the object to update, nil where server-side apply creates it: then it has no UID.
func persistedObject(old runtime.Object) *unstructured.Unstructured {
	if u, ok := old.(*unstructured.Unstructured); ok && u.GetUID() != "" {
		return u
	}
	return nil
}

// Cleared returns of what normalization cleared in an object what is still so: a disabled feature gate may have restored
// all around a union since. It must be asked after Update.
func (r *Request) Cleared(obj runtime.Object) []union.Cleared {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok || len(r.cleared) == 0 {
		return nil
	}
	settled := r.cleared[:0]
	for _, c := range r.cleared {
		if isCleared(u.Object, c) {
			settled = append(settled, c)
		}
	}
	r.cleared = settled
	return settled
}

// isCleared tells whether an object has none of the members that were cleared.
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

// itemAt returns the item of a list map that a step leads to, nil if it is gone. Mostly it is where it was.
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

// ValidateUnions returns the errors of schema validation, and with them those of the unions (rules U6, U7). old is nil
// on create.
func (e *Endpoint) ValidateUnions(ctx context.Context, obj, old *unstructured.Unstructured, errs field.ErrorList) field.ErrorList {
	if e == nil || e.unions == nil {
		return errs
	}
	r := requestOf(ctx)
	if r == nil {
		return errs // no write of a storage
	}
	options := union.Options{
		Scope:   r.endpoint.validated,
		Ratchet: utilfeature.DefaultFeatureGate.Enabled(features.APIUnionsRatcheting),
	}
	var persisted map[string]any
	if old != nil {
		persisted = old.Object
	}
	found, failures := e.unions.Validate(obj.Object, persisted, options)
	r.failures = failures
	if len(found) == 0 {
		return errs
	}
	if old != nil && old.GetDeletionTimestamp() != nil && e.unions.Unchanged(obj.Object, persisted, options.Scope) {
		r.failures = nil
		return errs
	}
	return append(errs, unreported(found, errs)...)
}

// unreported leaves out what schema validation says of a discriminator: a value that is not in the enum, or none where
// it is required, is seen once (rule U6).
func unreported(found, errs field.ErrorList) field.ErrorList {
	reported := make(map[string]bool, len(errs))
	for _, err := range errs {
		reported[err.Field] = true
	}
	var left field.ErrorList
	for _, err := range found {
		if err.Type == field.ErrorTypeForbidden || !reported[err.Field] {
			left = append(left, err)
		}
	}
	return left
}
