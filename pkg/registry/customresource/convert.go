// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
)

// evaluateConverted evaluates an object of another version than the stored one: it is converted, evaluated, and
// converted back if that changed it (rule G1). What a client applied is of no use then: its fields may have other
// places in the storage version.
func (r *Request) evaluateConverted(u, old *unstructured.Unstructured) error {
	plan := r.endpoint.plan
	converted, err := plan.convert(u, plan.storage)
	if err != nil {
		return err
	}
	write := fieldgate.Write{Object: converted.Object, Scope: r.endpoint.scope}
	if old != nil {
		convertedOld, err := plan.convert(old, plan.storage)
		if err != nil {
			return err
		}
		write.Old = convertedOld.Object
	}
	if r.outcome = plan.gates.Evaluate(write); !r.outcome.ChangedObject() {
		return nil
	}
	back, err := plan.convert(converted, u.GroupVersionKind().GroupVersion())
	if err != nil {
		return err
	}
	// The metadata is the webhook's too: one that loses nothing keeps in annotations what a version has no field for.
	asked := u.Object
	u.Object = back.Object
	return disown(u, asked, old)
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
