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

// Request is one write request to an endpoint. It collects what is reported about the write until it is known that the
// write succeeded: a request that is refused draws no warning (rule G10). If the storage retries a write, it is
// evaluated again, and the last attempt counts.
type Request struct {
	endpoint *Endpoint
	dryRun   bool
	managed  fieldManagement
	// unnormalized is the object before normalization cleared something in it, else nil.
	unnormalized map[string]any
	cleared      []union.Cleared
	outcome      *fieldgate.Result
	failure      error           // of the evaluation
	failures     []union.Failure // of validation
}

// requestKey is the key of the Request in the context. Package fieldmanager has another one for the same Request.
type requestKey struct{}

// requestOf returns the Request in a context, or nil if there is none.
func requestOf(ctx context.Context) *Request {
	r, _ := ctx.Value(requestKey{}).(*Request)
	return r
}

// Begin returns the Request for a write and the context for the write, which holds the Request. dryRun is that of the
// request's options. The Endpoint must not be nil: writes of the nil Endpoint need no Request.
func (e *Endpoint) Begin(ctx context.Context, dryRun []string) (context.Context, *Request) {
	r := &Request{endpoint: e, dryRun: len(dryRun) > 0}
	return fieldmanager.WithParticipant(context.WithValue(ctx, requestKey{}, r), r), r
}

// Create evaluates the feature gates on an object that is about to be created (rules G1, G2). It must run after
// mutating admission and before the strategy. A failure fails the request in CreateValidation.
func (r *Request) Create(obj runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		r.failure = r.evaluateAndCorrectOwners(u, nil)
	}
}

// Update does the same for an object that is about to be updated; it is a rest.TransformFunc. The object to update
// has no UID where server-side apply creates it.
func (r *Request) Update(_ context.Context, obj, old runtime.Object) (runtime.Object, error) {
	r.failures = nil // of the try before
	if u, ok := obj.(*unstructured.Unstructured); ok {
		r.failure = r.evaluateAndCorrectOwners(u, persistedObject(old))
	}
	return obj, nil
}

// evaluateAndCorrectOwners evaluates the feature gates on u, then corrects the owners of what the gates and normalization
// changed. old is nil on create.
func (r *Request) evaluateAndCorrectOwners(u, old *unstructured.Unstructured) error {
	requested := u.Object
	stored, err := r.evaluate(u, old)
	if err != nil {
		return err
	}
	r.dropRestored(u.Object)
	switch {
	case r.unnormalized != nil:
		requested = r.unnormalized
	case stored != nil && r.endpoint.pathsApply():
		requested = stored.Requested
	case stored == nil && !r.managed.adjusted:
		return nil // field management saw what will be persisted
	}
	return r.correctOwners(u, old, requested, stored)
}

// CreateValidation fails a request whose evaluation failed, else it validates. It runs after schema validation, so
// that an object which a webhook cannot convert for being invalid is called invalid (rule R1).
func (r *Request) CreateValidation(validate rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		if r.failure != nil || validate == nil {
			return r.failure
		}
		return validate(ctx, obj)
	}
}

// UpdateValidation is the same for updates.
func (r *Request) UpdateValidation(validate rest.ValidateObjectUpdateFunc) rest.ValidateObjectUpdateFunc {
	return func(ctx context.Context, obj, old runtime.Object) error {
		if r.failure != nil || validate == nil {
			return r.failure
		}
		return validate(ctx, obj, old)
	}
}

// Done reports the write, given its error: in warnings, audit annotations and metrics. It must be called before the
// response is written.
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
	annotate(ctx, outcomes)
	if !r.dryRun {
		collector.countWrites(r.endpoint.plan.crd, outcomes)
		collector.countNormalizations(r.endpoint.plan.crd, r.cleared)
	}
}

// evaluate changes u in place. It returns the objects in the storage version if that changed anything, else nil.
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

// objectsOf returns the objects of an evaluation if it changed anything, else nil.
func objectsOf(write fieldgate.Write, outcome *fieldgate.Result) *ownership.Objects {
	requested := outcome.Requested()
	if requested == nil {
		return nil
	}
	return &ownership.Objects{Old: write.Old, Requested: requested, Final: write.Object}
}
