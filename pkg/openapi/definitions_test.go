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

// testProperty checks that upstream's model has the property, and that the builder of OpenAPI documents (Dependencies)
// and the published schema (Ref) refer to the same model.
func testProperty(t *testing.T, def common.OpenAPIDefinition, property, model, upstreamProperty string) {
	t.Helper()
	schema := def.Schema.Properties[property]
	if got, want := schema.Ref.String(), "#/definitions/"+model; got != want {
		t.Errorf("%s refers to %q, want %q", property, got, want)
	}
	if !slices.Contains(def.Dependencies, model) {
		t.Errorf("%s is not one of the dependencies", model)
	}
	if _, ok := def.Schema.Properties[upstreamProperty]; !ok {
		t.Errorf("upstream's property %s is missing", upstreamProperty)
	}
}

func TestC2EveryVersionHasCustomFeatureGates(t *testing.T) {
	defs := crdopenapi.GetOpenAPIDefinitions(ref)
	AddDefinitions(defs, ref)

	keyOf, _ := keysOf(defs)
	gates := keyOf(apiextensions.CustomResourceDefinitionFeatureGates{}.OpenAPIModelName())
	for _, version := range []string{"v1", "v1beta1"} {
		t.Run(version, func(t *testing.T) {
			testProperty(t, defs[keyOf(crdPackage+version+".CustomResourceDefinitionSpec")], "customFeatureGates", gates, "names")
		})
	}
	list := defs[gates].Schema.Properties["featureGates"]
	if got := list.Extensions["x-kubernetes-list-type"]; got != "map" {
		t.Errorf("featureGates has list type %v, want map", got)
	}
	if _, ok := defs[keyOf(apiextensions.CustomResourceDefinitionFeatureGate{}.OpenAPIModelName())]; !ok {
		t.Error("the model of a single gate is missing")
	}
}

func TestU1EveryVersionHasUnions(t *testing.T) {
	defs := crdopenapi.GetOpenAPIDefinitions(ref)
	AddDefinitions(defs, ref)

	keyOf, _ := keysOf(defs)
	unions := keyOf(apiextensions.Unions{}.OpenAPIModelName())
	for _, version := range []string{"v1", "v1beta1"} {
		t.Run(version, func(t *testing.T) {
			testProperty(t, defs[keyOf(crdPackage+version+".JSONSchemaProps")], "x-kubernetes-unions", unions, "x-kubernetes-validations")
		})
	}
	if _, ok := defs[keyOf(apiextensions.MemberField{}.OpenAPIModelName())]; !ok {
		t.Error("the model of a member is missing")
	}
}

func TestServersWithoutCRDsAreLeftAlone(t *testing.T) {
	defs := map[string]common.OpenAPIDefinition{"com.example.v1.Foo": {}}
	AddDefinitions(defs, ref)
	if len(defs) != 1 {
		t.Errorf("got %d definitions, want 1", len(defs))
	}
}

func TestSharedPropertiesAreNotModified(t *testing.T) {
	name := crdPackage + "v1.CustomResourceDefinitionSpec"
	shared := map[string]spec.Schema{"names": {}}
	defs := map[string]common.OpenAPIDefinition{
		name: {Schema: spec.Schema{SchemaProps: spec.SchemaProps{Properties: shared}}},
	}
	AddDefinitions(defs, ref)
	if len(shared) != 1 {
		t.Errorf("the caller's map of properties was modified: %v", shared)
	}
}

// TestKeysAreModelNamesOrNamesOfGoTypes (rules C2, U1): a definition that is added under another key is not published.
func TestKeysAreModelNamesOrNamesOfGoTypes(t *testing.T) {
	for claim, tc := range map[string]struct{ crd, model string }{
		"C2: model names":       {"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec", "dev.fairlead.apiextensions.Unions"},
		"C2: names of Go types": {"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.CustomResourceDefinitionSpec", "fairlead.dev/apiextensions.Unions"},
	} {
		t.Run(claim, func(t *testing.T) {
			defs := map[string]common.OpenAPIDefinition{tc.crd: {}}
			AddDefinitions(defs, ref)
			if _, found := defs[tc.crd].Schema.Properties["customFeatureGates"]; !found {
				t.Error("CustomResourceDefinitionSpec has no customFeatureGates")
			}
			if _, found := defs[tc.model]; !found {
				t.Errorf("there is no %s", tc.model)
			}
			for key, def := range defs {
				for _, dependency := range def.Dependencies {
					if _, found := defs[dependency]; !found {
						t.Errorf("%s depends on %s, which is not there", key, dependency)
					}
				}
			}
		})
	}
}
