// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"maps"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// AdjustConfiguration returns the adjusted configuration, which field management applies instead of the configuration
// that the manager sent (rules G4, G7). A disabled field that the configuration sets gets the persisted value, reduced
// to what the configuration sets, or is left out if it is not persisted. The objects and items around the field stay.
// So field management neither removes them, nor finds a conflict over the field.
//
// live is the persisted object, and schema is the structural schema, both of the version of the configuration. Neither
// object is modified, and the result shares nothing with live. If there is nothing to adjust, AdjustConfiguration
// returns the configuration itself and false.
func (p *Plan) AdjustConfiguration(configuration, live map[string]any, schema *structuralschema.Structural, s scope.Scope) (adjusted map[string]any, changed bool) {
	if p == nil {
		return configuration, false
	}
	walk := adjustment{plan: p, schemas: guardSchemas{plan: p, root: schema}}
	out := copyOnWrite{object: configuration}
	for i := range p.root.fields {
		if c := &p.root.fields[i]; s.Includes(c.name) {
			walk.field(&p.root, c, &out, configuration, live)
		}
	}
	return out.object, out.changed
}

// adjustment is the walk over a configuration.
type adjustment struct {
	plan    *Plan
	schemas guardSchemas
}

// copyOnWrite is an object that is copied before its first change.
type copyOnWrite struct {
	object  map[string]any
	changed bool
}

// copy replaces the object by a copy, unless it is one already.
func (c *copyOnWrite) copy() {
	if !c.changed {
		c.object, c.changed = maps.Clone(c.object), true
	}
}

func (c *copyOnWrite) set(name string, value any) {
	c.copy()
	c.object[name] = value
}

func (c *copyOnWrite) delete(name string) {
	c.copy()
	delete(c.object, name)
}

// field adjusts a field of object, which is at n. out is the adjusted object.
func (a *adjustment) field(n *node, c *child, out *copyOnWrite, object, live map[string]any) {
	value, isSet := object[c.name]
	switch {
	case a.plan.isDisabled(&c.node):
		a.disabled(n, c, out, object, live)
	case isSet:
		if result, changed := a.value(&c.node, value, live[c.name]); changed {
			out.set(c.name, result)
		}
	}
}

// disabled adjusts a disabled field. A null in the configuration stays only if the persisted value is null, too. An
// atomic object is applied as a whole, so a field that the configuration leaves out would be removed: it gets the
// persisted value.
func (a *adjustment) disabled(n *node, c *child, out *copyOnWrite, object, live map[string]any) {
	value, isSet := object[c.name]
	persisted, isPersisted := live[c.name]
	switch {
	case !isSet && (!n.atomic || persisted == nil): // nothing to adjust
	case jsonvalue.Identical(value, persisted) && isPersisted:
	case n.atomic && persisted != nil:
		out.set(c.name, runtime.DeepCopyJSONValue(persisted))
	case value == nil || persisted == nil:
		out.delete(c.name)
	default:
		a.reduce(c, out, value, persisted)
	}
}

// reduce replaces the value of a disabled field by the part of it that is persisted.
func (a *adjustment) reduce(c *child, out *copyOnWrite, value, persisted any) {
	schema := a.schemas.of(c.node.guard)
	part := persistedPart(schema, value, persisted)
	switch {
	case isEmptied(schema, value, part):
		out.delete(c.name)
	case !jsonvalue.Identical(value, part):
		out.set(c.name, part)
	}
}

// value returns an adjusted copy of a value that is not disabled itself. It returns false if there is nothing to
// adjust.
func (a *adjustment) value(n *node, value, live any) (any, bool) {
	switch value := value.(type) {
	case map[string]any:
		live, _ := live.(map[string]any)
		out := copyOnWrite{object: value}
		a.object(n, &out, value, live)
		return out.object, out.changed
	case []any:
		if n.elements != nil && len(n.elements.keys) > 0 {
			live, _ := live.([]any)
			return a.items(n.elements, value, live)
		}
	}
	return nil, false
}

// object adjusts the fields of object and the values of a map. out is the adjusted object.
func (a *adjustment) object(n *node, out *copyOnWrite, object, live map[string]any) {
	if len(n.fields) <= len(object) || n.atomic {
		for i := range n.fields {
			a.field(n, &n.fields[i], out, object, live)
		}
	} else {
		for name := range object {
			if c := n.field(name); c != nil {
				a.field(n, c, out, object, live)
			}
		}
	}
	each := n.each()
	if each == nil {
		return
	}
	for key, value := range object {
		if result, changed := a.value(each, value, live[key]); changed {
			out.set(key, result)
		}
	}
}

// items is value for a list map.
func (a *adjustment) items(n *elements, list, live []any) (any, bool) {
	out, changed := list, false
	persisted := jsonvalue.NewListMapWithDefaults(live, n.keys, n.keyDefaults)
	for i := range list {
		item, ok := list[i].(map[string]any)
		if !ok {
			continue
		}
		result, itemChanged := a.item(n, item, persisted.Take(item, i))
		if !itemChanged {
			continue
		}
		if !changed {
			out, changed = slices.Clone(list), true
		}
		out[i] = result
	}
	if !changed {
		return nil, false // converting out to any would allocate
	}
	return out, true
}

// item is value for an item of a list map. If the configuration leaves out the keys of an item because they have
// defaults, the adjusted item may be empty. Field management would ignore an empty item, so it gets the keys.
func (a *adjustment) item(n *elements, item, live map[string]any) (any, bool) {
	result, changed := a.value(&n.node, item, jsonvalue.OrNil(live))
	adjusted := item
	if changed {
		adjusted, _ = result.(map[string]any)
	}
	if len(adjusted) == 0 && len(n.keyDefaults) == len(n.keys) {
		return maps.Clone(n.keyDefaults), true
	}
	return result, changed
}
