// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
)

// guardSchemas returns the schemas of guarded fields. It looks up each schema once.
type guardSchemas struct {
	plan  *Plan
	root  *structuralschema.Structural
	found map[int]*structuralschema.Structural // by the index of the guard
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

// schemaBelow returns the schema that a step leads to, or nil if there is none. The name of a step may also be the key
// of a value in a map.
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

// isAtomicMap reports whether the objects of a schema are applied as a whole. schema may be nil.
func isAtomicMap(schema *structuralschema.Structural) bool {
	return schema != nil && schema.XMapType != nil && *schema.XMapType == "atomic"
}

// keyDefaults returns the defaults of the keys of a list map, or nil if there are none. Field management matches items
// by their keys after defaulting, but an applied configuration may leave out a key that has a default.
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
