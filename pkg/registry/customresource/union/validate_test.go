// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

const changeToo = ": a client that changes the members of a union must change the discriminator too"

func TestValidate(t *testing.T) {
	for _, tc := range []struct {
		claim    string
		object   string
		want     []string
		failures []Failure // -1 stands for any ordinal
		opts     Options
	}{
		{
			claim:  "U6: valid unions have no errors",
			object: `{spec: {source: {type: Git, git: {}}, map: {k: {type: S3}}, items: [{type: None}], atomic: [{type: S3, s3: {}}]}}`,
		}, {
			claim:  "U6.1: an unknown value is the only error of the union",
			object: `{spec: {source: {type: FTP, git: {}}}}`,
			want:   []string{`spec.source.type: Unsupported value: "FTP": supported values: "Git", "None", "S3"`},
			failures: []Failure{
				{-1, "unsupported"},
			},
		}, {
			claim:    "U6.1: an absent discriminator is required",
			object:   `{spec: {source: {git: {}}}}`,
			want:     []string{`spec.source.type: Required value: supported values: "Git", "None", "S3"`},
			failures: []Failure{{-1, "required"}},
		}, {
			claim:    "U6.1: a null discriminator is absent, an empty one is an unknown value",
			object:   `{spec: {map: {a: {type: null}, b: {type: ""}}}}`,
			want:     []string{`spec.map.a.type: Required value: supported values: "Git", "None", "S3"`, `spec.map.b.type: Unsupported value: "": supported values: "Git", "None", "S3"`},
			failures: []Failure{{-1, "required"}, {-1, "unsupported"}},
		}, {
			claim:  "U3: an absent discriminator means the empty value if the union has one",
			object: `{spec: {two: {w: null}, outer: {}}}`,
		}, {
			claim:    "U2: the discriminator may not be set to the empty value if the enum lacks it",
			object:   `{mode: "", spec: {outer: {type: ""}}}`,
			want:     []string{`mode: Unsupported value: "": supported values: "A", "B", "Status"`, `spec.outer.type: Unsupported value: "": supported values: "Inner", "Other"`},
			failures: []Failure{{-1, "unsupported"}, {-1, "unsupported"}},
		}, {
			claim:    "U6.2: a member that is set and not selected is forbidden",
			object:   `{spec: {source: {type: S3, git: {}, s3: {}}}}`,
			want:     []string{`spec.source.git: Forbidden: must not be set when spec.source.type is "S3"` + changeToo},
			failures: []Failure{{-1, "forbidden"}},
		}, {
			claim:    "U6.2: a member is forbidden if the discriminator is absent",
			object:   `{a: x}`,
			want:     []string{`a: Forbidden: must not be set when mode is ""` + changeToo},
			failures: []Failure{{-1, "forbidden"}},
		}, {
			claim:    "U6.2: a zero value is forbidden, null is not",
			object:   `{spec: {two: {x1: 0, x2: false, w1: null}}}`,
			want:     []string{`spec.two.x1: Forbidden: must not be set when spec.two.x is ""` + changeToo, `spec.two.x2: Forbidden: must not be set when spec.two.x is ""` + changeToo},
			failures: []Failure{{-1, "forbidden"}},
		}, {
			claim:    "U6.3: a selected member that is null is required",
			object:   `{spec: {source: {type: Git, git: null}}}`,
			want:     []string{`spec.source.git: Required value: must be set when spec.source.type is "Git"`},
			failures: []Failure{{-1, "required"}},
		}, {
			claim:    "U6.2, U6.3: changing the members without the discriminator is two errors",
			object:   `{spec: {source: {type: Git, s3: {}}}}`,
			want:     []string{`spec.source.s3: Forbidden: must not be set when spec.source.type is "Git"` + changeToo, `spec.source.git: Required value: must be set when spec.source.type is "Git"`},
			failures: []Failure{{-1, "forbidden"}, {-1, "required"}},
		}, {
			claim:    "U6.3: the error names the disabled gate that drops the selected member",
			object:   `{spec: {items: [{type: Git}], map: {k: {type: Git}}}}`,
			want:     []string{`spec.items[0].git: Required value: must be set when spec.items[0].type is "Git", but is dropped: feature gate "istio/G" is disabled`, `spec.map.k.git: Required value: must be set when spec.map.k.type is "Git"`},
			failures: []Failure{{-1, "required"}, {-1, "required"}},
		}, {
			claim:  "U6: errors are sorted by path; V1: failures are distinct",
			object: `{spec: {source: {type: A}, items: [{type: B}, {type: S3, git: {}}, {type: C}], maps: {b: {a: {type: E}}, a: {b: {type: D}, a: {}}}}, mode: F}`,
			want: []string{
				`mode: Unsupported value: "F": supported values: "", "A", "B", "Status"`,
				`spec.items[0].type: Unsupported value: "B": supported values: "Git", "None", "S3"`,
				`spec.items[1].git: Forbidden: must not be set when spec.items[1].type is "S3"` + changeToo,
				`spec.items[2].type: Unsupported value: "C": supported values: "Git", "None", "S3"`,
				`spec.maps.a.a.type: Required value: supported values: "Git", "None", "S3"`,
				`spec.maps.a.b.type: Unsupported value: "D": supported values: "Git", "None", "S3"`,
				`spec.maps.b.a.type: Unsupported value: "E": supported values: "Git", "None", "S3"`,
				`spec.source.type: Unsupported value: "A": supported values: "Git", "None", "S3"`,
			},
			failures: []Failure{{-1, "unsupported"}, {-1, "unsupported"}, {-1, "forbidden"}, {-1, "required"}, {-1, "unsupported"}, {-1, "unsupported"}},
		}, {
			claim:    "U5: unions in atomic and set lists, nested lists and members are validated",
			object:   `{spec: {atomic: [{type: A}], plain: [{type: A}], set: [{type: A}], groups: [{lists: [[], [{type: A}]]}], outer: {type: Inner, inner: {type: A}}}}`,
			want:     forEach(`%s.type: Unsupported value: "A": supported values: "Git", "None", "S3"`, "spec.atomic[0]", "spec.groups[0].lists[1][0]", "spec.outer.inner", "spec.plain[0]", "spec.set[0]"),
			failures: slices.Repeat([]Failure{{-1, "unsupported"}}, 5),
		}, {
			claim:  "R1: values of another type than the schema are left to schema validation",
			object: `{mode: Status, spec: {source: [], map: [{type: A}], maps: {a: {b: 1}}, items: {a: {type: A}}, atomic: {a: {type: A}}, groups: [null, 1, []]}, status: 1}`,
		}, {
			claim:  "U6.1: a discriminator that is not a string is an unknown value",
			object: `{mode: [B], a: x, spec: {groups: [{items: [{type: {a: b}}]}], two: {x: 1, x1: 1, w: true}}}`,
			want: []string{
				`mode: Unsupported value: "array": supported values: "", "A", "B", "Status"`,
				`spec.groups[0].items[0].type: Unsupported value: "object": supported values: "Git", "None", "S3"`,
				`spec.two.w: Unsupported value: true: supported values: "", "W1"`,
				`spec.two.x: Unsupported value: 1: supported values: "", "X1", "X2"`,
			},
			failures: slices.Repeat([]Failure{{-1, "unsupported"}}, 4),
		}, {
			claim:    "U7: a status write validates the unions in status only",
			object:   `{a: x, spec: {source: {}}, status: {source: {}}}`,
			want:     []string{`status.source.type: Required value: supported values: "Git", "None", "S3"`},
			failures: []Failure{{-1, "required"}},
			opts:     Options{Scope: scope.OnlyStatus},
		}, {
			claim:    "U7: other writes do not validate status, and it is not a member",
			object:   `{spec: {source: {}}, status: {source: {}}}`,
			want:     []string{`spec.source.type: Required value: supported values: "Git", "None", "S3"`},
			failures: []Failure{{-1, "required"}},
			opts:     Options{Scope: scope.ExceptStatus},
		}, {
			claim:    "U6.2: without the status subresource, status may be a member",
			object:   `{status: {}}`,
			want:     []string{`status: Forbidden: must not be set when mode is ""` + changeToo},
			failures: []Failure{{-1, "forbidden"}},
		},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			plan := planOf(t, positionsSchemaYAML(), map[string]string{".spec.items[*].git": "istio/G"})
			obj := testyaml.Object(t, tc.object)
			errs, failures := plan.Validate(obj, nil, tc.opts)
			if diff := cmp.Diff(tc.want, texts(errs)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			seen := map[Failure]bool{}
			for i := range failures {
				if seen[failures[i]] {
					t.Errorf("V1: the same failure twice: %v", failures[i])
				}
				seen[failures[i]] = true
				failures[i].Ordinal = -1
			}
			if diff := cmp.Diff(tc.failures, failures); diff != "" {
				t.Errorf("V1: failures (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(testyaml.Object(t, tc.object), obj); diff != "" {
				t.Errorf("R4: the object was modified (-before +after):\n%s", diff)
			}
		})
	}
}

func forEach(format string, args ...string) []string {
	var out []string
	for _, arg := range args {
		out = append(out, fmt.Sprintf(format, arg))
	}
	return out
}

func texts(errs field.ErrorList) []string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return out
}

// TestU7RatchetingIgnoresErrorsOfUnchangedUnions (rule U7).
func TestU7RatchetingIgnoresErrorsOfUnchangedUnions(t *testing.T) {
	for _, tc := range []struct {
		claim       string
		object, old string
		want        []string // the paths of the errors
	}{
		{
			claim:  "the discriminator and members are equal",
			object: `{spec: {source: {type: S3, git: {url: u}, name: new}, image: new}}`,
			old:    `{spec: {source: {type: S3, git: {url: u}, name: old}}}`,
		}, {
			claim:  "a field in a member differs",
			object: `{spec: {source: {type: S3, git: {url: new}}}}`,
			old:    `{spec: {source: {type: S3, git: {url: old}}}}`,
			want:   []string{"spec.source.git"},
		}, {
			claim:  "a member is added",
			object: `{spec: {source: {type: S3, git: {}, s3: {}}}}`,
			old:    `{spec: {source: {type: S3, git: {}}}}`,
			want:   []string{"spec.source.git"},
		}, {
			claim:  "another unknown value is an error",
			object: `{spec: {source: {type: FTP}}}`,
			old:    `{spec: {source: {type: HTTP}}}`,
			want:   []string{"spec.source.type"},
		}, {
			claim:  "values of maps and items of list maps are matched",
			object: `{spec: {map: {a: {type: A}, b: {type: A}}, items: [{name: c, type: A}, {name: b, type: A}, {name: a, type: A}], groups: [{id: 1, items: [{name: x}]}]}}`,
			old:    `{spec: {map: {a: {type: A}}, items: [{name: a, type: A}, {name: b, type: A}], groups: [{id: 1, items: [{name: x}]}]}}`,
			want:   []string{"spec.items[0].type", "spec.map.b.type"},
		}, {
			claim:  "atomic and set lists are equal as a whole",
			object: `{spec: {image: new, atomic: [{type: A}], plain: [{type: A}], set: [{type: A}], groups: [{id: 1, lists: [[{name: a, type: A}]]}]}}`,
			old:    `{spec: {image: old, atomic: [{type: A}], plain: [{type: A}], set: [{type: A}], groups: [{id: 1, lists: [[{name: a, type: A}]]}]}}`,
		}, {
			claim:  "items of atomic and set lists that differ are not matched",
			object: `{spec: {atomic: [{type: A}, {type: None}], plain: [{type: A, name: new}], set: [{type: S3}, {type: A}], groups: [{id: 1, lists: [[{name: a, type: A}], []]}]}}`,
			old:    `{spec: {atomic: [{type: A}], plain: [{type: A, name: old}], set: [{type: A}, {type: S3}], groups: [{id: 1, lists: [[{name: a, type: A}]]}]}}`,
			want:   []string{"spec.atomic[0].type", "spec.groups[0].lists[0][0].type", "spec.plain[0].type", "spec.set[1].type"},
		}, {
			claim:  "a list in a new item is not matched",
			object: `{spec: {groups: [{id: 2, lists: [[{name: a, type: A}]]}]}}`,
			old:    `{spec: {groups: [{id: 1, lists: [[{name: a, type: A}]]}]}}`,
			want:   []string{"spec.groups[0].lists[0][0].type"},
		}, {
			claim:  "the discriminator is not a string, and nothing changed",
			object: `{spec: {image: new, source: {type: 5, git: {}, s3: {}}}}`,
			old:    `{spec: {image: old, source: {type: 5, git: {}, s3: {}}}}`,
		}, {
			claim:  "the discriminator is not a string, and a member is added",
			object: `{spec: {source: {type: 5, git: {}, s3: {}}}}`,
			old:    `{spec: {source: {type: 5, git: {}}}}`,
			want:   []string{"spec.source.type"},
		}, {
			claim:  "only one of two unions in an object changed",
			object: `{spec: {two: {x: X1, w: W1}}}`,
			old:    `{spec: {two: {x: X1, w: W1, w1: [a]}}}`,
			want:   []string{"spec.two.w1"},
		}, {
			claim:  "a union in a changed member is unchanged itself",
			object: `{spec: {outer: {type: Inner, inner: {type: A, name: new}, other: {}}}}`,
			old:    `{spec: {outer: {type: Inner, inner: {type: A, name: old}, other: {}}}}`,
			want:   []string{"spec.outer.other"},
		}, {
			claim:  "the persisted object is empty",
			object: `{spec: {source: {}}}`,
			old:    `{spec: {source: {}}}`,
		}, {
			claim:  "the persisted object is null",
			object: `{spec: {source: {}}}`,
			old:    `{spec: {source: null}}`,
			want:   []string{"spec.source.type"},
		}, {
			claim:  "on create there is no persisted object",
			object: `{spec: {source: {}}}`,
			want:   []string{"spec.source.type"},
		},
	} {
		t.Run("U7: "+tc.claim, func(t *testing.T) {
			plan := planOf(t, positionsSchemaYAML(), nil)
			errs, failures := plan.Validate(testyaml.Object(t, tc.object), testyaml.Object(t, tc.old), Options{Ratchet: true})
			var paths []string
			for _, err := range errs {
				paths = append(paths, err.Field)
			}
			if diff := cmp.Diff(tc.want, paths); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if (len(failures) == 0) != (len(tc.want) == 0) {
				t.Errorf("V1: failures: %v", failures)
			}
			if errs, _ := plan.Validate(testyaml.Object(t, tc.object), testyaml.Object(t, tc.old), Options{}); len(errs) == 0 {
				t.Error("U7: there are no errors without ratcheting")
			}
		})
	}
}

// TestU7Unchanged (rule U7).
func TestU7Unchanged(t *testing.T) {
	for _, tc := range []struct {
		claim       string
		object, old string
		want        bool
		scope       scope.Scope
	}{
		{claim: "the objects are equal", object: `{spec: {source: {type: A, git: {}}}}`, old: `{spec: {source: {type: A, git: {}}}}`, want: true},
		{claim: "fields outside unions change", object: `{metadata: {finalizers: []}, spec: {image: i, source: {type: A, name: n}}}`, old: `{spec: {source: {type: A}}}`, want: true},
		{claim: "a discriminator changes", object: `{spec: {source: {type: A}}}`, old: `{spec: {source: {type: B}}}`},
		{claim: "the type of a discriminator changes", object: `{spec: {source: {type: 1}}}`, old: `{spec: {source: {type: "1"}}}`},
		{claim: "a field in a member changes", object: `{spec: {source: {git: {}}}}`, old: `{spec: {source: {git: {url: u}}}}`},
		{claim: "a union is removed", object: `{spec: {source: null}}`, old: `{spec: {source: {}}}`},
		{claim: "a union is added", object: `{spec: {source: {}}}`, old: `{spec: {}}`},
		{claim: "there is no union before and after", object: `{spec: {source: null}}`, old: `{spec: {}}`, want: true},
		{claim: "atomic and set lists are equal", object: `{spec: {atomic: [{type: A}], set: [{}], plain: [1]}}`, old: `{spec: {atomic: [{type: A}], set: [{}], plain: [1]}}`, want: true},
		{claim: "an atomic list changes", object: `{spec: {atomic: [{type: A}]}}`, old: `{spec: {atomic: [{type: B}]}}`},
		{claim: "the order of a set changes", object: `{spec: {set: [{type: A}, {}]}}`, old: `{spec: {set: [{}, {type: A}]}}`},
		{claim: "the order of a list map changes", object: `{spec: {items: [{name: b, type: A}, {name: a}]}}`, old: `{spec: {items: [{name: a}, {name: b, type: A}]}}`, want: true},
		{claim: "an item is added", object: `{spec: {items: [{name: a}, {name: b}]}}`, old: `{spec: {items: [{name: a}]}}`},
		{claim: "an item is removed", object: `{spec: {items: [{name: a}]}}`, old: `{spec: {items: [{name: a}, {name: b}]}}`},
		{claim: "an item is replaced", object: `{spec: {items: [{name: a}]}}`, old: `{spec: {items: [{name: b}]}}`},
		{claim: "items without valid keys are equal", object: `{spec: {items: [1, {name: {}}]}}`, old: `{spec: {items: [1, {name: {}}]}}`, want: true},
		{claim: "items without valid keys change", object: `{spec: {items: [1, {name: {}}]}}`, old: `{spec: {items: [2, {name: {}}]}}`},
		{claim: "the unions in values of a map are equal", object: `{spec: {map: {a: {}, b: null}}}`, old: `{spec: {map: {a: {name: n}, b: null}}}`, want: true},
		{claim: "a key is replaced", object: `{spec: {map: {a: null}}}`, old: `{spec: {map: {b: null}}}`},
		{claim: "a key is added", object: `{spec: {map: {a: {}, b: {}}}}`, old: `{spec: {map: {b: {}}}}`},
		{claim: "a key is removed", object: `{spec: {map: {b: {}}}}`, old: `{spec: {map: {a: {}, b: {}}}}`},
		{claim: "values of another type than the schema are equal", object: `{spec: {map: [1], items: {a: 1}, source: 1}}`, old: `{spec: {map: [1], items: {a: 1}, source: 1}}`, want: true},
		{claim: "a value of another type than the schema changes", object: `{spec: {source: [1]}}`, old: `{spec: {source: {}}}`},
		{claim: "a union in status is added, out of scope", object: `{status: {source: {}}}`, old: `{}`, want: true, scope: scope.ExceptStatus},
		{claim: "a union in spec is added, out of scope", object: `{mode: A, spec: {source: {}}}`, old: `{}`, want: true, scope: scope.OnlyStatus},
	} {
		t.Run("U7: "+tc.claim, func(t *testing.T) {
			plan := planOf(t, positionsSchemaYAML(), nil)
			if got := plan.Unchanged(testyaml.Object(t, tc.object), testyaml.Object(t, tc.old), tc.scope); got != tc.want {
				t.Errorf("U7: Unchanged = %v, want %v", got, tc.want)
			}
		})
	}
}

// TestU61PathsEqualThoseOfSchemaValidation (rule U6.1): schema validation reports some errors of discriminators too. If
// type and path are the same, the client sees the error once.
func TestU61PathsEqualThoseOfSchemaValidation(t *testing.T) {
	validator, _, err := schemavalidation.NewSchemaValidator(testyaml.Schema(t, positionsSchemaYAML()))
	if err != nil {
		t.Fatal(err)
	}
	plan := planOf(t, positionsSchemaYAML(), nil)
	for _, text := range []string{
		`{mode: X, spec: {source: {type: X}, map: {a: {type: X}, 'a.b[0]/c d': {type: X}, '': {type: X}, '.': {type: X}}, maps: {a: {b: {type: X}, '': {type: X}}},
 items: [{name: a, type: Git, git: {}}, {name: b, type: X}], atomic: [{type: X}], plain: [{type: X}], set: [{type: X}], atomicStruct: {source: {type: X}},
 groups: [{}, {items: [{}, {type: X}], lists: [[], [{}, {type: X}]]}], outer: {type: Inner, inner: {type: X}}, two: {x: X, w: X}}, status: {source: {type: X}}}`,
		`{spec: {source: {}, map: {a: {}, 'a.b': {}, '': {}}, maps: {a: {b: {}}}, items: [{}], atomic: [{}], groups: [{items: [{}], lists: [[{}]]}], outer: {type: Inner, inner: {}}}, status: {source: {}}}`,
	} {
		obj := testyaml.Object(t, text)
		var schema, unions []string
		for _, err := range schemavalidation.ValidateCustomResource(nil, obj, validator) {
			if err.Type == field.ErrorTypeNotSupported || err.Type == field.ErrorTypeRequired {
				schema = append(schema, string(err.Type)+" "+err.Field)
			}
		}
		errs, _ := plan.Validate(obj, nil, Options{})
		for _, err := range errs {
			if !strings.HasPrefix(err.Detail, "must ") { // an error of the discriminator
				unions = append(unions, string(err.Type)+" "+err.Field)
			}
		}
		slices.Sort(schema)
		slices.Sort(unions)
		if diff := cmp.Diff(schema, unions); diff != "" {
			t.Errorf("U6.1: errors (-schema +unions):\n%s", diff)
		}
	}
}

// TestValidatorSchemasHaveNoUnions: the schema of a validator stays in memory as long as the CRD is served.
func TestValidatorSchemasHaveNoUnions(t *testing.T) {
	declared := testyaml.Schema(t, positionsSchemaYAML())
	_, ofValidator, err := schemavalidation.NewSchemaValidator(declared)
	if err != nil {
		t.Fatal(err)
	}
	whole := &spec.Schema{}
	if err := schemavalidation.ConvertJSONSchemaProps(declared, whole); err != nil {
		t.Fatal(err)
	}
	for schema, want := range map[*spec.Schema]bool{ofValidator: false, whole: true} {
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(text), "x-kubernetes-unions"); got != want {
			t.Errorf("unions: %v, want %v in %s", got, want, text)
		}
	}
}

// TestU61ErrorOfAnUnknownValueEqualsThatOfTheEnum (rule U6.1).
func TestU61ErrorOfAnUnknownValueEqualsThatOfTheEnum(t *testing.T) {
	validator, _, err := schemavalidation.NewSchemaValidator(testyaml.Schema(t, positionsSchemaYAML()))
	if err != nil {
		t.Fatal(err)
	}
	obj := testyaml.Object(t, `{spec: {source: {type: X}}}`)
	schema := schemavalidation.ValidateCustomResource(nil, obj, validator)
	unions, _ := planOf(t, positionsSchemaYAML(), nil).Validate(obj, nil, Options{})
	for _, errs := range []field.ErrorList{schema, unions} {
		if len(errs) != 1 || errs[0].Field != "spec.source.type" || errs[0].Type != field.ErrorTypeNotSupported || errs[0].BadValue != "X" {
			t.Errorf("%v", errs)
		}
	}
}

// TestUnionsWithFewAndManyValues (rules U3, U4, U6) has unions with fewer and more values than linearSearchLimit.
func TestUnionsWithFewAndManyValues(t *testing.T) {
	const limit = linearSearchLimit
	for _, size := range []int{1, limit - 1, limit, limit + 1, 10 * limit} {
		t.Run(fmt.Sprintf("%d values", size), func(t *testing.T) {
			members := fieldMembers{}
			object := map[string]any{}
			for i := range size {
				name := fmt.Sprintf("m%d", i)
				members["V"+name] = apiextensions.MemberField{Name: name}
				object[name] = map[string]any{}
			}
			plan := Compile(objectOf(map[string]structuralschema.Structural{"type": discriminatorOf(members)}), nil)
			for value, member := range members {
				object["type"] = value
				checkSelects(t, plan, object, member.Name)
			}
			checkUnknownValues(t, plan, "", "A", "V", "Vm0 ", "Z")
		})
	}
}

// checkSelects checks that the discriminator of an object, in which all members are set, selects the given member.
func checkSelects(t *testing.T, plan *Plan, object map[string]any, member string) {
	t.Helper()
	value := object["type"]
	if got, _ := plan.Normalize(object, maps.Clone(object), scope.Everything); len(got) != len(object) {
		t.Errorf("U4.2: %s is unchanged, but members were cleared: %v", value, got)
	}
	want := map[string]any{"type": value, member: map[string]any{}}
	old := maps.Clone(object)
	old["type"] = "none"
	if got, _ := plan.Normalize(object, old, scope.Everything); cmp.Diff(want, got) != "" {
		t.Errorf("U4.1: changed to %s: got %v, want %v", value, got, want)
	}
	if errs, _ := plan.Validate(want, nil, Options{}); len(errs) > 0 {
		t.Errorf("U6: %s: %v", value, errs)
	}
}

func checkUnknownValues(t *testing.T, plan *Plan, values ...string) {
	t.Helper()
	for _, value := range values {
		errs, _ := plan.Validate(map[string]any{"type": value}, nil, Options{})
		if len(errs) != 1 || errs[0].Type != field.ErrorTypeNotSupported {
			t.Errorf("U6.1: %q: %v", value, errs)
		}
	}
}
