// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"maps"
	"slices"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// Normalize clears the members that a changed discriminator does not select (rule U4). It returns the normalized object
// and the unions of which members were cleared. old is nil on create, and nothing is cleared then.
//
// The arguments are not modified (rule R4), and may share values, as they do after server-side apply. Only the objects
// and lists that contain a cleared member are copied. If nothing is cleared, object itself is returned, and nothing is
// allocated except an index for each list map whose items are in another order than in old.
func (p *Plan) Normalize(object, old map[string]any, s scope.Scope) (map[string]any, []Cleared) {
	root := p.root(s)
	if root == nil || old == nil {
		return object, nil
	}
	var r normalizer
	result, _ := r.object(root, object, old)
	for i := range r.cleared {
		slices.Reverse(r.cleared[i].Path)
	}
	slices.SortStableFunc(r.cleared, compareCleared) // ranging over a map is in random order
	return result, r.cleared
}

// normalizer clears members and collects the unions that they belong to. It does not track the current path, because
// most requests clear nothing. Instead, each level adds its step to the paths of the unions cleared below it.
//
// Each method returns the normalized value, and whether anything was cleared in it.
type normalizer struct {
	cleared []Cleared // with the paths in reverse
}

// value leaves a value as it is if it has no counterpart in old, or not the type of the schema (rules U5, R1). The
// returned value is nil if nothing was cleared.
func (r *normalizer) value(n *node, value, old any) (any, bool) {
	switch n.kind {
	case objectNode, mapNode:
		value, ok := value.(map[string]any)
		old, matched := old.(map[string]any)
		if !ok || !matched {
			return nil, false
		}
		if n.kind == objectNode {
			return asValue(r.object(n, value, old))
		}
		return asValue(r.values(n, value, old))
	case listMapNode:
		value, ok := value.([]any)
		old, matched := old.([]any)
		if ok && matched {
			return r.items(n, value, old)
		}
	case listNode: // items are not matched (rule U5)
	}
	return nil, false
}

// asValue converts the result of object or values to that of value.
func asValue(object map[string]any, changed bool) (any, bool) { return object, changed }

func (r *normalizer) object(n *node, object, old map[string]any) (map[string]any, bool) {
	result, changed := r.unions(n, object, old)
	for i := range n.fields {
		c := &n.fields[i]
		first := len(r.cleared)
		value, cleared := r.value(c.node, result[c.name], old[c.name])
		if !cleared {
			continue
		}
		if !changed {
			result, changed = maps.Clone(object), true
		}
		result[c.name] = value
		r.prepend(first, Step{Name: c.name})
	}
	return result, changed
}

func (r *normalizer) values(n *node, object, old map[string]any) (map[string]any, bool) {
	result, changed := object, false
	for key := range object {
		first := len(r.cleared)
		value, cleared := r.value(n.elements, object[key], old[key])
		if !cleared {
			continue
		}
		if !changed {
			result, changed = maps.Clone(object), true
		}
		result[key] = value
		r.prepend(first, Step{Name: key})
	}
	return result, changed
}

func (r *normalizer) items(n *node, list, old []any) (any, bool) {
	result, changed := list, false
	persisted := jsonvalue.NewListMap(old, n.keys)
	for i := range list {
		item, isObject := list[i].(map[string]any)
		if !isObject {
			continue
		}
		first := len(r.cleared)
		value, cleared := r.value(n.elements, item, jsonvalue.OrNil(persisted.Take(item, i)))
		if !cleared {
			continue
		}
		if !changed {
			result, changed = slices.Clone(list), true
		}
		result[i] = value
		r.prepend(first, Step{Keys: keysOf(item, n.keys), Index: i})
	}
	if !changed {
		return nil, false // converting a list to an interface allocates
	}
	return result, true
}

// keysOf returns the key fields that are present in an item of a list map.
func keysOf(item map[string]any, names []string) map[string]any {
	keys := make(map[string]any, len(names))
	for _, name := range names {
		if value, present := item[name]; present {
			keys[name] = value
		}
	}
	return keys
}

// prepend adds a step to the start of the paths of the cleared unions from index first on.
func (r *normalizer) prepend(first int, step Step) {
	for i := first; i < len(r.cleared); i++ {
		r.cleared[i].Path = append(r.cleared[i].Path, step)
	}
}

// unions normalizes the unions of an object, but not its fields.
func (r *normalizer) unions(n *node, object, old map[string]any) (map[string]any, bool) {
	result, changed := object, false
	for i := range n.unions {
		u := &n.unions[i]
		if !u.needsClearing(result, old) {
			continue
		}
		if !changed {
			result, changed = maps.Clone(object), true
		}
		r.cleared = append(r.cleared, u.clear(result, old))
	}
	return result, changed
}

// needsClearing reports whether the discriminator changed and a member is set or emptied that it does not select (rule U4). If the
// request leaves the discriminator out, nothing is cleared (rule U4.3).
func (u *union) needsClearing(object, old map[string]any) bool {
	value, isSet := object[u.discriminator].(string)
	if !isSet || u.persistedValue(old) == value {
		return false
	}
	selected := u.selectedMember(value)
	return u.hasUnselected(object, selected, len(object)) || len(u.emptiedMembers(object, old, selected)) > 0
}

// emptiedMembers returns the indexes of the members that are null in an object and set in old, although they may not be
// null, except the selected one. Server-side apply leaves a null if the applier owned all fields in a member that another
// manager owns, and leaves it out. The schema refuses it, so that such an applier could not switch the union at all.
func (u *union) emptiedMembers(object, old map[string]any, selected int) []int {
	var found []int
	for i, member := range u.members {
		value, present := object[member]
		if i != selected && present && value == nil && old[member] != nil && !slices.Contains(u.nullable, member) {
			found = append(found, i)
		}
	}
	return found
}

// persistedValue returns the discriminator in old, or "" if it is absent (rule U3). It is not a string if the field was
// persisted with a schema of another type.
func (u *union) persistedValue(old map[string]any) any {
	if value := old[u.discriminator]; value != nil {
		return value
	}
	return ""
}

// clear removes the members that are set or emptied but not selected.
func (u *union) clear(object, old map[string]any) Cleared {
	value, _ := object[u.discriminator].(string)
	c := Cleared{Ordinal: u.ordinal, Discriminator: u.discriminator, From: u.persistedValue(old), To: value}
	selected := u.selectedMember(value)
	members := append(u.unselectedMembers(object, selected), u.emptiedMembers(object, old, selected)...)
	slices.Sort(members)
	for _, i := range members {
		delete(object, u.members[i])
		c.Members = append(c.Members, u.members[i])
	}
	return c
}
