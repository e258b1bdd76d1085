// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"encoding/json"
	"maps"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
)

// OpenAPIExtension is the extension of a guarded field in the OpenAPI of a custom resource (rule G12). Its value is an
// object with the fields component (if the CRD names one), name, preRelease and enabled, which is the effective state.
const OpenAPIExtension = "x-kubernetes-feature-gate"

// Publish adds OpenAPIExtension to every guarded field in the OpenAPI schema of a custom resource, v2 or v3 (rule G12).
// It is for the schema of the storage version, since the paths of gates belong to that version. It ignores paths that
// do not parse, fields that the schema does not have, and fields that refer to another schema (rule R1).
//
// Publish modifies schema in place, like upstream's builder, which made it. The OpenAPI documents hold the schema for
// as long as the CRD is served, so a copy would stay in memory beside it. Of schema, only the extensions may be shared
// with other schemas. The schema refers to gates afterwards, so gates must not be modified any more.
func Publish(schema *spec.Schema, gates *apiextensions.CustomResourceDefinitionFeatureGates) {
	if schema == nil || gates == nil {
		return
	}
	p := publisher{gates}
	p.publish(declarationsOf(gates), 0, schema, true)
}

// EffectiveStates returns whether each feature gate is enabled for at least one of its fields, by the index of the gate
// in the CRD. A gate is enabled for a field if it is enabled itself (rule C1) and no gate of an object around the field
// is disabled (rule C8). A gate that guards nothing (rule C4) is not enabled.
func EffectiveStates(gates *apiextensions.CustomResourceDefinitionFeatureGates) []bool {
	if gates == nil {
		return nil
	}
	states := make([]bool, len(gates.FeatureGates))
	var previous, disabled fieldpath.Path // the path before, and the last path that is disabled by its own gate
	for _, d := range declarationsOf(gates) {
		if disabled != nil && d.path.HasPrefix(disabled) {
			continue
		}
		isFirst := !d.path.Equal(previous) // a further gate of the same path does not disable it
		previous = d.path
		switch {
		case gates.FeatureGates[d.gate].IsEnabled():
			states[d.gate] = true
		case isFirst:
			disabled = d.path
		}
	}
	return states
}

type publisher struct {
	gates *apiextensions.CustomResourceDefinitionFeatureGates
}

// publish marks the declared fields at and below a position, which is depth steps below the root. schema is the schema
// of the position. above is the effective state of the fields around it. The walk ends at positions that the schema
// does not have, so it is never deeper than the schema.
func (p publisher) publish(declared []declaration, depth int, schema *spec.Schema, above bool) {
	if schema.Ref.String() != "" { // readers ignore everything beside a reference
		return
	}
	enabled := above
	if len(declared) > 0 && len(declared[0].path) == depth {
		gate := &p.gates.FeatureGates[declared[0].gate]
		enabled = above && gate.IsEnabled()
		// Upstream's builder shares the extensions of apiVersion and kind between embedded resources.
		schema.Extensions = maps.Clone(schema.Extensions)
		schema.AddExtension(OpenAPIExtension, &mark{gate: gate, component: p.gates.Component, enabled: enabled})
	}
	for step, rest := range byNextStep(declared, depth) {
		if step.Each {
			p.publishEach(rest, depth+1, schema, enabled)
		} else if property, found := schema.Properties[step.Name]; found {
			p.publish(rest, depth+1, &property, enabled)
			schema.Properties[step.Name] = property
		}
	}
}

// publishEach is publish for the items of a list or the values of a map.
func (p publisher) publishEach(declared []declaration, depth int, schema *spec.Schema, above bool) {
	if schema.Items != nil && schema.Items.Schema != nil {
		p.publish(declared, depth, schema.Items.Schema, above)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		p.publish(declared, depth, schema.AdditionalProperties.Schema, above)
	}
}

// mark is the value of the extension. It is small, and encoded only along with the document, because a CRD may have
// many gates and several documents hold its schema. The OpenAPI controllers compare specs with reflect.DeepEqual, which
// compares what the pointers of a mark point to.
type mark struct {
	gate      *apiextensions.CustomResourceDefinitionFeatureGate
	component *string
	enabled   bool // the effective state
}

// MarshalJSON implements json.Marshaler.
func (m *mark) MarshalJSON() ([]byte, error) {
	value := struct {
		Component  string                   `json:"component,omitempty"`
		Enabled    bool                     `json:"enabled"`
		Name       string                   `json:"name"`
		PreRelease apiextensions.PreRelease `json:"preRelease"`
	}{Component: ptr.Deref(m.component, ""), Enabled: m.enabled, Name: m.gate.Name, PreRelease: m.gate.PreRelease}
	return json.Marshal(value)
}
