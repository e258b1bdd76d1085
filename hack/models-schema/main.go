// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// models-schema prints the OpenAPI v2 definitions of CustomResourceDefinition with fairlead's fields, in the form
// that applyconfiguration-gen reads.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	crdopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fairlead-dev/fairlead/pkg/openapi"
)

func main() {
	if err := json.NewEncoder(os.Stdout).Encode(swagger()); err != nil {
		fmt.Fprintln(os.Stderr, "models-schema:", err)
		os.Exit(1)
	}
}

func swagger() *spec.Swagger {
	ref := func(name string) spec.Ref { return spec.MustCreateRef("#/definitions/" + name) }
	defs := crdopenapi.GetOpenAPIDefinitions(ref)
	openapi.AddDefinitions(defs, ref)

	schemas := make(spec.Definitions, len(defs))
	for name, def := range defs {
		schemas[name] = v2Schema(def)
	}
	return &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger:     "2.0",
		Info:        &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes", Version: "unversioned"}},
		Definitions: schemas,
	}}
}

// v2Schema returns the OpenAPI v2 schema that a v3 definition embeds where the two differ (int-or-string and such).
func v2Schema(def common.OpenAPIDefinition) spec.Schema {
	if v2, ok := def.Schema.Extensions[common.ExtensionV2Schema].(spec.Schema); ok {
		return v2
	}
	return def.Schema
}
