// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openapi adds what fairlead adds to CustomResourceDefinition to the OpenAPI definitions that Kubernetes
// was built with, so that neither k8s.io/kubernetes nor the generated definitions of k8s.io/apiextensions-apiserver
// need a patch.
//
// Server-side apply learns from the same definitions how the new fields merge (rule C2), and kubectl explain what
// they mean.
package openapi

import (
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	generatedopenapi "github.com/fairlead-dev/fairlead/pkg/generated/openapi"
)

// crdPackage is the package of upstream's CustomResourceDefinition types, as OpenAPI model names spell it.
const crdPackage = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions."

// AddDefinitions adds to defs, keyed by model name as generated, the definitions of fairlead's types and the fields
// that hold them in each served version of CustomResourceDefinition. It does nothing where defs has no
// CustomResourceDefinition, as in other aggregated API servers.
func AddDefinitions(defs map[string]common.OpenAPIDefinition, ref common.ReferenceCallback) {
	found := false
	for _, version := range []string{"v1", "v1beta1"} {
		name := crdPackage + version + ".CustomResourceDefinitionSpec"
		if def, ok := defs[name]; ok {
			defs[name] = withProperty(def, "customFeatureGates", customFeatureGates(ref),
				apiextensions.CustomResourceDefinitionFeatureGates{}.OpenAPIModelName())
			found = true
		}
		name = crdPackage + version + ".JSONSchemaProps"
		if def, ok := defs[name]; ok {
			defs[name] = withProperty(def, "x-kubernetes-unions", unions(ref), apiextensions.Unions{}.OpenAPIModelName())
		}
	}
	if !found {
		return
	}
	for name, def := range generatedopenapi.GetOpenAPIDefinitions(ref) {
		defs[name] = def
	}
}

func customFeatureGates(ref common.ReferenceCallback) spec.Schema {
	return spec.Schema{SchemaProps: spec.SchemaProps{
		Description: "customFeatureGates defines feature gates for fields of the custom resources of this definition. " +
			"They are evaluated on the storage version. Alpha, enabled by the feature gate CRDFieldLevelVersioning.",
		Ref: ref(apiextensions.CustomResourceDefinitionFeatureGates{}.OpenAPIModelName()),
	}}
}

func unions(ref common.ReferenceCallback) spec.Schema {
	return spec.Schema{SchemaProps: spec.SchemaProps{
		Description: "x-kubernetes-unions makes a property of type string the discriminator of a union: its value selects " +
			"which one of its siblings may be set, and a change of it clears the others.",
		Ref: ref(apiextensions.Unions{}.OpenAPIModelName()),
	}}
}

// withProperty returns def with one property more, whose schema refers to the model named dependency. The maps and
// slices of def are left alone: callers of a generated GetOpenAPIDefinitions may share them.
func withProperty(def common.OpenAPIDefinition, name string, schema spec.Schema, dependency string) common.OpenAPIDefinition {
	properties := make(map[string]spec.Schema, len(def.Schema.Properties)+1)
	for k, v := range def.Schema.Properties {
		properties[k] = v
	}
	properties[name] = schema
	def.Schema.Properties = properties
	def.Dependencies = append(def.Dependencies[:len(def.Dependencies):len(def.Dependencies)], dependency)
	return def
}
