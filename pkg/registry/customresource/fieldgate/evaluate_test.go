// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

const schemaYAML = `
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
          baz: {type: integer}
          qux: {type: integer}
      containers:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name, port]
        items:
          type: object
          required: [name, port]
          properties:
            name: {type: string}
            port: {type: integer}
            size: {type: integer}
            extra: {type: object, properties: {a: {type: string}, b: {type: string}}}
      pools:
        type: object
        additionalProperties:
          type: object
          properties:
            size: {type: integer}
            image: {type: string}
  status:
    type: object
    properties:
      ready: {type: integer}
`

// gatesYAML are the gates that compile enables and disables by name.
const gatesYAML = `
featureGates:
- {name: Replicas, preRelease: alpha, fieldPaths: [.spec.replicas]}
- {name: Foo, preRelease: alpha, fieldPaths: [.spec.foo]}
- {name: Qux, preRelease: alpha, fieldPaths: [.spec.foo.qux]}
- {name: Size, preRelease: alpha, fieldPaths: ['.spec.containers[*].size', '.spec.pools[*].size']}
- {name: ExtraA, preRelease: alpha, fieldPaths: ['.spec.containers[*].extra.a']}
- {name: Ready, preRelease: alpha, fieldPaths: [.status.ready]}
`

func testSchema(t testing.TB) *structuralschema.Structural {
	t.Helper()
	return testyaml.Structural(t, schemaYAML)
}

// compile returns the plan for gatesYAML with the named gates enabled and all others disabled.
func compile(t testing.TB, enabled ...string) *Plan {
	t.Helper()
	gates := parseGates(t, gatesYAML)
	for i := range gates.FeatureGates {
		isEnabled := slices.Contains(enabled, gates.FeatureGates[i].Name)
		gates.FeatureGates[i].Enabled = &isEnabled
	}
	return Compile(gates, testSchema(t), Options{})
}

func TestEvaluate(t *testing.T) {
	for _, tc := range []struct {
		name     string
		enabled  []string
		old      string // empty on create
		applied  string // the configuration of a server-side apply
		obj      string
		want     string // empty: as obj
		warnings []string
	}{
		// Create.
		{
			name:     "G2: create drops a disabled field",
			obj:      `spec: {image: a, replicas: 3}`,
			want:     `spec: {image: a}`,
			warnings: []string{`.spec.replicas: dropped: feature gate "Replicas" is disabled`},
		},
		{
			name:    "G2: create sets an enabled field",
			enabled: []string{"Replicas"},
			obj:     `spec: {image: a, replicas: 3}`,
		},
		{
			name:     "G3: create keeps an object that becomes empty because a field is dropped",
			enabled:  []string{"Foo"},
			obj:      `spec: {foo: {qux: 1}}`,
			want:     `spec: {foo: {}}`,
			warnings: []string{`.spec.foo.qux: dropped: feature gate "Qux" is disabled`},
		},
		{
			name:     "G5: create drops in every item of a list map and every value of a map, and warns once per path",
			obj:      `spec: {containers: [{name: a, port: 1, size: 1}, {name: b, port: 1, size: 2}], pools: {x: {size: 1, image: i}, y: {size: 2}}}`,
			want:     `spec: {containers: [{name: a, port: 1}, {name: b, port: 1}], pools: {x: {image: i}, y: {}}}`,
			warnings: []string{`.spec.containers[*].size: dropped: feature gate "Size" is disabled`, `.spec.pools[*].size: dropped: feature gate "Size" is disabled`},
		},
		{
			name: "G10: create without guarded fields draws no warning",
			obj:  `spec: {image: a, containers: [{name: a, port: 1}]}`,
		},
		{
			name: "G10: a null is not a value, so it is dropped without a warning",
			obj:  `spec: {image: a, replicas: null}`,
			want: `spec: {image: a}`,
		},
		{
			name: "R1: values of the wrong type are left to schema validation",
			obj:  `{spec: {foo: true, containers: {a: {size: 1}}, pools: [{size: 1}]}}`,
			want: `{spec: {containers: {a: {}}, pools: [{size: 1}]}}`,
			warnings: []string{
				`.spec.foo: dropped: feature gate "Foo" is disabled`,
				`.spec.containers[*].size: dropped: feature gate "Size" is disabled`,
			},
		},
		{name: "R1: a null parent of guarded fields", obj: `spec: null`},

		// The table of G2.
		{
			name:     "G2: update with no persisted field and the gate disabled drops it",
			old:      `spec: {image: a}`,
			obj:      `spec: {image: b, replicas: 5}`,
			want:     `spec: {image: b}`,
			warnings: []string{`.spec.replicas: dropped: feature gate "Replicas" is disabled`},
		},
		{
			name:    "G2: update with no persisted field and the gate enabled sets it",
			enabled: []string{"Replicas"},
			old:     `spec: {image: a}`,
			obj:     `spec: {image: b, replicas: 5}`,
		},
		{
			name:     "G2: update of a persisted field with the gate disabled keeps it",
			old:      `spec: {image: a, replicas: 3}`,
			obj:      `spec: {image: b, replicas: 5}`,
			want:     `spec: {image: b, replicas: 3}`,
			warnings: []string{`.spec.replicas: not updated: feature gate "Replicas" is disabled`},
		},
		{
			name:    "G2: update of a persisted field with the gate enabled updates it",
			enabled: []string{"Replicas"},
			old:     `spec: {image: a, replicas: 3}`,
			obj:     `spec: {image: b, replicas: 5}`,
		},
		{
			name:     "G2, G10: leaving a kept field out is an attempt to remove it",
			old:      `spec: {image: a, replicas: 3}`,
			obj:      `spec: {image: a}`,
			want:     `spec: {image: a, replicas: 3}`,
			warnings: []string{`.spec.replicas: not updated: feature gate "Replicas" is disabled`},
		},
		{
			name:     "G2: nulling a kept field does not remove it",
			old:      `spec: {replicas: 3}`,
			obj:      `spec: {replicas: null}`,
			want:     `spec: {replicas: 3}`,
			warnings: []string{`.spec.replicas: not updated: feature gate "Replicas" is disabled`},
		},
		{
			name: "G10: an update that does not change the kept field draws no warning",
			old:  `spec: {image: a, replicas: 3}`,
			obj:  `spec: {image: b, replicas: 3}`,
		},
		{
			name:     "G2: a persisted null is not a value, and stays as persisted",
			old:      `spec: {replicas: null}`,
			obj:      `spec: {replicas: 3}`,
			want:     `spec: {replicas: null}`,
			warnings: []string{`.spec.replicas: dropped: feature gate "Replicas" is disabled`},
		},
		{
			name:     "G2: zero values are set",
			obj:      `spec: {replicas: 0}`,
			want:     `spec: {}`,
			warnings: []string{`.spec.replicas: dropped: feature gate "Replicas" is disabled`},
		},

		// The nested table of KEP-2608: foo = {baz: 2, qux: 3} is applied, foo = {qux: 1} is persisted.
		{
			name: "G2, C8: nested row 1: not persisted, foo disabled, qux disabled",
			old:  `spec: {}`, obj: `spec: {foo: {baz: 2, qux: 3}}`, want: `spec: {}`,
			warnings: []string{`.spec.foo: dropped: feature gate "Foo" is disabled`},
		},
		{
			name: "G2, C8: nested row 2: not persisted, foo disabled, qux enabled", enabled: []string{"Qux"},
			old: `spec: {}`, obj: `spec: {foo: {baz: 2, qux: 3}}`, want: `spec: {}`,
			warnings: []string{`.spec.foo: dropped: feature gate "Foo" is disabled`},
		},
		{
			name: "G2: nested row 3: not persisted, foo enabled, qux disabled", enabled: []string{"Foo"},
			old: `spec: {}`, obj: `spec: {foo: {baz: 2, qux: 3}}`, want: `spec: {foo: {baz: 2}}`,
			warnings: []string{`.spec.foo.qux: dropped: feature gate "Qux" is disabled`},
		},
		{
			name: "G2: nested row 4: not persisted, foo enabled, qux enabled", enabled: []string{"Foo", "Qux"},
			old: `spec: {}`, obj: `spec: {foo: {baz: 2, qux: 3}}`,
		},
		{
			name: "G2, C8: nested row 5: persisted, foo disabled, qux disabled",
			old:  `spec: {foo: {qux: 1}}`, obj: `spec: {foo: {baz: 2, qux: 3}}`, want: `spec: {foo: {qux: 1}}`,
			warnings: []string{`.spec.foo: not updated: feature gate "Foo" is disabled`},
		},
		{
			name: "G2, C8: nested row 6: persisted, foo disabled, qux enabled", enabled: []string{"Qux"},
			old: `spec: {foo: {qux: 1}}`, obj: `spec: {foo: {baz: 2, qux: 3}}`, want: `spec: {foo: {qux: 1}}`,
			warnings: []string{`.spec.foo: not updated: feature gate "Foo" is disabled`},
		},
		{
			name: "G2: nested row 7: persisted, foo enabled, qux disabled", enabled: []string{"Foo"},
			old: `spec: {foo: {qux: 1}}`, obj: `spec: {foo: {baz: 2, qux: 3}}`, want: `spec: {foo: {baz: 2, qux: 1}}`,
			warnings: []string{`.spec.foo.qux: not updated: feature gate "Qux" is disabled`},
		},
		{
			name: "G2: nested row 8: persisted, foo enabled, qux enabled", enabled: []string{"Foo", "Qux"},
			old: `spec: {foo: {qux: 1}}`, obj: `spec: {foo: {baz: 2, qux: 3}}`,
		},

		// Parents.
		{
			name: "G4, G10: a disabled field is removed along with its parent, with a warning", enabled: []string{"Foo"},
			old: `spec: {image: a, foo: {qux: 1}}`, obj: `spec: {image: a}`,
			warnings: []string{`.spec.foo.qux: removed with .spec.foo: feature gate "Qux" is disabled`},
		},
		{
			name: "G4: a null ancestor counts as removed", enabled: []string{"Foo"},
			old: `spec: {foo: {qux: 1}}`, obj: `spec: {foo: null}`,
			warnings: []string{`.spec.foo.qux: removed with .spec.foo: feature gate "Qux" is disabled`},
		},
		{
			name: "G4: an ancestor of another type counts as removed", enabled: []string{"Foo"},
			old: `spec: {foo: {qux: 1}}`, obj: `spec: {foo: [{qux: 1}]}`,
			warnings: []string{`.spec.foo.qux: removed with .spec.foo: feature gate "Qux" is disabled`},
		},
		{
			name: "G4, G10: the warning names the outermost ancestor that was removed", enabled: []string{"Foo"},
			old: `spec: {replicas: 3, foo: {qux: 1}}`, obj: `status: {}`,
			warnings: []string{
				`.spec.replicas: removed with .spec: feature gate "Replicas" is disabled`,
				`.spec.foo.qux: removed with .spec: feature gate "Qux" is disabled`,
			},
		},
		{
			name: "G4, C8: a gate inside a removed disabled field has no effect",
			old:  `spec: {foo: {qux: 1}}`, obj: `spec: null`,
			warnings: []string{`.spec.foo: removed with .spec: feature gate "Foo" is disabled`},
		},
		{
			name: "G4, G10: removing a guarded field that was not set draws no warning", enabled: []string{"Foo"},
			old: `spec: {foo: {baz: 1, qux: null}, replicas: null}`, obj: `status: {}`,
		},
		{
			name: "G4: the parent of a kept field may be empty in the request", enabled: []string{"Foo"},
			old: `spec: {foo: {qux: 1}}`, obj: `spec: {foo: {}}`, want: `spec: {foo: {qux: 1}}`,
			warnings: []string{`.spec.foo.qux: not updated: feature gate "Qux" is disabled`},
		},

		// Server-side apply: obj is what field management returned for the adjusted configuration.
		{
			name: "G4, G10: applying the persisted value is not an attempt to change the field",
			old:  `spec: {image: a, replicas: 3}`, applied: `spec: {replicas: 3}`,
			obj: `spec: {image: a, replicas: 3}`,
		},
		{
			name: "G10: a configuration that sets the persisted value does not try to change it, even if the field was pruned",
			old:  `spec: {image: a, replicas: 3}`, applied: `spec: {replicas: 3}`,
			obj:  `spec: {image: a}`,
			want: `spec: {image: a, replicas: 3}`,
		},
		{
			name: "G10: applying another value is an attempt to change the field, though obj has the persisted value",
			old:  `spec: {image: a, replicas: 3}`, applied: `spec: {replicas: 5}`,
			obj:      `spec: {image: a, replicas: 3}`,
			warnings: []string{`.spec.replicas: not updated: feature gate "Replicas" is disabled`},
		},
		{
			name: "G10: applying a null is an attempt to remove the field",
			old:  `spec: {image: a, replicas: 3}`, applied: `spec: {replicas: null}`,
			obj:      `spec: {image: a, replicas: 3}`,
			warnings: []string{`.spec.replicas: not updated: feature gate "Replicas" is disabled`},
		},
		{
			name: "G10: applying a field that is not persisted draws a warning, though obj does not have it",
			old:  `spec: {image: a}`, applied: `spec: {replicas: 5}`,
			obj:      `spec: {image: a}`,
			warnings: []string{`.spec.replicas: dropped: feature gate "Replicas" is disabled`},
		},
		{
			name:    "G10: applying a field draws a warning if apply creates the object",
			applied: `spec: {image: a, replicas: 5}`, obj: `spec: {image: a}`,
			warnings: []string{`.spec.replicas: dropped: feature gate "Replicas" is disabled`},
		},
		{
			name: "G10: a kept field that the configuration does not set draws no warning if obj has it",
			old:  `spec: {image: a, replicas: 3, pools: {x: {size: 1}}}`, applied: `spec: {image: b, pools: {x: {}}}`,
			obj: `spec: {image: b, replicas: 3, pools: {x: {size: 1}}}`,
		},
		{
			name: "G10: leaving out a field that the manager applied before is an attempt to remove it",
			old:  `spec: {image: a, replicas: 3}`, applied: `spec: {image: a}`,
			obj: `spec: {image: a}`, want: `spec: {image: a, replicas: 3}`,
			warnings: []string{`.spec.replicas: not updated: feature gate "Replicas" is disabled`},
		},
		{
			name: "G10: applying a part of a persisted object is not an attempt to change it",
			old:  `spec: {foo: {baz: 1, qux: 2}}`, applied: `spec: {foo: {baz: 1}}`,
			obj: `spec: {foo: {baz: 1, qux: 2}}`,
		},
		{
			name: "G10: applying a part of a persisted object with another value is an attempt to change it",
			old:  `spec: {foo: {baz: 1, qux: 2}}`, applied: `spec: {foo: {baz: 5}}`,
			obj:      `spec: {foo: {baz: 1, qux: 2}}`,
			warnings: []string{`.spec.foo: not updated: feature gate "Foo" is disabled`},
		},
		{
			name: "G10: applying an object with a field that is not persisted is an attempt to change it",
			old:  `spec: {foo: {baz: 1}}`, applied: `spec: {foo: {baz: 1, qux: 2}}`,
			obj:      `spec: {foo: {baz: 1}}`,
			warnings: []string{`.spec.foo: not updated: feature gate "Foo" is disabled`},
		},
		{
			name: "G5, G10: applied items are matched by their keys",
			old:  `spec: {containers: [{name: a, port: 1, size: 1}, {name: b, port: 1, size: 2}]}`, applied: `spec: {containers: [{name: b, port: 1, size: 2}, {name: a, port: 1, size: 1}]}`,
			obj: `spec: {containers: [{name: a, port: 1, size: 1}, {name: b, port: 1, size: 2}]}`,
		},
		{
			name: "G5, G10: of two applied items one differs and one is new",
			old:  `spec: {containers: [{name: a, port: 1, size: 1}]}`, applied: `spec: {containers: [{name: b, port: 1, size: 2}, {name: a, port: 1, size: 2}]}`,
			obj:      `spec: {containers: [{name: a, port: 1, size: 1}, {name: b, port: 1}]}`,
			warnings: []string{`.spec.containers[*].size: not updated: feature gate "Size" is disabled`},
		},

		// List maps and maps.
		{
			name: "G5: items are matched by all of their keys, in any order",
			old:  `spec: {containers: [{name: a, port: 1, size: 1}, {name: a, port: 2, size: 2}, {name: b, port: 1, size: 3}]}`,
			obj:  `spec: {containers: [{name: b, port: 1, size: 9}, {name: a, port: 2}, {name: a, port: 1, size: 1}]}`,
			want: `spec: {containers: [{name: b, port: 1, size: 3}, {name: a, port: 2, size: 2}, {name: a, port: 1, size: 1}]}`,
			warnings: []string{
				`.spec.containers[*].size: not updated: feature gate "Size" is disabled`,
			},
		},
		{
			name: "G5: a new item has no persisted field; if one field is kept and one dropped, the warning says kept (G10)",
			old:  `spec: {containers: [{name: a, port: 1, size: 1}]}`,
			obj:  `spec: {containers: [{name: n, port: 1, size: 7}, {name: a, port: 1, size: 8}]}`,
			want: `spec: {containers: [{name: n, port: 1}, {name: a, port: 1, size: 1}]}`,
			warnings: []string{
				`.spec.containers[*].size: not updated: feature gate "Size" is disabled`,
			},
		},
		{
			name: "G5: guarded fields are removed along with their item",
			old:  `spec: {containers: [{name: a, port: 1, size: 1}, {name: b, port: 1, size: 2}]}`,
			obj:  `spec: {containers: [{name: b, port: 1, size: 2}]}`,
			warnings: []string{
				`.spec.containers[*].size: removed with an item of .spec.containers: feature gate "Size" is disabled`,
			},
		},
		{
			name: "G5, G10: if the request removes the list, the warning names the list",
			old:  `spec: {containers: [{name: a, port: 1, size: 1}]}`,
			obj:  `spec: {image: a}`,
			warnings: []string{
				`.spec.containers[*].size: removed with .spec.containers: feature gate "Size" is disabled`,
			},
		},
		{
			name: "G5, G10: if the request removes an object in an item, the warning names the path of the object",
			old:  `spec: {containers: [{name: a, port: 1, extra: {a: x}}]}`,
			obj:  `spec: {containers: [{name: a, port: 1}]}`,
			warnings: []string{
				`.spec.containers[*].extra.a: removed with .spec.containers[*].extra: feature gate "ExtraA" is disabled`,
			},
		},
		{
			name: "G5, G10: if the request removes an item, and an object in another item, the warning names the item",
			old:  `spec: {containers: [{name: a, port: 1, extra: {a: x}}, {name: b, port: 1, extra: {a: x}}]}`,
			obj:  `spec: {containers: [{name: a, port: 1}]}`,
			warnings: []string{
				`.spec.containers[*].extra.a: removed with an item of .spec.containers: feature gate "ExtraA" is disabled`,
			},
		},
		{
			name:     "G5, G10: a guarded field is removed along with the last item",
			old:      `spec: {containers: [{name: a, port: 1, size: 1}]}`,
			obj:      `spec: {containers: []}`,
			warnings: []string{`.spec.containers[*].size: removed with an item of .spec.containers: feature gate "Size" is disabled`},
		},
		{
			name:     "G5, G10: a guarded field is removed along with a value of a map that becomes null",
			old:      `spec: {pools: {x: {size: 1}}}`,
			obj:      `spec: {pools: {x: null}}`,
			warnings: []string{`.spec.pools[*].size: removed with an item of .spec.pools: feature gate "Size" is disabled`},
		},
		{
			name: "G5: values of maps are matched by key; of removed, kept and dropped the warning says removed (G10)",
			old:  `spec: {pools: {x: {size: 1}, gone: {size: 2}}}`,
			obj:  `spec: {pools: {x: {size: 5, image: i}, new: {size: 2, image: j}}}`,
			want: `spec: {pools: {x: {size: 1, image: i}, new: {image: j}}}`,
			warnings: []string{
				`.spec.pools[*].size: removed with an item of .spec.pools: feature gate "Size" is disabled`,
			},
		},
		{
			name: "G5: a field of an object in an item is kept",
			old:  `spec: {containers: [{name: a, port: 1, extra: {a: x, b: y}}]}`,
			obj:  `spec: {containers: [{name: z, port: 1}, {name: a, port: 1, extra: {b: z}}]}`,
			want: `spec: {containers: [{name: z, port: 1}, {name: a, port: 1, extra: {a: x, b: z}}]}`,
			warnings: []string{
				`.spec.containers[*].extra.a: not updated: feature gate "ExtraA" is disabled`,
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := compile(t, tc.enabled...)
			old, obj := testyaml.Object(t, tc.old), testyaml.Object(t, tc.obj)
			oldBefore := runtime.DeepCopyJSON(old)
			want := testyaml.Object(t, tc.want)
			if want == nil {
				want = testyaml.Object(t, tc.obj)
			}

			write := Write{Object: obj, Old: old, Applied: testyaml.Object(t, tc.applied), Schema: testSchema(t)}
			checkEqual(t, "warnings", tc.warnings, Warnings(plan.Evaluate(write).Outcomes()))
			checkEqual(t, "object", want, obj)
			checkUnmodified(t, "the persisted object", oldBefore, old)
			if again := plan.Evaluate(write); again.Requested() != nil {
				t.Errorf("R4: the second evaluation changes the object:\n%s", cmp.Diff(want, obj))
			}
		})
	}
}

func TestDeprecated(t *testing.T) {
	const gates = `
component: istio
featureGates:
- {name: Old, preRelease: deprecated, default: true, fieldPaths: [.spec.replicas, .spec.foo.qux]}
- {name: Told, preRelease: deprecated, default: true, fieldDeprecationWarning: use pools, fieldPaths: [.spec.image, '.spec.containers[*].size']}
- {name: Gone, preRelease: deprecated, default: false, fieldDeprecationWarning: never seen, fieldPaths: ['.spec.pools[*].size', .spec.tuned.level]}
- {name: Tuned, preRelease: deprecated, default: true, fieldPaths: [.spec.tuned]}
`
	for _, tc := range []struct {
		name     string
		old, obj string
		warnings []string
	}{
		{
			name: "G10: a field that is set on create draws one warning for each path",
			obj:  `spec: {replicas: 1, foo: {qux: 1}}`,
			warnings: []string{
				".spec.replicas: deprecated field",
				".spec.foo.qux: deprecated field",
			},
		},
		{
			name:     "G10: fieldDeprecationWarning replaces that warning, verbatim, once for the gate",
			obj:      `spec: {image: a, containers: [{name: a, port: 1, size: 1}]}`,
			warnings: []string{"use pools"},
		},
		{
			name:     "G10: a field that is changed on update draws a warning",
			old:      `spec: {replicas: 1, image: a}`,
			obj:      `spec: {replicas: 2, image: a}`,
			warnings: []string{".spec.replicas: deprecated field"},
		},
		{
			name:     "G10: a field that is added on update draws a warning",
			old:      `spec: {}`,
			obj:      `spec: {image: a}`,
			warnings: []string{"use pools"},
		},
		{
			name: "G10: a field that is removed draws no warning",
			old:  `spec: {replicas: 1, image: a}`,
			obj:  `spec: {}`,
		},
		{
			name: "G10: an unchanged field draws no warning, also in a list in another order",
			old:  `spec: {containers: [{name: a, port: 1, size: 1}, {name: b, port: 1, size: 2}]}`,
			obj:  `spec: {containers: [{name: b, port: 1, size: 2}, {name: a, port: 1, size: 1}]}`,
		},
		{
			name:     "G10: a field draws no warning if the request changes only a disabled field inside",
			old:      `spec: {tuned: {level: 1}}`,
			obj:      `spec: {tuned: {level: 2}}`,
			warnings: []string{`.spec.tuned.level: not updated: feature gate "istio/Gone" is disabled`},
		},
		{
			name:     "G10: a disabled deprecated field draws only the warning that it is dropped, with the component's name",
			obj:      `spec: {pools: {x: {size: 1}}}`,
			warnings: []string{`.spec.pools[*].size: dropped: feature gate "istio/Gone" is disabled`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := Compile(parseGates(t, gates), testSchema(t), Options{})
			got := Warnings(plan.Evaluate(Write{Object: testyaml.Object(t, tc.obj), Old: testyaml.Object(t, tc.old)}).Outcomes())
			checkEqual(t, "warnings", tc.warnings, got)
		})
	}
}

func TestCompile(t *testing.T) {
	for _, tc := range []struct {
		name    string
		gates   string
		wantNil bool
	}{
		{"R2: no gates", `{}`, true},
		{"R2: only enabled gates", `featureGates: [{name: A, preRelease: beta, fieldPaths: [.spec.image]}, {name: B, preRelease: stable, enabled: false, fieldPaths: [.spec.foo]}]`, true},
		{"C4: a gate without definition guards nothing", `featureGates: [{name: A, enabled: false}]`, true},
		{"F5: a path that does not parse is left out", `featureGates: [{name: A, preRelease: alpha, fieldPaths: ["spec..["]}]`, true},
		{"C1: alpha is disabled", `featureGates: [{name: A, preRelease: alpha, fieldPaths: [.spec.image]}]`, false},
		{"G10: an enabled deprecated gate draws warnings", `featureGates: [{name: A, preRelease: deprecated, default: true, fieldPaths: [.spec.image]}]`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			gates := parseGates(t, tc.gates)
			if plan := Compile(gates, testSchema(t), Options{}); (plan == nil) != tc.wantNil {
				t.Errorf("plan is %v", plan)
			}
		})
	}
	if Compile(nil, nil, Options{}) != nil {
		t.Error("R2: a CRD without customFeatureGates has a plan")
	}
}

func TestG9ScopesOfEndpoints(t *testing.T) {
	const obj = `{spec: {image: a, replicas: 3}, status: {ready: 1}}`
	for name, tc := range map[string]struct {
		scope scope.Scope
		want  string
		paths string
	}{
		"G9: a resource without status subresource writes everything": {scope.Everything, `{spec: {image: a}, status: {}}`,
			".spec.containers[*].extra.a .spec.containers[*].size .spec.foo .spec.pools[*].size .spec.replicas .status.ready"},
		"G9: the main endpoint of a resource with status subresource does not write status": {scope.ExceptStatus, `{spec: {image: a}, status: {ready: 1}}`,
			".spec.containers[*].extra.a .spec.containers[*].size .spec.foo .spec.pools[*].size .spec.replicas"},
		"G9: the status subresource writes only status": {scope.OnlyStatus, `{spec: {image: a, replicas: 3}, status: {}}`, ".status.ready"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := compile(t)
			got := testyaml.Object(t, obj)
			plan.Evaluate(Write{Object: got, Scope: tc.scope})
			checkEqual(t, "object", testyaml.Object(t, tc.want), got)
			var paths []string
			for _, path := range disabledPaths(plan, tc.scope) {
				paths = append(paths, path.String())
			}
			slices.Sort(paths)
			checkEqual(t, "disabled paths", tc.paths, strings.Join(paths, " "))
		})
	}
}

func TestR2ObjectsWithoutGuardedFieldsAllocateNothing(t *testing.T) {
	plan := compile(t, "Foo")
	const text = `spec: {image: a, foo: {baz: 1}, containers: [{name: a, port: 1}, {name: b, port: 2}], pools: {x: {image: i}}}`
	obj, old := testyaml.Object(t, text), testyaml.Object(t, text)
	for name, run := range map[string]func(){
		"create":   func() { plan.Evaluate(Write{Object: obj}) },
		"update":   func() { plan.Evaluate(Write{Object: obj, Old: old}) },
		"nil plan": func() { (*Plan)(nil).Evaluate(Write{Object: obj, Old: old}) },
	} {
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("R2: %s: %v allocations", name, n)
		}
	}
}
