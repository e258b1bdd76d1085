// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testcrd changes the CRDs of tests.
package testcrd

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// RemoveUnions removes x-kubernetes-unions everywhere in a schema, which may be nil.
func RemoveUnions(schema *apiextensionsv1.JSONSchemaProps) {
	if schema == nil {
		return
	}
	schema.XUnions = nil
	for name, property := range schema.Properties {
		RemoveUnions(&property)
		schema.Properties[name] = property
	}
	if schema.Items != nil {
		RemoveUnions(schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil {
		RemoveUnions(schema.AdditionalProperties.Schema)
	}
}
