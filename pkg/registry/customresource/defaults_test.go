// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
)

// TestG8ResultsOfDefaultingAreDefaults compares the value of .spec.d with the value that defaulting sets.
func TestG8ResultsOfDefaultingAreDefaults(t *testing.T) {
	for _, tc := range []struct {
		name, field, value string
		want               bool
	}{
		{"a scalar is a default", `{type: integer, default: 1}`, `1`, true},
		{"another scalar is not", `{type: integer, default: 1}`, `2`, false},
		{"the same number in another notation is a default", `{type: number, default: 1}`, `1.0`, true},
		{"a number does not equal its text", `{type: string, default: "1"}`, `1`, false},
		{"null is not a default", `{type: string, nullable: true, default: x}`, `null`, false},
		{"a field without default has none", `{type: string}`, `x`, false},
		{"an empty object may be a default", `{type: object, default: {}, properties: {a: {type: string}}}`, `{}`, true},
		{"an empty list does not equal an empty object", `{type: object, default: {}}`, `[]`, false},
		{"an empty list may be a default", `{type: array, default: [], items: {type: string, default: x}}`, `[]`, true},
		{"a default inside of a default is filled in", `{type: object, default: {}, properties: {a: {type: string, default: x}}}`, `{a: x}`, true},
		{"a value without the inner default is not a default", `{type: object, default: {}, properties: {a: {type: string, default: x}}}`, `{}`, false},
		{"a default overrides the inner one", `{type: object, default: {a: y}, properties: {a: {type: string, default: x}}}`, `{a: y}`, true},
		{"a value with another field is not a default", `{type: object, default: {a: y}, properties: {a: {type: string, default: x}}}`, `{a: y, b: z}`, false},
		{
			"null is replaced by the inner default",
			`{type: object, default: {a: null}, properties: {a: {type: string, default: x}}}`, `{a: x}`, true,
		},
		{
			"null stays if it is nullable",
			`{type: object, default: {a: null}, properties: {a: {type: string, nullable: true, default: x}}}`, `{a: null}`, true,
		},
		{
			"defaults of items are filled in", `{type: array, default: [{}, {a: y}, null], items: {type: object, default: {}, properties: {a: {type: string, default: x}}}}`,
			`[{a: x}, {a: y}, {a: x}]`, true,
		},
		{
			"items in another order are not the default", `{type: array, default: [{}, {a: y}], items: {type: object, properties: {a: {type: string, default: x}}}}`,
			`[{a: y}, {a: x}]`, false,
		},
		{
			"defaults of the values of a map are filled in",
			`{type: object, default: {k: {}, l: null}, additionalProperties: {type: object, default: {b: z}, properties: {a: {type: string, default: x}}}}`,
			`{k: {a: x}, l: {a: x, b: z}}`, true,
		},
	} {
		t.Run("G8: "+tc.name, func(t *testing.T) {
			schema := testyaml.Structural(t, `{type: object, properties: {spec: {type: object, properties: {d: `+tc.field+`}}}}`)
			value := testyaml.Object(t, `{spec: {d: `+tc.value+`, other: 1}}`)
			_, kept := compileDefaults(schema).withoutDefaults(value, nil).value.(map[string]any)["spec"].(map[string]any)["d"]
			if kept == tc.want {
				t.Errorf("%s is a default: %v, want %v", tc.value, !kept, tc.want)
			}
		})
	}
}

// TestG8AgreesWithUpstreamsDefaulting compares withoutDefaults with withoutUpstreamsDefaults, on random schemas and
// objects.
func TestG8AgreesWithUpstreamsDefaulting(t *testing.T) {
	changed := 0
	for seed := range uint64(3000) {
		r := random{rand.New(rand.NewPCG(seed, 8))}
		schema := r.object(3)
		sent := r.value(&schema, 5).(map[string]any)
		requested := runtime.DeepCopyJSON(sent)
		structuraldefaulting.Default(requested, &schema)
		final, _ := r.converted(requested).(map[string]any)
		before := runtime.DeepCopyJSON(requested)
		want := withoutUpstreamsDefaults(requested, final, &schema)
		got := compileDefaults(&schema).withoutDefaults(requested, final).value
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
		if diff := cmp.Diff(before, requested); diff != "" {
			t.Fatalf("R4: seed %d: the object was changed:\n%s", seed, diff)
		}
		if !jsonvalue.Equal(got, requested) {
			changed++
		}
	}
	if changed < 1000 {
		t.Errorf("only %d objects had a default", changed)
	}
}

// withoutUpstreamsDefaults is withoutDefaults by means of upstream: it compares each value with the result of
// upstream's defaulting.
func withoutUpstreamsDefaults(value, final any, s *structuralschema.Structural) any {
	if s == nil || jsonvalue.Equal(value, final) {
		return value
	}
	switch value := value.(type) {
	case map[string]any:
		final, _ := final.(map[string]any)
		out := map[string]any{}
		for name, v := range value {
			field := fieldSchema(s, name)
			if !isUpstreamsDefault(v, field) {
				out[name] = withoutUpstreamsDefaults(v, final[name], field)
			} else if v, found := final[name]; found {
				out[name] = v
			}
		}
		return out
	case []any:
		final, _ := final.([]any)
		if len(final) != len(value) {
			return value
		}
		out := make([]any, len(value))
		for i := range value {
			out[i] = withoutUpstreamsDefaults(value[i], final[i], s.Items)
		}
		return out
	}
	return value
}

// fieldSchema returns the schema of a field of an object or of a value of a map, or nil if there is none.
func fieldSchema(s *structuralschema.Structural, name string) *structuralschema.Structural {
	if property, found := s.Properties[name]; found {
		return &property
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural
	}
	return nil
}

// isUpstreamsDefault reports whether upstream's defaulting sets the value if the field is absent.
func isUpstreamsDefault(value any, field *structuralschema.Structural) bool {
	if field == nil || field.Default.Object == nil {
		return false
	}
	object := map[string]any{}
	structuraldefaulting.Default(object, &structuralschema.Structural{
		Properties: map[string]structuralschema.Structural{"field": *field},
	})
	return jsonvalue.Equal(value, object["field"])
}

// random creates schemas with defaults, and values, some of them of the wrong type.
type random struct{ *rand.Rand }

var fieldNames = []string{"a", "b", "c"}

func (r random) object(depth int) structuralschema.Structural {
	s := structuralschema.Structural{Generic: structuralschema.Generic{Type: "object"}}
	if r.IntN(4) == 0 {
		below := r.schema(depth - 1)
		s.AdditionalProperties = &structuralschema.StructuralOrBool{Structural: &below}
		return s
	}
	s.Properties = map[string]structuralschema.Structural{}
	for _, name := range fieldNames {
		if r.IntN(3) > 0 {
			s.Properties[name] = r.schema(depth - 1)
		}
	}
	return s
}

func (r random) schema(depth int) structuralschema.Structural {
	s := structuralschema.Structural{Generic: structuralschema.Generic{Type: "string"}}
	if depth > 0 && r.IntN(4) > 0 {
		s = r.object(depth)
		if r.IntN(3) == 0 {
			items := s
			s = structuralschema.Structural{Generic: structuralschema.Generic{Type: "array"}, Items: &items}
		}
	}
	s.Nullable = r.IntN(3) == 0
	if r.IntN(2) == 0 {
		s.Default.Object = r.value(&s, depth)
	}
	return s
}

// value returns a value that mostly fits a schema.
func (r random) value(s *structuralschema.Structural, depth int) any {
	switch {
	case s == nil || depth <= 0 || s.Type == "string":
		return []any{"x", "y", int64(1)}[r.IntN(3)]
	case s.Type == "array":
		list := []any{}
		for range r.IntN(3) {
			list = append(list, r.valueOrNull(s.Items, depth-1))
		}
		return list
	default:
		object := map[string]any{}
		for _, name := range append(fieldNames, "unknown") {
			if r.IntN(2) == 0 {
				object[name] = r.valueOrNull(fieldSchema(s, name), depth-1)
			}
		}
		return object
	}
}

func (r random) valueOrNull(s *structuralschema.Structural, depth int) any {
	if r.IntN(8) == 0 {
		return nil
	}
	return r.value(s, depth)
}

// converted returns a copy of a value without some fields and with changes in others, like a conversion webhook.
func (r random) converted(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := maps.Clone(value)
		for name, v := range value {
			if r.IntN(6) == 0 {
				delete(out, name)
			} else {
				out[name] = r.converted(v)
			}
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, v := range value {
			out[i] = r.converted(v)
		}
		return out[:len(out)-r.IntN(2)*min(1, len(out))]
	default:
		if r.IntN(8) == 0 {
			return fmt.Sprint("changed ", value)
		}
		return value
	}
}
