// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apiextensions_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	crd "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
)

// theUnion has each kind of value: with a member, with an optional one, without one, and the absent discriminator.
func theUnion() *apiextensions.Unions {
	return &apiextensions.Unions{FieldMembers: map[string]apiextensions.MemberField{
		"Git":  {Name: "git"},
		"S3":   {Name: "s3", Optional: true},
		"None": {},
		"":     {},
	}}
}

// crdWithUnion returns a CRD that has the union in both places where the internal form keeps schemas, in a property
// and nested.
func crdWithUnion() *crd.CustomResourceDefinition {
	discriminator := crd.JSONSchemaProps{Type: "string", XUnions: theUnion()}
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

// TestU1UnionsSurviveEveryEncoding (rules U1, C3) encodes and decodes a CRD in every version and media type.
func TestU1UnionsSurviveEveryEncoding(t *testing.T) {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codecs := serializer.NewCodecFactory(scheme, serializer.WithSerializer(cbor.NewSerializerInfo))

	for _, version := range []schema.GroupVersion{crdv1.SchemeGroupVersion, crdv1beta1.SchemeGroupVersion} {
		for _, info := range codecs.SupportedMediaTypes() {
			t.Run(version.Version+" "+info.MediaType, func(t *testing.T) {
				codec := codecs.CodecForVersions(info.Serializer, info.Serializer, version, crd.SchemeGroupVersion)
				data, err := runtime.Encode(codec, crdWithUnion())
				if err != nil {
					t.Fatal(err)
				}
				out, err := runtime.Decode(codec, data)
				if err != nil {
					t.Fatalf("%v in %q", err, data)
				}
				want := crdWithUnion().Spec.Validation.OpenAPIV3Schema.Properties
				got := out.(*crd.CustomResourceDefinition).Spec
				properties := got.Validation
				if properties == nil {
					properties = got.Versions[0].Schema
				}
				if diff := cmp.Diff(want, properties.OpenAPIV3Schema.Properties); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestU1NullIsAValueWithoutAMember (rule U1): it is stored and published as {}, never lost.
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

// TestU1StructuralSchemasHoldUnions (rule U1): in the structural schema, in a copy of it, and in what is published of it.
func TestU1StructuralSchemasHoldUnions(t *testing.T) {
	structural, err := structuralschema.NewStructural(crdWithUnion().Spec.Validation.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	structural = structural.DeepCopy()
	for name, property := range map[string]structuralschema.Structural{
		"property": structural.Properties["type"],
		"item":     structural.Properties["list"].Items.Properties["type"],
	} {
		if diff := cmp.Diff(theUnion(), property.XUnions); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	published, err := structural.ToKubeOpenAPI().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	want := `"x-kubernetes-unions":{"fieldMembers":{"":{},"Git":{"name":"git"},"None":{},"S3":{"name":"s3","optional":true}}}`
	if got := strings.Count(string(published), want); got != 2 {
		t.Errorf("%d times %s in:\n%s", got, want, published)
	}
	var back crdv1.JSONSchemaProps
	if err := json.Unmarshal(published, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(theUnion(), back.Properties["type"].XUnions); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
}
