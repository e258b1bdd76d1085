// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
)

// nested returns a schema with the given one at the given depth of properties, items and map values.
func nested(schema apiextensions.JSONSchemaProps, depth int) *apiextensions.JSONSchemaProps {
	for i := range depth {
		inner := schema
		schema = apiextensions.JSONSchemaProps{Type: "object"}
		switch i % 3 {
		case 0:
			schema.Properties = map[string]apiextensions.JSONSchemaProps{"a": inner}
		case 1:
			schema.AdditionalProperties = &apiextensions.JSONSchemaPropsOrBool{Schema: &inner}
		case 2:
			schema = apiextensions.JSONSchemaProps{Type: "array", Items: &apiextensions.JSONSchemaPropsOrArray{Schema: &inner}}
		}
	}
	properties := map[string]apiextensions.JSONSchemaProps{"spec": schema}
	return &apiextensions.JSONSchemaProps{Type: "object", Properties: properties}
}

// manyMembers returns an object with one union of n members. All members are required, which is an error.
func manyMembers(n int) apiextensions.JSONSchemaProps {
	discriminator := apiextensions.JSONSchemaProps{
		Type:    "string",
		XUnions: &fairlead.Unions{FieldMembers: map[string]fairlead.MemberField{}},
	}
	object := apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{}}
	for i := range n {
		name := fmt.Sprint("m", i)
		discriminator.Enum = append(discriminator.Enum, name)
		discriminator.XUnions.FieldMembers[name] = fairlead.MemberField{Name: name}
		object.Properties[name] = apiextensions.JSONSchemaProps{Type: "string"}
		object.Required = append(object.Required, name)
	}
	discriminator.AllOf = []apiextensions.JSONSchemaProps{{Enum: discriminator.Enum}, {Enum: discriminator.Enum}}
	object.Properties["type"] = discriminator
	object.Required = append(object.Required, "type")
	return object
}

// manyUnions returns an object with n unions that are empty, which is an error.
func manyUnions(n int) apiextensions.JSONSchemaProps {
	object := apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{}}
	for i := range n {
		object.Properties[fmt.Sprint("t", i)] = apiextensions.JSONSchemaProps{XUnions: &fairlead.Unions{}}
	}
	return object
}

func TestUnionsLimits(t *testing.T) {
	valid := manyMembers(20_000)
	valid.Required = []string{"type"}
	long := apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{
		strings.Repeat("x", 1<<16): manyUnions(10_000), "mismatch": manyMembers(1000),
	}}
	cycle := inSpec(`properties: {
a: {type: string, enum: [X], x-kubernetes-unions: {fieldMembers: {X: {name: b}, "": {}}}},
b: {type: string, enum: [X], x-kubernetes-unions: {fieldMembers: {X: {name: a}, "": {}}}}}`)

	for _, tc := range []struct {
		claim  string
		schema *apiextensions.JSONSchemaProps
		errs   int // the minimum
	}{
		{"R1: a union of 20000 members is accepted", nested(valid, 1), 0},
		{"R1: 20000 invalid members give a limited number of errors", nested(manyMembers(20_000), 1), maxUnionErrors},
		{"R1: 10000 invalid unions with a long path give a limited number of errors", nested(long, 1), maxUnionErrors},
		{"R1: a union at a depth of 5000 is validated", nested(manyMembers(1), 5000), 1},
		{"R1: discriminators that are members of each other are rejected", testyaml.Schema(t, cycle), 2},
		{"R1: a schema of empty parts is accepted", &apiextensions.JSONSchemaProps{
			AdditionalProperties: &apiextensions.JSONSchemaPropsOrBool{},
			Items:                &apiextensions.JSONSchemaPropsOrArray{},
			Default:              new(apiextensions.JSON),
		}, 0},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			start := time.Now()
			errs := ValidateUnions(specOf(tc.schema, nil), specPath)
			WarningsForUnions(specOf(tc.schema, nil), nil, specPath)
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("took %s", took)
			}
			// The limit is checked before each member, and a member may have several errors.
			if len(errs) < tc.errs || len(errs) > tc.errs+3 {
				t.Errorf("%d errors, want %d or up to 3 more", len(errs), tc.errs)
			}
		})
	}
}
