// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"strings"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
)

// sourceYAML is the union that most tests use. Its values select a required member, an optional member and no member.
const sourceYAML = `
  type: object
  required: [type]
  properties:
    name: {type: string}
    type:
      type: string
      enum: [Git, S3, None]
      x-kubernetes-unions: {fieldMembers: {Git: {name: git}, S3: {name: s3, optional: true}, None: {}}}
    git: {type: object, nullable: true, properties: {url: {type: string}}}
    s3: {type: object, nullable: true, properties: {bucket: {type: string}}}
`

// sourceIndented is sourceYAML, indented by two more levels.
var sourceIndented = strings.ReplaceAll(sourceYAML, "\n", "\n    ")

// positionsTemplate is a schema with the union SOURCE at every kind of position, a union at the root whose
// discriminator may be absent, and an object with two unions.
const positionsTemplate = `
type: object
properties:
  mode:
    type: string
    enum: [A, B, Status]
    x-kubernetes-unions: {fieldMembers: {"": {}, A: {name: a}, B: {name: b}, Status: {name: status, optional: true}}}
  a: {type: string}
  b: {type: string}
  spec:
    type: object
    properties:
      image: {type: string}
      source: &source SOURCE
      map: {type: object, additionalProperties: *source}
      maps: {type: object, additionalProperties: {type: object, additionalProperties: *source}}
      items: &items
        {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: *source}
      atomic: {type: array, x-kubernetes-list-type: atomic, items: *source}
      plain: {type: array, items: *source}
      set: {type: array, x-kubernetes-list-type: set, items: *source}
      atomicStruct: {type: object, x-kubernetes-map-type: atomic, properties: {source: *source}}
      groups:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [id, zone]
        items: {type: object, properties: {id: {type: integer}, zone: {type: string}, items: *items, lists: {type: array, items: *items}}}
      outer:
        type: object
        properties:
          type:
            type: string
            enum: [Inner, Other]
            x-kubernetes-unions: {fieldMembers: {"": {}, Inner: {name: inner}, Other: {name: other}}}
          inner: *source
          other: {type: object, properties: {}}
      two:
        type: object
        properties:
          x: {type: string, enum: [X1, X2], x-kubernetes-unions: {fieldMembers: {"": {}, X1: {name: x1}, X2: {name: x2}}}}
          w: {type: string, enum: [W1], x-kubernetes-unions: {fieldMembers: {"": {}, W1: {name: w1}}}}
          x1: {type: integer}
          x2: {type: boolean}
          w1: {type: array, items: {type: string}}
  status:
    type: object
    properties:
      image: {type: string}
      source: *source
`

// positionsSchemaYAML returns positionsTemplate with sourceYAML for SOURCE.
func positionsSchemaYAML() string {
	return strings.Replace(positionsTemplate, "SOURCE", strings.ReplaceAll(sourceYAML, "\n", "\n      "), 1)
}

// planOf compiles a schema. gates are the disabled feature gates by the path of the field that they guard.
func planOf(t testing.TB, schemaYAML string, gates map[string]string) *Plan {
	t.Helper()
	plan := Compile(testyaml.Structural(t, schemaYAML), func(path fieldpath.Path) string { return gates[path.String()] })
	if plan == nil {
		t.Fatal("no plan")
	}
	return plan
}

// inSpec returns a schema whose .spec has one property.
func inSpec(name, schemaYAML string) string {
	return "type: object\nproperties:\n  spec:\n    type: object\n    properties:\n      " + name + ":" +
		strings.ReplaceAll(schemaYAML, "\n", "\n      ")
}

// fieldMembers are the members of a union by value.
type fieldMembers = map[string]apiextensions.MemberField

// discriminatorOf returns the schema of a discriminator without type and enum.
func discriminatorOf(members fieldMembers) structuralschema.Structural {
	return structuralschema.Structural{Extensions: structuralschema.Extensions{
		XUnions: &apiextensions.Unions{FieldMembers: members},
	}}
}

// objectOf returns the schema of an object.
func objectOf(properties map[string]structuralschema.Structural) *structuralschema.Structural {
	return &structuralschema.Structural{Properties: properties}
}
