// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"encoding/json"
	"maps"

	"k8s.io/apiextensions-apiserver/pkg/fairleadline"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
)

// value is a JSON value, or the absence of one.
type value struct {
	json    any
	present bool
	node    *node // nil unless it is an object or a list
}

func newValue(object map[string]any) value {
	if object == nil {
		return value{}
	}
	return value{json: object, present: true, node: newNode(object)}
}

// equal reports whether both values are equal, or both absent.
func (v value) equal(other value) bool {
	switch {
	case v.present != other.present:
		return false
	case v.node == nil || other.node == nil:
		return v.node == other.node && jsonvalue.Equal(v.json, other.json)
	}
	return v.node.fingerprint == other.node.fingerprint
}

// isSet reports whether there is a value, and it is not null.
func (v value) isSet() bool { return v.json != nil }

func (v value) isObject() bool {
	_, ok := v.json.(map[string]any)
	return ok
}

func (v value) isEmptyObject() bool {
	object, ok := v.json.(map[string]any)
	return ok && len(object) == 0
}

// isZero reports whether the value is what a Go type without absence has for a field that is not set. Conversion webhooks
// write it in the place of a field that a gate dropped.
func (v value) isZero() bool {
	switch v := v.json.(type) {
	case string:
		return v == ""
	case bool:
		return !v
	case int64:
		return v == 0
	case float64:
		return v == 0
	}
	return false
}

// below returns the value that an element leads to. Positions in a list, which field management never writes, lead to
// none.
func (v value) below(pe fairleadline.PathElement) value {
	if pe.FieldName != nil {
		object, _ := v.json.(map[string]any)
		field, present := object[*pe.FieldName]
		if !present {
			return value{}
		}
		return value{json: field, present: true, node: v.node.fields[*pe.FieldName]}
	}
	list, _ := v.json.([]any)
	if len(list) == 0 {
		return value{}
	}
	at, found := v.node.find(list, pe)
	if !found {
		return value{}
	}
	return value{json: list[at], present: true, node: v.node.items[at]}
}

// node is what is computed once of an object or a list, so that any number of entries that look at it, at any depth, take
// linear time.
type node struct {
	// fingerprint stands for the whole value: objects that contain each other would else be compared over and over.
	fingerprint jsonvalue.Fingerprint
	fields      map[string]*node // the objects and lists in an object
	items       []*node          // the items of a list, nil for those that are neither
	byKeys      map[string]keyIndex
	byValue     map[string]int
}

// keyIndex has the positions of the items of a list map by those of their keys that they have.
type keyIndex struct {
	positions map[string]int
	// gaps are the keys that items lack, each combination of them once.
	gaps [][]string
}

// newNode returns the node of a value, or nil if it is neither an object nor a list.
func newNode(value any) *node {
	switch value := value.(type) {
	case map[string]any:
		n := &node{fingerprint: jsonvalue.NoFields}
		for name, field := range value {
			n.addField(name, field)
		}
		return n
	case []any:
		n := &node{fingerprint: jsonvalue.NoItems, items: make([]*node, len(value))}
		for i, item := range value {
			n.items[i] = newNode(item)
			n.fingerprint += jsonvalue.ItemFingerprint(i, n.items[i].fingerprintOf(item))
		}
		return n
	}
	return nil
}

func (n *node) addField(name string, value any) {
	field := newNode(value)
	n.fingerprint += jsonvalue.FieldFingerprint(name, field.fingerprintOf(value))
	if field == nil {
		return
	}
	if n.fields == nil {
		n.fields = map[string]*node{}
	}
	n.fields[name] = field
}

// fingerprintOf returns the fingerprint of a value that has the node.
func (n *node) fingerprintOf(value any) jsonvalue.Fingerprint {
	if n == nil {
		return jsonvalue.FingerprintOf(value)
	}
	return n.fingerprint
}

// find returns the position of the item that an element leads to: in a list map by its keys, in a set by its value.
func (n *node) find(list []any, pe fairleadline.PathElement) (position int, found bool) {
	switch {
	case pe.Key != nil:
		return n.findByKeys(list, pe)
	case pe.Value != nil:
		return n.findByValue(list, pe)
	}
	return 0, false
}

// maxIndexes is by how many sets of keys the items of one list are looked up. The schema has one in each version; more
// are made up, and would cost an index over the list each.
const maxIndexes = 8

func (n *node) findByKeys(list []any, pe fairleadline.PathElement) (position int, found bool) {
	names := make([]string, 0, len(*pe.Key))
	keys := map[string]any{}
	for _, field := range *pe.Key {
		names = append(names, field.Name)
		keys[field.Name] = field.Value.Unstructured()
	}
	id := encode(names)
	if _, indexed := n.byKeys[id]; !indexed {
		if len(n.byKeys) == maxIndexes {
			return 0, false
		}
		if n.byKeys == nil {
			n.byKeys = map[string]keyIndex{}
		}
		n.byKeys[id] = indexByKeys(list, names)
	}
	return n.byKeys[id].find(keys)
}

// find returns the position of the item with the keys. An item may lack a key that has a default, by which field
// management knows it all the same: applied configurations are not defaulted, nor are dropped fields.
func (i keyIndex) find(keys map[string]any) (position int, found bool) {
	if position, found = i.positions[encode(keys)]; found {
		return position, true
	}
	for _, gap := range i.gaps {
		present := maps.Clone(keys)
		for _, name := range gap {
			delete(present, name)
		}
		if position, found = i.positions[encode(present)]; found {
			return position, true
		}
	}
	return 0, false
}

func indexByKeys(list []any, names []string) keyIndex {
	index := keyIndex{positions: make(map[string]int, len(list))}
	seen := map[string]bool{}
	for at := len(list) - 1; at >= 0; at-- { // of several items with the same keys the first counts
		item, _ := list[at].(map[string]any)
		keys := map[string]any{}
		var gap []string
		for _, name := range names {
			if key, present := item[name]; present {
				keys[name] = key
			} else {
				gap = append(gap, name)
			}
		}
		index.positions[encode(keys)] = at
		if id := encode(gap); gap != nil && !seen[id] {
			seen[id] = true
			index.gaps = append(index.gaps, gap)
		}
	}
	return index
}

func (n *node) findByValue(list []any, pe fairleadline.PathElement) (position int, found bool) {
	if n.byValue == nil {
		n.byValue = make(map[string]int, len(list))
		for at := len(list) - 1; at >= 0; at-- {
			n.byValue[encode(list[at])] = at
		}
	}
	position, found = n.byValue[encode((*pe.Value).Unstructured())]
	return position, found
}

// encode returns the JSON of a value, which is the same for equal values.
func encode(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		return "" // no decoder makes such a value
	}
	return string(out)
}
