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
			plan := Compile(&gates, schema, Options{})
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

// TestG8DefaultsOfEveryShape has one guarded field each, in or below a default.
func TestG8DefaultsOfEveryShape(t *testing.T) {
	for _, tc := range []struct{ name, schema, path, obj, want string }{
		{
			"a default that loses its only field stays",
			`{type: object, default: {a: x}, properties: {a: {type: string}}}`, ".spec.a",
			`{}`, `{spec: {}}`,
		},
		{
			"a default whose only object is guarded stays",
			`{type: object, default: {o: {a: x}}, properties: {o: {type: object, properties: {a: {type: string}}}}}`, ".spec.o",
			`{}`, `{spec: {}}`,
		},
		{
			"a default in a default: the inner one does not fill in what the outer one has lost",
			`{type: object, default: {o: {}}, properties: {o: {type: object, default: {a: y, b: z}, properties: {a: {type: string, default: x}, b: {type: string}}}}}`,
			".spec.o.a", `{}`, `{spec: {o: {}}}`,
		},
		{
			"the default of the items of a list, which stands in for null",
			`{type: object, properties: {l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, default: {k: d, a: x}, required: [k], properties: {k: {type: string}, a: {type: string}}}}}}`,
			".spec.l[*].a", `{spec: {l: [null, {k: e, a: y}]}}`, `{spec: {l: [{k: d}, {k: e, a: y}]}}`,
		},
		{
			"the default of the values of a map, which stands in for null",
			`{type: object, properties: {m: {type: object, additionalProperties: {type: object, default: {a: x, b: z}, properties: {a: {type: string}, b: {type: string}}}}}}`,
			".spec.m[*].a", `{spec: {m: {k: null, l: {a: y}}}}`, `{spec: {m: {k: {b: z}, l: {a: y}}}}`,
		},
		{
			"the default of an embedded resource",
			`{type: object, properties: {t: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true, default: {apiVersion: v1, kind: K, spec: {a: x, b: z}}}}}`,
			".spec.t.spec.a", `{spec: {}}`, `{spec: {t: {apiVersion: v1, kind: K, spec: {b: z}}}}`,
		},
		{
			"a field that only the default knows, where unknown fields are kept",
			`{type: object, x-kubernetes-preserve-unknown-fields: true, default: {u: {a: x, b: z}}}`,
			".spec.u.a", `{}`, `{spec: {u: {b: z}}}`,
		},
		{
			"null in a default",
			`{type: object, default: {a: null, b: null}, properties: {a: {type: string, nullable: true}, b: {type: string, nullable: true}}}`,
			".spec.a", `{}`, `{spec: {b: null}}`,
		},
		{
			"null around a guarded field in a default",
			`{type: object, default: {o: null}, properties: {o: {type: object, nullable: true, properties: {a: {type: string, default: x}}}}}`,
			".spec.o.a", `{}`, `{spec: {o: null}}`,
		},
		{
			"a default of another type than the schema's",
			`{type: object, default: {o: [{a: x}]}, properties: {o: {type: object, properties: {a: {type: string}}}}}`,
			".spec.o.a", `{}`, `{spec: {o: [{a: x}]}}`,
		},
		{
			"all items of a list in a default, with duplicate keys and without",
			`{type: object, default: {l: [{k: d, a: x}, {k: d, a: y}, {k: e}, null, {a: z}]}, properties: {l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, nullable: true, required: [k], properties: {k: {type: string}, a: {type: string}}}}}}`,
			".spec.l[*].a", `{}`, `{spec: {l: [{k: d}, {k: d}, {k: e}, null, {}]}}`,
		},
		{
			"an empty list and an empty map in a default",
			`{type: object, default: {l: [], m: {}}, properties: {l: {type: array, items: {type: object, default: {a: x}, properties: {a: {type: string}}}}, m: {type: object, additionalProperties: {type: object, properties: {a: {type: string, default: x}}}}}}`,
			".spec.m[*].a", `{}`, `{spec: {l: [], m: {}}}`,
		},
	} {
		t.Run("G8: "+tc.name, func(t *testing.T) {
			schema := testyaml.Structural(t, `{type: object, properties: {spec: `+tc.schema+`}}`)
			gates := testyaml.Parse[*apiextensions.CustomResourceDefinitionFeatureGates](t,
				`featureGates: [{name: G, preRelease: alpha, fieldPaths: ["`+tc.path+`"]}]`)
			original := schema.DeepCopy()
			changed := Compile(gates, schema, Options{}).WithoutDisabledDefaults(schema)
			got := testyaml.Object(t, tc.obj)
			defaulting.Default(got, changed)
			if diff := cmp.Diff(testyaml.Object(t, tc.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(original, schema); diff != "" {
				t.Errorf("the schema was modified:\n%s", diff)
			}
			if again := Compile(gates, changed, Options{}).WithoutDisabledDefaults(changed); again != changed {
				t.Error("R4: something was left to drop")
			}
		})
	}
}

// TestG8DefaultsOfNestedGates (rules G8, C8): the gate of a field is looked at only where those around it are enabled.
func TestG8DefaultsOfNestedGates(t *testing.T) {
	schema := testyaml.Structural(t, defaultsSchema)
	for gates, want := range map[string]string{
		"{name: A, preRelease: alpha, fieldPaths: [.spec.tuning.level]}, {name: B, preRelease: alpha, fieldPaths: [.spec.tuning]}": `{mode: auto, replicas: 9, ports: [{name: a, weight: 9}], hidden: {inner: 3}}`,
		"{name: A, preRelease: alpha, fieldPaths: [.spec.tuning.level]}, {name: B, preRelease: beta, fieldPaths: [.spec.tuning]}":  `{mode: auto, replicas: 9, tuning: {other: x}, ports: [{name: a, weight: 9}], hidden: {inner: 3}}`,
		"{name: A, preRelease: beta, fieldPaths: [.spec.tuning.level]}, {name: B, preRelease: alpha, fieldPaths: [.spec.tuning]}":  `{mode: auto, replicas: 9, ports: [{name: a, weight: 9}], hidden: {inner: 3}}`,
	} {
		parsed := testyaml.Parse[*apiextensions.CustomResourceDefinitionFeatureGates](t, "featureGates: ["+gates+"]")
		got := map[string]any{}
		defaulting.Default(got, Compile(parsed, schema, Options{}).WithoutDisabledDefaults(schema))
		if diff := cmp.Diff(testyaml.Object(t, want), got["spec"]); diff != "" {
			t.Errorf("C8: %s (-want +got):\n%s", gates, diff)
		}
	}
}

// TestG8CopiesShareWhatIsTheSame (rules G8, R3): a copy must not be as large as the schema and its defaults once more.
func TestG8CopiesShareWhatIsTheSame(t *testing.T) {
	schema := testyaml.Structural(t, defaultsSchema)
	gates := testyaml.Parse[*apiextensions.CustomResourceDefinitionFeatureGates](t,
		`featureGates: [{name: G, preRelease: alpha, fieldPaths: [".spec.tuning.level"]}]`)
	changed := Compile(gates, schema, Options{}).WithoutDisabledDefaults(schema)
	spec, was := changed.Properties["spec"], schema.Properties["spec"]
	if spec.Properties["ports"].Items != was.Properties["ports"].Items {
		t.Error("the schema of a field beside it was copied")
	}
	if changed.ValueValidation != schema.ValueValidation || spec.ValueValidation != was.ValueValidation {
		t.Error("value validation was copied")
	}
}

func TestG8EnabledFieldsKeepTheirDefaults(t *testing.T) {
	yes := true
	gates := testyaml.Parse[apiextensions.CustomResourceDefinitionFeatureGates](t, defaultsGates)
	gates.FeatureGates[0].Enabled = &yes
	gates.FeatureGates[0].PreRelease = apiextensions.PreReleaseDeprecated // so that there is a plan
	schema := testyaml.Structural(t, defaultsSchema)
	if got := Compile(&gates, schema, Options{}).WithoutDisabledDefaults(schema); got != schema {
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
      filled: {type: object, default: {a: x}, properties: {a: {type: string}, b: {type: string}}}
      map: {type: object, additionalProperties: {type: object, properties: {plain: {type: string}, size: {type: integer, default: 1}}}}
`
	schema := testyaml.Structural(t, schemaYAML)
	for path, copied := range map[string]bool{
		".spec.plain": false, ".spec.map[*].plain": false, ".spec.nowhere": false,
		".spec.around.a": false, ".spec.filled.b": false,
		".spec.other": true, ".spec.inside": true, ".spec.filled.a": true, ".spec.map[*].size": true, ".spec.map": true, ".spec": true,
	} {
		gates := testyaml.Parse[*apiextensions.CustomResourceDefinitionFeatureGates](t,
			`featureGates: [{name: G, preRelease: alpha, fieldPaths: ["`+path+`"]}]`)
		if got := Compile(gates, schema, Options{}).WithoutDisabledDefaults(schema) != schema; got != copied {
			t.Errorf("%s: copied: %v", path, got)
		}
	}
}
