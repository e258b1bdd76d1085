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

// schemaProps is the schema of a value. It is nil for a field that the schema does not have.
type schemaProps = apiextensionsv1.JSONSchemaProps

// position is the position of one value in an object, as path elements of managedFields: "f:name" is a field or the key
// of a map, `k:{"name":"a"}` an item of a list map, `v:"a"` an item of a set. A path of a gate may match several
// positions.
type position []string

func (p position) String() string { return strings.Join(p, "/") }

func (p position) parent() position { return p[:len(p)-1] }

func (p position) child(element string) position { return append(slices.Clip(p), element) }

// contains reports whether the other position is this one or inside it.
func (p position) contains(other position) bool {
	return len(other) >= len(p) && slices.Equal(p, other[:len(p)])
}

// isAtOrBelow reports whether the position matches the path of a gate or is inside a position that does.
func (p position) isAtOrBelow(path fieldpath.Path) bool {
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

// conflictPath returns the position in the form that the causes of an apply conflict have.
func (p position) conflictPath() string {
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

// child is a value directly inside another.
type child struct {
	element string
	value   any
	schema  *schemaProps
}

// children returns the values directly inside an object, a map, a list map or a set, in a fixed order. An atomic list
// has none.
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

// itemElement returns the path element of a list's item, or "" if the items of the list have no identity.
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

// childAt returns the child with a path element, and whether there is one.
func childAt(value any, s *schemaProps, element string) (child, bool) {
	all := children(value, s)
	i := slices.IndexFunc(all, func(c child) bool { return c.element == element })
	if i < 0 {
		return child{}, false
	}
	return all[i], true
}

// valueAt returns the value at a position, and whether there is one.
func valueAt(object any, s *schemaProps, p position) (any, bool) {
	for _, element := range p {
		next, ok := childAt(object, s, element)
		if !ok {
			return nil, false
		}
		object, s = next.value, next.schema
	}
	return object, true
}

// schemaAt returns the schema of the value at a position.
func schemaAt(object any, s *schemaProps, p position) *schemaProps {
	for _, element := range p {
		if next, ok := childAt(object, s, element); ok {
			object, s = next.value, next.schema
		}
	}
	return s
}

// isSet reports whether there is a value other than null at a position.
func isSet(object any, s *schemaProps, p position) bool {
	value, ok := valueAt(object, s, p)
	return ok && value != nil
}

// positionsOf returns the positions in an object that the path of a gate matches.
func positionsOf(object any, s *schemaProps, path fieldpath.Path) []position {
	if len(path) == 0 {
		return []position{nil}
	}
	var out []position
	for _, c := range children(object, s) {
		if !path[0].Each && c.element != "f:"+path[0].Name {
			continue
		}
		for _, rest := range positionsOf(c.value, c.schema, path[1:]) {
			out = append(out, append(position{c.element}, rest...))
		}
	}
	return out
}

// leaves returns the positions in an object that have no positions inside them.
func leaves(object any, s *schemaProps) []position {
	all := children(object, s)
	if len(all) == 0 || s != nil && s.XMapType != nil && *s.XMapType == "atomic" {
		return []position{nil}
	}
	var out []position
	for _, c := range all {
		for _, rest := range leaves(c.value, c.schema) {
			out = append(out, append(position{c.element}, rest...))
		}
	}
	return out
}

// without returns a copy of an object without the fields at the positions.
func without(object map[string]any, s *schemaProps, positions []position) map[string]any {
	out := decode[map[string]any](encode(object))
	for _, p := range positions {
		if parent, ok := valueAt(out, s, p.parent()); ok {
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
		panic(err) // all values of this package are plain JSON
	}
	return string(text)
}

// decode reads JSON with integers as int64.
func decode[T any](text string) T {
	var out T
	if err := utiljson.Unmarshal([]byte(text), &out); err != nil {
		panic(err) // the text is written by encode or by the server
	}
	return out
}
