// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
)

// defaultsYAML has discriminators with a default: in an object, in objects that have a default themselves, in items of
// lists, in values of a map, and in a union with the key "".
const defaultsYAML = `
type: object
properties:
  spec:
    type: object
    properties:
      source: &source
        type: object
        properties:
          name: {type: string}
          type:
            type: string
            default: Git
            enum: [Git, S3, None]
            x-kubernetes-unions: {fieldMembers: {Git: {name: git, optional: true}, S3: {name: s3}, None: {}}}
          git: {type: object, properties: {url: {type: string, default: u}}}
          s3: {type: object, properties: {bucket: {type: string}}}
      whole: {default: {type: S3, s3: {}}, <<: *source}
      part: {default: {s3: {}}, <<: *source}
      items: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: *source}
      atomic: {type: array, items: *source}
      map: {type: object, additionalProperties: *source}
      nullable:
        type: object
        properties:
          type:
            type: string
            nullable: true
            default: Git
            enum: [Git, S3, null]
            x-kubernetes-unions: {fieldMembers: {Git: {name: git}, S3: {name: s3}}}
          git: {type: object}
          s3: {type: object}
      legacy:
        type: object
        properties:
          type:
            type: string
            default: New
            enum: [New]
            x-kubernetes-unions: {fieldMembers: {"": {name: old}, New: {name: new, optional: true}}}
          old: {type: string}
          new: {type: string}
`

// TestU43DiscriminatorsAreDefaulted (rule U4.3).
func TestU43DiscriminatorsAreDefaulted(t *testing.T) {
	schema := testyaml.Structural(t, defaultsYAML)
	plan := planOf(t, defaultsYAML, nil)
	const defaulted = `whole: {type: S3, s3: {}}, part: {type: Git, s3: {}}`
	for _, tc := range []struct{ claim, spec, want string }{
		{"defaulted if no member is set", `{source: {name: n}}`, `{source: {name: n, type: Git}}`},
		{"defaulted if only the member that the default selects is set", `{source: {git: {}}}`, `{source: {type: Git, git: {url: u}}}`},
		{"not defaulted if another member is set", `{source: {s3: {}}}`, `{source: {s3: {}}}`},
		{"not defaulted if the selected and another member are set", `{source: {git: {}, s3: {}}}`, `{source: {git: {url: u}, s3: {}}}`},
		{"defaulted if the other member is null", `{source: {s3: null}}`, `{source: {type: Git, s3: null}}`},
		{"a null discriminator is removed like an absent one", `{source: {type: null, s3: {}}}`, `{source: {s3: {}}}`},
		{"a null discriminator is defaulted if no member is set", `{source: {type: null}}`, `{source: {type: Git}}`},
		{"a nullable discriminator that is null stays null", `{nullable: {type: null, s3: {}}}`, `{nullable: {type: null, s3: {}}}`},
		{"a discriminator in the request is left alone", `{source: {type: Git, s3: {}}}`, `{source: {type: Git, s3: {}}}`},
		{"a discriminator that is empty or not a string is left alone", `{source: {type: "", s3: {}}, map: {k: {type: 5, s3: {}}}}`, `{source: {type: "", s3: {}}, map: {k: {type: 5, s3: {}}}}`},
		{"in items of list maps", `{items: [{name: a, s3: {}}, {name: b}, {name: a, git: {}}]}`, `{items: [{name: a, s3: {}}, {name: b, type: Git}, {name: a, type: Git, git: {url: u}}]}`},
		{"in items of atomic lists", `{atomic: [{s3: {}}, {}]}`, `{atomic: [{s3: {}}, {type: Git}]}`},
		{"in values of maps", `{map: {a: {s3: {}}, b: {}}}`, `{map: {a: {s3: {}}, b: {type: Git}}}`},
		{"not defaulted if the key \"\" selects the member that is set", `{legacy: {old: x}}`, `{legacy: {old: x}}`},
		{"R1: values of another type than the schema are left alone", `{source: [{s3: {}}], items: {s3: {}}, map: [s3], atomic: 1}`, `{source: [{s3: {}}], items: {s3: {}}, map: [s3], atomic: 1}`},
	} {
		t.Run("U4.3: "+tc.claim, func(t *testing.T) {
			object := testyaml.Object(t, "{spec: "+tc.spec+"}")
			plan.Default(object, func() { structuraldefaulting.Default(object, schema) })
			want := strings.Replace(tc.want, "{", "{"+defaulted+", ", 1)
			if diff := cmp.Diff(testyaml.Object(t, "{spec: "+want+"}"), object); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestU43DiscriminatorsThatAreNotDefaultedAreRequired (rules U4.3, U6.1).
func TestU43DiscriminatorsThatAreNotDefaultedAreRequired(t *testing.T) {
	plan := planOf(t, defaultsYAML, nil)
	for _, tc := range []struct{ claim, object, old, want string }{
		{
			"on update the error has the persisted value", `{spec: {source: {s3: {}}}}`, `{spec: {source: {type: S3, s3: {}}}}`,
			`spec.source.type: Required value: must be given when spec.source.s3 is set: the persisted value is "S3"`,
		}, {
			"on create the error has the supported values", `{spec: {source: {s3: {}}}}`, ``,
			`spec.source.type: Required value: supported values: "Git", "None", "S3"`,
		}, {
			"an item of an atomic list has no persisted value", `{spec: {atomic: [{s3: {}}]}}`, `{spec: {atomic: [{type: S3, s3: {}}]}}`,
			`spec.atomic[0].type: Required value: supported values: "Git", "None", "S3"`,
		}, {
			"an absent discriminator is not \"\": it reads as the default", `{spec: {legacy: {old: x}}}`, ``,
			`spec.legacy.type: Required value: supported values: "New"`,
		},
	} {
		t.Run("U4.3: "+tc.claim, func(t *testing.T) {
			errs, failures := plan.Validate(testyaml.Object(t, tc.object), testyaml.Object(t, tc.old), Options{})
			if got := strings.Join(texts(errs), "\n"); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if len(failures) != 1 || failures[0].Reason != Required {
				t.Errorf("V1: failures %v", failures)
			}
		})
	}
}

// TestR2DefaultOnlyAppliesDefaultsIfNoDiscriminatorHasOne (rule R2).
func TestR2DefaultOnlyAppliesDefaultsIfNoDiscriminatorHasOne(t *testing.T) {
	object := testyaml.Object(t, `{spec: {source: {git: {}, s3: {}}}}`)
	calls := 0
	for name, plan := range map[string]*Plan{"no plan": nil, "no defaults": planOf(t, positionsSchemaYAML(), nil)} {
		if plan.HasDefaults() {
			t.Errorf("R2: %s: HasDefaults is true", name)
		}
		if allocs := testing.AllocsPerRun(100, func() { plan.Default(object, func() { calls++ }) }); allocs != 0 {
			t.Errorf("R2: %s: %v allocations", name, allocs)
		}
	}
	if calls != 2*101 {
		t.Errorf("U4.3: applyDefaults was called %d times", calls)
	}
	if !planOf(t, defaultsYAML, nil).HasDefaults() {
		t.Error("U4.3: HasDefaults is false")
	}
}
