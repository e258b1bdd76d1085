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

// AdjustConfiguration returns the configuration that field management applies in place of the one that a manager sent
// (rules G4, G7): of a disabled field that it names, the part that is persisted remains, with the persisted values. All
// around the field stays named. So field management neither prunes what is around it nor finds a conflict.
//
// live is the persisted object and schema the structural schema, both of the configuration's version. Neither object is
// modified, and the outcome shares nothing with live. Where nothing is to be adjusted the configuration itself is
// returned, and false.
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

// adjustment is a walk over a configuration.
type adjustment struct {
	plan    *Plan
	schemas guardSchemas
}

// copyOnWrite is an object that is copied before its first change.
type copyOnWrite struct {
	object  map[string]any
	changed bool
}

func (c *copyOnWrite) own() {
	if !c.changed {
		c.object, c.changed = maps.Clone(c.object), true
	}
}

func (c *copyOnWrite) set(name string, value any) {
	c.own()
	c.object[name] = value
}

func (c *copyOnWrite) delete(name string) {
	c.own()
	delete(c.object, name)
}

// field adjusts one field of an object at n in out, which is what becomes of the object.
func (a *adjustment) field(n *node, c *child, out *copyOnWrite, object, live map[string]any) {
	value, named := object[c.name]
	switch {
	case a.plan.isDisabled(&c.node):
		a.disabled(n, c, out, object, live)
	case named:
		if result, changed := a.value(&c.node, value, live[c.name]); changed {
			out.set(c.name, result)
		}
	}
}

// disabled adjusts a disabled field. A null names nothing but a persisted null. Of an atomic object all fields count as
// named, since it is applied as a whole.
func (a *adjustment) disabled(n *node, c *child, out *copyOnWrite, object, live map[string]any) {
	value, named := object[c.name]
	persisted, isPersisted := live[c.name]
	switch {
	case !named && (!n.atomic || persisted == nil): // the configuration says nothing of it
	case jsonvalue.Identical(value, persisted) && isPersisted:
	case n.atomic && persisted != nil:
		out.set(c.name, runtime.DeepCopyJSONValue(persisted))
	case value == nil || persisted == nil:
		out.delete(c.name)
	default:
		if part := confirmed(a.schemas.of(c.node.guard), value, persisted); !jsonvalue.Identical(value, part) {
			out.set(c.name, part)
		}
	}
}

// value adjusts what is inside a value that no disabled gate guards, and reports whether that changed anything.
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
		return nil, false // to make a list a value would allocate
	}
	return out, true
}

// item adjusts an item of a list map. One that is left empty gets the keys by whose defaults field management knows it:
// else it would be taken for no item at all.
func (a *adjustment) item(n *elements, item, live map[string]any) (any, bool) {
	result, changed := a.value(&n.node, item, jsonvalue.OrNil(live))
	left := item
	if changed {
		left, _ = result.(map[string]any)
	}
	if len(left) == 0 && len(n.keyDefaults) == len(n.keys) {
		return maps.Clone(n.keyDefaults), true
	}
	return result, changed
}
