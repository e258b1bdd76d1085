// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"iter"
	"maps"
	"math"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"
)

// source yields the bytes of a fuzz input, and then zeros. Each decision about an object takes one byte.
type source struct{ data []byte }

// next returns a number from 0 to n-1.
func (s *source) next(n int) int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b) % n
}

// pick returns one of the values.
func pick[T any](s *source, from []T) T { return from[s.next(len(from))] }

// fuzzNames are field names and map keys for values without schema. Some are in the schemas, at other positions.
var fuzzNames = []string{"type", "git", "s3", "name", "mode", "a", "b", "x", "", "unknown"}

// fuzzRequest returns a create, an update with an unrelated persisted object, or, in most cases, an update that edits
// the persisted object.
func fuzzRequest(opts byte, objectBytes, oldBytes *source, schema *structuralschema.Structural) request {
	r := request{opts: fuzzOptions(opts)}
	switch oldBytes.next(6) {
	case 0:
		r.object = fuzzObject(objectBytes, schema)
	case 1:
		r.object, r.old = fuzzObject(objectBytes, schema), fuzzObject(oldBytes, schema)
	default:
		r.old = fuzzObject(oldBytes, schema)
		r.object, _ = edit(objectBytes, runtime.DeepCopyJSON(r.old)).(map[string]any)
		if r.object == nil {
			r.object = map[string]any{}
		}
	}
	return r
}

// fuzzObject returns an object with some of the properties of the schema.
func fuzzObject(s *source, schema *structuralschema.Structural) map[string]any {
	out := map[string]any{}
	for name, property := range sorted(schema.Properties) {
		if s.next(4) != 0 {
			out[name] = fuzzValue(s, property, 0)
		}
	}
	return out
}

// fuzzValue returns a value of the type of the schema, or rarely any value.
func fuzzValue(s *source, schema *structuralschema.Structural, depth int) any {
	if s.next(24) == 1 || schema == nil {
		return anyValue(s, depth)
	}
	switch {
	case schema.XUnions != nil:
		return pick(s, append(slices.Sorted(maps.Keys(schema.XUnions.FieldMembers)), "", "unknown"))
	case len(schema.Properties) > 0:
		out := map[string]any{}
		for name, property := range sorted(schema.Properties) {
			if s.next(3) != 0 {
				out[name] = fuzzValue(s, property, depth+1)
			}
		}
		return out
	case schema.Items != nil:
		out := []any{}
		for range s.next(4) {
			out = append(out, fuzzValue(s, schema.Items, depth+1))
		}
		return out
	case schema.AdditionalProperties != nil:
		out := map[string]any{}
		for range s.next(4) {
			out[pick(s, fuzzNames)] = fuzzValue(s, schema.AdditionalProperties.Structural, depth+1)
		}
		return out
	case schema.Type == "string":
		return pick(s, []any{"a", "b", "c", ""})
	case schema.Type == "integer":
		return int64(s.next(3))
	default:
		return anyValue(s, depth)
	}
}

// anyValue returns any JSON value.
func anyValue(s *source, depth int) any {
	kinds := 12
	if depth > 12 {
		kinds = 10 // scalars only
	}
	switch s.next(kinds) {
	case 10:
		out := map[string]any{}
		for range s.next(4) {
			out[pick(s, fuzzNames)] = anyValue(s, depth+1)
		}
		return out
	case 11:
		out := []any{}
		for range s.next(4) {
			out = append(out, anyValue(s, depth+1))
		}
		return out
	default:
		return pick(s, []any{nil, true, false, "", "A", int64(0), int64(1), float64(1), 1.5, int64(math.MaxInt64), 1e300})
	}
}

// edit changes some of a value in place, as a client would, and returns it.
func edit(s *source, value any) any {
	switch s.next(24) {
	case 1:
		return nil
	case 2:
		return anyValue(s, 8)
	}
	switch value := value.(type) {
	case map[string]any:
		editObject(s, value)
	case []any:
		return editList(s, value)
	case string:
		if s.next(3) == 1 {
			return pick(s, []any{"Git", "S3", "None", "A", "B", "Inner", "Other", "X1", "X2", "P", "R", ""})
		}
	}
	return value
}

// editObject removes, edits and adds fields.
func editObject(s *source, obj map[string]any) {
	for name, value := range sorted(obj) {
		if s.next(8) == 1 {
			delete(obj, name)
		} else {
			obj[name] = edit(s, *value)
		}
	}
	if s.next(4) == 1 {
		obj[pick(s, fuzzNames)] = anyValue(s, 8)
	}
}

// editList removes, repeats, edits and moves items.
func editList(s *source, list []any) []any {
	out := []any{}
	for _, item := range list {
		switch s.next(8) {
		case 1: // removed
		case 2:
			out = append(out, runtime.DeepCopyJSONValue(item), edit(s, item))
		case 3:
			out = append([]any{edit(s, item)}, out...)
		default:
			out = append(out, edit(s, item))
		}
	}
	return out
}

// sorted iterates over a map in the order of its keys, so that the same bytes always yield the same objects.
func sorted[V any](m map[string]V) iter.Seq2[string, *V] {
	return func(yield func(string, *V) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if v := m[name]; !yield(name, &v) {
				return
			}
		}
	}
}
