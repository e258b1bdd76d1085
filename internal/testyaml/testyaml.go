// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testyaml reads the YAML that tests are written in. A text that cannot be read fails the test.
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

// Parse reads a value of any API type, and nothing that the type does not have.
func Parse[T any](t testing.TB, text string) T {
	t.Helper()
	var out T
	if err := yaml.UnmarshalStrict([]byte(text), &out); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return out
}

// Object reads an object the way the server holds custom resources: numbers are int64 or float64. Empty text is nil.
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

// Schema reads the schema of a CRD as validation of CRDs sees it.
func Schema(t testing.TB, text string) *apiextensions.JSONSchemaProps {
	t.Helper()
	v1 := Parse[*apiextensionsv1.JSONSchemaProps](t, text)
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, internal, nil); err != nil {
		t.Fatal(err)
	}
	return internal
}

// Structural reads the schema of a CRD as the handler of its custom resources sees it.
func Structural(t testing.TB, text string) *structuralschema.Structural {
	t.Helper()
	schema, err := structuralschema.NewStructural(Schema(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
