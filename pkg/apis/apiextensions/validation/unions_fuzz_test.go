// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// The test is in a package of its own, because upstream's validation imports the package under test.
package validation_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	upstream "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/validation"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/union"
)

// FuzzValidateUnions parses a schema from JSON and adds random unions to it, valid and invalid ones.
func FuzzValidateUnions(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		if schema := plantedSchema(text, seed); schema != nil {
			testAgainstReference(t, schema)
		}
	})
}

// TestPlantedUnions runs the fuzz test with one schema and 500 seeds.
func TestPlantedUnions(t *testing.T) {
	const (
		object = `{"type":"object","properties":{
"a":{"type":"string","default":"x"},
"b":{"type":"object"},
"c":{"type":"integer"}}}`
		schema = `{"type":"object","properties":{"spec":{"type":"object","properties":{
"object":` + object + `,
"list":{"type":"array","items":` + object + `},
"map":{"type":"object","additionalProperties":` + object + `},
"resource":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{
  "kind":{"type":"string"},
  "spec":` + object + `}}}}}}`
	)
	accepted, rejected := 0, 0
	for seed := range uint64(500) {
		if testAgainstReference(t, plantedSchema([]byte(schema), seed)) {
			accepted++
		} else {
			rejected++
		}
	}
	if accepted < 50 || rejected < 50 {
		t.Errorf("%d accepted, %d rejected: want at least 50 of each", accepted, rejected)
	}
}

// testAgainstReference checks that nothing panics (rule R1), and that ValidateUnions accepts the same schemas as the
// reference implementation. It reports whether both ValidateUnions and upstream's validation accept the schema.
func testAgainstReference(t *testing.T, schema *apiextensions.JSONSchemaProps) bool {
	t.Helper()
	crd := crdOf(schema)
	specPath := field.NewPath("spec")
	errs := validation.ValidateUnions(&crd.Spec, specPath)
	validation.WarningsForUnions(&crd.Spec, nil, specPath)
	if warnings := validation.WarningsForUnions(&crd.Spec, &crd.Spec, specPath); len(warnings) != 0 {
		t.Errorf("a write without a change introduces warnings: %q", warnings)
	}
	plain := plainOf(t, schema)
	if flaw := flawOf(plain, position{root: true}); (flaw == "") != (len(errs) == 0) {
		t.Fatalf("%s: errors %v, but the reference finds %q", textOf(plain), errs, flaw)
	}
	upstreamErrs := upstream.ValidateCustomResourceDefinition(t.Context(), crd)
	if len(errs) != 0 || len(upstreamErrs) != 0 {
		return false
	}
	structural, err := structuralschema.NewStructural(schema)
	if err != nil {
		t.Fatalf("%s: accepted, but not structural: %v", textOf(plain), err)
	}
	testServing(structural)
	return true
}

// testServing checks that a schema that is accepted does not panic when custom resources are written.
func testServing(structural *structuralschema.Structural) {
	plan := union.Compile(structural, nil)
	object := map[string]any{"object": map[string]any{"type": "A", "a": int64(1), "b": "b"}, "type": "B"}
	plan.Normalize(object, map[string]any{"type": "A", "object": map[string]any{}}, scope.Everything)
	plan.Validate(object, nil, union.Options{})
}

// crdOf returns a CRD that upstream's validation accepts if the schema is valid.
func crdOf(schema *apiextensions.JSONSchemaProps) *apiextensions.CustomResourceDefinition {
	no := false
	return &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things.example.com"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: "example.com",
			Scope: apiextensions.ClusterScoped,
			Names: apiextensions.CustomResourceDefinitionNames{
				Plural: "things", Singular: "thing", Kind: "Thing", ListKind: "ThingList",
			},
			Version:               "v1",
			Versions:              []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}},
			Validation:            &apiextensions.CustomResourceValidation{OpenAPIV3Schema: schema},
			Conversion:            &apiextensions.CustomResourceConversion{Strategy: apiextensions.NoneConverter},
			PreserveUnknownFields: &no,
		},
		Status: apiextensions.CustomResourceDefinitionStatus{StoredVersions: []string{"v1"}},
	}
}

// plantedSchema returns the schema in a text with unions added, or nil if the text is not a schema. Seed 0 adds none.
func plantedSchema(text []byte, seed uint64) *apiextensions.JSONSchemaProps {
	plain := map[string]any{}
	if json.Unmarshal(text, &plain) != nil {
		return nil
	}
	if seed != 0 {
		plant(plain, rand.New(rand.NewPCG(seed, 0)))
	}
	planted, err := json.Marshal(plain)
	if err != nil {
		return nil
	}
	var external apiextensionsv1.JSONSchemaProps
	if json.Unmarshal(planted, &external) != nil {
		return nil
	}
	internal := &apiextensions.JSONSchemaProps{}
	if apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&external, internal, nil) != nil {
		return nil
	}
	return internal
}

// plant adds unions to a schema and to all schemas in it.
func plant(schema map[string]any, random *rand.Rand) {
	if random.IntN(64) == 0 {
		schema["x-kubernetes-unions"] = map[string]any{"fieldMembers": map[string]any{"Git": nil}}
	}
	properties, _ := schema["properties"].(map[string]any)
	if len(properties) > 1 && random.IntN(2) == 0 {
		plantUnion(schema, properties, random)
	}
	for _, key := range slices.Sorted(maps.Keys(schema)) {
		switch value := schema[key].(type) {
		case map[string]any:
			plantIn(key, value, random)
		case []any:
			for _, item := range value {
				if branch, isObject := item.(map[string]any); isObject {
					plant(branch, random)
				}
			}
		}
	}
}

// plantIn adds unions to the schemas under a key.
func plantIn(key string, value map[string]any, random *rand.Rand) {
	switch key {
	case "items", "additionalProperties", "additionalItems", "not":
		plant(value, random)
	case "properties", "patternProperties", "definitions", "dependencies":
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if child, isObject := value[name].(map[string]any); isObject {
				plant(child, random)
			}
		}
	}
}

// plantUnion makes one of the properties the discriminator of some others. One union in four gets an error.
func plantUnion(object, properties map[string]any, random *rand.Rand) {
	names := slices.Sorted(maps.Keys(properties))
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	discriminator, rest := names[0], names[1:1+random.IntN(len(names))]
	enum, members := []any{}, map[string]any{}
	required := slices.DeleteFunc(stringsOf(object["required"]), func(name string) bool {
		return slices.Contains(rest, name)
	})
	for _, name := range rest {
		value := strings.ToUpper(name)
		enum, members[value] = append(enum, value), map[string]any{"name": name, "optional": random.IntN(2) == 0}
		if member, isObject := properties[name].(map[string]any); isObject {
			delete(member, "default")
		}
	}
	if len(members) == 0 || random.IntN(4) == 0 {
		enum, members["None"] = append(enum, "None"), map[string]any{}
	}
	schema := map[string]any{"type": "string", "x-kubernetes-unions": map[string]any{"fieldMembers": members}}
	if random.IntN(4) == 0 {
		schema["allOf"] = []any{map[string]any{"enum": enum}, map[string]any{"enum": append(slices.Clone(enum), "Other")}}
	} else {
		schema["enum"] = enum
	}
	switch random.IntN(3) {
	case 0:
		members[""] = map[string]any{}
	case 1:
		schema["default"] = enum[0]
	case 2:
		required = append(required, discriminator)
	}
	if random.IntN(4) == 0 {
		required = damage(schema, members, required, rest, random)
	}
	object["required"] = required
	properties[discriminator] = schema
}

// damage adds one error to a union, and returns the new required of the object.
func damage(schema, members map[string]any, required, rest []string, random *rand.Rand) []string {
	switch random.IntN(9) {
	case 0:
		schema["type"] = "integer"
	case 1:
		delete(schema, "enum")
	case 2:
		schema["enum"] = []any{"None", nil, 1}
	case 3:
		members["Extra"] = map[string]any{"name": "nowhere"}
	case 4:
		members["Extra"] = map[string]any{"optional": true}
		if enum, isList := schema["enum"].([]any); isList {
			schema["enum"] = append(enum, "Extra")
		}
	case 5:
		required = append(required, rest...)
	case 6:
		if len(rest) > 0 {
			members["None"] = map[string]any{"name": rest[0]}
		}
	case 7:
		delete(schema, "default")
	case 8:
		clear(members)
	}
	return required
}

// stringsOf returns the strings in a list.
func stringsOf(list any) []string {
	var texts []string
	items, _ := list.([]any)
	for _, item := range items {
		if text, isString := item.(string); isString {
			texts = append(texts, text)
		}
	}
	return texts
}

// plainOf returns a schema as JSON values in the form of v1. Numbers keep their text.
func plainOf(t *testing.T, schema *apiextensions.JSONSchemaProps) map[string]any {
	t.Helper()
	var external apiextensionsv1.JSONSchemaProps
	err := apiextensionsv1.Convert_apiextensions_JSONSchemaProps_To_v1_JSONSchemaProps(schema, &external, nil)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(textOf(external))))
	decoder.UseNumber()
	plain := map[string]any{}
	if err := decoder.Decode(&plain); err != nil {
		t.Fatal(err)
	}
	return plain
}

// textOf returns a value as JSON.
func textOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
