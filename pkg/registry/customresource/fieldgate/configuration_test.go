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

// adjustedSchemaYAML has a place of every shape that a configuration can name.
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

// adjustedPlan returns the plan of one alpha gate at the paths, and the schema.
func adjustedPlan(t testing.TB, paths ...string) (*Plan, *structuralschema.Structural) {
	t.Helper()
	gate := apiextensions.CustomResourceDefinitionFeatureGate{Name: "A", PreRelease: apiextensions.PreReleaseAlpha, FieldPaths: paths}
	gates := &apiextensions.CustomResourceDefinitionFeatureGates{FeatureGates: []apiextensions.CustomResourceDefinitionFeatureGate{gate}}
	schema := testyaml.Structural(t, adjustedSchemaYAML)
	return Compile(gates, schema, Options{Unions: true}), schema
}

// configurationsToAdjust are the cases of TestG4AdjustConfiguration.
var configurationsToAdjust = []struct {
	name          string
	paths         []string
	scope         scope.Scope
	live          string // empty where apply creates the object
	configuration string
	want          string // empty: as the configuration
}{
	// The disabled field itself.
	{
		name: "a field that has the persisted value stays", paths: []string{".spec.replicas"},
		live: `spec: {image: a, replicas: 3}`, configuration: `spec: {image: b, replicas: 3}`,
	},
	{
		name: "a field that has another value has the persisted one", paths: []string{".spec.replicas"},
		live: `spec: {replicas: 3}`, configuration: `spec: {image: b, replicas: 5}`, want: `spec: {image: b, replicas: 3}`,
	},
	{
		name: "a number is written as it is persisted", paths: []string{".spec.replicas"},
		live: `spec: {replicas: 3}`, configuration: `spec: {replicas: 3.0}`, want: `spec: {replicas: 3}`,
	},
	{
		name: "a field that is not persisted is left out", paths: []string{".spec.replicas"},
		live: `spec: {image: a}`, configuration: `spec: {image: a, replicas: 5}`, want: `spec: {image: a}`,
	},
	{
		name: "a field that is not named stays so", paths: []string{".spec.replicas"},
		live: `spec: {replicas: 3}`, configuration: `spec: {image: a}`,
	},
	{
		name: "where the object is created nothing is persisted", paths: []string{".spec.replicas", ".spec.ports"},
		configuration: `spec: {image: a, replicas: 5, ports: [{port: 1}]}`, want: `spec: {image: a}`,
	},
	{
		name: "a null removes nothing", paths: []string{".spec.replicas"},
		live: `spec: {replicas: 3}`, configuration: `spec: {image: a, replicas: null}`, want: `spec: {image: a}`,
	},
	{
		name: "a persisted null is no value", paths: []string{".spec.replicas"},
		live: `spec: {replicas: null}`, configuration: `spec: {replicas: 3}`, want: `spec: {}`,
	},
	{
		name: "a persisted null that is applied again stays", paths: []string{".spec.replicas"},
		live: `spec: {replicas: null}`, configuration: `spec: {replicas: null}`,
	},
	{
		name: "a null that is not persisted is left out", paths: []string{".spec.replicas"},
		live: `spec: {}`, configuration: `spec: {replicas: null}`, want: `spec: {}`,
	},

	// What is around it stays named.
	{
		name: "the only field of the object", paths: []string{".spec.replicas"},
		live: `spec: {image: a}`, configuration: `spec: {replicas: 3}`, want: `spec: {}`,
	},
	{
		name: "the only field of a nested object", paths: []string{".spec.foo.qux"},
		live: `spec: {foo: {qux: 3}}`, configuration: `spec: {foo: {qux: 4}}`, want: `spec: {foo: {qux: 3}}`,
	},
	{
		name: "the only field of an object that is not persisted", paths: []string{".spec.foo.deep.a"},
		live: `spec: {image: a}`, configuration: `spec: {foo: {deep: {a: 1}}}`, want: `spec: {foo: {deep: {}}}`,
	},
	{
		name: "the only field of a map's value", paths: []string{".spec.byKey[*].opt"},
		live: `spec: {byKey: {a: {opt: 1}}}`, configuration: `spec: {byKey: {a: {opt: 1}, b: {opt: 2}}}`,
		want: `spec: {byKey: {a: {opt: 1}, b: {}}}`,
	},
	{
		name: "the only field of an item beside its keys", paths: []string{".spec.ports[*].host"},
		live: `spec: {ports: [{port: 1, protocol: UDP, host: h}]}`, configuration: `spec: {ports: [{port: 2, protocol: UDP, host: h}, {port: 1, protocol: UDP, host: i}]}`,
		want: `spec: {ports: [{port: 2, protocol: UDP}, {port: 1, protocol: UDP, host: h}]}`,
	},
	{
		name: "an empty configuration stays empty", paths: []string{".spec.replicas", ".spec.foo.qux", ".spec.byKey[*].opt"},
		live: `spec: {replicas: 3, foo: {qux: 1}, byKey: {a: {opt: 1}}}`, configuration: `spec: {foo: {}, byKey: {a: {}}}`,
	},
	{
		name: "a null around it stays the client's", paths: []string{".spec.foo.qux"},
		live: `spec: {foo: {qux: 1}}`, configuration: `spec: {foo: null}`,
	},

	// Keys of items.
	{
		name: "an item that leaves out a key with a default is the persisted one", paths: []string{".spec.ports[*].host"},
		live: `spec: {ports: [{port: 1, protocol: TCP, host: h}]}`, configuration: `spec: {ports: [{port: 1, host: i}]}`,
		want: `spec: {ports: [{port: 1, host: h}]}`,
	},
	{
		name: "of two items with the same keys the first has the persisted value", paths: []string{".spec.ports[*].host"},
		live: `spec: {ports: [{port: 1, protocol: TCP, host: h}]}`, configuration: `spec: {ports: [{port: 1, host: i}, {port: 1, protocol: TCP, host: j}]}`,
		want: `spec: {ports: [{port: 1, host: h}, {port: 1, protocol: TCP}]}`,
	},
	{
		name: "an item that is no object stays for validation", paths: []string{".spec.ports[*].host"},
		live: `spec: {ports: [{port: 1, protocol: TCP, host: h}]}`, configuration: `spec: {ports: [null, x, {port: 1, host: i}]}`,
		want: `spec: {ports: [null, x, {port: 1, host: h}]}`,
	},
	{
		name: "an item whose key is an object is none of the persisted ones", paths: []string{".spec.ports[*].host"},
		live: `spec: {ports: [{port: 1, protocol: TCP, host: h}]}`, configuration: `spec: {ports: [{port: {}, host: i}]}`,
		want: `spec: {ports: [{port: {}}]}`,
	},

	// A disabled field that has fields or items.
	{
		name: "of a nested object the persisted part of what is named", paths: []string{".spec.foo"},
		live:          `spec: {foo: {qux: 1, deep: {a: 1, b: 2}}}`,
		configuration: `spec: {foo: {qux: 5, deep: {b: 2, c: 7}}}`, want: `spec: {foo: {qux: 1, deep: {b: 2}}}`,
	},
	{
		name: "an empty object names the object alone", paths: []string{".spec.foo"},
		live: `spec: {foo: {qux: 1}}`, configuration: `spec: {foo: {}}`,
	},
	{
		name: "a null in a nested object names nothing but a persisted null", paths: []string{".spec.foo"},
		live:          `spec: {foo: {qux: 1, deep: {a: null, b: 2}}}`,
		configuration: `spec: {foo: {qux: null, deep: {a: null}}}`, want: `spec: {foo: {deep: {a: null}}}`,
	},
	{
		name: "of a map the values whose keys are persisted", paths: []string{".spec.byKey"},
		live: `spec: {byKey: {a: {opt: 1, image: i}}}`, configuration: `spec: {byKey: {a: {opt: 2}, b: {opt: 3}}}`,
		want: `spec: {byKey: {a: {opt: 1}}}`,
	},
	{
		name: "of a list map the items whose keys are persisted, in the order of the configuration", paths: []string{".spec.ports"},
		live:          `spec: {ports: [{port: 1, protocol: TCP, host: h}, {port: 2, protocol: TCP, host: i}, {port: 3, protocol: TCP}]}`,
		configuration: `spec: {ports: [{port: 2, host: x}, {port: 9}, {port: 1, protocol: TCP}]}`,
		want:          `spec: {ports: [{port: 2, host: i}, {port: 1, protocol: TCP}]}`,
	},
	{
		name: "of a list map no item twice", paths: []string{".spec.ports"},
		live: `spec: {ports: [{port: 1, protocol: TCP}]}`, configuration: `spec: {ports: [{port: 1}, {port: 1, protocol: TCP}, null]}`,
		want: `spec: {ports: [{port: 1}]}`,
	},
	{
		name: "of a set the items that are persisted", paths: []string{".spec.tags"},
		live: `spec: {tags: [a, b, c]}`, configuration: `spec: {tags: [c, x, a]}`, want: `spec: {tags: [c, a]}`,
	},
	{
		name: "of a set of which nothing is persisted the empty set", paths: []string{".spec.tags"},
		live: `spec: {tags: [a]}`, configuration: `spec: {tags: [b]}`, want: `spec: {tags: []}`,
	},
	{
		name: "an atomic list as a whole", paths: []string{".spec.args"},
		live: `spec: {args: [a, b]}`, configuration: `spec: {args: [a]}`, want: `spec: {args: [a, b]}`,
	},
	{
		name: "an atomic object as a whole", paths: []string{".spec.whole"},
		live: `spec: {whole: {x: 1, z: 2}}`, configuration: `spec: {whole: {x: 1}}`, want: `spec: {whole: {x: 1, z: 2}}`,
	},
	{
		name: "a value of another type is the persisted one as a whole", paths: []string{".spec.foo", ".spec.replicas", ".spec.tags"},
		live:          `spec: {foo: {qux: 1, deep: {a: 1}}, replicas: 3, tags: [a, b]}`,
		configuration: `spec: {foo: [x], replicas: {a: 1}, tags: {a: b}}`,
		want:          `spec: {foo: {qux: 1, deep: {a: 1}}, replicas: 3, tags: [a, b]}`,
	},
	{
		name: "a field inside that is of another type is the persisted one as a whole", paths: []string{".spec.foo"},
		live: `spec: {foo: {qux: 1, deep: {a: 1, b: 2}}}`, configuration: `spec: {foo: {deep: x}}`, want: `spec: {foo: {deep: {a: 1, b: 2}}}`,
	},
	{
		name: "where the schema knows no fields objects are taken apart and lists are not", paths: []string{".spec.free"},
		live:          `spec: {free: {a: {b: 1, c: 2}, l: [{n: a}, {n: b}]}}`,
		configuration: `spec: {free: {a: {b: 5, d: 1}, l: [{n: b}], m: 1}}`,
		want:          `spec: {free: {a: {b: 1}, l: [{n: a}, {n: b}]}}`,
	},
	{
		name: "a field that the schema does not know", paths: []string{".spec.free.a.b"},
		live: `spec: {free: {a: {b: {c: 1, d: 2}}}}`, configuration: `spec: {free: {a: {b: {c: 2}, x: 1}}}`, want: `spec: {free: {a: {b: {c: 1}, x: 1}}}`,
	},

	// Of an atomic object every field counts as named.
	{
		name: "a disabled field of an atomic object is persisted, named or not", paths: []string{".spec.whole.x"},
		live: `spec: {whole: {x: 1, z: 2}}`, configuration: `spec: {whole: {z: 3}}`, want: `spec: {whole: {x: 1, z: 3}}`,
	},
	{
		name: "the same in an empty one", paths: []string{".spec.whole.x"},
		live: `spec: {whole: {x: 1, z: 2}}`, configuration: `spec: {whole: {}}`, want: `spec: {whole: {x: 1}}`,
	},
	{
		name: "a null in it removes nothing", paths: []string{".spec.whole.x"},
		live: `spec: {whole: {x: 1}}`, configuration: `spec: {whole: {x: null}}`, want: `spec: {whole: {x: 1}}`,
	},
	{
		name: "one that is not persisted goes", paths: []string{".spec.whole.x"},
		live: `spec: {whole: {z: 2}}`, configuration: `spec: {whole: {x: 1, z: 3}}`, want: `spec: {whole: {z: 3}}`,
	},
	{
		name: "an object inside is there if it is named", paths: []string{".spec.whole.foo.x"},
		live: `spec: {whole: {foo: {x: 1, z: 2}}}`, configuration: `spec: {whole: {foo: {}}}`, want: `spec: {whole: {foo: {x: 1}}}`,
	},
	{
		name: "and removed if it is not (G4)", paths: []string{".spec.whole.foo.x"},
		live: `spec: {whole: {foo: {x: 1, z: 2}}}`, configuration: `spec: {whole: {x: 1}}`,
	},
	{
		name: "an atomic object that is not named at all", paths: []string{".spec.whole.x"},
		live: `spec: {whole: {x: 1}}`, configuration: `spec: {image: a}`,
	},

	// Unions, nested gates and endpoints.
	{
		name: "a selected member that is persisted", paths: []string{".spec.source.s3"},
		live: `spec: {source: {type: S3, s3: {bucket: b}}}`, configuration: `spec: {source: {type: S3, s3: {bucket: c}}}`,
		want: `spec: {source: {type: S3, s3: {bucket: b}}}`,
	},
	{
		name: "a member that the discriminator moves to", paths: []string{".spec.source.s3"},
		live: `spec: {source: {type: Git, git: {url: u}}}`, configuration: `spec: {source: {type: S3, s3: {bucket: c}}}`,
		want: `spec: {source: {type: S3}}`,
	},
	{
		name: "a member that the discriminator moves off (U9)", paths: []string{".spec.source.s3"},
		live: `spec: {source: {type: S3, s3: {bucket: b}}}`, configuration: `spec: {source: {type: Git, git: {url: u}}}`,
	},
	{
		name: "below a disabled field no other gate is looked at (C8)", paths: []string{".spec.foo", ".spec.foo.deep.a"},
		live: `spec: {foo: {deep: {a: 1, b: 2}}}`, configuration: `spec: {foo: {deep: {a: 5, b: 5}}}`, want: `spec: {foo: {deep: {a: 1, b: 2}}}`,
	},
	{
		name: "status is another endpoint's (G9)", paths: []string{".spec.replicas", ".status.ready"}, scope: scope.ExceptStatus,
		live: `{spec: {replicas: 3}, status: {ready: 1}}`, configuration: `{spec: {replicas: 5}, status: {ready: 5}}`,
		want: `{spec: {replicas: 3}, status: {ready: 5}}`,
	},
	{
		name: "in status it is the only one (G9)", paths: []string{".spec.replicas", ".status.ready"}, scope: scope.OnlyStatus,
		live: `{spec: {replicas: 3}, status: {ready: 1}}`, configuration: `{spec: {replicas: 5}, status: {ready: 5}}`,
		want: `{spec: {replicas: 5}, status: {ready: 1}}`,
	},
	{
		name: "the only field of status (G9)", paths: []string{".status.ready"}, scope: scope.OnlyStatus,
		live: `status: {phase: p}`, configuration: `status: {ready: 5}`, want: `status: {}`,
	},

	// Wrong types around it are left to validation (R1).
	{
		name: "wrong types in the configuration", paths: []string{".spec.foo.qux", ".spec.byKey[*].opt", ".spec.ports[*].host"},
		live:          `spec: {foo: {qux: 1}, byKey: {a: {opt: 1}}, ports: [{port: 1, protocol: TCP, host: h}]}`,
		configuration: `spec: {foo: [{qux: 2}], byKey: x, ports: {port: 1, host: i}}`,
	},
	{
		name: "wrong types in the persisted object", paths: []string{".spec.foo.qux", ".spec.byKey[*].opt", ".spec.ports[*].host"},
		live:          `spec: {foo: [{qux: 1}], byKey: x, ports: {port: 1, host: h}}`,
		configuration: `spec: {foo: {qux: 2}, byKey: {a: {opt: 2}}, ports: [{port: 1, host: h}]}`,
		want:          `spec: {foo: {}, byKey: {a: {}}, ports: [{port: 1}]}`,
	},
	{name: "a configuration that names nothing", paths: []string{".spec.replicas"}, live: `spec: {replicas: 3}`, configuration: `{}`},
	{name: "a root that is null", paths: []string{".spec.replicas"}, live: `spec: {replicas: 3}`, configuration: `spec: null`},
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
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// checkAdjustment adjusts a configuration and returns the outcome. It proves what holds for all of them.
func checkAdjustment(t *testing.T, plan *Plan, schema *structuralschema.Structural, configuration, live map[string]any, s scope.Scope) map[string]any {
	t.Helper()
	configurationBefore, liveBefore := configuration, runtime.DeepCopyJSON(live)
	configuration = runtime.DeepCopyJSON(configuration) // the outcome shares with it, and is defaced below
	adjusted, changed := plan.AdjustConfiguration(configuration, live, schema, s)
	if changed == cmp.Equal(configuration, adjusted) {
		t.Errorf("R4: changed is %v (-before +after):\n%s", changed, cmp.Diff(configuration, adjusted))
	}
	if !changed && !isSameMap(configuration, adjusted) {
		t.Error("R3: the configuration was copied though nothing is to be adjusted")
	}
	if again, changed := plan.AdjustConfiguration(adjusted, live, schema, s); changed {
		t.Errorf("R4: adjusting twice changes something (-once +twice):\n%s", cmp.Diff(adjusted, again))
	}
	out := runtime.DeepCopyJSON(adjusted)
	if diff := cmp.Diff([]any{configurationBefore, liveBefore}, []any{configuration, live}); diff != "" {
		t.Errorf("R4: the configuration or the persisted object was modified:\n%s", diff)
	}
	defaceAll(adjusted)
	if diff := cmp.Diff(liveBefore, live); diff != "" {
		t.Errorf("R4: the outcome shares with the persisted object:\n%s", diff)
	}
	return out
}

func isSameMap(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// TestG4AdjustingWithoutSchemaTakesObjectsApart (rules G4, R1): a version may have no structural schema.
func TestG4AdjustingWithoutSchemaTakesObjectsApart(t *testing.T) {
	plan, _ := adjustedPlan(t, ".spec.foo", ".spec.tags")
	configuration := testyaml.Object(t, `spec: {foo: {deep: {a: 5}, new: 1}, tags: [a]}`)
	live := testyaml.Object(t, `spec: {foo: {deep: {a: 1, b: 2}}, tags: [a, b]}`)
	got := checkAdjustment(t, plan, nil, configuration, live, scope.Everything)
	if diff := cmp.Diff(testyaml.Object(t, `spec: {foo: {deep: {a: 1}}, tags: [a, b]}`), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestR2AdjustingNothingAllocatesNothing: the configuration itself comes back.
func TestR2AdjustingNothingAllocatesNothing(t *testing.T) {
	plan, schema := adjustedPlan(t, ".spec.replicas", ".spec.foo.qux", ".spec.byKey[*].opt", ".spec.ports[*].host", ".spec.whole.x")
	const text = `spec: {image: a, replicas: 3, foo: {qux: 1, deep: {a: 1}}, byKey: {a: {opt: 1}}, ports: [{port: 1, host: h}], whole: {x: 1}}`
	live := testyaml.Object(t, text)
	for name, tc := range map[string]struct {
		plan          *Plan
		configuration map[string]any
	}{
		"R2: no plan":                           {nil, testyaml.Object(t, `spec: {replicas: 5}`)},
		"R2: every disabled field as persisted": {plan, testyaml.Object(t, text)},
		"R2: no disabled field is named":        {plan, testyaml.Object(t, `spec: {image: b, foo: {}, byKey: {a: {}}, ports: [{port: 1}]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			if n := testing.AllocsPerRun(100, func() {
				adjusted, changed := tc.plan.AdjustConfiguration(tc.configuration, live, schema, scope.Everything)
				if changed || !isSameMap(adjusted, tc.configuration) {
					t.Fatal("not the configuration")
				}
			}); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// TestG4AdjustmentOfRandomConfigurations proves that of what gates guard an adjusted configuration has what is persisted and
// nothing else, and that all around that is as it was sent.
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
		live, _ = saneValue(schema, "", live).(map[string]any) // what is persisted is valid
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
		t.Error("the random configurations prove too little")
	}
}

// checkAdjustedParts compares what the configuration and the adjusted one, which is the object of the write, have where
// gates guard and all around that.
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
			value, isNamed := refAt(w.Object, position.address)[name]
			if isNamed && value == nil && position.old[name] != nil {
				t.Errorf("G4: %s: a null is left", guard.text)
			}
			if isNamed && !isContained(value, position.old[name]) {
				t.Errorf("G4: %s: %v is no part of the persisted %v", guard.text, value, position.old[name])
			}
			delete(refAt(adjusted, position.address), name)
			delete(refAt(sent, position.address), name)
		}
	}
	if diff := cmp.Diff(sent, adjusted); diff != "" {
		t.Errorf("G4: something around the disabled fields was changed (-sent +adjusted):\n%s", diff)
	}
}

// isContained reports whether all that a value has is in another one, in any order.
func isContained(value, in any) bool {
	switch value := value.(type) {
	case map[string]any:
		in, ok := in.(map[string]any)
		for name, v := range value {
			held, found := in[name]
			ok = ok && found && isContained(v, held)
		}
		return ok
	case []any:
		in, ok := in.([]any)
		for _, v := range value {
			ok = ok && slices.ContainsFunc(in, func(held any) bool { return isContained(v, held) })
		}
		return ok
	}
	return refEqual(value, in)
}

// TestG4WhatIsPersistedIsAppliedAgainAsItIs: a part of the persisted object is left as it is, and draws no warning.
func TestG4WhatIsPersistedIsAppliedAgainAsItIs(t *testing.T) {
	schema := testyaml.Structural(t, fuzzSchemaYAML)
	for _, data := range randomBytes(1000) {
		gates, wild := fuzzGates(&source{data: data})
		if wild {
			continue
		}
		half := len(data) / 2
		persisted, _ := saneValue(schema, "", fuzzObject(&source{data: data[half:]}, schema)).(map[string]any)
		configuration, _ := partOf(&source{data: data}, schema, persisted).(map[string]any)
		plan := Compile(gates, schema, Options{})
		if adjusted := checkAdjustment(t, plan, schema, configuration, persisted, scope.Everything); !cmp.Equal(configuration, adjusted) {
			t.Errorf("G4: (-sent +adjusted):\n%s", cmp.Diff(configuration, adjusted))
		}
		w := Write{Object: runtime.DeepCopyJSON(persisted), Old: persisted, Applied: configuration, Schema: schema}
		if result := plan.Evaluate(w); result != nil {
			t.Errorf("G4: the gates change the object, or warn: %q", Warnings(result.Outcomes()))
		}
		if t.Failed() {
			t.Fatalf("gates: %s\npersisted: %s\nconfiguration: %s", encodeJSON(gates), encodeJSON(persisted), encodeJSON(configuration))
		}
	}
}

// saneValue returns what is valid of a random value: no wrong types, and no two items with the same keys.
func saneValue(schema *structuralschema.Structural, at string, value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			below, path := schemaBelowName(schema, name), at+"."+name
			if _, isProperty := schema.Properties[name]; !isProperty {
				path = at + "[*]"
			}
			if value[name] = saneValue(below, path, v); !isOfType(below, value[name]) {
				delete(value, name)
			}
		}
	case []any:
		return saneItems(schema, at, value)
	}
	return value
}

func saneItems(schema *structuralschema.Structural, at string, list []any) []any {
	var out []any
	items := schema.Items
	if items == nil {
		items = &structuralschema.Structural{}
	}
	known := map[string]bool{}
	for _, item := range list {
		if item = saneValue(items, at+"[*]", item); !isOfType(items, item) {
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

// keysOf fills in the keys of an item that lacks them, as defaulting and a client would, and tells them.
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

// schemaBelowName returns the schema of a field, which may have any type where it is not known.
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

// partOf returns a part of a sane value that a manager could have applied: some fields of its objects, some items of its
// list maps and sets, all else as a whole.
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
