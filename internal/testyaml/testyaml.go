// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testyaml parses YAML in tests. If a text cannot be parsed, the test fails.
package testyaml

import (
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Parse parses a value of any API type. The test fails if the text has a field that the type does not have.
func Parse[T any](t testing.TB, text string) T {
	t.Helper()
	var out T
	if err := yaml.UnmarshalStrict([]byte(text), &out); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return out
}

// Object parses a custom resource as the server decodes it: numbers are int64 or float64. It returns nil for an empty
// text.
func Object(t testing.TB, text string) map[string]any {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var out map[string]any
	if err := utilyaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return out
}

// Schema parses a schema into the internal type, which the validation of CRDs uses.
func Schema(t testing.TB, text string) *apiextensions.JSONSchemaProps {
	t.Helper()
	v1 := Parse[*apiextensionsv1.JSONSchemaProps](t, text)
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, internal, nil); err != nil {
		t.Fatal(err)
	}
	return internal
}

// Structural parses a schema into a structural schema, which the handler of custom resources uses.
func Structural(t testing.TB, text string) *structuralschema.Structural {
	t.Helper()
	schema, err := structuralschema.NewStructural(Schema(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
