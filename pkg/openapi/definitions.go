// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openapi adds fairlead's fields of CustomResourceDefinition to the OpenAPI definitions of the server, at run
// time. Therefore neither k8s.io/kubernetes nor the generated definitions of k8s.io/apiextensions-apiserver need a
// patch. Start with AddDefinitions, which the patched k8s.io/apiserver calls.
//
// Server-side apply uses the same definitions to merge the fields (rule C2), and kubectl explain shows their
// descriptions.
package openapi

import (
	"strings"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	generatedopenapi "github.com/fairlead-dev/fairlead/pkg/generated/openapi"
)

// crdPackage is the prefix of the OpenAPI model names of upstream's CustomResourceDefinition types.
const crdPackage = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions."

// AddDefinitions adds to defs the definitions of fairlead's types and the fields that have these types, in every
// version of CustomResourceDefinition. It does nothing if defs has no CustomResourceDefinition, as in aggregated API
// servers.
func AddDefinitions(defs map[string]common.OpenAPIDefinition, ref common.ReferenceCallback) {
	keyOf, found := keysOf(defs)
	if !found {
		return
	}
	refTo := func(model string) spec.Ref { return ref(keyOf(model)) }
	for _, version := range versions {
		name := keyOf(crdPackage + version + ".CustomResourceDefinitionSpec")
		if def, ok := defs[name]; ok {
			defs[name] = withProperty(def, "customFeatureGates", customFeatureGates(refTo),
				keyOf(apiextensions.CustomResourceDefinitionFeatureGates{}.OpenAPIModelName()))
		}
		name = keyOf(crdPackage + version + ".JSONSchemaProps")
		if def, ok := defs[name]; ok {
			defs[name] = withProperty(def, "x-kubernetes-unions", unions(refTo), keyOf(apiextensions.Unions{}.OpenAPIModelName()))
		}
	}
	for model, def := range generatedopenapi.GetOpenAPIDefinitions(refTo) {
		for i, dependency := range def.Dependencies {
			def.Dependencies[i] = keyOf(dependency)
		}
		defs[keyOf(model)] = def
	}
}

var versions = []string{"v1", "v1beta1"}

// keysOf returns the function from OpenAPI model names to the keys of defs, and reports whether defs has
// CustomResourceDefinition. The keys are model names, or in some Kubernetes lines names of Go types, of which the server
// makes the model names.
func keysOf(defs map[string]common.OpenAPIDefinition) (keyOf func(model string) string, found bool) {
	for _, keyOf := range []func(string) string{modelName, goName} {
		for _, version := range versions {
			if _, found := defs[keyOf(crdPackage+version+".CustomResourceDefinitionSpec")]; found {
				return keyOf, true
			}
		}
	}
	return nil, false
}

func modelName(model string) string { return model }

// goName returns the name of a Go type from which upstream makes a model name: k8s.io/api/core/v1.Pod of
// io.k8s.api.core.v1.Pod.
func goName(model string) string {
	parts := strings.Split(model, ".")
	last := len(parts) - 1
	return parts[1] + "." + parts[0] + "/" + strings.Join(parts[2:last], "/") + "." + parts[last]
}

// customFeatureGates returns the schema of spec.customFeatureGates.
func customFeatureGates(ref common.ReferenceCallback) spec.Schema {
	return spec.Schema{SchemaProps: spec.SchemaProps{
		Description: "customFeatureGates defines feature gates for fields of the custom resources of this definition. " +
			"They are evaluated on the storage version. Alpha, enabled by the feature gate CRDFieldLevelVersioning.",
		Ref: ref(apiextensions.CustomResourceDefinitionFeatureGates{}.OpenAPIModelName()),
	}}
}

// unions returns the schema of x-kubernetes-unions.
func unions(ref common.ReferenceCallback) spec.Schema {
	return spec.Schema{SchemaProps: spec.SchemaProps{
		Description: "x-kubernetes-unions makes a property of type string the discriminator of a union: its value selects " +
			"which one of its siblings may be set, and a change of it clears the others.",
		Ref: ref(apiextensions.Unions{}.OpenAPIModelName()),
	}}
}

// withProperty returns def with an additional property, whose schema refers to the definition with the key dependency. It does not
// modify the maps and slices of def, because callers of a generated GetOpenAPIDefinitions may share them.
func withProperty(
	def common.OpenAPIDefinition, name string, schema spec.Schema, dependency string,
) common.OpenAPIDefinition {
	properties := make(map[string]spec.Schema, len(def.Schema.Properties)+1)
	for k, v := range def.Schema.Properties {
		properties[k] = v
	}
	properties[name] = schema
	def.Schema.Properties = properties
	def.Dependencies = append(def.Dependencies[:len(def.Dependencies):len(def.Dependencies)], dependency)
	return def
}
