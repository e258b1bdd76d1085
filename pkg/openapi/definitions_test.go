// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"slices"
	"testing"

	crdopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
)

func ref(name string) spec.Ref { return spec.MustCreateRef("#/definitions/" + name) }

// TestC2EveryVersionOfTheCRDHoldsTheGates also proves that what the builder follows (Dependencies) and what it
// publishes (Ref) name the same, existing model.
func TestC2EveryVersionOfTheCRDHoldsTheGates(t *testing.T) {
	defs := crdopenapi.GetOpenAPIDefinitions(ref)
	AddDefinitions(defs, ref)

	gates := apiextensions.CustomResourceDefinitionFeatureGates{}.OpenAPIModelName()
	for _, version := range []string{"v1", "v1beta1"} {
		def := defs[crdPackage+version+".CustomResourceDefinitionSpec"]
		property, ok := def.Schema.Properties["customFeatureGates"]
		if !ok {
			t.Fatalf("%s: no property customFeatureGates", version)
		}
		if got, want := property.Ref.String(), "#/definitions/"+gates; got != want {
			t.Errorf("%s: customFeatureGates refers to %q, want %q", version, got, want)
		}
		if !slices.Contains(def.Dependencies, gates) {
			t.Errorf("%s: %s is not among the dependencies", version, gates)
		}
		if _, ok := def.Schema.Properties["names"]; !ok {
			t.Errorf("%s: upstream's properties are gone", version)
		}
	}

	list := defs[gates].Schema.Properties["featureGates"]
	if got := list.Extensions["x-kubernetes-list-type"]; got != "map" {
		t.Errorf("featureGates has list type %v, want map", got)
	}
	if _, ok := defs[apiextensions.CustomResourceDefinitionFeatureGate{}.OpenAPIModelName()]; !ok {
		t.Error("the model of one gate is missing")
	}
}

// TestU1EveryVersionOfTheSchemaHoldsTheUnions proves the same of the extension x-kubernetes-unions.
func TestU1EveryVersionOfTheSchemaHoldsTheUnions(t *testing.T) {
	defs := crdopenapi.GetOpenAPIDefinitions(ref)
	AddDefinitions(defs, ref)

	unions := apiextensions.Unions{}.OpenAPIModelName()
	for _, version := range []string{"v1", "v1beta1"} {
		def := defs[crdPackage+version+".JSONSchemaProps"]
		property := def.Schema.Properties["x-kubernetes-unions"]
		if got, want := property.Ref.String(), "#/definitions/"+unions; got != want {
			t.Errorf("%s: x-kubernetes-unions refers to %q, want %q", version, got, want)
		}
		if !slices.Contains(def.Dependencies, unions) {
			t.Errorf("%s: %s is not among the dependencies", version, unions)
		}
		if _, ok := def.Schema.Properties["x-kubernetes-validations"]; !ok {
			t.Errorf("%s: upstream's properties are gone", version)
		}
	}
	if _, ok := defs[apiextensions.MemberField{}.OpenAPIModelName()]; !ok {
		t.Error("the model of a member is missing")
	}
}

func TestOtherDefinitionsAreLeftAlone(t *testing.T) {
	defs := map[string]common.OpenAPIDefinition{"com.example.v1.Foo": {}}
	AddDefinitions(defs, ref)
	if len(defs) != 1 {
		t.Errorf("got %d definitions, want the one given", len(defs))
	}
}

func TestSharedPropertiesAreNotChanged(t *testing.T) {
	name := crdPackage + "v1.CustomResourceDefinitionSpec"
	shared := map[string]spec.Schema{"names": {}}
	defs := map[string]common.OpenAPIDefinition{
		name: {Schema: spec.Schema{SchemaProps: spec.SchemaProps{Properties: shared}}},
	}
	AddDefinitions(defs, ref)
	if len(shared) != 1 {
		t.Errorf("the caller's map of properties was changed: %v", shared)
	}
}
