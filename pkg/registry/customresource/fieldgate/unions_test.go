// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"strings"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
)

// gatedUnion returns a schema with the same union in a struct, in the items of a list map and in the values of a map,
// and a disabled gate of its member s3.
func gatedUnion() (*structuralschema.Structural, *apiextensions.CustomResourceDefinitionFeatureGates) {
	object := structuralschema.Structural{Properties: map[string]structuralschema.Structural{
		"name": {},
		"type": {Extensions: structuralschema.Extensions{XUnions: &apiextensions.Unions{
			FieldMembers: map[string]apiextensions.MemberField{"": {}, "Git": {Name: "git"}, "S3": {Name: "s3"}},
		}}},
		"git": {}, "s3": {},
	}}
	listType := "map"
	schema := &structuralschema.Structural{Properties: map[string]structuralschema.Structural{
		"struct": object,
		"list":   {Items: &object, Extensions: structuralschema.Extensions{XListType: &listType, XListMapKeys: []string{"name"}}},
		"map":    {AdditionalProperties: &structuralschema.StructuralOrBool{Structural: &object}},
	}}
	return schema, &apiextensions.CustomResourceDefinitionFeatureGates{
		FeatureGates: []apiextensions.CustomResourceDefinitionFeatureGate{{
			Name: "S3", PreRelease: apiextensions.PreReleaseAlpha, FieldPaths: []string{".struct.s3", ".list[*].s3", ".map[*].s3"},
		}},
	}
}

// TestU9AUnionMayMoveOffADisabledMember covers rules G2 and U9, for unions in structs, lists and maps.
func TestU9AUnionMayMoveOffADisabledMember(t *testing.T) {
	positions := map[string]func(any) map[string]any{
		"struct": func(v any) map[string]any { return map[string]any{"struct": v} },
		"list":   func(v any) map[string]any { return map[string]any{"list": []any{v}} },
		"map":    func(v any) map[string]any { return map[string]any{"map": map[string]any{"key": v}} },
	}
	for name, tc := range map[string]struct {
		old, requested, want string
		warnings             []string
	}{
		"G2: left out while selected: kept":                    {`{name: a, type: S3, s3: x}`, `{name: a, type: S3}`, `{name: a, type: S3, s3: x}`, []string{"not updated"}},
		"U9: left out, another member selected: removed":       {`{name: a, type: S3, s3: x}`, `{name: a, type: Git, git: y}`, `{name: a, type: Git, git: y}`, nil},
		"U9: left out with the discriminator: removed":         {`{name: a, type: S3, s3: x}`, `{name: a}`, `{name: a}`, nil},
		"U9: null, another member selected: removed":           {`{name: a, type: S3, s3: x}`, `{name: a, type: Git, s3: null}`, `{name: a, type: Git}`, nil},
		"U9: left out, not selected before either: removed":    {`{name: a, type: Git, s3: x}`, `{name: a, type: Git}`, `{name: a, type: Git}`, nil},
		"G2: set to another value though not selected: kept":   {`{name: a, type: Git, s3: x}`, `{name: a, type: Git, s3: y}`, `{name: a, type: Git, s3: x}`, []string{"not updated"}},
		"G2: set and selected, but not persisted: dropped":     {`{name: a, type: Git}`, `{name: a, type: S3, s3: y}`, `{name: a, type: S3}`, []string{"dropped"}},
		"R1: left out, discriminator of a wrong type: removed": {`{name: a, type: S3, s3: x}`, `{name: a, type: 5}`, `{name: a, type: 5}`, nil},
	} {
		for position, in := range positions {
			t.Run(name+" in "+position, func(t *testing.T) {
				schema, gates := gatedUnion()
				plan := Compile(gates, schema, Options{Unions: true})
				got, old := in(testyaml.Object(t, tc.requested)), in(testyaml.Object(t, tc.old))
				result := plan.Evaluate(Write{Object: got, Old: old})
				checkEqual(t, "object", in(testyaml.Object(t, tc.want)), got)
				checkWarnings(t, tc.warnings, Warnings(result.Outcomes()))
				if again := plan.Evaluate(Write{Object: got, Old: old}); again.Requested() != nil {
					t.Error("R4: the second evaluation changes the object")
				}
			})
		}
	}
}

// checkWarnings expects one warning for each of the parts, which contains it.
func checkWarnings(t *testing.T, parts, warnings []string) {
	t.Helper()
	if len(warnings) != len(parts) {
		t.Errorf("G10: warnings %q, want %q", warnings, parts)
		return
	}
	for i, part := range parts {
		if !strings.Contains(warnings[i], part) {
			t.Errorf("G10: warning %q, want one with %q", warnings[i], part)
		}
	}
}

// TestU9NotWithoutTheServersGate compiles the plan without Options.Unions: the member is kept like any other field.
func TestU9NotWithoutTheServersGate(t *testing.T) {
	schema, gates := gatedUnion()
	got := map[string]any{"struct": testyaml.Object(t, `{type: Git}`)}
	Compile(gates, schema, Options{}).Evaluate(Write{Object: got, Old: map[string]any{"struct": testyaml.Object(t, `{type: S3, s3: x}`)}})
	checkEqual(t, "object", map[string]any{"struct": testyaml.Object(t, `{type: Git, s3: x}`)}, got)
}

// TestU63DisabledGateIsThatOfTheField shows that gates of objects around a field and enabled gates do not count.
func TestU63DisabledGateIsThatOfTheField(t *testing.T) {
	schema, gates := gatedUnion()
	component, on := "istio", true
	gates.Component = &component
	gates.FeatureGates = append(gates.FeatureGates, apiextensions.CustomResourceDefinitionFeatureGate{
		Name: "Git", PreRelease: apiextensions.PreReleaseAlpha, Enabled: &on, FieldPaths: []string{".struct.git"},
	})
	plan := Compile(gates, schema, Options{})
	for text, want := range map[string]string{
		".struct.s3": "istio/S3", ".list[*].s3": "istio/S3", ".struct.git": "", ".struct": "", ".struct.s3.bucket": "", ".nowhere.s3": "",
	} {
		path, err := fieldpath.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.DisabledGate(path); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	if got := (*Plan)(nil).DisabledGate(nil); got != "" {
		t.Errorf("R2: the nil plan: got %q", got)
	}
}
