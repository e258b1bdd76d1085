// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"encoding/json"
	"maps"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
)

// confirmed returns the part of a persisted value that a configuration names: what both have is as persisted, what is
// not persisted is left out. What field management takes for one value is as persisted, and so is a value of another
// type. The outcome shares nothing with the persisted value. schema may be nil: below it, as in fields that the schema
// does not know, objects are taken apart and lists are not.
func confirmed(schema *structuralschema.Structural, value, persisted any) any {
	switch value := value.(type) {
	case map[string]any:
		if persisted, ok := persisted.(map[string]any); ok && !isAtomicMap(schema) {
			return confirmedFields(schema, value, persisted)
		}
	case []any:
		if persisted, ok := persisted.([]any); ok && schema != nil && schema.XListType != nil {
			return confirmedItems(schema, value, persisted)
		}
	}
	return runtime.DeepCopyJSONValue(persisted)
}

func isAtomicMap(schema *structuralschema.Structural) bool {
	return schema != nil && schema.XMapType != nil && *schema.XMapType == "atomic"
}

func confirmedFields(schema *structuralschema.Structural, value, persisted map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range value {
		if p, found := persisted[name]; found && (v == nil) == (p == nil) {
			out[name] = confirmed(schemaBelow(schema, fieldpath.Field(name)), v, p)
		}
	}
	return out
}

func confirmedItems(schema *structuralschema.Structural, value, persisted []any) []any {
	switch *schema.XListType {
	case "map":
		return confirmedListMapItems(schema, value, persisted)
	case "set":
		return confirmedSetItems(value, persisted)
	}
	return runtime.DeepCopyJSONValue(persisted).([]any)
}

func confirmedListMapItems(schema *structuralschema.Structural, value, persisted []any) []any {
	out := []any{}
	items := jsonvalue.NewListMapWithDefaults(persisted, schema.XListMapKeys, keyDefaults(schema))
	for i := range value {
		item, ok := value[i].(map[string]any)
		if !ok {
			continue
		}
		if p := items.Take(item, i); p != nil {
			out = append(out, confirmed(schema.Items, item, p))
		}
	}
	return out
}

// confirmedSetItems compares items by their JSON, so that a set of any size and of any items takes linear time.
func confirmedSetItems(value, persisted []any) []any {
	known := map[string]bool{}
	for _, item := range persisted {
		known[encoded(item)] = true
	}
	out := []any{}
	for _, item := range value {
		if known[encoded(item)] {
			out = append(out, runtime.DeepCopyJSONValue(item))
		}
	}
	return out
}

// encoded returns the JSON of a value, which is the same for equal values. Values that JSON does not have, which no
// decoder makes, have none.
func encoded(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(out)
}

// confirms reports whether a configuration names nothing of a persisted value that differs from it. What field
// management takes for one value may leave out what has a default.
func confirms(schema *structuralschema.Structural, value, persisted any) bool {
	switch value := value.(type) {
	case map[string]any:
		if persisted, ok := persisted.(map[string]any); ok && !isAtomicMap(schema) {
			return confirmsFields(schema, value, persisted)
		}
	case []any:
		if persisted, ok := persisted.([]any); ok && schema != nil && schema.XListType != nil && *schema.XListType != "atomic" {
			return confirmsItems(schema, value, persisted)
		}
	}
	return value != nil && jsonvalue.Equal(defaulted(schema, value), persisted)
}

func confirmsFields(schema *structuralschema.Structural, value, persisted map[string]any) bool {
	for name, v := range value {
		if !confirms(schemaBelow(schema, fieldpath.Field(name)), v, persisted[name]) {
			return false
		}
	}
	return true
}

func confirmsItems(schema *structuralschema.Structural, value, persisted []any) bool {
	if *schema.XListType == "set" {
		return len(confirmedSetItems(value, persisted)) == len(value)
	}
	items := jsonvalue.NewListMapWithDefaults(persisted, schema.XListMapKeys, keyDefaults(schema))
	for i := range value {
		item, ok := value[i].(map[string]any)
		if !ok {
			return false
		}
		p := items.Take(item, i)
		if p == nil || !confirmsFields(schema.Items, withoutKeys(item, schema.XListMapKeys), p) {
			return false
		}
	}
	return true
}

// withoutKeys returns an item without the keys by which it was found.
func withoutKeys(item map[string]any, keys []string) map[string]any {
	rest := maps.Clone(item)
	for _, key := range keys {
		delete(rest, key)
	}
	return rest
}

// defaulted returns a value as defaulting makes it. The value itself is left alone.
func defaulted(schema *structuralschema.Structural, value any) any {
	if schema == nil {
		return value
	}
	value = runtime.DeepCopyJSONValue(value)
	structuraldefaulting.Default(value, schema)
	return value
}

// keyDefaults returns the defaults of the keys of a list map, or nil if there are none. Field management knows items
// by their keys after defaulting, but a configuration may leave such a key out.
func keyDefaults(schema *structuralschema.Structural) map[string]any {
	if schema.Items == nil {
		return nil
	}
	var defaults map[string]any
	for _, key := range schema.XListMapKeys {
		value := schema.Items.Properties[key].Default.Object
		if value == nil {
			continue
		}
		if defaults == nil {
			defaults = map[string]any{}
		}
		defaults[key] = value
	}
	return defaults
}

// guardSchemas finds the schemas of guarded fields, each of them once.
type guardSchemas struct {
	plan  *Plan
	root  *structuralschema.Structural
	found map[int]*structuralschema.Structural // by guard
}

// of returns the schema of a guarded field, or nil if there is none.
func (g *guardSchemas) of(guard int) *structuralschema.Structural {
	if schema, ok := g.found[guard]; ok {
		return schema
	}
	if g.found == nil {
		g.found = map[int]*structuralschema.Structural{}
	}
	g.found[guard] = schemaAt(g.root, g.plan.guards[guard].parsed())
	return g.found[guard]
}

// schemaAt returns the schema at a path, or nil if there is none.
func schemaAt(schema *structuralschema.Structural, path fieldpath.Path) *structuralschema.Structural {
	for _, step := range path {
		schema = schemaBelow(schema, step)
	}
	return schema
}

// schemaBelow returns the schema that a step leads to, or nil if there is none. A name may also be the key of a map.
func schemaBelow(schema *structuralschema.Structural, step fieldpath.Step) *structuralschema.Structural {
	if schema == nil {
		return nil
	}
	if property, ok := schema.Properties[step.Name]; ok && !step.Each {
		return &property
	}
	if step.Each && schema.Items != nil {
		return schema.Items
	}
	if schema.AdditionalProperties != nil {
		return schema.AdditionalProperties.Structural
	}
	return nil
}
