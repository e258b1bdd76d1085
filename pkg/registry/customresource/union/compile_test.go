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
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// TestU63CompileLooksUpTheGateOfEachMemberOnce (rule U6.3).
func TestU63CompileLooksUpTheGateOfEachMemberOnce(t *testing.T) {
	var lookedUp []string
	Compile(testyaml.Structural(t, positionsSchemaYAML()), func(path fieldpath.Path) string {
		lookedUp = append(lookedUp, path.String())
		return ""
	})
	for _, want := range []string{
		".a", ".status", ".spec.source.git", ".spec.source.s3", ".spec.map[*].git", ".spec.maps[*][*].git",
		".spec.items[*].git", ".spec.atomic[*].git", ".spec.groups[*].lists[*][*].git", ".spec.outer.inner.git",
	} {
		if !slices.Contains(lookedUp, want) {
			t.Errorf("U6.3: the gate of %s was not looked up", want)
		}
	}
	slices.Sort(lookedUp)
	if once := slices.Compact(slices.Clone(lookedUp)); len(once) != len(lookedUp) {
		t.Errorf("U6.3: a gate was looked up more than once: %v", lookedUp)
	}
}

// TestV1OrdinalsAreDistinct (rule V1).
func TestV1OrdinalsAreDistinct(t *testing.T) {
	plan := planOf(t, positionsSchemaYAML(), nil)
	seen := map[int]string{}
	var walk func(n *node)
	walk = func(n *node) {
		if n == nil {
			return
		}
		for _, u := range n.unions {
			if other, found := seen[u.ordinal]; found {
				t.Errorf("V1: %s and %s have ordinal %d", other, u.discriminator, u.ordinal)
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
		t.Errorf("V1: %d ordinals, want 16", len(seen))
	}
}

// TestR3ScopesShareTheNodesBelowTheRoot (rules R3, U7).
func TestR3ScopesShareTheNodesBelowTheRoot(t *testing.T) {
	plan := planOf(t, positionsSchemaYAML(), nil)
	find := func(n *node, name string) *node {
		for _, c := range n.fields {
			if c.name == name {
				return c.node
			}
		}
		return nil
	}
	if spec := find(plan.everything, "spec"); spec == nil || spec != find(plan.exceptStatus, "spec") {
		t.Error("R3: spec was compiled twice")
	}
	if status := find(plan.everything, "status"); status == nil || status != find(plan.onlyStatus, "status") {
		t.Error("R3: status was compiled twice")
	}
	if find(plan.exceptStatus, "status") != nil || find(plan.onlyStatus, "spec") != nil {
		t.Error("U7: a root has a field that is not in its scope")
	}
}

// TestU7MembersBesideStatusStayMembers (rule U7) removes status from the members of a union, but not those before and
// after it.
func TestU7MembersBesideStatusStayMembers(t *testing.T) {
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
			t.Errorf("U7: %s: got %q, want %q", text, got, want)
		}
	}
}

// TestF5CompileAcceptsInvalidSchemas (rule F5) compiles schemas that validation of the CRD rejects.
func TestF5CompileAcceptsInvalidSchemas(t *testing.T) {
	str := structuralschema.Structural{Generic: structuralschema.Generic{Type: "string"}}
	self := discriminatorOf(fieldMembers{"Self": {Name: "type"}, "A": {Name: "a"}})
	for name, tc := range map[string]struct {
		properties  map[string]structuralschema.Structural
		object, old string
		want        string
		errs        int
	}{
		"a member is the discriminator": {
			map[string]structuralschema.Structural{"type": self, "a": str},
			`{type: Self, a: x}`, `{type: A, a: x}`, `{type: Self}`, 0,
		},
		"a member is not a property": {
			map[string]structuralschema.Structural{"type": self},
			`{type: Self, a: x}`, `{type: A, a: x}`, `{type: Self}`, 0,
		},
		"two values select the same member": {
			map[string]structuralschema.Structural{
				"type": discriminatorOf(fieldMembers{"A": {Name: "a"}, "B": {Name: "a", Optional: true}, "C": {}}),
			},
			`{type: B, a: x}`, `{type: A, a: x}`, `{type: B, a: x}`, 0,
		},
		"two unions have the same member": {
			map[string]structuralschema.Structural{
				"t1": discriminatorOf(fieldMembers{"A": {Name: "a"}, "": {}}),
				"t2": discriminatorOf(fieldMembers{"A": {Name: "a"}, "": {}}),
			},
			`{t1: "", t2: A, a: x}`, `{t1: A, t2: A, a: x}`, `{t1: "", t2: A}`, 1,
		},
		"two discriminators are members of each other's union": {
			map[string]structuralschema.Structural{
				"t1": discriminatorOf(fieldMembers{"A": {Name: "t2"}, "": {}}),
				"t2": discriminatorOf(fieldMembers{"A": {Name: "t1"}, "": {}}),
			},
			`{t1: A, t2: ""}`, `{t1: A, t2: A}`, `{t1: A, t2: ""}`, 0,
		},
		"the request has an object for a discriminator": {
			map[string]structuralschema.Structural{"type": self, "a": *objectOf(map[string]structuralschema.Structural{"type": self})},
			`{type: {a: {}}, a: {type: A}}`, `{type: {a: {}}, a: {type: A}}`, `{type: {a: {}}, a: {type: A}}`, 2,
		},
	} {
		t.Run("F5: "+name, func(t *testing.T) {
			plan := Compile(objectOf(tc.properties), nil)
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
