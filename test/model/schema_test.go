// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
)

// maxDepth is how deep objects nest below spec.
const maxDepth = 2

// generator makes random declarations, objects and requests. The same seed always makes the same ones.
type generator struct{ *rand.Rand }

func newGenerator(seed uint64) generator { return generator{rand.New(rand.NewPCG(seed, seed))} }

// chance returns true with a probability in percent.
func (g generator) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g generator, from []T) T { return from[g.IntN(len(from))] }

// declaration returns a declaration that the server accepts.
func (g generator) declaration() declaration {
	for {
		d := declaration{Schema: g.rootSchema(), Status: g.chance(40), TwoVersions: g.chance(25)}
		paths := guardable(d.Schema, nil)
		g.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
		d.Gates = map[string][]string{}
		for i := range min(len(paths), 1+g.IntN(4)) {
			name := fmt.Sprintf("G%d", min(i, 2)) // so the last gate may guard two paths
			d.Gates[name] = append(d.Gates[name], paths[i].String())
		}
		if _, err := newResource(d); err == nil {
			return d
		}
	}
}

func (g generator) rootSchema() *schemaProps {
	root := &schemaProps{Type: "object", Properties: map[string]schemaProps{"spec": *g.objectSchema(maxDepth)}}
	if g.chance(40) {
		root.Properties["status"] = *g.objectSchema(maxDepth - 1)
	}
	return root
}

// schema returns the schema of a field in which objects nest at most that deep.
func (g generator) schema(depth int) *schemaProps {
	if depth == 0 {
		return g.leafSchema()
	}
	switch g.IntN(10) {
	case 0, 1, 2:
		return g.objectSchema(depth - 1)
	case 3:
		return &schemaProps{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{
			Allows: true, Schema: g.valueSchema(depth - 1),
		}}
	case 4, 5:
		return g.listMapSchema(depth - 1)
	}
	return g.leafSchema()
}

// valueSchema returns the schema of the values of a map: mostly objects, since gates can guard fields inside them.
func (g generator) valueSchema(depth int) *schemaProps {
	if g.chance(80) {
		return g.objectSchema(depth)
	}
	return &schemaProps{Type: "string"}
}

// leafSchema returns the schema of a scalar, of a set, or of an atomic value, which field management treats as a whole.
func (g generator) leafSchema() *schemaProps {
	str := schemaProps{Type: "string"}
	switch g.IntN(10) {
	case 0:
		return listSchema("set", &str)
	case 1:
		return listSchema("atomic", g.atomicSchema())
	case 2:
		return g.atomicSchema()
	case 3, 4:
		return g.withDefault(&schemaProps{Type: "boolean"}, 20)
	case 5, 6, 7:
		return g.withDefault(&schemaProps{Type: "integer"}, 20)
	}
	return g.withDefault(&str, 20)
}

func (g generator) atomicSchema() *schemaProps {
	s := g.objectSchema(0)
	s.XMapType = ptr.To("atomic")
	return s
}

func listSchema(listType string, items *schemaProps) *schemaProps {
	return &schemaProps{Type: "array", XListType: &listType, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: items}}
}

// listMapSchema returns the schema of a list map with one key or two. The second key may have a default.
func (g generator) listMapSchema(depth int) *schemaProps {
	items := g.objectSchema(depth)
	keys := []string{"key"}
	items.Properties["key"] = schemaProps{Type: "string"}
	items.Required = append(items.Required, "key")
	if g.chance(30) {
		keys = append(keys, "port")
		port := schemaProps{Type: "integer"}
		if g.chance(60) {
			port.Default = &apiextensionsv1.JSON{Raw: []byte("1")}
		} else {
			items.Required = append(items.Required, "port")
		}
		items.Properties["port"] = port
	}
	s := listSchema("map", items)
	s.XListMapKeys = keys
	return s
}

func (g generator) objectSchema(depth int) *schemaProps {
	s := &schemaProps{Type: "object", Properties: map[string]schemaProps{}}
	for _, name := range []string{"a", "b", "c"}[:1+g.IntN(3)] {
		s.Properties[name] = *g.schema(depth)
	}
	if g.chance(25) {
		g.addUnion(s, depth)
	}
	return g.withDefault(s, 10)
}

// addUnion adds a discriminator and the members git and s3. The discriminator may be required, have a default, or have
// the key "".
func (g generator) addUnion(s *schemaProps, depth int) {
	s.Properties["git"], s.Properties["s3"] = *g.memberSchema(depth), *g.memberSchema(depth)
	discriminator := schemaProps{Type: "string", XUnions: &apiextensions.Unions{
		FieldMembers: map[string]apiextensions.MemberField{
			"Git": {Name: "git", Optional: g.chance(40)}, "S3": {Name: "s3", Optional: g.chance(40)}, "None": {},
		},
	}}
	switch g.IntN(4) {
	case 0:
		discriminator.Default = &apiextensionsv1.JSON{Raw: []byte(`"None"`)}
	case 1:
		discriminator.XUnions.FieldMembers[""] = apiextensions.MemberField{}
	default:
		s.Required = append(s.Required, "type")
	}
	for _, value := range []string{"Git", "S3", "None"} {
		discriminator.Enum = append(discriminator.Enum, apiextensionsv1.JSON{Raw: []byte(encode(value))})
	}
	s.Properties["type"] = discriminator
}

// memberSchema returns the schema of a union member. It has no default, since a member may have none (rule U2).
func (g generator) memberSchema(depth int) *schemaProps {
	s := g.schema(max(depth, 1))
	s.Default = nil
	return s
}

// withDefault adds a default with a probability in percent.
func (g generator) withDefault(s *schemaProps, percent int) *schemaProps {
	if g.chance(percent) {
		s.Default = &apiextensionsv1.JSON{Raw: []byte(encode(g.value(s)))}
	}
	return s
}

// guardable returns paths that gates might guard. Validation of CRDs refuses some of them.
func guardable(s *schemaProps, at fieldpath.Path) []fieldpath.Path {
	var out []fieldpath.Path
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		path := append(slices.Clip(at), fieldpath.Field(name))
		property := s.Properties[name]
		out = append(append(out, path), guardable(&property, path)...)
	}
	each := append(slices.Clip(at), fieldpath.Each())
	if s.AdditionalProperties != nil {
		out = append(out, guardable(s.AdditionalProperties.Schema, each)...)
	}
	if s.XListType != nil && *s.XListType == "map" {
		out = append(out, guardable(s.Items.Schema, each)...)
	}
	return out
}

// value returns a random value, which is mostly valid.
func (g generator) value(s *schemaProps) any {
	switch s.Type {
	case "string":
		return pick(g, []string{"x", "y", "z"})
	case "integer":
		return int64(1 + g.IntN(3))
	case "boolean":
		return g.chance(50)
	case "array":
		return g.list(s)
	}
	if s.AdditionalProperties != nil {
		out := map[string]any{}
		for range g.IntN(3) {
			out[pick(g, []string{"k", "l"})] = g.value(s.AdditionalProperties.Schema)
		}
		return out
	}
	return g.object(s)
}

func (g generator) object(s *schemaProps) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		if slices.Contains(s.Required, name) || g.chance(50) {
			out[name] = g.value(&property)
		}
	}
	g.selectMember(out, s)
	return out
}

// list returns up to two items with different keys.
func (g generator) list(s *schemaProps) []any {
	out := []any{}
	seen := map[string]bool{}
	for range g.IntN(3) {
		item := g.value(s.Items.Schema)
		if element := itemElement(item, s); element == "" || !seen[element] {
			seen[element] = true
			out = append(out, item)
		}
	}
	return out
}

// selectMember sets the discriminator of an object's union to a random value, and makes the members fit it. It mostly
// does: some objects stay invalid.
func (g generator) selectMember(object map[string]any, s *schemaProps) {
	discriminator, ok := s.Properties["type"]
	if !ok || g.chance(3) {
		return
	}
	value := pick(g, []string{"Git", "S3", "None"})
	selected := discriminator.XUnions.FieldMembers[value]
	for _, member := range []string{"git", "s3"} {
		property := s.Properties[member]
		if member != selected.Name {
			delete(object, member)
		} else if _, ok := object[member]; !ok && !selected.Optional {
			object[member] = g.value(&property)
		}
	}
	object["type"] = value
}

// change returns a copy of a value with a random change somewhere in it.
func (g generator) change(value any, s *schemaProps) any {
	switch value := value.(type) {
	case map[string]any:
		return g.changeObject(value, s)
	case []any:
		if len(value) == 0 || s.XListType == nil || *s.XListType != "map" || g.chance(30) {
			return g.value(s)
		}
		out := slices.Clone(value)
		if i := g.IntN(len(out)); g.chance(30) {
			out = slices.Delete(out, i, i+1)
		} else {
			out[i] = g.changeObject(out[i].(map[string]any), s.Items.Schema)
		}
		return out
	}
	return g.value(s)
}

// changeObject returns a copy of an object with a field changed, added or removed, or with another member selected. The
// keys of list map items stay.
func (g generator) changeObject(object map[string]any, s *schemaProps) map[string]any {
	out := maps.Clone(object)
	names := append(slices.Sorted(maps.Keys(s.Properties)), slices.Sorted(maps.Keys(object))...)
	if s.AdditionalProperties != nil {
		names = append(names, "k", "l")
	}
	name := pick(g, names)
	field := fieldSchema(s, name)
	old, ok := out[name]
	switch {
	case name == "key" || name == "port":
	case name == "type" && field.XUnions != nil:
		g.selectMember(out, s)
	case !ok:
		out[name] = g.value(field)
	case g.chance(35):
		delete(out, name)
	default:
		out[name] = g.change(old, field)
	}
	return out
}
