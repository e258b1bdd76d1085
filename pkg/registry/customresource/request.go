// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"

	"github.com/fairlead-dev/fairlead/pkg/endpoints/fieldmanager"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/ownership"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/union"
)

// Request is one write request to an endpoint. It collects what is to be reported about the write until the write has
// succeeded: a request that is refused gets no warning (rule G10). If the storage retries a write, it is evaluated
// again, and the last attempt counts.
type Request struct {
	endpoint *Endpoint
	dryRun   bool
	managed  fieldManagement
	// unnormalized is the object before normalization, or nil if normalization cleared nothing.
	unnormalized map[string]any
	cleared      []union.Cleared   // by normalization
	outcome      *fieldgate.Result // of the evaluation
	failure      error             // of the evaluation
	failures     []union.Failure   // of the validation of unions
}

// requestKey is the key of the Request in the context. Package fieldmanager has the same Request under its own key.
type requestKey struct{}

// requestFrom returns the Request in a context, or nil if there is none.
func requestFrom(ctx context.Context) *Request {
	r, _ := ctx.Value(requestKey{}).(*Request)
	return r
}

// Begin returns a Request for a write, and the context for the write, which holds the Request. dryRun is the field of
// the request's options. The Endpoint must not be nil.
func (e *Endpoint) Begin(ctx context.Context, dryRun []string) (context.Context, *Request) {
	r := &Request{endpoint: e, dryRun: len(dryRun) > 0}
	return fieldmanager.WithParticipant(context.WithValue(ctx, requestKey{}, r), r), r
}

// Create evaluates the feature gates on an object that is about to be created (rules G1, G2), and corrects its
// managedFields. It must run after mutating admission and before the strategy. If it fails, CreateValidation returns
// the error.
func (r *Request) Create(obj runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		r.failure = r.evaluateAndCorrect(u, nil)
	}
}

// Update is a rest.TransformFunc that does the same as Create for an object that is about to be updated, or created by
// server-side apply. If it fails, UpdateValidation or CreateValidation returns the error.
func (r *Request) Update(_ context.Context, obj, old runtime.Object) (runtime.Object, error) {
	r.failures = nil // of the previous attempt
	if u, ok := obj.(*unstructured.Unstructured); ok {
		r.failure = r.evaluateAndCorrect(u, persistedObject(old))
	}
	return obj, nil
}

// evaluateAndCorrect evaluates the feature gates on u, and corrects the managedFields of u if the gates or
// normalization changed it. old is nil on create.
func (r *Request) evaluateAndCorrect(u, old *unstructured.Unstructured) error {
	requested := u.Object
	stored, err := r.evaluate(u, old)
	if err != nil {
		return err
	}
	r.ignoreRestored(u.Object)
	switch {
	case r.unnormalized != nil:
		requested = r.unnormalized
	case stored != nil && r.endpoint.pathsApply():
		requested = stored.Requested
	case stored == nil && !r.managed.adjusted:
		return nil // field management saw the final object
	}
	return r.correctManagedFields(u, old, requested, stored)
}

// CreateValidation returns a validation that fails if the evaluation of the gates failed, and calls validate otherwise.
// It runs after schema validation: if a webhook cannot convert an object because it is invalid, the client gets the
// error of schema validation (rule R1).
func (r *Request) CreateValidation(validate rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		if r.failure != nil || validate == nil {
			return r.failure
		}
		return validate(ctx, obj)
	}
}

// UpdateValidation is CreateValidation for updates.
func (r *Request) UpdateValidation(validate rest.ValidateObjectUpdateFunc) rest.ValidateObjectUpdateFunc {
	return func(ctx context.Context, obj, old runtime.Object) error {
		if r.failure != nil || validate == nil {
			return r.failure
		}
		return validate(ctx, obj, old)
	}
}

// Done reports the write in warnings, audit annotations and metrics. err is the error of the write. It must be called
// before the response is written.
func (r *Request) Done(ctx context.Context, err error) {
	if err != nil {
		if !r.dryRun {
			collector.countFailures(r.endpoint.plan.crd, r.failures)
		}
		return
	}
	outcomes := r.outcome.Outcomes()
	if len(outcomes) == 0 && len(r.cleared) == 0 {
		return
	}
	for _, text := range union.Warnings(r.cleared) {
		warning.AddWarning(ctx, "", text)
	}
	for _, text := range fieldgate.Warnings(outcomes) {
		warning.AddWarning(ctx, "", text)
	}
	annotateCleared(ctx, r.cleared)
	annotateOutcomes(ctx, outcomes)
	if !r.dryRun {
		collector.countWrites(r.endpoint.plan.crd, outcomes)
		collector.countNormalizations(r.endpoint.plan.crd, r.cleared)
	}
}

// evaluate evaluates the feature gates on u, and changes u in place. It returns the states of the object in the storage
// version, or nil if nothing changed.
func (r *Request) evaluate(u, old *unstructured.Unstructured) (*ownership.Objects, error) {
	e := r.endpoint
	switch {
	case e.gates == nil:
		return nil, nil
	case !e.pathsApply():
		return r.evaluateConverted(u, old)
	}
	write := fieldgate.Write{Object: u.Object, Applied: r.managed.configuration(), Schema: e.schema(), Scope: e.scope}
	if old != nil {
		write.Old = old.Object
	}
	r.outcome = e.gates.Evaluate(write)
	return objectsOf(write, r.outcome), nil
}

// objectsOf returns the states of the object in an evaluation, or nil if the evaluation changed nothing.
func objectsOf(write fieldgate.Write, outcome *fieldgate.Result) *ownership.Objects {
	requested := outcome.Requested()
	if requested == nil {
		return nil
	}
	return &ownership.Objects{Old: write.Old, Requested: requested, Final: write.Object}
}
