// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

func TestNormalize(t *testing.T) {
	for _, tc := range []struct {
		claim    string
		old      string // "" on create
		object   string
		want     string // "" if nothing is cleared
		warnings []string
		scope    scope.Scope
	}{
		{
			claim:  "U4: a create clears nothing",
			object: `{spec: {source: {type: S3, git: {}, s3: {}}}}`,
		}, {
			claim:    "U4.1: a changed discriminator clears the member that it does not select",
			old:      `{spec: {source: {type: Git, git: {url: u}}}}`,
			object:   `{spec: {source: {type: S3, git: {url: u}, s3: {bucket: b}}}}`,
			want:     `{spec: {source: {type: S3, s3: {bucket: b}}}}`,
			warnings: []string{`spec.source.git: cleared: spec.source.type changed from "Git" to "S3"`},
		}, {
			claim:    "U4.1: a changed discriminator clears a member that the request adds",
			old:      `{spec: {source: {type: None}}}`,
			object:   `{spec: {source: {type: Git, git: {}, s3: {}}}}`,
			want:     `{spec: {source: {type: Git, git: {}}}}`,
			warnings: []string{`spec.source.s3: cleared: spec.source.type changed from "None" to "Git"`},
		}, {
			claim:    "U4.1: a value that selects no member clears all members",
			old:      `{spec: {source: {type: Git, git: {}, s3: {}}}}`,
			object:   `{spec: {source: {type: None, git: {}, s3: {}, name: n}}}`,
			want:     `{spec: {source: {type: None, name: n}}}`,
			warnings: []string{`spec.source.git, spec.source.s3: cleared: spec.source.type changed from "Git" to "None"`},
		}, {
			claim:    "U4.1: an unknown value clears all members",
			old:      `{spec: {source: {type: Git, git: {}}}}`,
			object:   `{spec: {source: {type: FTP, git: {}, ftp: {}}}}`,
			want:     `{spec: {source: {type: FTP, ftp: {}}}}`,
			warnings: []string{`spec.source.git: cleared: spec.source.type changed from "Git" to "FTP"`},
		}, {
			claim:  "U4.2: an unchanged discriminator clears nothing, even if other members are set",
			old:    `{spec: {source: {type: Git, git: {}}}}`,
			object: `{spec: {source: {type: Git, s3: {}, git: null}}}`,
		}, {
			claim:  "U4.2: normalization never adds the selected member",
			old:    `{spec: {source: {type: S3, s3: {}}}}`,
			object: `{spec: {source: {type: Git}}}`,
		}, {
			claim:  "U4: a null member is not set and not cleared",
			old:    `{spec: {source: {type: Git, git: {}}, two: {w: "", w1: null}}}`,
			object: `{spec: {source: {type: S3, git: null, s3: {}}, two: {w: W1, w1: null}}}`,
		}, {
			claim:  "U4: nor is one that becomes null while the discriminator does not change",
			old:    `{spec: {two: {x: X1, x2: true}}}`,
			object: `{spec: {two: {x: X1, x2: null}}}`,
		}, {
			claim:    "U4.1: a member that becomes null is cleared if it may not be null",
			old:      `{spec: {two: {x: X1, x1: 1}}}`,
			object:   `{spec: {two: {x: X2, x1: null, x2: true}}}`,
			want:     `{spec: {two: {x: X2, x2: true}}}`,
			warnings: []string{`spec.two.x1: cleared: spec.two.x changed from "X1" to "X2"`},
		}, {
			claim:    "U4.1: it is cleared with the members that are set",
			old:      `{spec: {two: {x: X1, x1: 1}}}`,
			object:   `{spec: {two: {x: "", x1: null, x2: true}}}`,
			want:     `{spec: {two: {x: ""}}}`,
			warnings: []string{`spec.two.x1, spec.two.x2: cleared: spec.two.x changed from "X1" to ""`},
		}, {
			claim:  "U4.2: the selected member stays null",
			old:    `{spec: {two: {x: X1, x2: true}}}`,
			object: `{spec: {two: {x: X2, x2: null}}}`,
		}, {
			claim:    "U4.1: a zero value is set and is cleared",
			old:      `{spec: {two: {x: X1, x1: 0, x2: false, w: W1, w1: []}}}`,
			object:   `{spec: {two: {x: X2, x1: 0, x2: false, w: W1, w1: []}}}`,
			want:     `{spec: {two: {x: X2, x2: false, w: W1, w1: []}}}`,
			warnings: []string{`spec.two.x1: cleared: spec.two.x changed from "X1" to "X2"`},
		}, {
			claim:  "U4.1: two unions in an object are independent",
			old:    `{spec: {two: {x: X1, x1: 1, w: W1, w1: [a]}}}`,
			object: `{spec: {two: {x: "", x1: 1, w: "", w1: [a]}}}`,
			want:   `{spec: {two: {x: "", w: ""}}}`,
			warnings: []string{
				`spec.two.w1: cleared: spec.two.w changed from "W1" to ""`,
				`spec.two.x1: cleared: spec.two.x changed from "X1" to ""`,
			},
		}, {
			claim:  "U4.3: an absent discriminator clears nothing",
			old:    `{mode: A, a: x, spec: {source: {type: Git, git: {}}, items: [{name: i, type: Git, git: {}}], map: {k: {type: Git, git: {}}}}}`,
			object: `{a: x, b: y, spec: {source: {git: {}, s3: {}}, items: [{name: i, s3: {}, git: {}}], map: {k: {s3: {}, git: {}}}}}`,
		}, {
			claim:  "U4.3: a null discriminator clears nothing",
			old:    `{mode: A, a: x}`,
			object: `{mode: null, a: x, b: y}`,
		}, {
			claim:    "U4.3: a discriminator that is set to the empty string clears members",
			old:      `{mode: A, a: x}`,
			object:   `{mode: "", a: x}`,
			want:     `{mode: ""}`,
			warnings: []string{`a: cleared: mode changed from "A" to ""`},
		}, {
			claim:  "U3: a change from absent to the empty string is no change",
			old:    `{a: x}`,
			object: `{mode: "", a: x}`,
		}, {
			claim:  "U3: a change from null to the empty string is no change",
			old:    `{mode: null, a: x}`,
			object: `{mode: "", a: x}`,
		}, {
			claim:    "U3: an absent persisted discriminator is reported as the empty string",
			old:      `{a: x}`,
			object:   `{mode: B, a: x, b: y}`,
			want:     `{mode: B, b: y}`,
			warnings: []string{`a: cleared: mode changed from "" to "B"`},
		}, {
			claim:    "U5: values of maps are matched by key",
			old:      `{spec: {map: {k1: {type: Git, git: {}}, k.2: {type: Git, git: {}}}, maps: {m: {o: {type: None}}}}}`,
			object:   `{spec: {map: {k.2: {type: S3, git: {}}, k1: {type: Git, git: {}}, k3: {type: S3, git: {}}}, maps: {m: {o: {type: S3, git: {}}}}}}`,
			want:     `{spec: {map: {k.2: {type: S3}, k1: {type: Git, git: {}}, k3: {type: S3, git: {}}}, maps: {m: {o: {type: S3}}}}}`,
			warnings: []string{`spec.map.k.2.git: cleared: spec.map.k.2.type changed from "Git" to "S3"`, `spec.maps.m.o.git: cleared: spec.maps.m.o.type changed from "None" to "S3"`},
		}, {
			claim:    "U5: items of list maps are matched by key, in any order",
			old:      `{spec: {items: [{name: a, type: Git, git: {}}, {name: b, type: Git, git: {}}]}}`,
			object:   `{spec: {items: [{name: c, type: S3, git: {}}, {name: b, type: S3, git: {}}, {name: a, type: Git, git: {}}]}}`,
			want:     `{spec: {items: [{name: c, type: S3, git: {}}, {name: b, type: S3}, {name: a, type: Git, git: {}}]}}`,
			warnings: []string{`spec.items[1].git: cleared: spec.items[1].type changed from "Git" to "S3"`},
		}, {
			claim:    "U5: items are matched by several keys, and in nested lists",
			old:      `{spec: {groups: [{id: 1, zone: a, items: [{name: x, type: Git, git: {}}]}, {id: 1, items: [{name: x, type: None}]}]}}`,
			object:   `{spec: {groups: [{id: 1.0, items: [{name: x, type: Git, git: {}, s3: {}}]}, {id: 1, zone: a, items: [{name: x, type: S3, git: {}}]}]}}`,
			want:     `{spec: {groups: [{id: 1.0, items: [{name: x, type: Git, git: {}}]}, {id: 1, zone: a, items: [{name: x, type: S3}]}]}}`,
			warnings: []string{`spec.groups[0].items[0].s3: cleared: spec.groups[0].items[0].type changed from "None" to "Git"`, `spec.groups[1].items[0].git: cleared: spec.groups[1].items[0].type changed from "Git" to "S3"`},
		}, {
			claim:    "U5: an atomic object is matched",
			old:      `{spec: {atomicStruct: {source: {type: Git, git: {}}}}}`,
			object:   `{spec: {atomicStruct: {source: {type: None, git: {}}}}}`,
			want:     `{spec: {atomicStruct: {source: {type: None}}}}`,
			warnings: []string{`spec.atomicStruct.source.git: cleared: spec.atomicStruct.source.type changed from "Git" to "None"`},
		}, {
			claim:  "U5: unions in atomic and set lists count as created",
			old:    `{spec: {atomic: [{type: Git, git: {}}], plain: [{type: Git, git: {}}], set: [{type: Git, git: {}}]}}`,
			object: `{spec: {atomic: [{type: S3, git: {}}], plain: [{type: S3, git: {}}], set: [{type: S3, git: {}}]}}`,
		}, {
			claim:  "U5: unions in a list map in an atomic list count as created",
			old:    `{spec: {groups: [{id: 1, lists: [[{name: x, type: Git, git: {}}]]}]}}`,
			object: `{spec: {groups: [{id: 1, lists: [[{name: x, type: S3, git: {}}]]}]}}`,
		}, {
			claim:  "U5: a union whose parent is new counts as created",
			old:    `{spec: {source: null}}`,
			object: `{spec: {source: {type: S3, git: {}}, outer: {inner: {type: S3, git: {}}}}}`,
		}, {
			claim:    "U5: a union in a member of a union is normalized",
			old:      `{spec: {outer: {type: Inner, inner: {type: Git, git: {}}}}}`,
			object:   `{spec: {outer: {type: Inner, inner: {type: S3, git: {}}}}}`,
			want:     `{spec: {outer: {type: Inner, inner: {type: S3}}}}`,
			warnings: []string{`spec.outer.inner.git: cleared: spec.outer.inner.type changed from "Git" to "S3"`},
		}, {
			claim:    "U5: a union in a cleared member is not reported",
			old:      `{spec: {outer: {type: Inner, inner: {type: Git, git: {}}}}}`,
			object:   `{spec: {outer: {type: Other, inner: {type: S3, git: {}}, other: {}}}}`,
			want:     `{spec: {outer: {type: Other, other: {}}}}`,
			warnings: []string{`spec.outer.inner: cleared: spec.outer.type changed from "Inner" to "Other"`},
		}, {
			claim:  "R1: values of another type than the schema are left to schema validation",
			old:    `{mode: A, spec: {source: [], map: [{type: Git, git: {}}], items: {a: {type: Git, git: {}}}, two: {w: W1}}}`,
			object: `{mode: [B], a: x, spec: {source: {type: S3, git: {}}, map: {k: 1}, items: [null, 1, {name: {}, type: S3, git: {}}], two: {w: {}, w1: []}}}`,
		}, {
			claim:  "U4.1: a persisted discriminator that is not a string differs from every string",
			old:    `{mode: {}, a: x, spec: {two: {x: 1, x1: 1, w: [], w1: [a]}}}`,
			object: `{mode: B, a: x, b: y, spec: {two: {x: X2, x1: 1, x2: true, w: "", w1: [a]}}}`,
			want:   `{mode: B, b: y, spec: {two: {x: X2, x2: true, w: ""}}}`,
			warnings: []string{
				`a: cleared: mode changed from object to "B"`,
				`spec.two.w1: cleared: spec.two.w changed from array to ""`,
				`spec.two.x1: cleared: spec.two.x changed from 1 to "X2"`,
			},
		}, {
			claim:  "U7: with the status subresource the status is neither normalized nor a member",
			old:    `{mode: A, a: x, status: {source: {type: Git, git: {}}}}`,
			object: `{mode: B, a: x, b: x, status: {source: {type: S3, git: {}}}}`,
			want:   `{mode: B, b: x, status: {source: {type: S3, git: {}}}}`,
			scope:  scope.ExceptStatus,
			warnings: []string{
				`a: cleared: mode changed from "A" to "B"`,
			},
		}, {
			claim:  "U7: a status write normalizes the unions in status only",
			old:    `{mode: A, a: x, spec: {source: {type: Git, git: {}}}, status: {source: {type: Git, git: {}}}}`,
			object: `{mode: B, a: x, spec: {source: {type: S3, git: {}}}, status: {source: {type: S3, git: {}}}}`,
			want:   `{mode: B, a: x, spec: {source: {type: S3, git: {}}}, status: {source: {type: S3}}}`,
			scope:  scope.OnlyStatus,
			warnings: []string{
				`status.source.git: cleared: status.source.type changed from "Git" to "S3"`,
			},
		}, {
			claim:  "U4: without the status subresource, status may be a member",
			old:    `{mode: Status, status: {}}`,
			object: `{mode: A, a: x, status: {}}`,
			want:   `{mode: A, a: x}`,
			warnings: []string{
				`status: cleared: mode changed from "Status" to "A"`,
			},
		},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			plan := planOf(t, positionsSchemaYAML(), nil)
			obj, old := testyaml.Object(t, tc.object), testyaml.Object(t, tc.old)
			want := testyaml.Object(t, tc.want)
			if want == nil {
				want = testyaml.Object(t, tc.object)
			}
			got, cleared := plan.Normalize(obj, old, tc.scope)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.warnings, Warnings(cleared)); diff != "" {
				t.Errorf("V3: warnings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]any{testyaml.Object(t, tc.object), testyaml.Object(t, tc.old)}, []any{obj, old}); diff != "" {
				t.Errorf("R4: the arguments were modified (-before +after):\n%s", diff)
			}
			if tc.warnings == nil && !isSame(obj, got) {
				t.Error("R2: the object was copied although nothing was cleared")
			}
			again, clearedAgain := plan.Normalize(got, old, tc.scope)
			if len(clearedAgain) > 0 || !isSame(got, again) {
				t.Errorf("R4: not idempotent: %q", Warnings(clearedAgain))
			}
		})
	}
}

// isSame reports whether a and b are the same map. It writes to one and reads from the other.
func isSame(a, b map[string]any) bool {
	const key = "is it the same?"
	a[key] = true
	_, same := b[key]
	delete(a, key)
	return same
}

// TestR4NormalizeCopiesOnlyWhatContainsAClearedMember (rule R4) has an object that shares values with old, as it does
// after server-side apply.
func TestR4NormalizeCopiesOnlyWhatContainsAClearedMember(t *testing.T) {
	plan := planOf(t, positionsSchemaYAML(), nil)
	old := testyaml.Object(t, `{spec: {items: [{name: a, type: Git, git: {}}, {name: b, type: None}], source: {type: None}}}`)
	obj := runtime.DeepCopyJSON(old)
	items := obj["spec"].(map[string]any)["items"].([]any)
	items[0].(map[string]any)["type"] = "S3"
	obj["spec"].(map[string]any)["source"] = old["spec"].(map[string]any)["source"]

	got, cleared := plan.Normalize(obj, old, scope.Everything)
	if len(cleared) != 1 {
		t.Fatalf("cleared: %q", Warnings(cleared))
	}
	gotItems := got["spec"].(map[string]any)["items"].([]any)
	for what, same := range map[string]bool{
		"the object": isSame(obj, got),
		"its spec":   isSame(obj["spec"].(map[string]any), got["spec"].(map[string]any)),
		"the list":   &items[0] == &gotItems[0],
		"the item":   isSame(items[0].(map[string]any), gotItems[0].(map[string]any)),
	} {
		if same {
			t.Errorf("R4: %s was not copied", what)
		}
	}
	if !isSame(items[1].(map[string]any), gotItems[1].(map[string]any)) {
		t.Error("R4: the other item was copied")
	}
}

// TestClearedHasThePathOfTheUnion (rules U8, V1, V2).
func TestClearedHasThePathOfTheUnion(t *testing.T) {
	plan := planOf(t, positionsSchemaYAML(), nil)
	old := testyaml.Object(t, `{spec: {groups: [{id: 1, zone: z, items: [{name: x, type: Git, git: {}}, {name: w, type: Git, git: {}, s3: {}}]}], map: {k: {type: S3, s3: {}}}}}`)
	obj := testyaml.Object(t, `{spec: {groups: [{id: 1, zone: z, items: [{name: w, type: None, git: {}, s3: {}}, {name: x, type: None, git: {}}]}], map: {k: {type: Git, s3: {}}}}}`)
	_, got := plan.Normalize(obj, old, scope.Everything)
	items := []Step{{Name: "spec"}, {Name: "groups"}, {Keys: map[string]any{"id": int64(1), "zone": "z"}}, {Name: "items"}}
	item := func(index int, name string) []Step {
		return append(slices.Clone(items), Step{Index: index, Keys: map[string]any{"name": name}})
	}
	ordinal := got[0].Ordinal
	want := []Cleared{
		{Ordinal: ordinal, Discriminator: "type", From: "Git", To: "None", Members: []string{"git", "s3"}, Path: item(0, "w")},
		{Ordinal: ordinal, Discriminator: "type", From: "Git", To: "None", Members: []string{"git"}, Path: item(1, "x")},
		{Ordinal: got[2].Ordinal, Discriminator: "type", From: "S3", To: "Git", Members: []string{"s3"}, Path: []Step{{Name: "spec"}, {Name: "map"}, {Name: "k"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if ordinal == got[2].Ordinal {
		t.Error("V1: two unions of the schema have the same ordinal")
	}
	if got := got[0].MemberPath("git"); got != "spec.groups[0].items[0].git" {
		t.Errorf("MemberPath: %s", got)
	}
	if got := got[1].discriminatorPath(); got != "spec.groups[0].items[1].type" {
		t.Errorf("discriminatorPath: %s", got)
	}
}

// chainedYAML has discriminators that are members of other unions. Validation rejects such a CRD, but one may be
// persisted. An absent discriminator selects a0, z0 or p0.
const chainedYAML = `
type: object
properties:
  m: {type: string, enum: [A, B, C], x-kubernetes-unions: {fieldMembers: {"": {}, A: {name: a}, B: {name: z}, C: {name: c}}}}
  a: {type: string, enum: [P], x-kubernetes-unions: {fieldMembers: {"": {name: a0, optional: true}, P: {name: p}}}}
  z: {type: string, enum: [Q], x-kubernetes-unions: {fieldMembers: {"": {name: z0, optional: true}, Q: {name: q}}}}
  p: {type: string, enum: [R], x-kubernetes-unions: {fieldMembers: {"": {name: p0, optional: true}, R: {name: r}}}}
  c: {type: string}
  q: {type: string}
  r: {type: string}
  a0: {type: string}
  z0: {type: string}
  p0: {type: string}
`

// TestU2DiscriminatorsAreNotMembers (rules U2, F5): a union that declares a discriminator as a member ignores it.
func TestU2DiscriminatorsAreNotMembers(t *testing.T) {
	plan := planOf(t, chainedYAML, nil)
	old := testyaml.Object(t, `{m: C, c: x, a: P, p: R, r: x}`)
	object := testyaml.Object(t, `{m: B, c: x, a: P, p: R, r: x, z: Q, q: x}`)
	got, cleared := plan.Normalize(object, old, scope.Everything)
	if diff := cmp.Diff([]string{`c: cleared: m changed from "C" to "B"`}, Warnings(cleared)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(testyaml.Object(t, `{m: B, a: P, p: R, r: x, z: Q, q: x}`), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if errs, _ := plan.Validate(got, old, Options{}); len(errs) > 0 {
		t.Errorf("F5: a discriminator was validated as a member: %v", errs.ToAggregate())
	}
}

// TestV3WarningsAreLimited (rule V3).
func TestV3WarningsAreLimited(t *testing.T) {
	cleared := make([]Cleared, 22)
	for i := range cleared {
		cleared[i] = Cleared{
			Discriminator: "type", From: "A\n", Members: []string{"a", "b"},
			Path: []Step{{Name: "l"}, {Keys: map[string]any{}, Index: i}},
		}
	}
	for n, want := range map[int]string{
		1:  `l[0].a, l[0].b: cleared: l[0].type changed from "A\n" to ""`,
		20: `l[19].a, l[19].b: cleared: l[19].type changed from "A\n" to ""`,
		21: `members of 2 more unions: cleared: their discriminators changed`,
		22: `members of 3 more unions: cleared: their discriminators changed`,
	} {
		warnings := Warnings(cleared[:n])
		if len(warnings) != min(n, 20) || warnings[len(warnings)-1] != want {
			t.Errorf("V3: %d unions have %d warnings, the last: %s", n, len(warnings), warnings[len(warnings)-1])
		}
	}
	if Warnings(nil) != nil {
		t.Error("V3: there is a warning although nothing was cleared")
	}
}

// TestCoversReportsWhetherAScopeHasAUnion (rules R2, U7).
func TestCoversReportsWhetherAScopeHasAUnion(t *testing.T) {
	for name, tc := range map[string]struct {
		schema string
		want   []scope.Scope
	}{
		"no schema":                   {"", nil},
		"no unions":                   {`{type: object, properties: {spec: {type: object, properties: {type: {type: string}}}}}`, nil},
		"a union in spec":             {inSpec("source", sourceYAML), []scope.Scope{scope.Everything, scope.ExceptStatus}},
		"a union at the root":         {sourceYAML, []scope.Scope{scope.Everything, scope.ExceptStatus}},
		"status is the discriminator": {`{type: object, properties: {status: {type: string, x-kubernetes-unions: {fieldMembers: {"": {}}}}}}`, []scope.Scope{scope.Everything}},
		"a union in status":           {"type: object\nproperties:\n  status:" + sourceIndented, []scope.Scope{scope.Everything, scope.OnlyStatus}},
		"a union without values":      {`{type: object, properties: {type: {type: string, x-kubernetes-unions: {}}}}`, nil},
		"a union in lists in a map":   {inSpec("m", "\n  type: object\n  additionalProperties:\n    type: array\n    items:"+sourceIndented), []scope.Scope{scope.Everything, scope.ExceptStatus}},
	} {
		t.Run(name, func(t *testing.T) {
			plan := Compile(nil, nil)
			if tc.schema != "" {
				plan = Compile(testyaml.Structural(t, tc.schema), nil)
			}
			if (plan != nil) != (tc.want != nil) {
				t.Errorf("plan: %v", plan)
			}
			for _, s := range []scope.Scope{scope.Everything, scope.ExceptStatus, scope.OnlyStatus} {
				if got := plan.Covers(s); got != slices.Contains(tc.want, s) {
					t.Errorf("Covers(%v) = %v", s, got)
				}
			}
		})
	}
}

// TestR2NilPlanHasNoEffect (rule R2).
func TestR2NilPlanHasNoEffect(t *testing.T) {
	var plan *Plan
	obj := map[string]any{"type": "A"}
	if n := testing.AllocsPerRun(100, func() {
		got, cleared := plan.Normalize(obj, obj, scope.Everything)
		errs, failures := plan.Validate(got, obj, Options{})
		if len(cleared)+len(errs)+len(failures) > 0 || !plan.Unchanged(obj, nil, scope.Everything) {
			t.Fatal("R2: the nil plan has an effect")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestR2ValidUnionsAllocateNothing (rules R2, R3).
func TestR2ValidUnionsAllocateNothing(t *testing.T) {
	plan := planOf(t, positionsSchemaYAML(), nil)
	valid := testyaml.Object(t, `{mode: A, a: x, spec: {source: {type: Git, git: {}, s3: null}, map: {k: {type: S3}, l: {type: None, git: null}}, maps: {k: {l: {type: None}}},
 items: [{name: a, type: Git, git: {}}, {name: b, type: S3, s3: {}}], atomic: [{type: None}], set: [{type: S3}], outer: {type: Inner, inner: {type: None}}, two: {x: X1, x1: 1},
 groups: [{id: 1, zone: z, items: [{name: a, type: None}], lists: [[{name: a, type: None}]]}]}, status: {source: {type: None}}}`)
	old := runtime.DeepCopyJSON(valid)
	switched := runtime.DeepCopyJSON(valid)
	maps.Copy(switched, map[string]any{"mode": "B", "b": "x"})
	delete(switched, "a")
	for claim, do := range map[string]func() bool{
		"R2: normalize an unchanged object":                       func() bool { _, c := plan.Normalize(valid, old, scope.ExceptStatus); return c == nil },
		"R2: normalize an object that a client switched properly": func() bool { _, c := plan.Normalize(switched, old, scope.ExceptStatus); return c == nil },
		"R2: validate": func() bool {
			errs, _ := plan.Validate(valid, nil, Options{Scope: scope.ExceptStatus})
			return errs == nil
		},
		"R2: validate with ratcheting": func() bool {
			errs, _ := plan.Validate(switched, old, Options{Scope: scope.ExceptStatus, Ratchet: true})
			return errs == nil
		},
		"R2: unchanged": func() bool { return plan.Unchanged(valid, old, scope.ExceptStatus) },
	} {
		t.Run(claim, func(t *testing.T) {
			if !do() {
				t.Error("something was cleared or is invalid")
			}
			if n := testing.AllocsPerRun(100, func() { do() }); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}
