// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
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
			"G8: not even as part of the default of an enclosing object",
			`{}`,
			`{spec: {mode: auto, tuning: {other: x}, ports: [{name: a}]}}`,
		},
		{
			"G8: not in the values of maps and in items that the request has",
			`{spec: {tuning: {}, pools: {x: {}}, ports: [{name: b}]}}`,
			`{spec: {tuning: {}, pools: {x: {}}, ports: [{name: b}]}}`,
		},
		{
			"G8: a persisted disabled field gets no defaults inside it",
			`{spec: {replicas: 7, hidden: {}, ports: []}}`,
			`{spec: {replicas: 7, hidden: {}, ports: []}}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			checkDefaulted(t, parseGates(t, defaultsGates), testyaml.Structural(t, defaultsSchema), tc.obj, tc.want)
		})
	}
}

// checkDefaulted defaults an object with the schema without the defaults of disabled fields.
func checkDefaulted(t *testing.T, gates *apiextensions.CustomResourceDefinitionFeatureGates, schema *structuralschema.Structural, object, want string) {
	t.Helper()
	original := schema.DeepCopy()
	changed := Compile(gates, schema, Options{}).WithoutDisabledDefaults(schema)
	got := testyaml.Object(t, object)
	defaulting.Default(got, changed)
	checkEqual(t, "object", testyaml.Object(t, want), got)
	checkUnmodified(t, "the schema", original, schema)
	if again := Compile(gates, changed, Options{}).WithoutDisabledDefaults(changed); again != changed {
		t.Error("R4: a second call changes the schema")
	}
}

// TestG8DefaultsOfEveryShape has one disabled field in each case, in or below a default.
func TestG8DefaultsOfEveryShape(t *testing.T) {
	for _, tc := range []struct{ name, schema, path, obj, want string }{
		{
			"a default that loses its only field stays",
			`{type: object, default: {a: x}, properties: {a: {type: string}}}`, ".spec.a",
			`{}`, `{spec: {}}`,
		},
		{
			"a default that loses its only object stays",
			`{type: object, default: {o: {a: x}}, properties: {o: {type: object, properties: {a: {type: string}}}}}`, ".spec.o",
			`{}`, `{spec: {}}`,
		},
		{
			"the default of an object does not apply in the default around it, which lost a field of the object",
			`{type: object, default: {o: {}}, properties: {o: {type: object, default: {a: y, b: z}, properties: {a: {type: string, default: x}, b: {type: string}}}}}`,
			".spec.o.a", `{}`, `{spec: {o: {}}}`,
		},
		{
			"the default of the items of a list, which replaces a null",
			`{type: object, properties: {l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, default: {k: d, a: x}, required: [k], properties: {k: {type: string}, a: {type: string}}}}}}`,
			".spec.l[*].a", `{spec: {l: [null, {k: e, a: y}]}}`, `{spec: {l: [{k: d}, {k: e, a: y}]}}`,
		},
		{
			"the default of the values of a map, which replaces a null",
			`{type: object, properties: {m: {type: object, additionalProperties: {type: object, default: {a: x, b: z}, properties: {a: {type: string}, b: {type: string}}}}}}`,
			".spec.m[*].a", `{spec: {m: {k: null, l: {a: y}}}}`, `{spec: {m: {k: {b: z}, l: {a: y}}}}`,
		},
		{
			"the default of an embedded resource",
			`{type: object, properties: {t: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true, default: {apiVersion: v1, kind: K, spec: {a: x, b: z}}}}}`,
			".spec.t.spec.a", `{spec: {}}`, `{spec: {t: {apiVersion: v1, kind: K, spec: {b: z}}}}`,
		},
		{
			"a field that only the default has, if unknown fields are preserved",
			`{type: object, x-kubernetes-preserve-unknown-fields: true, default: {u: {a: x, b: z}}}`,
			".spec.u.a", `{}`, `{spec: {u: {b: z}}}`,
		},
		{
			"null in a default",
			`{type: object, default: {a: null, b: null}, properties: {a: {type: string, nullable: true}, b: {type: string, nullable: true}}}`,
			".spec.a", `{}`, `{spec: {b: null}}`,
		},
		{
			"a null object around a disabled field, in a default",
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
			checkDefaulted(t, alphaGate(tc.path), schema, tc.obj, tc.want)
		})
	}
}

// TestG8DefaultsOfNestedGates shows that a gate inside a disabled field has no effect (rules G8, C8).
func TestG8DefaultsOfNestedGates(t *testing.T) {
	schema := testyaml.Structural(t, defaultsSchema)
	for gates, want := range map[string]string{
		"{name: A, preRelease: alpha, fieldPaths: [.spec.tuning.level]}, {name: B, preRelease: alpha, fieldPaths: [.spec.tuning]}": `{mode: auto, replicas: 9, ports: [{name: a, weight: 9}], hidden: {inner: 3}}`,
		"{name: A, preRelease: alpha, fieldPaths: [.spec.tuning.level]}, {name: B, preRelease: beta, fieldPaths: [.spec.tuning]}":  `{mode: auto, replicas: 9, tuning: {other: x}, ports: [{name: a, weight: 9}], hidden: {inner: 3}}`,
		"{name: A, preRelease: beta, fieldPaths: [.spec.tuning.level]}, {name: B, preRelease: alpha, fieldPaths: [.spec.tuning]}":  `{mode: auto, replicas: 9, ports: [{name: a, weight: 9}], hidden: {inner: 3}}`,
	} {
		parsed := parseGates(t, "featureGates: ["+gates+"]")
		got := map[string]any{}
		defaulting.Default(got, Compile(parsed, schema, Options{}).WithoutDisabledDefaults(schema))
		if diff := cmp.Diff(testyaml.Object(t, want), got["spec"]); diff != "" {
			t.Errorf("C8: %s (-want +got):\n%s", gates, diff)
		}
	}
}

// TestG8CopiesShareWhatIsTheSame shows that only the changed parts of a schema are copied (rules G8, R3).
func TestG8CopiesShareWhatIsTheSame(t *testing.T) {
	schema := testyaml.Structural(t, defaultsSchema)
	gates := alphaGate(".spec.tuning.level")
	changed := Compile(gates, schema, Options{}).WithoutDisabledDefaults(schema)
	spec, original := changed.Properties["spec"], schema.Properties["spec"]
	if spec.Properties["ports"].Items != original.Properties["ports"].Items {
		t.Error("R3: the schema of another field was copied")
	}
	if changed.ValueValidation != schema.ValueValidation || spec.ValueValidation != original.ValueValidation {
		t.Error("R3: value validation was copied")
	}
}

func TestG8EnabledFieldsKeepTheirDefaults(t *testing.T) {
	yes := true
	gates := parseGates(t, defaultsGates)
	gates.FeatureGates[0].Enabled = &yes
	gates.FeatureGates[0].PreRelease = apiextensions.PreReleaseDeprecated // a deprecated gate has an effect, so the plan is not nil
	schema := testyaml.Structural(t, defaultsSchema)
	if got := Compile(gates, schema, Options{}).WithoutDisabledDefaults(schema); got != schema {
		t.Error("G8: the schema was copied, but no field is disabled")
	}
}

// TestR2SchemasWithoutADisabledDefaultAreNotCopied covers rules G8 and R2. A copy would stay in memory as long as the
// CRD.
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
		gates := alphaGate(path)
		if got := Compile(gates, schema, Options{}).WithoutDisabledDefaults(schema) != schema; got != copied {
			t.Errorf("R2: %s: copied: %v", path, got)
		}
	}
}
