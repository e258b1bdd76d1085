// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
)

var specPath = field.NewPath("spec")

// richSchema has a field of every kind that a path can lead to or through.
const richSchema = `
type: object
required: [mandatory]
properties:
  apiVersion: {type: string}
  kind: {type: string}
  metadata: {type: object}
  mandatory: {type: string}
  status:
    type: object
    properties:
      phase: {type: string}
  spec:
    type: object
    required: [type, absent]
    properties:
      type: {type: string}
      replicas: {type: integer, default: 1}
      size: {x-kubernetes-int-or-string: true}
      label: {type: string, nullable: true}
      enabled: {type: boolean}
      ratio: {type: number}
      a.b: {type: string}
      it's: {type: string}
      foo:
        type: object
        nullable: true
        properties:
          bar: {type: string}
          metadata: {type: string}
      map:
        type: object
        additionalProperties:
          type: object
          required: [must]
          properties:
            must: {type: string}
            may: {type: string}
      maps:
        type: object
        additionalProperties:
          type: object
          additionalProperties:
            type: object
            properties:
              leaf: {type: string}
      anything:
        type: object
        additionalProperties: true
      strings:
        type: object
        additionalProperties: {type: string}
      containers:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name, protocol]
        items:
          type: object
          required: [name, image]
          properties:
            name: {type: string}
            protocol: {type: string, default: TCP}
            image: {type: string}
            debug: {type: string}
            sub:
              type: object
              properties:
                name: {type: string}
            ports:
              type: array
              x-kubernetes-list-type: map
              x-kubernetes-list-map-keys: [port]
              items:
                type: object
                required: [port]
                properties:
                  port: {type: integer}
                  host: {type: string}
      unset:
        type: array
        items: {type: object, properties: {a: {type: string}}}
      atomic:
        type: array
        x-kubernetes-list-type: atomic
        items: {type: object, properties: {a: {type: string}}}
      set:
        type: array
        x-kubernetes-list-type: set
        items: {type: string}
      sources:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items:
          type: object
          required: [name, proof]
          properties:
            name: {type: string}
            proof:
              type: string
              enum: [Tls]
              x-kubernetes-unions: {fieldMembers: {Tls: {name: tls}}}
            tls: {type: object, properties: {ca: {type: string}}}
            type:
              type: string
              default: Git
              enum: [Git, S3]
              x-kubernetes-unions: {fieldMembers: {Git: {name: git}, S3: {name: s3, optional: true}}}
            git: {type: object}
            s3: {type: object}
      free:
        type: object
        x-kubernetes-preserve-unknown-fields: true
        required: [needed]
        properties:
          known:
            type: object
            properties:
              a: {type: string}
          list:
            type: array
            items: {type: string}
      freeList:
        type: array
        x-kubernetes-preserve-unknown-fields: true
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items:
          type: object
          required: [name]
          properties:
            name: {type: string}
      freeMap:
        type: object
        x-kubernetes-preserve-unknown-fields: true
        additionalProperties:
          type: object
          properties:
            a: {type: string}
      untyped:
        x-kubernetes-preserve-unknown-fields: true
      template:
        type: object
        x-kubernetes-embedded-resource: true
        x-kubernetes-preserve-unknown-fields: true
        properties:
          spec:
            type: object
            properties:
              a: {type: string}
              inner:
                type: object
                x-kubernetes-embedded-resource: true
                x-kubernetes-preserve-unknown-fields: true
      templates:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [id]
        items:
          type: object
          x-kubernetes-embedded-resource: true
          x-kubernetes-preserve-unknown-fields: true
          required: [id]
          properties:
            id: {type: string}
`

// gatesOf parses feature gates from YAML.
func gatesOf(t testing.TB, text string) *fairlead.CustomResourceDefinitionFeatureGates {
	t.Helper()
	return testyaml.Parse[*fairlead.CustomResourceDefinitionFeatureGates](t, text)
}

// versionOf returns a version with a schema of its own in YAML, or without a schema if that is empty.
func versionOf(t testing.TB, name, schema string) apiextensions.CustomResourceDefinitionVersion {
	t.Helper()
	version := apiextensions.CustomResourceDefinitionVersion{Name: name}
	if schema != "" {
		version.Schema = &apiextensions.CustomResourceValidation{OpenAPIV3Schema: testyaml.Schema(t, schema)}
	}
	return version
}

// storageVersionOf is versionOf for a version that is served and stored.
func storageVersionOf(t testing.TB, name, schema string) apiextensions.CustomResourceDefinitionVersion {
	t.Helper()
	version := versionOf(t, name, schema)
	version.Served, version.Storage = true, true
	return version
}

// specOf returns the spec of a CRD with a single version, v1.
func specOf(
	schema *apiextensions.JSONSchemaProps, gates *fairlead.CustomResourceDefinitionFeatureGates,
) *apiextensions.CustomResourceDefinitionSpec {
	return &apiextensions.CustomResourceDefinitionSpec{
		Validation:         &apiextensions.CustomResourceValidation{OpenAPIV3Schema: schema},
		Versions:           []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}},
		CustomFeatureGates: gates,
	}
}

// alphaGate returns the feature gates of a CRD with a single gate, G.
func alphaGate(paths ...string) *fairlead.CustomResourceDefinitionFeatureGates {
	return &fairlead.CustomResourceDefinitionFeatureGates{
		FeatureGates: []fairlead.CustomResourceDefinitionFeatureGate{
			{Name: "G", PreRelease: fairlead.PreReleaseAlpha, FieldPaths: paths},
		},
	}
}
