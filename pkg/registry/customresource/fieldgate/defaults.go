// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"iter"
	"maps"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// WithoutDisabledDefaults returns the schema without the defaults of disabled fields (rule G8): the default of the
// field, the defaults of fields inside it, and its value in the default of an enclosing object. The schema is not
// modified. If it has no such default, WithoutDisabledDefaults returns the schema itself. Otherwise it copies only what
// changes, since a schema takes as much memory as everything else of a CRD.
//
// It takes time and memory linear in the schema, its defaults and the guarded paths (rule R3).
func (p *Plan) WithoutDisabledDefaults(schema *structuralschema.Structural) *structuralschema.Structural {
	if p == nil || schema == nil {
		return schema
	}
	e := schemaEdit{schema: *schema}
	p.dropDefaults(&p.root, &e)
	if !e.changed {
		return schema
	}
	return &e.schema
}

// dropDefaults drops the defaults of the disabled fields at and below n from the schema of n.
func (p *Plan) dropDefaults(n *node, e *schemaEdit) {
	if p.isDisabled(n) {
		dropAllDefaults(e)
		return
	}
	if value, changed := p.withoutDisabled(n, e.schema.Default.Object); changed {
		e.setDefault(value)
	}
	for i := range n.fields {
		c := &n.fields[i]
		e.property(c.name, func(below *schemaEdit) { p.dropDefaults(&c.node, below) })
	}
	each := n.each()
	if each == nil {
		return
	}
	if e.schema.Items != nil {
		e.items(func(below *schemaEdit) { p.dropDefaults(each, below) })
	} else {
		e.values(func(below *schemaEdit) { p.dropDefaults(each, below) })
	}
}

// dropAllDefaults drops all defaults at and below a schema.
func dropAllDefaults(e *schemaEdit) {
	if e.schema.Default.Object != nil {
		e.setDefault(nil)
	}
	for name := range e.schema.Properties {
		e.property(name, dropAllDefaults)
	}
	e.items(dropAllDefaults)
	e.values(dropAllDefaults)
}

// schemaEdit is a schema that is copied as far as it is changed.
type schemaEdit struct {
	schema  structuralschema.Structural
	changed bool
	// copied is whether the map of properties is a copy.
	copied bool
}

func (e *schemaEdit) setDefault(value any) {
	e.schema.Default.Object, e.changed = value, true
}

// property changes the schema of a property, if there is one.
func (e *schemaEdit) property(name string, change func(*schemaEdit)) {
	property, found := e.schema.Properties[name]
	if !found {
		return
	}
	below := schemaEdit{schema: property}
	if change(&below); !below.changed {
		return
	}
	if !e.copied {
		e.schema.Properties, e.copied = maps.Clone(e.schema.Properties), true
	}
	e.schema.Properties[name], e.changed = below.schema, true
}

// items changes the schema of the items of a list, if there is one.
func (e *schemaEdit) items(change func(*schemaEdit)) {
	if e.schema.Items == nil {
		return
	}
	below := schemaEdit{schema: *e.schema.Items}
	if change(&below); below.changed {
		e.schema.Items, e.changed = &below.schema, true
	}
}

// values changes the schema of the values of a map, if there is one.
func (e *schemaEdit) values(change func(*schemaEdit)) {
	additional := e.schema.AdditionalProperties
	if additional == nil || additional.Structural == nil {
		return
	}
	below := schemaEdit{schema: *additional.Structural}
	if change(&below); below.changed {
		e.schema.AdditionalProperties = &structuralschema.StructuralOrBool{Structural: &below.schema, Bool: additional.Bool}
		e.changed = true
	}
}

// withoutDisabled returns the value at n without the disabled fields in it, and whether there were any. It copies what
// it changes, since schemas share their defaults.
func (p *Plan) withoutDisabled(n *node, value any) (_ any, changed bool) {
	switch value := value.(type) {
	case map[string]any:
		object, changed := p.withoutDisabledFields(n, value)
		if each := n.each(); each != nil {
			var more bool
			object, more = p.withoutDisabledInValues(each, object)
			changed = changed || more
		}
		return object, changed
	case []any:
		if each := n.each(); each != nil {
			return p.withoutDisabledInItems(each, value)
		}
	}
	return value, false
}

// withoutDisabledFields is withoutDisabled for the fields of an object.
func (p *Plan) withoutDisabledFields(n *node, object map[string]any) (out map[string]any, changed bool) {
	out = object
	for c := range n.fieldsOf(object) {
		value, different := p.withoutDisabled(&c.node, object[c.name])
		isDisabled := p.isDisabled(&c.node)
		if !different && !isDisabled {
			continue
		}
		if !changed {
			out, changed = maps.Clone(object), true
		}
		if isDisabled {
			delete(out, c.name)
		} else {
			out[c.name] = value
		}
	}
	return out, changed
}

// fieldsOf returns the fields of n that an object has. It walks the fields of n or those of the object, whichever are
// fewer (rule R3).
func (n *node) fieldsOf(object map[string]any) iter.Seq[*child] {
	if len(n.fields) <= len(object) {
		return func(yield func(*child) bool) {
			for i := range n.fields {
				if _, found := object[n.fields[i].name]; found && !yield(&n.fields[i]) {
					return
				}
			}
		}
	}
	return func(yield func(*child) bool) {
		for name := range object {
			if c := n.field(name); c != nil && !yield(c) {
				return
			}
		}
	}
}

// withoutDisabledInValues is withoutDisabled for the values of a map.
func (p *Plan) withoutDisabledInValues(each *node, object map[string]any) (out map[string]any, changed bool) {
	out = object
	for name, value := range object {
		value, different := p.withoutDisabled(each, value)
		if !different {
			continue
		}
		if !changed {
			out, changed = maps.Clone(object), true
		}
		out[name] = value
	}
	return out, changed
}

// withoutDisabledInItems is withoutDisabled for the items of a list.
func (p *Plan) withoutDisabledInItems(each *node, list []any) (out []any, changed bool) {
	out = list
	for i, item := range list {
		item, different := p.withoutDisabled(each, item)
		if !different {
			continue
		}
		if !changed {
			out, changed = slices.Clone(list), true
		}
		out[i] = item
	}
	return out, changed
}
