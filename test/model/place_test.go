// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
)

// schemaProps is the schema of a value. A nil schema knows nothing of the value.
type schemaProps = apiextensionsv1.JSONSchemaProps

// place is where a value is in an object. Its elements are the keys of managedFields: "f:name" is a field or the key
// of a map, `k:{"name":"a"}` an item of a list map, `v:"a"` an item of a set.
type place []string

func (p place) String() string { return strings.Join(p, "/") }

func (p place) parent() place { return p[:len(p)-1] }

func (p place) child(element string) place { return append(slices.Clip(p), element) }

func (p place) contains(other place) bool {
	return len(other) >= len(p) && slices.Equal(p, other[:len(p)])
}

// below reports whether the place is one of those that a path of a gate names, or inside of one.
func (p place) below(path fieldpath.Path) bool {
	if len(p) < len(path) {
		return false
	}
	for i, step := range path {
		if !step.Each && p[i] != "f:"+step.Name {
			return false
		}
	}
	return true
}

// conflictPath returns the place as the causes of an apply conflict write it.
func (p place) conflictPath() string {
	var out strings.Builder
	for _, element := range p {
		switch element[:2] {
		case "f:":
			out.WriteString("." + element[2:])
		case "v:":
			out.WriteString("[=" + element[2:] + "]")
		default:
			keys := decode[map[string]any](element[2:])
			var parts []string
			for _, name := range slices.Sorted(maps.Keys(keys)) {
				parts = append(parts, name+"="+encode(keys[name]))
			}
			out.WriteString("[" + strings.Join(parts, ",") + "]")
		}
	}
	return out.String()
}

// child is a value inside of another.
type child struct {
	element string
	value   any
	schema  *schemaProps
}

// children returns the values inside of an object, a map, a list map or a set, in a fixed order. Atomic lists have
// none.
func children(value any, s *schemaProps) []child {
	var out []child
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			out = append(out, child{"f:" + name, value[name], fieldSchema(s, name)})
		}
	case []any:
		for _, item := range value {
			if element := itemElement(item, s); element != "" {
				out = append(out, child{element, item, s.Items.Schema})
			}
		}
	}
	return out
}

// itemElement returns the element of a list's item, or "" in lists without identities.
func itemElement(item any, s *schemaProps) string {
	object, isObject := item.(map[string]any)
	switch {
	case s == nil || s.XListType == nil:
		return ""
	case *s.XListType == "map" && isObject:
		keys := map[string]any{}
		for _, name := range s.XListMapKeys {
			if keys[name] = object[name]; keys[name] == nil {
				keys[name] = defaultOf(fieldSchema(s.Items.Schema, name))
			}
		}
		return "k:" + encode(keys)
	case *s.XListType == "set":
		return "v:" + encode(item)
	}
	return ""
}

func fieldSchema(s *schemaProps, name string) *schemaProps {
	if s == nil {
		return nil
	}
	if property, ok := s.Properties[name]; ok {
		return &property
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Schema
	}
	return nil
}

// defaultOf returns the default of a schema, or nil if there is none.
func defaultOf(s *schemaProps) any {
	if s == nil || s.Default == nil {
		return nil
	}
	return decode[any](string(s.Default.Raw))
}

// at returns the value at a place, and whether there is one.
func at(object any, s *schemaProps, p place) (any, bool) {
	for _, element := range p {
		next := slices.IndexFunc(children(object, s), func(c child) bool { return c.element == element })
		if next < 0 {
			return nil, false
		}
		c := children(object, s)[next]
		object, s = c.value, c.schema
	}
	return object, true
}

// isThere reports whether a value other than null is at the place.
func isThere(object any, s *schemaProps, p place) bool {
	value, ok := at(object, s, p)
	return ok && value != nil
}

// find returns the places in an object that a path of a gate names.
func find(object any, s *schemaProps, path fieldpath.Path) []place {
	if len(path) == 0 {
		return []place{nil}
	}
	var out []place
	for _, c := range children(object, s) {
		if !path[0].Each && c.element != "f:"+path[0].Name {
			continue
		}
		for _, rest := range find(c.value, c.schema, path[1:]) {
			out = append(out, append(place{c.element}, rest...))
		}
	}
	return out
}

// leaves returns the places of an object below which there are no others.
func leaves(object any, s *schemaProps) []place {
	all := children(object, s)
	if len(all) == 0 || s != nil && s.XMapType != nil && *s.XMapType == "atomic" {
		return []place{nil}
	}
	var out []place
	for _, c := range all {
		for _, rest := range leaves(c.value, c.schema) {
			out = append(out, append(place{c.element}, rest...))
		}
	}
	return out
}

// without returns a copy of an object that lacks the places.
func without(object map[string]any, s *schemaProps, places []place) map[string]any {
	out := decode[map[string]any](encode(object))
	for _, p := range places {
		if parent, ok := at(out, s, p.parent()); ok {
			delete(parent.(map[string]any), strings.TrimPrefix(p[len(p)-1], "f:"))
		}
	}
	return out
}

func equal(a, b any) bool { return jsonvalue.Equal(a, b) }

// encode returns JSON with sorted keys.
func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // values of the test are plain JSON
	}
	return string(text)
}

// decode reads JSON with integers as int64.
func decode[T any](text string) T {
	var out T
	if err := utiljson.Unmarshal([]byte(text), &out); err != nil {
		panic(err) // the text is the test's own or the server's
	}
	return out
}
