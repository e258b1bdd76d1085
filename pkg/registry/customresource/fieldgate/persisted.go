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

// persistedPart returns the persisted value, reduced to the fields and items that an applied configuration sets. value
// is the value in the configuration. What it sets but is not persisted is left out.
//
// A persisted value that field management applies as a whole is returned as a whole, and so is one of another type than
// value. The result shares nothing with persisted. schema may be nil, and is nil for fields that the schema does not
// have. Without a schema, objects are reduced and lists are returned as a whole.
func persistedPart(schema *structuralschema.Structural, value, persisted any) any {
	switch value := value.(type) {
	case map[string]any:
		if persisted, ok := persisted.(map[string]any); ok && !isAtomicMap(schema) {
			return persistedFields(schema, value, persisted)
		}
	case []any:
		if persisted, ok := persisted.([]any); ok && schema != nil && schema.XListType != nil {
			return persistedItems(schema, value, persisted)
		}
	}
	return runtime.DeepCopyJSONValue(persisted)
}

func persistedFields(schema *structuralschema.Structural, value, persisted map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range value {
		p, found := persisted[name]
		if !found || (v == nil) != (p == nil) {
			continue
		}
		below := schemaBelow(schema, fieldpath.Field(name))
		if part := persistedPart(below, v, p); !isEmptied(below, v, part) {
			out[name] = part
		}
	}
	return out
}

// isEmptied reports whether a set or list map of the configuration has no persisted item. Field management lists nothing
// for an empty one, so if that were all in a configured object, it would prune the object and all that nobody owns in it.
func isEmptied(schema *structuralschema.Structural, value, part any) bool {
	items, isList := part.([]any)
	configured, wasList := value.([]any)
	return isList && wasList && len(items) == 0 && len(configured) > 0 && schema != nil && schema.XListType != nil &&
		*schema.XListType != "atomic"
}

func persistedItems(schema *structuralschema.Structural, value, persisted []any) []any {
	switch *schema.XListType {
	case "map":
		return persistedListMapItems(schema, value, persisted)
	case "set":
		return persistedSetItems(value, persisted)
	}
	return runtime.DeepCopyJSONValue(persisted).([]any)
}

func persistedListMapItems(schema *structuralschema.Structural, value, persisted []any) []any {
	out := []any{}
	items := jsonvalue.NewListMapWithDefaults(persisted, schema.XListMapKeys, keyDefaults(schema))
	for i := range value {
		item, ok := value[i].(map[string]any)
		if !ok {
			continue
		}
		if p := items.Take(item, i); p != nil {
			out = append(out, persistedPart(schema.Items, item, p))
		}
	}
	return out
}

// persistedSetItems compares items by their JSON, so that any set takes linear time.
func persistedSetItems(value, persisted []any) []any {
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

// encoded returns the JSON of a value, which is the same for equal values. It returns "" for a value that JSON cannot
// represent, which no decoder produces.
func encoded(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(out)
}

// isPersistedPart reports whether a value in an applied configuration is the persisted value or a part of it, as
// persistedPart would return. Values that field management applies as a whole are compared after defaulting, since the
// persisted value is defaulted.
func isPersistedPart(schema *structuralschema.Structural, value, persisted any) bool {
	switch value := value.(type) {
	case map[string]any:
		if persisted, ok := persisted.(map[string]any); ok && !isAtomicMap(schema) {
			return areFieldsPersisted(schema, value, persisted)
		}
	case []any:
		if persisted, ok := persisted.([]any); ok && schema != nil && schema.XListType != nil && *schema.XListType != "atomic" {
			return areItemsPersisted(schema, value, persisted)
		}
	}
	return value != nil && jsonvalue.Equal(defaulted(schema, value), persisted)
}

func areFieldsPersisted(schema *structuralschema.Structural, value, persisted map[string]any) bool {
	for name, v := range value {
		if !isPersistedPart(schemaBelow(schema, fieldpath.Field(name)), v, persisted[name]) {
			return false
		}
	}
	return true
}

func areItemsPersisted(schema *structuralschema.Structural, value, persisted []any) bool {
	if *schema.XListType == "set" {
		return len(persistedSetItems(value, persisted)) == len(value)
	}
	items := jsonvalue.NewListMapWithDefaults(persisted, schema.XListMapKeys, keyDefaults(schema))
	for i := range value {
		item, ok := value[i].(map[string]any)
		if !ok {
			return false
		}
		p := items.Take(item, i)
		if p == nil || !areFieldsPersisted(schema.Items, withoutKeys(item, schema.XListMapKeys), p) {
			return false
		}
	}
	return true
}

// withoutKeys returns a copy of an item without its keys.
func withoutKeys(item map[string]any, keys []string) map[string]any {
	rest := maps.Clone(item)
	for _, key := range keys {
		delete(rest, key)
	}
	return rest
}

// defaulted returns a defaulted copy of a value, or the value itself if there is no schema.
func defaulted(schema *structuralschema.Structural, value any) any {
	if schema == nil {
		return value
	}
	value = runtime.DeepCopyJSONValue(value)
	structuraldefaulting.Default(value, schema)
	return value
}
