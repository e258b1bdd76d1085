// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresourcedefinition

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// keepUnions restores the schemas of oldCRD if newCRD has no unions at all and its schemas are otherwise the same. It
// reports whether it did.
func keepUnions(newCRD, oldCRD *apiextensions.CustomResourceDefinition) bool {
	if !hasUnions(&oldCRD.Spec) || hasUnions(&newCRD.Spec) {
		return false
	}
	schemas := schemasByVersion(oldCRD)
	if !equalExceptForUnions(newCRD, schemas) {
		return false
	}
	// Versions that only differ in their unions share a schema in newCRD, in spec.validation, and have their own in
	// oldCRD. Therefore spec.validation is restored as well.
	newCRD.Spec.Validation = oldCRD.Spec.Validation.DeepCopy()
	perVersion := apiextensions.HasPerVersionSchema(oldCRD.Spec.Versions)
	for i := range newCRD.Spec.Versions {
		version := &newCRD.Spec.Versions[i]
		version.Schema = nil
		if perVersion {
			version.Schema = schemas[version.Name].DeepCopy()
		}
	}
	return true
}

func hasUnions(spec *apiextensions.CustomResourceDefinitionSpec) bool {
	return validation.HasSchemaWith(spec, func(schema *apiextensions.JSONSchemaProps) bool {
		return validation.SchemaHas(schema, func(s *apiextensions.JSONSchemaProps) bool { return s.XUnions != nil })
	})
}

// schemasByVersion returns the schemas of a CRD by version, with nil for a version that has none.
func schemasByVersion(crd *apiextensions.CustomResourceDefinition) map[string]*apiextensions.CustomResourceValidation {
	schemas := make(map[string]*apiextensions.CustomResourceValidation, len(crd.Spec.Versions))
	perVersion := apiextensions.HasPerVersionSchema(crd.Spec.Versions)
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		schemas[version.Name] = crd.Spec.Validation
		if perVersion {
			schemas[version.Name] = version.Schema
		}
	}
	return schemas
}

// equalExceptForUnions reports whether a CRD has the same versions as oldSchemas, with the same schemas except for
// the unions.
func equalExceptForUnions(
	crd *apiextensions.CustomResourceDefinition, oldSchemas map[string]*apiextensions.CustomResourceValidation,
) bool {
	schemas := schemasByVersion(crd)
	if len(schemas) != len(oldSchemas) {
		return false
	}
	for name, schema := range schemas {
		oldSchema, found := oldSchemas[name]
		if !found || !apiequality.Semantic.DeepEqual(schema, withoutUnions(oldSchema)) {
			return false
		}
	}
	return true
}

func withoutUnions(schema *apiextensions.CustomResourceValidation) *apiextensions.CustomResourceValidation {
	schema = schema.DeepCopy()
	if schema != nil {
		removeUnions(schema.OpenAPIV3Schema)
	}
	return schema
}

// removeUnions removes the unions in a schema. It visits every position where a union is allowed.
func removeUnions(s *apiextensions.JSONSchemaProps) {
	if s == nil {
		return
	}
	s.XUnions = nil
	for name, property := range s.Properties {
		removeUnions(&property)
		s.Properties[name] = property
	}
	if s.Items != nil {
		removeUnions(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		removeUnions(s.AdditionalProperties.Schema)
	}
}
