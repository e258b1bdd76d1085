// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// models-schema prints the OpenAPI v2 definitions of CustomResourceDefinition, including fairlead's fields.
// hack/update-codegen.sh runs it, because applyconfiguration-gen reads these definitions.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	crdopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fairlead-dev/fairlead/pkg/openapi"
)

func main() {
	if err := json.NewEncoder(os.Stdout).Encode(swagger()); err != nil {
		fmt.Fprintln(os.Stderr, "models-schema:", err)
		os.Exit(1)
	}
}

// swagger returns an OpenAPI v2 document with the definitions.
func swagger() *spec.Swagger {
	ref := func(name string) spec.Ref { return spec.MustCreateRef("#/definitions/" + published(name)) }
	defs := crdopenapi.GetOpenAPIDefinitions(ref)
	openapi.AddDefinitions(defs, ref)

	schemas := make(spec.Definitions, len(defs))
	for name, def := range defs {
		schemas[published(name)] = v2Schema(def)
	}
	return &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger:     "2.0",
		Info:        &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes", Version: "unversioned"}},
		Definitions: schemas,
	}}
}

// published returns the model name of a key of definitions, which is the name of a Go type in some Kubernetes lines.
func published(key string) string {
	if strings.Contains(key, "/") {
		return util.ToRESTFriendlyName(key)
	}
	return key
}

// v2Schema returns the OpenAPI v2 schema of a definition. Definitions whose v2 and v3 schemas differ, such as
// int-or-string, have it in an extension.
func v2Schema(def common.OpenAPIDefinition) spec.Schema {
	if v2, ok := def.Schema.Extensions[common.ExtensionV2Schema].(spec.Schema); ok {
		return v2
	}
	return def.Schema
}
