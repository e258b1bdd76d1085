// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// adjustedSchemaYAML has fields of every kind that a configuration can set.
const adjustedSchemaYAML = `
type: object
properties:
  spec:
    type: object
    properties:
      image: {type: string}
      replicas: {type: integer, nullable: true}
      foo:
        type: object
        properties:
          qux: {type: integer}
          deep: {type: object, properties: {a: {type: integer, nullable: true}, b: {type: integer}}}
      byKey: {type: object, additionalProperties: {type: object, properties: {opt: {type: integer}, image: {type: string}}}}
      ports:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [port, protocol]
        items:
          type: object
          required: [port]
          properties: {port: {type: integer}, protocol: {type: string, default: TCP}, host: {type: string}, weight: {type: integer}}
      tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
      args: {type: array, items: {type: string}}
      whole:
        type: object
        x-kubernetes-map-type: atomic
        properties: {x: {type: integer}, z: {type: integer}, foo: {type: object, properties: {x: {type: integer}, z: {type: integer}}}}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true}
      source:
        type: object
        properties:
          type: {type: string, enum: [Git, S3], x-kubernetes-unions: {fieldMembers: {Git: {name: git}, S3: {name: s3}}}}
          git: {type: object, properties: {url: {type: string}}}
          s3: {type: object, properties: {bucket: {type: string}}}
        required: [type]
  status:
    type: object
    properties: {ready: {type: integer}, phase: {type: string}}
`

// adjustedPlan returns the plan of one disabled gate at the paths, and the schema.
func adjustedPlan(t testing.TB, paths ...string) (*Plan, *structuralschema.Structural) {
	t.Helper()
	schema := testyaml.Structural(t, adjustedSchemaYAML)
	return Compile(alphaGate(paths...), schema, Options{Unions: true}), schema
}

// configurationsToAdjust has the cases of TestG4AdjustConfiguration.
var configurationsToAdjust = []struct {
	name          string
	paths         []string
	scope         scope.Scope
	live          string // empty if apply creates the object
	configuration string
	want          string // empty: the same as the configuration
}{
	// The disabled field itself.
	{
		name: "a disabled field with the persisted value stays", paths: []string{".spec.replicas"},
		live: `spec: {image: a, replicas: 3}`, configuration: `spec: {image: b, replicas: 3}`,
	},
	{
		name: "a disabled field with another value gets the persisted value", paths: []string{".spec.replicas"},
		live: `spec: {replicas: 3}`, configuration: `spec: {image: b, replicas: 5}`, want: `spec: {image: b, replicas: 3}`,
	},
	{
		name: "a number gets the type that is persisted", paths: []string{".spec.replicas"},
		live: `spec: {replicas: 3}`, configuration: `spec: {replicas: 3.0}`, want: `spec: {replicas: 3}`,
	},
	{
		name: "a disabled field that is not persisted is left out", paths: []string{".spec.replicas"},
		live: `spec: {image: a}`, configuration: `spec: {image: a, replicas: 5}`, want: `spec: {image: a}`,
	},
	{
		name: "a disabled field that the configuration does not set is not added", paths: []string{".spec.replicas"},
		live: `spec: {replicas: 3}`, configuration: `spec: {image: a}`,
	},
	{
		name: "on create all disabled fields are left out", paths: []string{".spec.replicas", ".spec.ports"},
		configuration: `spec: {image: a, replicas: 5, ports: [{port: 1}]}`, want: `spec: {image: a}`,
	},
	{
		name: "a null for a persisted field is left out", paths: []string{".spec.replicas"},
		live: `spec: {replicas: 3}`, configuration: `spec: {image: a, replicas: null}`, want: `spec: {image: a}`,
	},
	{
		name: "a field whose persisted value is null is left out", paths: []string{".spec.replicas"},
		live: `spec: {replicas: null}`, configuration: `spec: {replicas: 3}`, want: `spec: {}`,
	},
	{
		name: "a null for a persisted null stays", paths: []string{".spec.replicas"},
		live: `spec: {replicas: null}`, configuration: `spec: {replicas: null}`,
	},
	{
		name: "a null for a field that is not persisted is left out", paths: []string{".spec.replicas"},
		live: `spec: {}`, configuration: `spec: {replicas: null}`, want: `spec: {}`,
	},

	// The objects and items around the disabled field stay.
	{
		name: "an object whose only field is left out stays", paths: []string{".spec.replicas"},
		live: `spec: {image: a}`, configuration: `spec: {replicas: 3}`, want: `spec: {}`,
	},
	{
		name: "an object whose only field is disabled and persisted", paths: []string{".spec.foo.qux"},
		live: `spec: {foo: {qux: 3}}`, configuration: `spec: {foo: {qux: 4}}`, want: `spec: {foo: {qux: 3}}`,
	},
	{
		name: "an object that is not persisted stays, without the field", paths: []string{".spec.foo.deep.a"},
		live: `spec: {image: a}`, configuration: `spec: {foo: {deep: {a: 1}}}`, want: `spec: {foo: {deep: {}}}`,
	},
	{
		name: "the values of a map stay, without the field if it is not persisted", paths: []string{".spec.byKey[*].opt"},
		live: `spec: {byKey: {a: {opt: 1}}}`, configuration: `spec: {byKey: {a: {opt: 1}, b: {opt: 2}}}`,
		want: `spec: {byKey: {a: {opt: 1}, b: {}}}`,
	},
	{
		name: "the items of a list map stay, without the field if it is not persisted", paths: []string{".spec.ports[*].host"},
		live: `spec: {ports: [{port: 1, protocol: UDP, host: h}]}`, configuration: `spec: {ports: [{port: 2, protocol: UDP, host: h}, {port: 1, protocol: UDP, host: i}]}`,
		want: `spec: {ports: [{port: 2, protocol: UDP}, {port: 1, protocol: UDP, host: h}]}`,
	},
	{
		name: "empty objects stay empty", paths: []string{".spec.replicas", ".spec.foo.qux", ".spec.byKey[*].opt"},
		live: `spec: {replicas: 3, foo: {qux: 1}, byKey: {a: {opt: 1}}}`, configuration: `spec: {foo: {}, byKey: {a: {}}}`,
	},
	{
		name: "a null object around the disabled field stays null", paths: []string{".spec.foo.qux"},
		live: `spec: {foo: {qux: 1}}`, configuration: `spec: {foo: null}`,
	},

	// Keys of items.
	{
		name: "an item without a key that has a default matches the persisted item with the default", paths: []string{".spec.ports[*].host"},
		live: `spec: {ports: [{port: 1, protocol: TCP, host: h}]}`, configuration: `spec: {ports: [{port: 1, host: i}]}`,
		want: `spec: {ports: [{port: 1, host: h}]}`,
	},
	{
		name: "of two items with the same keys the first matches the persisted item", paths: []string{".spec.ports[*].host"},
		live: `spec: {ports: [{port: 1, protocol: TCP, host: h}]}`, configuration: `spec: {ports: [{port: 1, host: i}, {port: 1, protocol: TCP, host: j}]}`,
		want: `spec: {ports: [{port: 1, host: h}, {port: 1, protocol: TCP}]}`,
	},
	{
		name: "an item that is not an object stays, for validation", paths: []string{".spec.ports[*].host"},
		live: `spec: {ports: [{port: 1, protocol: TCP, host: h}]}`, configuration: `spec: {ports: [null, x, {port: 1, host: i}]}`,
		want: `spec: {ports: [null, x, {port: 1, host: h}]}`,
	},
	{
		name: "an item whose key is an object matches no persisted item", paths: []string{".spec.ports[*].host"},
		live: `spec: {ports: [{port: 1, protocol: TCP, host: h}]}`, configuration: `spec: {ports: [{port: {}, host: i}]}`,
		want: `spec: {ports: [{port: {}}]}`,
	},

	// A disabled field that has fields or items.
	{
		name: "an object gets the persisted values of the fields that it sets", paths: []string{".spec.foo"},
		live:          `spec: {foo: {qux: 1, deep: {a: 1, b: 2}}}`,
		configuration: `spec: {foo: {qux: 5, deep: {b: 2, c: 7}}}`, want: `spec: {foo: {qux: 1, deep: {b: 2}}}`,
	},
	{
		name: "an empty object stays empty, though the persisted one has fields", paths: []string{".spec.foo"},
		live: `spec: {foo: {qux: 1}}`, configuration: `spec: {foo: {}}`,
	},
	{
		name: "a null in an object stays only if the persisted value is null", paths: []string{".spec.foo"},
		live:          `spec: {foo: {qux: 1, deep: {a: null, b: 2}}}`,
		configuration: `spec: {foo: {qux: null, deep: {a: null}}}`, want: `spec: {foo: {deep: {a: null}}}`,
	},
	{
		name: "a map gets the persisted values of its keys, without keys that are not persisted", paths: []string{".spec.byKey"},
		live: `spec: {byKey: {a: {opt: 1, image: i}}}`, configuration: `spec: {byKey: {a: {opt: 2}, b: {opt: 3}}}`,
		want: `spec: {byKey: {a: {opt: 1}}}`,
	},
	{
		name: "a list map gets the persisted items, in the order of the configuration, without items that are not persisted", paths: []string{".spec.ports"},
		live:          `spec: {ports: [{port: 1, protocol: TCP, host: h}, {port: 2, protocol: TCP, host: i}, {port: 3, protocol: TCP}]}`,
		configuration: `spec: {ports: [{port: 2, host: x}, {port: 9}, {port: 1, protocol: TCP}]}`,
		want:          `spec: {ports: [{port: 2, host: i}, {port: 1, protocol: TCP}]}`,
	},
	{
		name: "a list map gets no item twice", paths: []string{".spec.ports"},
		live: `spec: {ports: [{port: 1, protocol: TCP}]}`, configuration: `spec: {ports: [{port: 1}, {port: 1, protocol: TCP}, null]}`,
		want: `spec: {ports: [{port: 1}]}`,
	},
	{
		name: "a set loses the items that are not persisted", paths: []string{".spec.tags"},
		live: `spec: {tags: [a, b, c]}`, configuration: `spec: {tags: [c, x, a]}`, want: `spec: {tags: [c, a]}`,
	},
	{
		name: "a set without persisted items is left out, so that the object around it stays", paths: []string{".spec.tags"},
		live: `spec: {tags: [a]}`, configuration: `spec: {tags: [b]}`, want: `spec: {}`,
	},
	{
		name: "a list map without persisted items is left out", paths: []string{".spec.ports"},
		live: `spec: {image: a, ports: [{port: 1, protocol: TCP}]}`, configuration: `spec: {image: b, ports: [{port: 2}]}`,
		want: `spec: {image: b}`,
	},
	{
		name: "a set that the configuration leaves empty stays empty", paths: []string{".spec.tags"},
		live: `spec: {tags: [a]}`, configuration: `spec: {tags: []}`,
	},
	{
		name: "an atomic list gets the whole persisted list", paths: []string{".spec.args"},
		live: `spec: {args: [a, b]}`, configuration: `spec: {args: [a]}`, want: `spec: {args: [a, b]}`,
	},
	{
		name: "an atomic object gets the whole persisted object", paths: []string{".spec.whole"},
		live: `spec: {whole: {x: 1, z: 2}}`, configuration: `spec: {whole: {x: 1}}`, want: `spec: {whole: {x: 1, z: 2}}`,
	},
	{
		name: "a value of a wrong type gets the whole persisted value", paths: []string{".spec.foo", ".spec.replicas", ".spec.tags"},
		live:          `spec: {foo: {qux: 1, deep: {a: 1}}, replicas: 3, tags: [a, b]}`,
		configuration: `spec: {foo: [x], replicas: {a: 1}, tags: {a: b}}`,
		want:          `spec: {foo: {qux: 1, deep: {a: 1}}, replicas: 3, tags: [a, b]}`,
	},
	{
		name: "a field inside with a value of a wrong type gets the whole persisted value", paths: []string{".spec.foo"},
		live: `spec: {foo: {qux: 1, deep: {a: 1, b: 2}}}`, configuration: `spec: {foo: {deep: x}}`, want: `spec: {foo: {deep: {a: 1, b: 2}}}`,
	},
	{
		name: "without a schema of the fields, objects are reduced and lists are not", paths: []string{".spec.free"},
		live:          `spec: {free: {a: {b: 1, c: 2}, l: [{n: a}, {n: b}]}}`,
		configuration: `spec: {free: {a: {b: 5, d: 1}, l: [{n: b}], m: 1}}`,
		want:          `spec: {free: {a: {b: 1}, l: [{n: a}, {n: b}]}}`,
	},
	{
		name: "a disabled field that the schema does not have", paths: []string{".spec.free.a.b"},
		live: `spec: {free: {a: {b: {c: 1, d: 2}}}}`, configuration: `spec: {free: {a: {b: {c: 2}, x: 1}}}`, want: `spec: {free: {a: {b: {c: 1}, x: 1}}}`,
	},

	// An atomic object is applied as a whole, so it gets all its disabled fields.
	{
		name: "an atomic object gets the persisted disabled field, though it does not set it", paths: []string{".spec.whole.x"},
		live: `spec: {whole: {x: 1, z: 2}}`, configuration: `spec: {whole: {z: 3}}`, want: `spec: {whole: {x: 1, z: 3}}`,
	},
	{
		name: "an empty atomic object gets the persisted disabled field", paths: []string{".spec.whole.x"},
		live: `spec: {whole: {x: 1, z: 2}}`, configuration: `spec: {whole: {}}`, want: `spec: {whole: {x: 1}}`,
	},
	{
		name: "a null in an atomic object gets the persisted value", paths: []string{".spec.whole.x"},
		live: `spec: {whole: {x: 1}}`, configuration: `spec: {whole: {x: null}}`, want: `spec: {whole: {x: 1}}`,
	},
	{
		name: "an atomic object loses a disabled field that is not persisted", paths: []string{".spec.whole.x"},
		live: `spec: {whole: {z: 2}}`, configuration: `spec: {whole: {x: 1, z: 3}}`, want: `spec: {whole: {z: 3}}`,
	},
	{
		name: "an empty object in an atomic object gets the persisted disabled field", paths: []string{".spec.whole.foo.x"},
		live: `spec: {whole: {foo: {x: 1, z: 2}}}`, configuration: `spec: {whole: {foo: {}}}`, want: `spec: {whole: {foo: {x: 1}}}`,
	},
	{
		name: "an object in an atomic object is not added, so it is removed (G4)", paths: []string{".spec.whole.foo.x"},
		live: `spec: {whole: {foo: {x: 1, z: 2}}}`, configuration: `spec: {whole: {x: 1}}`,
	},
	{
		name: "an atomic object that the configuration does not set is not added", paths: []string{".spec.whole.x"},
		live: `spec: {whole: {x: 1}}`, configuration: `spec: {image: a}`,
	},

	// Unions, nested gates and endpoints.
	{
		name: "a selected member that is persisted gets the persisted value", paths: []string{".spec.source.s3"},
		live: `spec: {source: {type: S3, s3: {bucket: b}}}`, configuration: `spec: {source: {type: S3, s3: {bucket: c}}}`,
		want: `spec: {source: {type: S3, s3: {bucket: b}}}`,
	},
	{
		name: "a member that is newly selected and not persisted is left out", paths: []string{".spec.source.s3"},
		live: `spec: {source: {type: Git, git: {url: u}}}`, configuration: `spec: {source: {type: S3, s3: {bucket: c}}}`,
		want: `spec: {source: {type: S3}}`,
	},
	{
		name: "a member that is not selected any more is not added (U9)", paths: []string{".spec.source.s3"},
		live: `spec: {source: {type: S3, s3: {bucket: b}}}`, configuration: `spec: {source: {type: Git, git: {url: u}}}`,
	},
	{
		name: "a gate inside a disabled field has no effect (C8)", paths: []string{".spec.foo", ".spec.foo.deep.a"},
		live: `spec: {foo: {deep: {a: 1, b: 2}}}`, configuration: `spec: {foo: {deep: {a: 5, b: 5}}}`, want: `spec: {foo: {deep: {a: 1, b: 2}}}`,
	},
	{
		name: "fields of status stay, except on the status subresource (G9)", paths: []string{".spec.replicas", ".status.ready"}, scope: scope.ExceptStatus,
		live: `{spec: {replicas: 3}, status: {ready: 1}}`, configuration: `{spec: {replicas: 5}, status: {ready: 5}}`,
		want: `{spec: {replicas: 3}, status: {ready: 5}}`,
	},
	{
		name: "on the status subresource, fields outside status stay (G9)", paths: []string{".spec.replicas", ".status.ready"}, scope: scope.OnlyStatus,
		live: `{spec: {replicas: 3}, status: {ready: 1}}`, configuration: `{spec: {replicas: 5}, status: {ready: 5}}`,
		want: `{spec: {replicas: 5}, status: {ready: 1}}`,
	},
	{
		name: "status stays if its only field is left out (G9)", paths: []string{".status.ready"}, scope: scope.OnlyStatus,
		live: `status: {phase: p}`, configuration: `status: {ready: 5}`, want: `status: {}`,
	},

	// Wrong types around a disabled field are left to validation (R1).
	{
		name: "values of wrong types in the configuration stay", paths: []string{".spec.foo.qux", ".spec.byKey[*].opt", ".spec.ports[*].host"},
		live:          `spec: {foo: {qux: 1}, byKey: {a: {opt: 1}}, ports: [{port: 1, protocol: TCP, host: h}]}`,
		configuration: `spec: {foo: [{qux: 2}], byKey: x, ports: {port: 1, host: i}}`,
	},
	{
		name: "values of wrong types in the persisted object count as not persisted", paths: []string{".spec.foo.qux", ".spec.byKey[*].opt", ".spec.ports[*].host"},
		live:          `spec: {foo: [{qux: 1}], byKey: x, ports: {port: 1, host: h}}`,
		configuration: `spec: {foo: {qux: 2}, byKey: {a: {opt: 2}}, ports: [{port: 1, host: h}]}`,
		want:          `spec: {foo: {}, byKey: {a: {}}, ports: [{port: 1}]}`,
	},
	{name: "an empty configuration stays empty", paths: []string{".spec.replicas"}, live: `spec: {replicas: 3}`, configuration: `{}`},
	{name: "a null parent stays null", paths: []string{".spec.replicas"}, live: `spec: {replicas: 3}`, configuration: `spec: null`},
}

func TestG4AdjustConfiguration(t *testing.T) {
	for _, tc := range configurationsToAdjust {
		t.Run("G4, G7: "+tc.name, func(t *testing.T) {
			plan, schema := adjustedPlan(t, tc.paths...)
			want := testyaml.Object(t, tc.want)
			if want == nil {
				want = testyaml.Object(t, tc.configuration)
			}
			got := checkAdjustment(t, plan, schema, testyaml.Object(t, tc.configuration), testyaml.Object(t, tc.live), tc.scope)
			checkEqual(t, "object", want, got)
		})
	}
}

// checkAdjustment adjusts a configuration and returns the result. It checks what holds for every adjustment: the
// arguments are not modified, the result shares nothing with live, and a second adjustment changes nothing.
func checkAdjustment(t *testing.T, plan *Plan, schema *structuralschema.Structural, configuration, live map[string]any, s scope.Scope) map[string]any {
	t.Helper()
	configurationBefore, liveBefore := configuration, runtime.DeepCopyJSON(live)
	configuration = runtime.DeepCopyJSON(configuration) // the result shares with it, and is overwritten below
	adjusted, changed := plan.AdjustConfiguration(configuration, live, schema, s)
	if changed == cmp.Equal(configuration, adjusted) {
		t.Errorf("R4: changed is %v (-before +after):\n%s", changed, cmp.Diff(configuration, adjusted))
	}
	if !changed && !isSameMap(configuration, adjusted) {
		t.Error("R3: the configuration was copied, though there is nothing to adjust")
	}
	if again, changed := plan.AdjustConfiguration(adjusted, live, schema, s); changed {
		t.Errorf("R4: the second adjustment changes the configuration (-once +twice):\n%s", cmp.Diff(adjusted, again))
	}
	out := runtime.DeepCopyJSON(adjusted)
	checkUnmodified(t, "the configuration or the persisted object", []any{configurationBefore, liveBefore}, []any{configuration, live})
	overwriteAll(adjusted)
	if diff := cmp.Diff(liveBefore, live); diff != "" {
		t.Errorf("R4: the result shares values with the persisted object:\n%s", diff)
	}
	return out
}

func isSameMap(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// TestG4AdjustingWithoutSchema covers a version without a structural schema (rules G4, R1): objects are reduced, lists
// are not.
func TestG4AdjustingWithoutSchema(t *testing.T) {
	plan, _ := adjustedPlan(t, ".spec.foo", ".spec.tags")
	configuration := testyaml.Object(t, `spec: {foo: {deep: {a: 5}, new: 1}, tags: [a]}`)
	live := testyaml.Object(t, `spec: {foo: {deep: {a: 1, b: 2}}, tags: [a, b]}`)
	got := checkAdjustment(t, plan, nil, configuration, live, scope.Everything)
	checkEqual(t, "object", testyaml.Object(t, `spec: {foo: {deep: {a: 1}}, tags: [a, b]}`), got)
}

// TestR2AdjustingNothingAllocatesNothing shows that the configuration itself is returned.
func TestR2AdjustingNothingAllocatesNothing(t *testing.T) {
	plan, schema := adjustedPlan(t, ".spec.replicas", ".spec.foo.qux", ".spec.byKey[*].opt", ".spec.ports[*].host", ".spec.whole.x")
	const text = `spec: {image: a, replicas: 3, foo: {qux: 1, deep: {a: 1}}, byKey: {a: {opt: 1}}, ports: [{port: 1, host: h}], whole: {x: 1}}`
	live := testyaml.Object(t, text)
	for name, tc := range map[string]struct {
		plan          *Plan
		configuration map[string]any
	}{
		"R2: no plan": {nil, testyaml.Object(t, `spec: {replicas: 5}`)},
		"R2: all disabled fields have the persisted value": {plan, testyaml.Object(t, text)},
		"R2: no disabled field is set":                     {plan, testyaml.Object(t, `spec: {image: b, foo: {}, byKey: {a: {}}, ports: [{port: 1}]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			if n := testing.AllocsPerRun(100, func() {
				adjusted, changed := tc.plan.AdjustConfiguration(tc.configuration, live, schema, scope.Everything)
				if changed || !isSameMap(adjusted, tc.configuration) {
					t.Fatal("the result is not the configuration")
				}
			}); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// TestG4AdjustmentOfRandomConfigurations checks that disabled fields in an adjusted configuration have only persisted
// values, and that everything around them is as it was sent.
func TestG4AdjustmentOfRandomConfigurations(t *testing.T) {
	schema := testyaml.Structural(t, fuzzSchemaYAML)
	changes := 0
	for _, data := range randomBytes(3000) {
		gates, wild := fuzzGates(&source{data: data})
		if wild {
			continue
		}
		third := len(data) / 3
		configuration, live := fuzzObjects(&source{data: data[third:]}, &source{data: data[2*third:]}, schema)
		live, _ = validPart(schema, "", live).(map[string]any) // the persisted object is valid
		s := scope.Scope(int(data[0]) % 3)
		adjusted := checkAdjustment(t, Compile(gates, schema, Options{}), schema, configuration, live, s)
		changes += count(!cmp.Equal(configuration, adjusted))
		checkAdjustedParts(t, gates, Write{Object: adjusted, Old: live, Applied: configuration, Schema: schema, Scope: s})
		if t.Failed() {
			t.Logf("gates: %s\nlive: %s\nconfiguration: %s\nadjusted: %s\nscope: %v",
				encodeJSON(gates), encodeJSON(live), encodeJSON(configuration), encodeJSON(adjusted), s)
			return
		}
	}
	t.Logf("%d configurations changed", changes)
	if changes < 300 {
		t.Error("too few random configurations are adjusted")
	}
}

// checkAdjustedParts checks the disabled fields in the adjusted configuration, w.Object, against the persisted object,
// and everything around them against the configuration as it was sent, w.Applied.
func checkAdjustedParts(t *testing.T, gates *apiextensions.CustomResourceDefinitionFeatureGates, w Write) {
	t.Helper()
	guards := refGuards(gates)
	sent, adjusted := runtime.DeepCopyJSON(w.Applied), runtime.DeepCopyJSON(w.Object)
	for _, guard := range guards {
		if refIsEnabled(guard.gate) || refIsBelowDisabled(guard, guards) || !refIsInScope(guard, w.Scope) {
			continue
		}
		parent, name := guard.path[:len(guard.path)-1], guard.path[len(guard.path)-1].Name
		for _, position := range refPositions(parent, w) {
			value, isSet := refAt(w.Object, position.address)[name]
			old := position.old[name]
			if isSet && value == nil && old != nil {
				t.Errorf("G4: %s: null, but the persisted value is %v", guard.text, old)
			}
			if isSet && !isContained(value, old) {
				t.Errorf("G4: %s: %v is not a part of the persisted value %v", guard.text, value, old)
			}
			delete(refAt(adjusted, position.address), name)
			delete(refAt(sent, position.address), name)
		}
	}
	if diff := cmp.Diff(sent, adjusted); diff != "" {
		t.Errorf("G4: the configuration around the disabled fields was changed (-sent +adjusted):\n%s", diff)
	}
}

// isContained reports whether all fields and items of a value are in another one, in any order.
func isContained(value, in any) bool {
	switch value := value.(type) {
	case map[string]any:
		in, ok := in.(map[string]any)
		for name, v := range value {
			counterpart, found := in[name]
			ok = ok && found && isContained(v, counterpart)
		}
		return ok
	case []any:
		in, ok := in.([]any)
		for _, v := range value {
			ok = ok && slices.ContainsFunc(in, func(item any) bool { return isContained(v, item) })
		}
		return ok
	}
	return refEqual(value, in)
}

// TestG4ApplyingPersistedValuesChangesNothing applies a part of the persisted object: the configuration is not
// adjusted, and the gates neither change the object nor draw a warning.
func TestG4ApplyingPersistedValuesChangesNothing(t *testing.T) {
	schema := testyaml.Structural(t, fuzzSchemaYAML)
	for _, data := range randomBytes(1000) {
		gates, wild := fuzzGates(&source{data: data})
		if wild {
			continue
		}
		half := len(data) / 2
		persisted, _ := validPart(schema, "", fuzzObject(&source{data: data[half:]}, schema)).(map[string]any)
		configuration, _ := partOf(&source{data: data}, schema, persisted).(map[string]any)
		plan := Compile(gates, schema, Options{})
		if adjusted := checkAdjustment(t, plan, schema, configuration, persisted, scope.Everything); !cmp.Equal(configuration, adjusted) {
			t.Errorf("G4: the configuration was adjusted (-sent +adjusted):\n%s", cmp.Diff(configuration, adjusted))
		}
		w := Write{Object: runtime.DeepCopyJSON(persisted), Old: persisted, Applied: configuration, Schema: schema}
		if result := plan.Evaluate(w); result != nil {
			t.Errorf("G4: the gates change the object or draw warnings: %q", Warnings(result.Outcomes()))
		}
		if t.Failed() {
			t.Fatalf("gates: %s\npersisted: %s\nconfiguration: %s", encodeJSON(gates), encodeJSON(persisted), encodeJSON(configuration))
		}
	}
}

// validPart returns a random value without its invalid parts: values of a wrong type, and items whose keys another item
// has.
func validPart(schema *structuralschema.Structural, at string, value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			below, path := schemaBelowName(schema, name), at+"."+name
			if _, isProperty := schema.Properties[name]; !isProperty {
				path = at + "[*]"
			}
			if value[name] = validPart(below, path, v); !isOfType(below, value[name]) {
				delete(value, name)
			}
		}
	case []any:
		return validItems(schema, at, value)
	}
	return value
}

func validItems(schema *structuralschema.Structural, at string, list []any) []any {
	var out []any
	items := schema.Items
	if items == nil {
		items = &structuralschema.Structural{}
	}
	known := map[string]bool{}
	for _, item := range list {
		if item = validPart(items, at+"[*]", item); !isOfType(items, item) {
			continue
		}
		id := encodeJSON(item)
		if keys := fuzzListKeys[at]; keys != nil {
			id = keysOf(item.(map[string]any), keys)
		}
		if schema.XListType == nil || *schema.XListType == "atomic" || !known[id] {
			out = append(out, item)
		}
		known[id] = true
	}
	return append([]any{}, out...)
}

// keysOf returns the keys of an item as JSON. It sets keys that are absent, as defaulting and clients do.
func keysOf(item map[string]any, keys []string) string {
	id := map[string]any{}
	for _, key := range keys {
		if item[key] == nil {
			item[key] = map[string]any{"port": int64(80), "protocol": "TCP"}[key]
		}
		if item[key] == nil {
			item[key] = "n"
		}
		id[key] = item[key]
	}
	return encodeJSON(id)
}

// schemaBelowName returns the schema of a field or of a value in a map. A field that the schema does not have gets a
// schema that allows any type.
func schemaBelowName(schema *structuralschema.Structural, name string) *structuralschema.Structural {
	if property, found := schema.Properties[name]; found {
		return &property
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Structural != nil {
		return schema.AdditionalProperties.Structural
	}
	return &structuralschema.Structural{}
}

func isOfType(schema *structuralschema.Structural, value any) bool {
	switch value.(type) {
	case nil:
		return schema.Nullable
	case map[string]any:
		return schema.Type == "object" || schema.Type == ""
	case []any:
		return schema.Type == "array" || schema.Type == ""
	case string:
		return schema.Type == "string" || schema.Type == ""
	case int64, float64:
		return schema.Type == "integer" || schema.Type == "number" || schema.Type == ""
	}
	return schema.Type == "boolean" || schema.Type == ""
}

// partOf returns a part of a valid value that a manager could apply: some of the fields of objects, some of the items
// of list maps and sets, and everything else as a whole.
func partOf(s *source, schema *structuralschema.Structural, value any) any {
	switch value := value.(type) {
	case map[string]any:
		if schema.XMapType != nil {
			return runtime.DeepCopyJSONValue(value)
		}
		out := map[string]any{}
		for name, v := range sorted(value) {
			if s.next(4) != 1 {
				out[name] = partOf(s, schemaBelowName(schema, name), *v)
			}
		}
		return out
	case []any:
		if schema.XListType != nil && *schema.XListType != "atomic" {
			return partOfItems(s, schema, value)
		}
	}
	return runtime.DeepCopyJSONValue(value)
}

func partOfItems(s *source, schema *structuralschema.Structural, list []any) []any {
	out := []any{}
	for _, item := range list {
		if s.next(4) == 1 {
			continue
		}
		part := partOf(s, schema.Items, item)
		if object, ok := part.(map[string]any); ok {
			item := maps.Clone(item.(map[string]any))
			for _, key := range schema.XListMapKeys {
				object[key] = item[key]
			}
		}
		out = append(out, part)
	}
	return out
}
