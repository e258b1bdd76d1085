// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
)

const defaultsSchema = `
type: object
properties:
  spec:
    type: object
    default: {mode: auto, replicas: 9, tuning: {level: 9, other: x}}
    properties:
      mode: {type: string}
      replicas: {type: integer, default: 1}
      tuning:
        type: object
        properties:
          level: {type: integer, default: 2}
          other: {type: string}
      hidden:
        type: object
        default: {}
        properties:
          inner: {type: integer, default: 3}
      pools:
        type: object
        additionalProperties:
          type: object
          properties:
            size: {type: integer, default: 4}
      ports:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        default: [{name: a, weight: 9}]
        items:
          type: object
          required: [name]
          properties:
            name: {type: string}
            weight: {type: integer, default: 5}
`

const defaultsGates = `
featureGates:
- {name: A, preRelease: alpha, fieldPaths: [.spec.replicas, .spec.tuning.level, .spec.hidden, '.spec.pools[*].size', '.spec.ports[*].weight']}
`

func TestG8DefaultsOfDisabledFieldsDoNotApply(t *testing.T) {
	for _, tc := range []struct{ name, obj, want string }{
		{
			"G8: nor as part of a default of an enclosing object",
			`{}`,
			`{spec: {mode: auto, tuning: {other: x}, ports: [{name: a}]}}`,
		},
		{
			"G8: nor in map values and items that the client wrote",
			`{spec: {tuning: {}, pools: {x: {}}, ports: [{name: b}]}}`,
			`{spec: {tuning: {}, pools: {x: {}}, ports: [{name: b}]}}`,
		},
		{
			"G8: a persisted value is served as it is, without defaults inside it",
			`{spec: {replicas: 7, hidden: {}, ports: []}}`,
			`{spec: {replicas: 7, hidden: {}, ports: []}}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			gates := testyaml.Parse[apiextensions.CustomResourceDefinitionFeatureGates](t, defaultsGates)
			schema := testyaml.Structural(t, defaultsSchema)
			original := schema.DeepCopy()
			plan := Compile(&gates, schema)
			got := testyaml.Object(t, tc.obj)
			defaulting.Default(got, plan.WithoutDisabledDefaults(schema))
			if diff := cmp.Diff(testyaml.Object(t, tc.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(original, schema); diff != "" {
				t.Errorf("the schema was modified:\n%s", diff)
			}
		})
	}
}

func TestG8EnabledFieldsKeepTheirDefaults(t *testing.T) {
	yes := true
	gates := testyaml.Parse[apiextensions.CustomResourceDefinitionFeatureGates](t, defaultsGates)
	gates.FeatureGates[0].Enabled = &yes
	gates.FeatureGates[0].PreRelease = apiextensions.PreReleaseDeprecated // so that there is a plan
	schema := testyaml.Structural(t, defaultsSchema)
	if got := Compile(&gates, schema).WithoutDisabledDefaults(schema); got != schema {
		t.Error("the schema was copied although no field is disabled")
	}
}

// TestR2SchemasWithoutADisabledDefaultAreNotCopied (rules G8, R2): a copy would stay in memory for as long as the CRD.
func TestR2SchemasWithoutADisabledDefaultAreNotCopied(t *testing.T) {
	const schemaYAML = `
type: object
properties:
  spec:
    type: object
    properties:
      plain: {type: string}
      other: {type: string, default: x}
      inside: {type: object, properties: {a: {type: array, items: {type: object, properties: {b: {type: string, default: x}}}}}}
      around: {type: object, default: {}, properties: {a: {type: string}}}
      map: {type: object, additionalProperties: {type: object, properties: {plain: {type: string}, size: {type: integer, default: 1}}}}
`
	schema := testyaml.Structural(t, schemaYAML)
	for path, copied := range map[string]bool{
		".spec.plain": false, ".spec.map[*].plain": false, ".spec.nowhere": false,
		".spec.other": true, ".spec.inside": true, ".spec.around.a": true, ".spec.map[*].size": true, ".spec.map": true, ".spec": true,
	} {
		gates := testyaml.Parse[*apiextensions.CustomResourceDefinitionFeatureGates](t,
			`featureGates: [{name: G, preRelease: alpha, fieldPaths: ["`+path+`"]}]`)
		if got := Compile(gates, schema).WithoutDisabledDefaults(schema) != schema; got != copied {
			t.Errorf("%s: copied: %v", path, got)
		}
	}
}
