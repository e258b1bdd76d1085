// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"fmt"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
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

// forgiveDefaults takes out of the outcome the drops of what the client did not send: defaults of the request's version
// were filled in before the gates were asked (rule G8). A client that sends the default itself cannot be told from one
// that does not. old is in the storage version.
func (r *Request) forgiveDefaults(asked map[string]any, settled *unstructured.Unstructured, old map[string]any) error {
	plan := r.endpoint.plan
	version, _ := plan.version(settled.GroupVersionKind().Version)
	if version.defaults == nil || !r.outcome.Dropped() {
		return nil
	}
	sent := withoutDefaults(asked, settled.Object, version.defaults).(map[string]any)
	if jsonvalue.Equal(sent, asked) {
		return nil
	}
	converted, err := plan.convert(&unstructured.Unstructured{Object: sent}, plan.storage)
	if err != nil {
		return err
	}
	write := fieldgate.Write{Object: converted.Object, Old: old, Scope: r.endpoint.scope}
	r.outcome.ForgiveDrops(plan.gates.Evaluate(write))
	return nil
}

// withoutDefaults returns a value in which all that its schema defaults, and settled has otherwise, is as in settled:
// such an object has what a webhook may rely on. The value itself is left alone.
func withoutDefaults(value, settled any, s *structuralschema.Structural) any {
	if s == nil || jsonvalue.Equal(value, settled) {
		return value
	}
	switch value := value.(type) {
	case map[string]any:
		settled, _ := settled.(map[string]any)
		out := make(map[string]any, len(value))
		for name, v := range value {
			field := fieldSchema(s, name)
			if !isDefault(v, field) {
				out[name] = withoutDefaults(v, settled[name], field)
			} else if v, ok := settled[name]; ok {
				out[name] = v
			}
		}
		return out
	case []any:
		settled, _ := settled.([]any)
		if len(settled) != len(value) {
			return value
		}
		out := make([]any, len(value))
		for i := range value {
			out[i] = withoutDefaults(value[i], settled[i], s.Items)
		}
		return out
	}
	return value
}

// fieldSchema returns the schema of a field of an object or of a value of a map, nil if there is none.
func fieldSchema(s *structuralschema.Structural, name string) *structuralschema.Structural {
	if property, ok := s.Properties[name]; ok {
		return &property
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural
	}
	return nil
}

// isDefault tells whether defaulting makes the value of an absent field.
func isDefault(value any, field *structuralschema.Structural) bool {
	if field == nil || field.Default.Object == nil {
		return false
	}
	const name = "field"
	object := map[string]any{}
	structuraldefaulting.Default(object, &structuralschema.Structural{
		Properties: map[string]structuralschema.Structural{name: *field},
	})
	return jsonvalue.Equal(value, object[name])
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
