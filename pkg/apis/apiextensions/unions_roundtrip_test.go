// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apiextensions_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	crd "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
)

// unionOfAllKinds has each kind of value: one with a member, one with an optional member, one without a member, and ""
// for an absent discriminator.
func unionOfAllKinds() *apiextensions.Unions {
	return &apiextensions.Unions{FieldMembers: map[string]apiextensions.MemberField{
		"Git":  {Name: "git"},
		"S3":   {Name: "s3", Optional: true},
		"None": {},
		"":     {},
	}}
}

// crdWithUnion returns a CRD that has the union in a property and in the items of a list.
func crdWithUnion() *crd.CustomResourceDefinition {
	discriminator := crd.JSONSchemaProps{Type: "string", XUnions: unionOfAllKinds()}
	root := &crd.JSONSchemaProps{
		Type: "object",
		Properties: map[string]crd.JSONSchemaProps{
			"type": discriminator,
			"list": {Type: "array", Items: &crd.JSONSchemaPropsOrArray{Schema: &crd.JSONSchemaProps{
				Type:       "object",
				Properties: map[string]crd.JSONSchemaProps{"type": discriminator},
			}}},
		},
	}
	return &crd.CustomResourceDefinition{Spec: crd.CustomResourceDefinitionSpec{
		Validation: &crd.CustomResourceValidation{OpenAPIV3Schema: root},
		Versions:   []crd.CustomResourceDefinitionVersion{{Name: "v1"}},
	}}
}

// TestU1UnionsSurviveEveryEncoding encodes and decodes a CRD in every version and media type (rules U1, C3).
func TestU1UnionsSurviveEveryEncoding(t *testing.T) {
	want := crdWithUnion().Spec.Validation.OpenAPIV3Schema.Properties
	testEveryEncoding(t, func(t *testing.T, roundTrip roundTrip) {
		got := roundTrip(crdWithUnion()).Spec
		validation := got.Validation
		if validation == nil {
			validation = got.Versions[0].Schema
		}
		if diff := cmp.Diff(want, validation.OpenAPIV3Schema.Properties); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// TestU1NullIsAValueWithoutAMember checks that null is stored and published as {} and not dropped (rule U1).
func TestU1NullIsAValueWithoutAMember(t *testing.T) {
	var got apiextensions.Unions
	if err := yaml.UnmarshalStrict([]byte(`fieldMembers: {Git: {name: git}, None: null, Nothing: {}}`), &got); err != nil {
		t.Fatal(err)
	}
	want := `{"fieldMembers":{"Git":{"name":"git"},"None":{},"Nothing":{}}}`
	if data, err := json.Marshal(got); err != nil || string(data) != want {
		t.Errorf("JSON: %s, %v; want %s", data, err, want)
	}
	data, err := got.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	var decoded apiextensions.Unions
	if err := decoded.Unmarshal(data); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, decoded); diff != "" {
		t.Errorf("protobuf (-want +got):\n%s", diff)
	}
}

// TestU1StructuralSchemasHaveUnions checks a copy of a structural schema and the OpenAPI made from it (rule U1).
func TestU1StructuralSchemasHaveUnions(t *testing.T) {
	structural, err := structuralschema.NewStructural(crdWithUnion().Spec.Validation.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	structural = structural.DeepCopy()
	for name, property := range map[string]structuralschema.Structural{
		"property": structural.Properties["type"],
		"item":     structural.Properties["list"].Items.Properties["type"],
	} {
		if diff := cmp.Diff(unionOfAllKinds(), property.XUnions); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	published, err := structural.ToKubeOpenAPI().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	want := `"x-kubernetes-unions":{"fieldMembers":{"":{},"Git":{"name":"git"},"None":{},"S3":{"name":"s3","optional":true}}}`
	if got := strings.Count(string(published), want); got != 2 {
		t.Errorf("found %d times, want twice: %s in:\n%s", got, want, published)
	}
	var decoded crdv1.JSONSchemaProps
	if err := json.Unmarshal(published, &decoded); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(unionOfAllKinds(), decoded.Properties["type"].XUnions); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
}
