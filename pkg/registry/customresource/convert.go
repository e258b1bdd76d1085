// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"fmt"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
)

// evaluateConverted evaluates an object of another version than the stored one: it is converted, evaluated, and
// converted back if that changed it (rule G1). What a client applied is of no use for that: its fields may have other
// places in the storage version.
func (r *Request) evaluateConverted(u, old *unstructured.Unstructured) error {
	plan := r.endpoint.plan
	version := u.GroupVersionKind().GroupVersion()
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
	s := settlement{settled: u, asked: u.Object, old: old, applied: r.applied.Object()}
	if r.outcome = plan.gates.Evaluate(write); r.outcome.ChangedObject() {
		back, err := plan.convert(converted, version)
		if err != nil {
			return err
		}
		// The metadata is the webhook's too: one that loses nothing keeps in annotations what a version has no
		// field for.
		u.Object = back.Object
		if err := r.forgiveDefaults(s.asked, u, write.Old); err != nil {
			return err
		}
	}
	if old == nil && !r.outcome.ChangedObject() {
		return nil // what is created without a disabled field is owned as upstream has it
	}
	s.without = func() (map[string]any, error) { return r.withoutDisabled(converted, u) }
	return s.disown()
}

// withoutDisabled returns an object in its own version without any disabled field, whatever is persisted; nil where it
// has none. converted is the same object in the storage version. What then is missing are the disabled fields as this
// version has them. Metadata is left alone: what a webhook keeps there has other owners than fields.
func (r *Request) withoutDisabled(converted, u *unstructured.Unstructured) (map[string]any, error) {
	plan := r.endpoint.plan
	probe := converted.DeepCopy()
	if !plan.gates.Evaluate(fieldgate.Write{Object: probe.Object, Scope: r.endpoint.scope}).ChangedObject() {
		return nil, nil
	}
	back, err := plan.convert(probe, u.GroupVersionKind().GroupVersion())
	if err != nil {
		return nil, err
	}
	back.Object["metadata"] = u.Object["metadata"]
	return back.Object, nil
}

// learnDefaults keeps the schemas by which objects of other versions were defaulted before the gates are asked.
func (p *Plan) learnDefaults(schemas map[string]*structuralschema.Structural) {
	if p.gates == nil || p.convertor == nil {
		return
	}
	for i := range p.versions {
		v := &p.versions[i]
		if v.name != p.storage.Version && fieldgate.HasDefaults(schemas[v.name]) {
			v.defaults = schemas[v.name]
		}
	}
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
