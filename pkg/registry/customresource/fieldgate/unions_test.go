// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
)

// gatedUnion is a schema with the same union in a struct, in the items of a list map and in the values of a map, and the
// gates of its member s3.
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

// TestU9AUnionMayMoveOffADisabledMember (rules G2, U9) in every place that a union may be in.
func TestU9AUnionMayMoveOffADisabledMember(t *testing.T) {
	positions := map[string]func(any) map[string]any{
		"struct": func(v any) map[string]any { return map[string]any{"struct": v} },
		"list":   func(v any) map[string]any { return map[string]any{"list": []any{v}} },
		"map":    func(v any) map[string]any { return map[string]any{"map": map[string]any{"key": v}} },
	}
	for name, tc := range map[string]struct {
		old, written, want string
		warnings           []string
	}{
		"left out, selected: kept":         {`{name: a, type: S3, s3: x}`, `{name: a, type: S3}`, `{name: a, type: S3, s3: x}`, []string{"not updated"}},
		"left out, moved on: gone":         {`{name: a, type: S3, s3: x}`, `{name: a, type: Git, git: y}`, `{name: a, type: Git, git: y}`, nil},
		"left out, discriminator gone":     {`{name: a, type: S3, s3: x}`, `{name: a}`, `{name: a}`, nil},
		"null, moved on: gone":             {`{name: a, type: S3, s3: x}`, `{name: a, type: Git, s3: null}`, `{name: a, type: Git}`, nil},
		"left out, never selected: gone":   {`{name: a, type: Git, s3: x}`, `{name: a, type: Git}`, `{name: a, type: Git}`, nil},
		"written, not selected: kept":      {`{name: a, type: Git, s3: x}`, `{name: a, type: Git, s3: y}`, `{name: a, type: Git, s3: x}`, []string{"not updated"}},
		"not persisted, selected: dropped": {`{name: a, type: Git}`, `{name: a, type: S3, s3: y}`, `{name: a, type: S3}`, []string{"dropped"}},
		"a discriminator of another type":  {`{name: a, type: S3, s3: x}`, `{name: a, type: 5}`, `{name: a, type: 5}`, nil},
	} {
		for position, in := range positions {
			t.Run(name+" in "+position, func(t *testing.T) {
				schema, gates := gatedUnion()
				plan := Compile(gates, schema, Options{Unions: true})
				got, old := in(testyaml.Object(t, tc.written)), in(testyaml.Object(t, tc.old))
				result := plan.Evaluate(Write{Object: got, Old: old})
				if diff := cmp.Diff(in(testyaml.Object(t, tc.want)), got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if warnings := Warnings(result.Outcomes()); len(warnings) != len(tc.warnings) {
					t.Errorf("warnings %q, want %q", warnings, tc.warnings)
				}
				if again := plan.Evaluate(Write{Object: got, Old: old}); again.Requested() != nil {
					t.Error("R4: the second time it changes something")
				}
			})
		}
	}
}

// TestU9NotWithoutTheServersGate: a plan that was compiled without Options.Unions follows the table of G2 alone.
func TestU9NotWithoutTheServersGate(t *testing.T) {
	schema, gates := gatedUnion()
	got := map[string]any{"struct": testyaml.Object(t, `{type: Git}`)}
	Compile(gates, schema, Options{}).Evaluate(Write{Object: got, Old: map[string]any{"struct": testyaml.Object(t, `{type: S3, s3: x}`)}})
	if diff := cmp.Diff(map[string]any{"struct": testyaml.Object(t, `{type: Git, s3: x}`)}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestU6DisabledGateIsThatOfTheField (rule U6), not of one around it, and of no enabled one.
func TestU6DisabledGateIsThatOfTheField(t *testing.T) {
	schema, gates := gatedUnion()
	component, on := "istio", true
	gates.Component = &component
	gates.FeatureGates = append(gates.FeatureGates, apiextensions.CustomResourceDefinitionFeatureGate{
		Name: "Git", PreRelease: apiextensions.PreReleaseAlpha, Enabled: &on, FieldPaths: []string{".struct.git"},
	})
	plan := Compile(gates, schema, Options{})
	for written, want := range map[string]string{
		".struct.s3": "istio/S3", ".list[*].s3": "istio/S3", ".struct.git": "", ".struct": "", ".struct.s3.bucket": "", ".nowhere.s3": "",
	} {
		path, err := fieldpath.Parse(written)
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.DisabledGate(path); got != want {
			t.Errorf("%s: got %q, want %q", written, got, want)
		}
	}
	if got := (*Plan)(nil).DisabledGate(nil); got != "" {
		t.Errorf("no plan: got %q", got)
	}
}
