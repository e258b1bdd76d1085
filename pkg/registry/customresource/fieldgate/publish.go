// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"cmp"
	"encoding/json"
	"iter"
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
	p := publisher{gates}
	p.publish(declarationsOf(gates), 0, schema, true)
}

// EffectiveStates reports of each feature gate, by its index in the CRD, whether it is enabled for at least one of
// its fields: by itself (rule C1), and with no disabled gate above the field (rule C8). A gate that guards nothing
// (rule C4) is not enabled.
func EffectiveStates(gates *apiextensions.CustomResourceDefinitionFeatureGates) []bool {
	if gates == nil {
		return nil
	}
	states := make([]bool, len(gates.FeatureGates))
	var at, disabled fieldpath.Path // the path that was last met, and the outermost disabled one around it
	for _, d := range declarationsOf(gates) {
		if disabled != nil && d.path.HasPrefix(disabled) {
			continue
		}
		isFirst := !d.path.Equal(at)
		at = d.path
		switch {
		case gates.FeatureGates[d.gate].IsEnabled():
			states[d.gate] = true
		case isFirst:
			disabled = d.path
		}
	}
	return states
}

// declaration is a path that a gate guards. Unlike a Plan, declarations tell of all gates, also of those that have no
// effect on requests.
type declaration struct {
	path fieldpath.Path
	gate int // the index in the CRD, or of the guard in a Plan
}

// declarationsOf returns what the gates declare, in an order in which a path comes right before those that lead on from
// it. Of two gates that guard one path the first comes first, and counts, as in a Plan. Each path is looked at for every
// CRD that there is whenever metrics are asked for: no tree is made of them, which may have 256 steps each.
func declarationsOf(gates *apiextensions.CustomResourceDefinitionFeatureGates) []declaration {
	var declared []declaration
	for i := range gates.FeatureGates {
		for _, written := range gates.FeatureGates[i].FieldPaths {
			if path, err := fieldpath.Parse(written); err == nil {
				declared = append(declared, declaration{path, i})
			}
		}
	}
	slices.SortStableFunc(declared, compareDeclarations)
	return declared
}

func compareDeclarations(a, b declaration) int {
	return slices.CompareFunc(a.path, b.path, compareSteps)
}

func compareSteps(a, b fieldpath.Step) int {
	switch {
	case a.Each == b.Each:
		return cmp.Compare(a.Name, b.Name)
	case b.Each:
		return -1
	default:
		return 1
	}
}

// below yields those of the declarations that lead on from the position at a depth that they share, by their next step.
func below(declared []declaration, depth int) iter.Seq2[fieldpath.Step, []declaration] {
	return func(yield func(fieldpath.Step, []declaration) bool) {
		start := 0
		for start < len(declared) && len(declared[start].path) == depth {
			start++
		}
		for start < len(declared) {
			step, end := declared[start].path[depth], start+1
			for end < len(declared) && declared[end].path[depth] == step {
				end++
			}
			if !yield(step, declared[start:end]) {
				return
			}
			start = end
		}
	}
}

type publisher struct {
	gates *apiextensions.CustomResourceDefinitionFeatureGates
}

// publish marks what is declared at the position of schema, which is that many steps deep, and below. above is the effective
// state of the fields around it. A position that the schema does not have ends the walk, so that it is never deeper than the
// schema.
func (p publisher) publish(declared []declaration, depth int, schema *spec.Schema, above bool) {
	if schema.Ref.String() != "" { // readers ignore what stands beside a reference
		return
	}
	enabled := above
	if len(declared) > 0 && len(declared[0].path) == depth {
		gate := &p.gates.FeatureGates[declared[0].gate]
		enabled = above && gate.IsEnabled()
		// Upstream's builder puts apiVersion and kind into embedded resources as its definitions have them.
		schema.Extensions = maps.Clone(schema.Extensions)
		schema.AddExtension(OpenAPIExtension, &mark{gate: gate, component: p.gates.Component, enabled: enabled})
	}
	for step, rest := range below(declared, depth) {
		if step.Each {
			p.publishEach(rest, depth+1, schema, enabled)
		} else if property, found := schema.Properties[step.Name]; found {
			p.publish(rest, depth+1, &property, enabled)
			schema.Properties[step.Name] = property
		}
	}
}

// publishEach does the same for the items of a list or the values of a map.
func (p publisher) publishEach(declared []declaration, depth int, schema *spec.Schema, above bool) {
	if schema.Items != nil && schema.Items.Schema != nil {
		p.publish(declared, depth, schema.Items.Schema, above)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		p.publish(declared, depth, schema.AdditionalProperties.Schema, above)
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
