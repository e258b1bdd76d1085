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

// nested puts a schema at the end of a long way through properties, items and map values.
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

// manyMembers makes an object with one union of n members. All of them are required, which they must not be.
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

// manyUnions makes an object with n unions, of which nothing but the extension is there.
func manyUnions(n int) apiextensions.JSONSchemaProps {
	object := apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{}}
	for i := range n {
		object.Properties[fmt.Sprint("t", i)] = apiextensions.JSONSchemaProps{XUnions: &fairlead.Unions{}}
	}
	return object
}

func TestUnionsLimits(t *testing.T) {
	sound := manyMembers(20_000)
	sound.Required = []string{"type"}
	long := apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{
		strings.Repeat("x", 1<<16): manyUnions(10_000), "mismatch": manyMembers(1000),
	}}
	cycle := inSpec(`properties: {
a: {type: string, enum: [X], x-kubernetes-unions: {fieldMembers: {X: {name: b}, "": {}}}},
b: {type: string, enum: [X], x-kubernetes-unions: {fieldMembers: {X: {name: a}, "": {}}}}}`)

	for _, tc := range []struct {
		claim  string
		schema *apiextensions.JSONSchemaProps
		errs   int // at least
	}{
		{"R1: a union of 20000 members is accepted", nested(sound, 1), 0},
		{"R1: 20000 members that are all wrong do not give as many errors", nested(manyMembers(20_000), 1), maxUnionErrors},
		{"R1: 10000 wrong unions on a long path do not give as many errors", nested(long, 1), maxUnionErrors},
		{"R1: a union in the depths is found", nested(manyMembers(1), 5000), 1},
		{"R1: discriminators that are members of each other are none of U2's rejections", testyaml.Schema(t, cycle), 0},
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
			// What is found wrong with a member is said in full, so that there may be some more.
			if len(errs) < tc.errs || len(errs) > tc.errs+3 {
				t.Errorf("%d errors, want %d", len(errs), tc.errs)
			}
		})
	}
}
