// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"maps"
	"slices"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// Normalize returns the object without the members that a changed discriminator does not select any more (rule U4),
// and what was cleared. old is nil on create, where nothing is.
//
// Neither argument is modified (rule R4), and they may share parts, as after server-side apply: where something is
// cleared, the objects and lists on the way to it are copied. Where nothing is, object itself is returned, and nothing
// was allocated but for an index over each list map whose items are not in the order of old.
func (p *Plan) Normalize(object, old map[string]any, s scope.Scope) (map[string]any, []Cleared) {
	root := p.root(s)
	if root == nil || old == nil {
		return object, nil
	}
	var n normalization
	result, _ := n.object(root, object, old)
	for i := range n.cleared {
		slices.Reverse(n.cleared[i].Path)
	}
	slices.SortStableFunc(n.cleared, compareCleared) // a walk over a map has no order
	return result, n.cleared
}

// normalization is a walk over an object. It does not know where it is, since mostly nobody is to be told: the way to
// what was cleared is made on the way back.
type normalization struct {
	cleared []Cleared // with the last step first
}

// value returns the normalized value, and whether it is another one. What has no counterpart in old, or is not of the
// type that the schema has, is left as it is (rules U5, R1).
func (n *normalization) value(at *node, value, old any) (any, bool) {
	switch at.kind {
	case anObject, aMap:
		value, ok := value.(map[string]any)
		old, matched := old.(map[string]any)
		switch {
		case !ok || !matched:
		case at.kind == anObject:
			return asValue(n.object(at, value, old))
		default:
			return asValue(n.values(at, value, old))
		}
	case aListMap:
		value, ok := value.([]any)
		old, matched := old.([]any)
		if ok && matched {
			return n.items(at, value, old)
		}
	case aList:
	}
	return nil, false
}

func asValue(object map[string]any, changed bool) (any, bool) { return object, changed }

func (n *normalization) object(at *node, object, old map[string]any) (map[string]any, bool) {
	result, changed := n.unions(at, object, old)
	for i := range at.fields {
		c := &at.fields[i]
		before := len(n.cleared)
		value, ok := n.value(c.node, result[c.name], old[c.name])
		if !ok {
			continue
		}
		if !changed {
			result, changed = maps.Clone(object), true
		}
		result[c.name] = value
		n.prepend(before, Step{Name: c.name})
	}
	return result, changed
}

func (n *normalization) values(at *node, object, old map[string]any) (map[string]any, bool) {
	result, changed := object, false
	for key := range object {
		before := len(n.cleared)
		value, ok := n.value(at.each, object[key], old[key])
		if !ok {
			continue
		}
		if !changed {
			result, changed = maps.Clone(object), true
		}
		result[key] = value
		n.prepend(before, Step{Name: key})
	}
	return result, changed
}

func (n *normalization) items(at *node, list, old []any) (any, bool) {
	result, changed := list, false
	persisted := jsonvalue.NewListMap(old, at.keys)
	for i := range list {
		item, isObject := list[i].(map[string]any)
		if !isObject {
			continue
		}
		before := len(n.cleared)
		value, ok := n.value(at.each, item, jsonvalue.OrNil(persisted.Take(item, i)))
		if !ok {
			continue
		}
		if !changed {
			result, changed = slices.Clone(list), true
		}
		result[i] = value
		n.prepend(before, Step{Keys: keysOf(item, at.keys), Index: i})
	}
	if !changed {
		return nil, false // to make a list a value would allocate
	}
	return result, true
}

func keysOf(item map[string]any, names []string) map[string]any {
	keys := make(map[string]any, len(names))
	for _, name := range names {
		if value, present := item[name]; present {
			keys[name] = value
		}
	}
	return keys
}

// prepend puts a step before the way to what was cleared since.
func (n *normalization) prepend(before int, step Step) {
	for i := before; i < len(n.cleared); i++ {
		n.cleared[i].Path = append(n.cleared[i].Path, step)
	}
}

// unions normalizes the unions of one object.
func (n *normalization) unions(at *node, object, old map[string]any) (map[string]any, bool) {
	result, changed := object, false
	for i := range at.unions {
		u := &at.unions[i]
		if !u.isOutdated(result, old) {
			continue
		}
		if !changed {
			result, changed = maps.Clone(object), true
		}
		n.cleared = append(n.cleared, u.clear(result, old))
	}
	return result, changed
}

// isOutdated reports whether the discriminator changed and a member is set that it does not select (rule U4). An
// absent discriminator selects nothing anew, whatever old has (rule U4.3).
func (u *union) isOutdated(object, old map[string]any) bool {
	value, isWritten := object[u.discriminator].(string)
	return isWritten && u.persistedIn(old) != value && u.hasUnselected(object, u.selected(value), len(object))
}

// persistedIn returns the discriminator in old: "" if it is absent (rule U3), and no string where an older schema had
// another type.
func (u *union) persistedIn(old map[string]any) any {
	if value := old[u.discriminator]; value != nil {
		return value
	}
	return ""
}

// clear removes the members that are set and not selected.
func (u *union) clear(object, old map[string]any) Cleared {
	value, _ := object[u.discriminator].(string)
	c := Cleared{Ordinal: u.ordinal, Discriminator: u.discriminator, From: u.persistedIn(old), To: value}
	for _, i := range u.unselected(object, u.selected(value)) {
		delete(object, u.members[i])
		c.Members = append(c.Members, u.members[i])
	}
	return c
}
