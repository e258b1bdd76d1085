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
			claim:  "U6: valid",
			object: `{spec: {source: {type: Git, git: {}}, map: {k: {type: S3}}, items: [{type: None}], atomic: [{type: S3, s3: {}}]}}`,
		}, {
			claim:  "U6.1: a value that the union does not have, alone",
			object: `{spec: {source: {type: FTP, git: {}}}}`,
			want:   []string{`spec.source.type: Unsupported value: "FTP": supported values: "Git", "None", "S3"`},
			failures: []Failure{
				{-1, "unsupported"},
			},
		}, {
			claim:    "U6.1: absent where it may not be",
			object:   `{spec: {source: {git: {}}}}`,
			want:     []string{`spec.source.type: Required value: supported values: "Git", "None", "S3"`},
			failures: []Failure{{-1, "required"}},
		}, {
			claim:    "U6.1: null is absent, empty is a value",
			object:   `{spec: {map: {a: {type: null}, b: {type: ""}}}}`,
			want:     []string{`spec.map.a.type: Required value: supported values: "Git", "None", "S3"`, `spec.map.b.type: Unsupported value: "": supported values: "Git", "None", "S3"`},
			failures: []Failure{{-1, "required"}, {-1, "unsupported"}},
		}, {
			claim:  "U3: absent is the empty value where there is one",
			object: `{spec: {two: {w: null}, outer: {}}}`,
		}, {
			claim:    "U2: it must be absent then, unless the enum has the empty value",
			object:   `{mode: "", spec: {outer: {type: ""}}}`,
			want:     []string{`mode: Unsupported value: "": supported values: "A", "B", "Status"`, `spec.outer.type: Unsupported value: "": supported values: "Inner", "Other"`},
			failures: []Failure{{-1, "unsupported"}, {-1, "unsupported"}},
		}, {
			claim:    "U6.2: set and not selected",
			object:   `{spec: {source: {type: S3, git: {}, s3: {}}}}`,
			want:     []string{`spec.source.git: Forbidden: must not be set when spec.source.type is "S3"` + changeToo},
			failures: []Failure{{-1, "forbidden"}},
		}, {
			claim:    "U6.2: where the discriminator is absent",
			object:   `{a: x}`,
			want:     []string{`a: Forbidden: must not be set when mode is ""` + changeToo},
			failures: []Failure{{-1, "forbidden"}},
		}, {
			claim:    "U6.2: zero values are set, null is not",
			object:   `{spec: {two: {x1: 0, x2: false, w1: null}}}`,
			want:     []string{`spec.two.x1: Forbidden: must not be set when spec.two.x is ""` + changeToo, `spec.two.x2: Forbidden: must not be set when spec.two.x is ""` + changeToo},
			failures: []Failure{{-1, "forbidden"}},
		}, {
			claim:    "U6.3: selected and not set",
			object:   `{spec: {source: {type: Git, git: null}}}`,
			want:     []string{`spec.source.git: Required value: must be set when spec.source.type is "Git"`},
			failures: []Failure{{-1, "required"}},
		}, {
			claim:    "U6.2 and U6.3: what a client gets that changes members alone",
			object:   `{spec: {source: {type: Git, s3: {}}}}`,
			want:     []string{`spec.source.s3: Forbidden: must not be set when spec.source.type is "Git"` + changeToo, `spec.source.git: Required value: must be set when spec.source.type is "Git"`},
			failures: []Failure{{-1, "forbidden"}, {-1, "required"}},
		}, {
			claim:    "U6.3: dropped by a disabled feature gate",
			object:   `{spec: {items: [{type: Git}], map: {k: {type: Git}}}}`,
			want:     []string{`spec.items[0].git: Required value: must be set when spec.items[0].type is "Git", but is dropped: feature gate "istio/G" is disabled`, `spec.map.k.git: Required value: must be set when spec.map.k.type is "Git"`},
			failures: []Failure{{-1, "required"}, {-1, "required"}},
		}, {
			claim:  "U6: in the order of positions, lists and keys; V1: counted once per union and reason",
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
			claim:    "U5: also in atomic and set lists, lists of lists and members of unions",
			object:   `{spec: {atomic: [{type: A}], plain: [{type: A}], set: [{type: A}], groups: [{lists: [[], [{type: A}]]}], outer: {type: Inner, inner: {type: A}}}}`,
			want:     forEach(`%s.type: Unsupported value: "A": supported values: "Git", "None", "S3"`, "spec.atomic[0]", "spec.groups[0].lists[1][0]", "spec.outer.inner", "spec.plain[0]", "spec.set[0]"),
			failures: slices.Repeat([]Failure{{-1, "unsupported"}}, 5),
		}, {
			claim:  "R1: wrong types are left to schema validation",
			object: `{mode: Status, spec: {source: [], map: [{type: A}], maps: {a: {b: 1}}, items: {a: {type: A}}, atomic: {a: {type: A}}, groups: [null, 1, []]}, status: 1}`,
		}, {
			claim:  "U6.1: a discriminator of a wrong type is a value that the union does not have",
			object: `{mode: [B], a: x, spec: {groups: [{items: [{type: {a: b}}]}], two: {x: 1, x1: 1, w: true}}}`,
			want: []string{
				`mode: Unsupported value: "array": supported values: "", "A", "B", "Status"`,
				`spec.groups[0].items[0].type: Unsupported value: "object": supported values: "Git", "None", "S3"`,
				`spec.two.w: Unsupported value: true: supported values: "", "W1"`,
				`spec.two.x: Unsupported value: 1: supported values: "", "X1", "X2"`,
			},
			failures: slices.Repeat([]Failure{{-1, "unsupported"}}, 4),
		}, {
			claim:    "U7: status writes check the unions below status",
			object:   `{a: x, spec: {source: {}}, status: {source: {}}}`,
			want:     []string{`status.source.type: Required value: supported values: "Git", "None", "S3"`},
			failures: []Failure{{-1, "required"}},
			opts:     Options{Scope: scope.OnlyStatus},
		}, {
			claim:    "U7: other writes check all others, without status as a member",
			object:   `{spec: {source: {}}, status: {source: {}}}`,
			want:     []string{`spec.source.type: Required value: supported values: "Git", "None", "S3"`},
			failures: []Failure{{-1, "required"}},
			opts:     Options{Scope: scope.ExceptStatus},
		}, {
			claim:    "U6.2: without the subresource status is a member like any other",
			object:   `{status: {}}`,
			want:     []string{`status: Forbidden: must not be set when mode is ""` + changeToo},
			failures: []Failure{{-1, "forbidden"}},
		},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			plan := planOf(t, placesSchemaYAML(), map[string]string{".spec.items[*].git": "istio/G"})
			obj := testyaml.Object(t, tc.object)
			errs, failures := plan.Validate(obj, nil, tc.opts)
			if diff := cmp.Diff(tc.want, texts(errs)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			seen := map[Failure]bool{}
			for i := range failures {
				if seen[failures[i]] {
					t.Errorf("V1: counted twice: %v", failures[i])
				}
				seen[failures[i]] = true
				failures[i].Ordinal = -1
			}
			if diff := cmp.Diff(tc.failures, failures); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(testyaml.Object(t, tc.object), obj); diff != "" {
				t.Errorf("the object was modified (-before +after):\n%s", diff)
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

func TestRatchet(t *testing.T) { // U7
	for _, tc := range []struct {
		claim       string
		object, old string
		want        []string // the paths of the errors
	}{
		{
			claim:  "the union's own fields are equal",
			object: `{spec: {source: {type: S3, git: {url: u}, name: new}, image: new}}`,
			old:    `{spec: {source: {type: S3, git: {url: u}, name: old}}}`,
		}, {
			claim:  "a member's inside differs",
			object: `{spec: {source: {type: S3, git: {url: new}}}}`,
			old:    `{spec: {source: {type: S3, git: {url: old}}}}`,
			want:   []string{"spec.source.git"},
		}, {
			claim:  "another member differs",
			object: `{spec: {source: {type: S3, git: {}, s3: {}}}}`,
			old:    `{spec: {source: {type: S3, git: {}}}}`,
			want:   []string{"spec.source.git"},
		}, {
			claim:  "the discriminator differs, and the errors are as before",
			object: `{spec: {source: {type: FTP}}}`,
			old:    `{spec: {source: {type: HTTP}}}`,
			want:   []string{"spec.source.type"},
		}, {
			claim:  "matched through maps and list maps",
			object: `{spec: {map: {a: {type: A}, b: {type: A}}, items: [{name: c, type: A}, {name: b, type: A}, {name: a, type: A}], groups: [{id: 1, items: [{name: x}]}]}}`,
			old:    `{spec: {map: {a: {type: A}}, items: [{name: a, type: A}, {name: b, type: A}], groups: [{id: 1, items: [{name: x}]}]}}`,
			want:   []string{"spec.items[0].type", "spec.map.b.type"},
		}, {
			claim:  "an atomic or set list that is equal as a whole",
			object: `{spec: {image: new, atomic: [{type: A}], plain: [{type: A}], set: [{type: A}], groups: [{id: 1, lists: [[{name: a, type: A}]]}]}}`,
			old:    `{spec: {image: old, atomic: [{type: A}], plain: [{type: A}], set: [{type: A}], groups: [{id: 1, lists: [[{name: a, type: A}]]}]}}`,
		}, {
			claim:  "no counterpart in atomic and set lists that differ",
			object: `{spec: {atomic: [{type: A}, {type: None}], plain: [{type: A, name: new}], set: [{type: S3}, {type: A}], groups: [{id: 1, lists: [[{name: a, type: A}], []]}]}}`,
			old:    `{spec: {atomic: [{type: A}], plain: [{type: A, name: old}], set: [{type: A}, {type: S3}], groups: [{id: 1, lists: [[{name: a, type: A}]]}]}}`,
			want:   []string{"spec.atomic[0].type", "spec.groups[0].lists[0][0].type", "spec.plain[0].type", "spec.set[1].type"},
		}, {
			claim:  "an equal list of an item that is new is no counterpart",
			object: `{spec: {groups: [{id: 2, lists: [[{name: a, type: A}]]}]}}`,
			old:    `{spec: {groups: [{id: 1, lists: [[{name: a, type: A}]]}]}}`,
			want:   []string{"spec.groups[0].lists[0][0].type"},
		}, {
			claim:  "a discriminator of a wrong type, with members as they were",
			object: `{spec: {image: new, source: {type: 5, git: {}, s3: {}}}}`,
			old:    `{spec: {image: old, source: {type: 5, git: {}, s3: {}}}}`,
		}, {
			claim:  "a discriminator of a wrong type, with another member",
			object: `{spec: {source: {type: 5, git: {}, s3: {}}}}`,
			old:    `{spec: {source: {type: 5, git: {}}}}`,
			want:   []string{"spec.source.type"},
		}, {
			claim:  "one union of two in an object",
			object: `{spec: {two: {x: X1, w: W1}}}`,
			old:    `{spec: {two: {x: X1, w: W1, w1: [a]}}}`,
			want:   []string{"spec.two.w1"},
		}, {
			claim:  "a union in a member that changed is judged by itself",
			object: `{spec: {outer: {type: Inner, inner: {type: A, name: new}, other: {}}}}`,
			old:    `{spec: {outer: {type: Inner, inner: {type: A, name: old}, other: {}}}}`,
			want:   []string{"spec.outer.other"},
		}, {
			claim:  "an object with nothing in it is a counterpart",
			object: `{spec: {source: {}}}`,
			old:    `{spec: {source: {}}}`,
		}, {
			claim:  "null is not",
			object: `{spec: {source: {}}}`,
			old:    `{spec: {source: null}}`,
			want:   []string{"spec.source.type"},
		}, {
			claim:  "create",
			object: `{spec: {source: {}}}`,
			want:   []string{"spec.source.type"},
		},
	} {
		t.Run("U7: "+tc.claim, func(t *testing.T) {
			plan := planOf(t, placesSchemaYAML(), nil)
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
				t.Error("U7: without ratcheting every write must pass")
			}
		})
	}
}

func TestUnchanged(t *testing.T) { // U7
	for _, tc := range []struct {
		claim       string
		object, old string
		want        bool
		scope       scope.Scope
	}{
		{claim: "equal", object: `{spec: {source: {type: A, git: {}}}}`, old: `{spec: {source: {type: A, git: {}}}}`, want: true},
		{claim: "fields beside unions", object: `{metadata: {finalizers: []}, spec: {image: i, source: {type: A, name: n}}}`, old: `{spec: {source: {type: A}}}`, want: true},
		{claim: "a discriminator", object: `{spec: {source: {type: A}}}`, old: `{spec: {source: {type: B}}}`},
		{claim: "a discriminator of another type", object: `{spec: {source: {type: 1}}}`, old: `{spec: {source: {type: "1"}}}`},
		{claim: "a member", object: `{spec: {source: {git: {}}}}`, old: `{spec: {source: {git: {url: u}}}}`},
		{claim: "a union removed", object: `{spec: {source: null}}`, old: `{spec: {source: {}}}`},
		{claim: "a union added", object: `{spec: {source: {}}}`, old: `{spec: {}}`},
		{claim: "no union before and after", object: `{spec: {source: null}}`, old: `{spec: {}}`, want: true},
		{claim: "an atomic list as it was", object: `{spec: {atomic: [{type: A}], set: [{}], plain: [1]}}`, old: `{spec: {atomic: [{type: A}], set: [{}], plain: [1]}}`, want: true},
		{claim: "an atomic list", object: `{spec: {atomic: [{type: A}]}}`, old: `{spec: {atomic: [{type: B}]}}`},
		{claim: "a set in another order", object: `{spec: {set: [{type: A}, {}]}}`, old: `{spec: {set: [{}, {type: A}]}}`},
		{claim: "a list map in another order", object: `{spec: {items: [{name: b, type: A}, {name: a}]}}`, old: `{spec: {items: [{name: a}, {name: b, type: A}]}}`, want: true},
		{claim: "an item more", object: `{spec: {items: [{name: a}, {name: b}]}}`, old: `{spec: {items: [{name: a}]}}`},
		{claim: "an item less", object: `{spec: {items: [{name: a}]}}`, old: `{spec: {items: [{name: a}, {name: b}]}}`},
		{claim: "another item", object: `{spec: {items: [{name: a}]}}`, old: `{spec: {items: [{name: b}]}}`},
		{claim: "items without proper keys as they were", object: `{spec: {items: [1, {name: {}}]}}`, old: `{spec: {items: [1, {name: {}}]}}`, want: true},
		{claim: "items without proper keys", object: `{spec: {items: [1, {name: {}}]}}`, old: `{spec: {items: [2, {name: {}}]}}`},
		{claim: "values of maps as they were", object: `{spec: {map: {a: {}, b: null}}}`, old: `{spec: {map: {a: {name: n}, b: null}}}`, want: true},
		{claim: "another key", object: `{spec: {map: {a: null}}}`, old: `{spec: {map: {b: null}}}`},
		{claim: "a key more", object: `{spec: {map: {a: {}, b: {}}}}`, old: `{spec: {map: {b: {}}}}`},
		{claim: "a key less", object: `{spec: {map: {b: {}}}}`, old: `{spec: {map: {a: {}, b: {}}}}`},
		{claim: "wrong types as they were", object: `{spec: {map: [1], items: {a: 1}, source: 1}}`, old: `{spec: {map: [1], items: {a: 1}, source: 1}}`, want: true},
		{claim: "another wrong type", object: `{spec: {source: [1]}}`, old: `{spec: {source: {}}}`},
		{claim: "below status, out of scope", object: `{status: {source: {}}}`, old: `{}`, want: true, scope: scope.ExceptStatus},
		{claim: "below spec, out of scope", object: `{mode: A, spec: {source: {}}}`, old: `{}`, want: true, scope: scope.OnlyStatus},
	} {
		t.Run("U7: "+tc.claim, func(t *testing.T) {
			plan := planOf(t, placesSchemaYAML(), nil)
			if got := plan.Unchanged(testyaml.Object(t, tc.object), testyaml.Object(t, tc.old), tc.scope); got != tc.want {
				t.Errorf("Unchanged = %v", got)
			}
		})
	}
}

// TestPathsAreThoseOfSchemaValidation needs the errors of both to meet, wherever a union is: what the enum reports is
// not to be seen twice (rule U6.1).
func TestPathsAreThoseOfSchemaValidation(t *testing.T) {
	validator, _, err := schemavalidation.NewSchemaValidator(testyaml.Schema(t, placesSchemaYAML()))
	if err != nil {
		t.Fatal(err)
	}
	plan := planOf(t, placesSchemaYAML(), nil)
	for _, text := range []string{
		`{mode: X, spec: {source: {type: X}, map: {a: {type: X}, 'a.b[0]/c d': {type: X}, '': {type: X}, '.': {type: X}}, maps: {a: {b: {type: X}, '': {type: X}}},
 items: [{name: a, type: Git, git: {}}, {name: b, type: X}], atomic: [{type: X}], plain: [{type: X}], set: [{type: X}], atomicStruct: {source: {type: X}},
 groups: [{}, {items: [{}, {type: X}], lists: [[], [{}, {type: X}]]}], outer: {type: Inner, inner: {type: X}}, two: {x: X, w: X}}, status: {source: {type: X}}}`,
		`{spec: {source: {}, map: {a: {}, 'a.b': {}, '': {}}, maps: {a: {b: {}}}, items: [{}], atomic: [{}], groups: [{items: [{}], lists: [[{}]]}], outer: {type: Inner, inner: {}}}, status: {source: {}}}`,
	} {
		obj := testyaml.Object(t, text)
		var upstream, ours []string
		for _, err := range schemavalidation.ValidateCustomResource(nil, obj, validator) {
			if err.Type == field.ErrorTypeNotSupported || err.Type == field.ErrorTypeRequired {
				upstream = append(upstream, string(err.Type)+" "+err.Field)
			}
		}
		errs, _ := plan.Validate(obj, nil, Options{})
		for _, err := range errs {
			if !strings.HasPrefix(err.Detail, "must ") { // an error of the discriminator
				ours = append(ours, string(err.Type)+" "+err.Field)
			}
		}
		slices.Sort(upstream)
		slices.Sort(ours)
		if diff := cmp.Diff(upstream, ours); diff != "" {
			t.Errorf("(-upstream +ours):\n%s", diff)
		}
	}
}

// TestValidatorsDoNotHoldUnions: a server holds the schemas of validators for as long as it serves the CRD.
func TestValidatorsDoNotHoldUnions(t *testing.T) {
	declared := testyaml.Schema(t, placesSchemaYAML())
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

func TestEnumErrorIsTheSame(t *testing.T) { // U6.1
	validator, _, err := schemavalidation.NewSchemaValidator(testyaml.Schema(t, placesSchemaYAML()))
	if err != nil {
		t.Fatal(err)
	}
	obj := testyaml.Object(t, `{spec: {source: {type: X}}}`)
	upstream := schemavalidation.ValidateCustomResource(nil, obj, validator)
	ours, _ := planOf(t, placesSchemaYAML(), nil).Validate(obj, nil, Options{})
	for _, errs := range []field.ErrorList{upstream, ours} {
		if len(errs) != 1 || errs[0].Field != "spec.source.type" || errs[0].Type != field.ErrorTypeNotSupported || errs[0].BadValue != "X" {
			t.Errorf("%v", errs)
		}
	}
}

// TestUnionsOfEverySize has unions of few and of many values: every value finds its own member, others find none.
func TestUnionsOfEverySize(t *testing.T) { // U3, U4, U6
	for _, size := range []int{1, linearSearchLimit - 1, linearSearchLimit, linearSearchLimit + 1, 10 * linearSearchLimit} {
		t.Run(fmt.Sprintf("%d values", size), func(t *testing.T) {
			members := map[string]apiextensions.MemberField{}
			object := map[string]any{}
			for i := range size {
				name := fmt.Sprintf("m%d", i)
				members["V"+name] = apiextensions.MemberField{Name: name}
				object[name] = map[string]any{}
			}
			plan := Compile(&structuralschema.Structural{Properties: map[string]structuralschema.Structural{
				"type": {Extensions: structuralschema.Extensions{XUnions: &apiextensions.Unions{FieldMembers: members}}},
			}}, nil)
			for value, member := range members {
				object["type"] = value
				got, _ := plan.Normalize(object, maps.Clone(object), scope.Everything)
				if len(got) != size+1 {
					t.Errorf("without a change of %s: %v", value, got)
				}
				want := map[string]any{"type": value, member.Name: map[string]any{}}
				old := maps.Clone(object)
				old["type"] = "none"
				if got, _ := plan.Normalize(object, old, scope.Everything); cmp.Diff(want, got) != "" {
					t.Errorf("switched to %s: %v", value, got)
				}
				if errs, _ := plan.Validate(want, nil, Options{}); len(errs) > 0 {
					t.Errorf("%s: %v", value, errs)
				}
			}
			for _, value := range []string{"", "A", "V", "Vm0 ", "Z"} {
				errs, _ := plan.Validate(map[string]any{"type": value}, nil, Options{})
				if len(errs) != 1 || errs[0].Type != field.ErrorTypeNotSupported {
					t.Errorf("%q: %v", value, errs)
				}
			}
		})
	}
}
