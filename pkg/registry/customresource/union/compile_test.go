// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

func TestCompileAsksForTheGatesOfMembers(t *testing.T) { // U6.3
	var lookedUp []string
	Compile(testyaml.Structural(t, placesSchemaYAML()), func(path fieldpath.Path) string {
		lookedUp = append(lookedUp, path.String())
		return ""
	})
	for _, want := range []string{
		".a", ".status", ".spec.source.git", ".spec.source.s3", ".spec.map[*].git", ".spec.maps[*][*].git",
		".spec.items[*].git", ".spec.atomic[*].git", ".spec.groups[*].lists[*][*].git", ".spec.outer.inner.git",
	} {
		if !slices.Contains(lookedUp, want) {
			t.Errorf("did not ask for %s", want)
		}
	}
	slices.Sort(lookedUp)
	if once := slices.Compact(slices.Clone(lookedUp)); len(once) != len(lookedUp) {
		t.Errorf("looked up more than once: %v", lookedUp)
	}
}

func TestOrdinalsAreDistinct(t *testing.T) { // V1
	plan := planOf(t, placesSchemaYAML(), nil)
	seen := map[int]string{}
	var walk func(n *node)
	walk = func(n *node) {
		if n == nil {
			return
		}
		for _, u := range n.unions {
			if other, found := seen[u.ordinal]; found {
				t.Errorf("%s and %s are both number %d", other, u.discriminator, u.ordinal)
			}
			seen[u.ordinal] = u.discriminator
		}
		for _, c := range n.fields {
			walk(c.node)
		}
		walk(n.elements)
	}
	walk(plan.everything)
	if len(seen) != 16 {
		t.Errorf("%d unions", len(seen))
	}
}

func TestScopesShareWhatIsBelowTheRoot(t *testing.T) { // R3
	plan := planOf(t, placesSchemaYAML(), nil)
	find := func(n *node, name string) *node {
		for _, c := range n.fields {
			if c.name == name {
				return c.node
			}
		}
		return nil
	}
	if spec := find(plan.everything, "spec"); spec == nil || spec != find(plan.exceptStatus, "spec") {
		t.Error("spec was compiled twice")
	}
	if status := find(plan.everything, "status"); status == nil || status != find(plan.onlyStatus, "status") {
		t.Error("status was compiled twice")
	}
	if find(plan.exceptStatus, "status") != nil || find(plan.onlyStatus, "spec") != nil {
		t.Error("U7: a field out of scope")
	}
}

func TestMembersAroundStatus(t *testing.T) { // U7
	const schema = `{type: object, properties: {mode: {type: string, x-kubernetes-unions: {fieldMembers: {A: {name: a}, S: {name: status}, Z: {name: z}}}}}}`
	plan := planOf(t, schema, nil)
	for text, want := range map[string]string{
		`{mode: A, status: {}}`: `a: Required value: must be set when mode is "A"`,
		`{mode: S, status: {}}`: ``,
		`{mode: S}`:             ``,
		`{mode: Z, status: {}}`: `z: Required value: must be set when mode is "Z"`,
	} {
		errs, _ := plan.Validate(testyaml.Object(t, text), nil, Options{Scope: scope.ExceptStatus})
		if got := strings.Join(texts(errs), "\n"); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestCompileTakesWhatValidationRefuses is about CRDs that nobody can create any more (rule F5).
func TestCompileTakesWhatValidationRefuses(t *testing.T) {
	str := structuralschema.Structural{Generic: structuralschema.Generic{Type: "string"}}
	discriminator := func(members map[string]apiextensions.MemberField) structuralschema.Structural {
		s := str
		s.XUnions = &apiextensions.Unions{FieldMembers: members}
		return s
	}
	self := discriminator(map[string]apiextensions.MemberField{"Self": {Name: "type"}, "A": {Name: "a"}})
	for name, tc := range map[string]struct {
		properties  map[string]structuralschema.Structural
		object, old string
		want        string
		errs        int
	}{
		"a member that is the discriminator": {
			map[string]structuralschema.Structural{"type": self, "a": str},
			`{type: Self, a: x}`, `{type: A, a: x}`, `{type: Self}`, 0,
		},
		"a member that is no property": {
			map[string]structuralschema.Structural{"type": self},
			`{type: Self, a: x}`, `{type: A, a: x}`, `{type: Self}`, 0,
		},
		"a member of two values": {
			map[string]structuralschema.Structural{"type": discriminator(map[string]apiextensions.MemberField{"A": {Name: "a"}, "B": {Name: "a", Optional: true}, "C": {}})},
			`{type: B, a: x}`, `{type: A, a: x}`, `{type: B, a: x}`, 0,
		},
		"a member of two unions": {
			map[string]structuralschema.Structural{
				"t1": discriminator(map[string]apiextensions.MemberField{"A": {Name: "a"}, "": {}}),
				"t2": discriminator(map[string]apiextensions.MemberField{"A": {Name: "a"}, "": {}}),
			},
			`{t1: "", t2: A, a: x}`, `{t1: A, t2: A, a: x}`, `{t1: "", t2: A}`, 1,
		},
		"unions that are each other's members": {
			map[string]structuralschema.Structural{
				"t1": discriminator(map[string]apiextensions.MemberField{"A": {Name: "t2"}, "": {}}),
				"t2": discriminator(map[string]apiextensions.MemberField{"A": {Name: "t1"}, "": {}}),
			},
			`{t1: A, t2: ""}`, `{t1: A, t2: A}`, `{t1: A, t2: ""}`, 0,
		},
		"a discriminator that is an object": {
			map[string]structuralschema.Structural{"type": self, "a": {Properties: map[string]structuralschema.Structural{"type": self}}},
			`{type: {a: {}}, a: {type: A}}`, `{type: {a: {}}, a: {type: A}}`, `{type: {a: {}}, a: {type: A}}`, 2,
		},
	} {
		t.Run("F5: "+name, func(t *testing.T) {
			plan := Compile(&structuralschema.Structural{Properties: tc.properties}, nil)
			got, _ := plan.Normalize(testyaml.Object(t, tc.object), testyaml.Object(t, tc.old), scope.Everything)
			if diff := cmp.Diff(testyaml.Object(t, tc.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if errs, _ := plan.Validate(got, nil, Options{}); len(errs) != tc.errs {
				t.Errorf("errors: %v", errs.ToAggregate())
			}
		})
	}
}
