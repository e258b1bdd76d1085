// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
)

// OpenAPIExtension marks a guarded field in the OpenAPI of a custom resource (rule G12). Its value is an object of
// component (if the CRD names one), name, preRelease and enabled, the effective state.
const OpenAPIExtension = "x-kubernetes-feature-gate"

// Publish marks every guarded field in the OpenAPI schema of a custom resource, v2 or v3 (rule G12). It is for the
// schema of the storage version, to which the paths belong. Paths that do not parse, and fields that the schema does
// not show or that refer to another schema, are left out (rule R1).
//
// schema is changed in place, as upstream's builder does that made it: documents hold it for as long as the CRD is
// served, a second one beside it would be held, too. Only its extensions may be shared with other schemas. It refers to
// gates from then on, which must not change any more.
func Publish(schema *spec.Schema, gates *apiextensions.CustomResourceDefinitionFeatureGates) {
	if schema == nil || gates == nil {
		return
	}
	p := publisher{component: gates.Component}
	p.publish(newDeclarations(gates), schema, true)
}

// EffectiveStates tells of each feature gate, by its index in the CRD, whether it is enabled for at least one of
// its fields: by itself (rule C1), and with no disabled gate above the field (rule C8). A gate that guards nothing
// (rule C4) is not enabled.
func EffectiveStates(gates *apiextensions.CustomResourceDefinitionFeatureGates) []bool {
	if gates == nil {
		return nil
	}
	root := newDeclarations(gates)
	states := make([]bool, len(gates.FeatureGates))
	for i := range gates.FeatureGates {
		gate := &gates.FeatureGates[i]
		states[i] = gate.IsEnabled() && slices.ContainsFunc(gate.FieldPaths, root.isEnabled)
	}
	return states
}

// declarations is a place in the schema with what the CRD declares there and below. Unlike a Plan it knows all
// gates, also those that have no effect on requests.
type declarations struct {
	gate   *apiextensions.CustomResourceDefinitionFeatureGate // of the field at this place; nil if there is none
	fields map[string]*declarations
	each   *declarations // the values of a map or the items of a list
}

func newDeclarations(gates *apiextensions.CustomResourceDefinitionFeatureGates) *declarations {
	root := &declarations{}
	for i := range gates.FeatureGates {
		gate := &gates.FeatureGates[i]
		for _, written := range gate.FieldPaths {
			path, err := fieldpath.Parse(written)
			if err != nil {
				continue
			}
			// As in a Plan, the first gate of a path counts.
			if place := root.grow(path); place.gate == nil {
				place.gate = gate
			}
		}
	}
	return root
}

// grow returns what is declared at path, making room for it where there is none.
func (d *declarations) grow(path fieldpath.Path) *declarations {
	for _, step := range path {
		next := d.at(step)
		if next == nil {
			next = &declarations{}
			d.put(step, next)
		}
		d = next
	}
	return d
}

func (d *declarations) at(step fieldpath.Step) *declarations {
	if step.Each {
		return d.each
	}
	return d.fields[step.Name]
}

func (d *declarations) put(step fieldpath.Step, next *declarations) {
	if step.Each {
		d.each = next
		return
	}
	if d.fields == nil {
		d.fields = map[string]*declarations{}
	}
	d.fields[step.Name] = next
}

// isEnabled tells whether a guarded path has no disabled gate, neither its own nor above (rule C8).
func (d *declarations) isEnabled(written string) bool {
	path, err := fieldpath.Parse(written)
	if err != nil {
		return false
	}
	for _, step := range path {
		if d = d.at(step); d == nil || (d.gate != nil && !d.gate.IsEnabled()) {
			return false
		}
	}
	return true
}

type publisher struct {
	component *string
}

// publish marks what is declared at the place of schema and below. above is the effective state of the fields around
// it. A place that the schema does not have ends the walk, so that it is never deeper than the schema.
func (p publisher) publish(d *declarations, schema *spec.Schema, above bool) {
	if schema.Ref.String() != "" { // readers ignore what stands beside a reference
		return
	}
	enabled := above
	if d.gate != nil {
		enabled = above && d.gate.IsEnabled()
		// Upstream's builder puts apiVersion and kind into embedded resources as its definitions have them.
		schema.Extensions = maps.Clone(schema.Extensions)
		schema.AddExtension(OpenAPIExtension, &mark{gate: d.gate, component: p.component, enabled: enabled})
	}
	for name, field := range d.fields {
		if property, ok := schema.Properties[name]; ok {
			p.publish(field, &property, enabled)
			schema.Properties[name] = property
		}
	}
	if d.each == nil {
		return
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		p.publish(d.each, schema.Items.Schema, enabled)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		p.publish(d.each, schema.AdditionalProperties.Schema, enabled)
	}
}

// mark is the value of the extension. A CRD may have many gates, and several documents hold its schema: it is kept
// small, and encoded when a document is. The OpenAPI controllers compare specs with reflect.DeepEqual.
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
