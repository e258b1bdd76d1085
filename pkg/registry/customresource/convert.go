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

// evaluateConverted evaluates the feature gates on an object that is not in the storage version: it converts the object
// to that version, evaluates it, and converts it back if the evaluation changed it (rule G1). An applied configuration
// is not taken into account, since its fields may have other paths in the storage version. It returns the states of
// the object in the storage version, or nil if nothing changed.
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
	// Metadata is taken from the webhook, too: it may keep values in annotations for which a version has no field.
	u.Object = back.Object
	return stored, r.ignoreDroppedDefaults(requested, u, write.Old)
}

// convertObjects converts the states of an object from the storage version to another version.
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

// convert returns a copy of an object in another version.
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
