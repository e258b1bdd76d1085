// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/ownership"
)

// evaluateConverted evaluates an object of another version than the stored one: it is converted, evaluated, and
// converted back if that changed it (rule G1). What a client applied is of no use for that: its fields may have other
// places in the storage version. It returns the objects in the storage version if that changed anything, else nil.
func (r *Request) evaluateConverted(u, old *unstructured.Unstructured) (*ownership.Objects, error) {
	plan := r.endpoint.plan
	converted, err := plan.convert(u, plan.storage)
	if err != nil {
		return nil, err
	}
	write := fieldgate.Write{Object: converted.Object, Scope: r.endpoint.scope}
	if old != nil {
		convertedOld, err := plan.convert(old, plan.storage)
		if err != nil {
			return nil, err
		}
		write.Old = convertedOld.Object
	}
	outcome := plan.gates.Evaluate(write)
	stored := objectsOf(write, outcome)
	if r.outcome = outcome.With(r.managed.conflict); stored == nil {
		return nil, nil
	}
	back, err := plan.convert(converted, u.GroupVersionKind().GroupVersion())
	if err != nil {
		return nil, err
	}
	requested := u.Object
	// The metadata is the webhook's too: one that loses nothing keeps in annotations what a version has no field for.
	u.Object = back.Object
	return stored, r.ignoreDroppedDefaults(requested, u, write.Old)
}

// convertObjects returns objects of the storage version in another one.
func (p *Plan) convertObjects(stored *ownership.Objects, apiVersion string) (*ownership.Objects, error) {
	to, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	var out ownership.Objects
	for _, each := range []struct {
		from map[string]any
		to   *map[string]any
	}{{stored.Old, &out.Old}, {stored.Requested, &out.Requested}, {stored.Final, &out.Final}} {
		if each.from == nil {
			continue
		}
		converted, err := p.convert(&unstructured.Unstructured{Object: each.from}, to)
		if err != nil {
			return nil, err
		}
		*each.to = converted.Object
	}
	return &out, nil
}

// convert returns a converted copy.
func (p *Plan) convert(u *unstructured.Unstructured, to schema.GroupVersion) (*unstructured.Unstructured, error) {
	out, err := p.convertor.ConvertToVersion(u, to)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("converting to %s to evaluate feature gates: %w", to, err))
	}
	converted, ok := out.(*unstructured.Unstructured)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("converting to %s to evaluate feature gates: got a %T", to, out))
	}
	return converted, nil
}
