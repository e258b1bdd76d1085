// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
)

// storageVersion returns the storage version, or nil if there is none.
func storageVersion(spec *apiextensions.CustomResourceDefinitionSpec) *apiextensions.CustomResourceDefinitionVersion {
	for i := range spec.Versions {
		if spec.Versions[i].Storage {
			return &spec.Versions[i]
		}
	}
	return nil
}

// versionByName returns the version with a name, or nil if there is none. spec may be nil.
func versionByName(
	spec *apiextensions.CustomResourceDefinitionSpec, name string,
) *apiextensions.CustomResourceDefinitionVersion {
	if spec == nil {
		return nil
	}
	for i := range spec.Versions {
		if spec.Versions[i].Name == name {
			return &spec.Versions[i]
		}
	}
	return nil
}

// versionSchema returns the schema of a version, or nil if it has none. The internal form of a CRD has one schema in
// spec.validation if all versions have the same, and otherwise a schema in each version. See GetSchemaForVersion
// upstream.
func versionSchema(
	spec *apiextensions.CustomResourceDefinitionSpec, version *apiextensions.CustomResourceDefinitionVersion,
) *apiextensions.JSONSchemaProps {
	validation := spec.Validation
	if apiextensions.HasPerVersionSchema(spec.Versions) {
		validation = version.Schema
	}
	if validation == nil {
		return nil
	}
	return validation.OpenAPIV3Schema
}

// isTypeOrObjectMeta reports whether a field of a custom resource, or of an embedded resource, is part of its
// TypeMeta or is its metadata.
func isTypeOrObjectMeta(name string) bool {
	return name == "apiVersion" || name == "kind" || name == "metadata"
}

// propertyOf returns the schema of a property, or nil if there is none. s may be nil.
func propertyOf(s *apiextensions.JSONSchemaProps, name string) *apiextensions.JSONSchemaProps {
	if s == nil {
		return nil
	}
	property, found := s.Properties[name]
	if !found {
		return nil
	}
	return &property
}

// valuesOf returns the schema of the values of a map, or nil if there is none. s may be nil.
func valuesOf(s *apiextensions.JSONSchemaProps) *apiextensions.JSONSchemaProps {
	if s == nil || s.AdditionalProperties == nil {
		return nil
	}
	return s.AdditionalProperties.Schema
}

// itemsOf returns the schema of the items of a list, or nil if there is none. s may be nil.
func itemsOf(s *apiextensions.JSONSchemaProps) *apiextensions.JSONSchemaProps {
	if s == nil || s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

// hasDefault reports whether a schema has a default that takes effect. A default of null has no effect.
func hasDefault(s *apiextensions.JSONSchemaProps) bool {
	return s.Default != nil && *s.Default != nil
}
