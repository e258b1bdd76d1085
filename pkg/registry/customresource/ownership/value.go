// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"encoding/json"
	"maps"

	"github.com/fairlead-dev/fairlead/line"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
)

// value is a JSON value. The zero value stands for an absent field.
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

// isSet reports whether the value is present and not null.
func (v value) isSet() bool { return v.json != nil }

func (v value) isObject() bool {
	_, ok := v.json.(map[string]any)
	return ok
}

func (v value) isEmptyObject() bool {
	object, ok := v.json.(map[string]any)
	return ok && len(object) == 0
}

// isZero reports whether the value is the zero value of a Go type. A conversion webhook may set a field that a gate
// dropped to its zero value.
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

// below returns the value at a path element. There is none at an index of a list, which field management never uses.
func (v value) below(pe line.PathElement) value {
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

// node holds what is computed once for an object or a list, so that all entries together take linear time, at any
// depth.
type node struct {
	// fingerprint is that of the whole value. Comparing values instead would compare deep parts once for each level above.
	fingerprint jsonvalue.Fingerprint
	fields      map[string]*node    // the objects and lists in an object
	items       []*node             // the items of a list; nil for an item that is neither an object nor a list
	byKeys      map[string]keyIndex // of a list, by the encoded names of the keys
	byValue     map[string]int      // the indexes of the items of a list, by the encoded item
}

// keyIndex finds the items of a list map by the values of their keys.
type keyIndex struct {
	indexes map[string]int // by the encoded keys that the item has
	// missing are the combinations of keys that items lack, each of them once.
	missing [][]string
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

// fingerprintOf returns the fingerprint of a value. n is the node of the value, or nil if it has none.
func (n *node) fingerprintOf(value any) jsonvalue.Fingerprint {
	if n == nil {
		return jsonvalue.FingerprintOf(value)
	}
	return n.fingerprint
}

// find returns the index of the item at a path element, which has the keys of an item of a list map, or the value of an
// item of a set.
func (n *node) find(list []any, pe line.PathElement) (index int, found bool) {
	switch {
	case pe.Key != nil:
		return n.findByKeys(list, pe)
	case pe.Value != nil:
		return n.findByValue(list, pe)
	}
	return 0, false
}

// maxKeyIndexes is the maximum number of keyIndexes of a list. A schema has one set of keys for a list in each version.
// Entries with more sets come from clients that make them up, and each set would cost an index over the list.
const maxKeyIndexes = 8

func (n *node) findByKeys(list []any, pe line.PathElement) (index int, found bool) {
	names := make([]string, 0, len(*pe.Key))
	keys := map[string]any{}
	for _, field := range *pe.Key {
		names = append(names, field.Name)
		keys[field.Name] = field.Value.Unstructured()
	}
	id := encode(names)
	if _, indexed := n.byKeys[id]; !indexed {
		if len(n.byKeys) == maxKeyIndexes {
			return 0, false
		}
		if n.byKeys == nil {
			n.byKeys = map[string]keyIndex{}
		}
		n.byKeys[id] = indexByKeys(list, names)
	}
	return n.byKeys[id].find(keys)
}

// find returns the index of the item with the keys. An item may lack a key that has a default, since applied
// configurations and dropped fields are not defaulted. Field management identifies the item by the default all the
// same.
func (i keyIndex) find(keys map[string]any) (index int, found bool) {
	if index, found = i.indexes[encode(keys)]; found {
		return index, true
	}
	for _, missing := range i.missing {
		present := maps.Clone(keys)
		for _, name := range missing {
			delete(present, name)
		}
		if index, found = i.indexes[encode(present)]; found {
			return index, true
		}
	}
	return 0, false
}

func indexByKeys(list []any, names []string) keyIndex {
	index := keyIndex{indexes: make(map[string]int, len(list))}
	seen := map[string]bool{}
	for at := len(list) - 1; at >= 0; at-- { // backwards: of several items with the same keys the first counts
		item, _ := list[at].(map[string]any)
		keys := map[string]any{}
		var missing []string
		for _, name := range names {
			if key, present := item[name]; present {
				keys[name] = key
			} else {
				missing = append(missing, name)
			}
		}
		index.indexes[encode(keys)] = at
		if id := encode(missing); missing != nil && !seen[id] {
			seen[id] = true
			index.missing = append(index.missing, missing)
		}
	}
	return index
}

func (n *node) findByValue(list []any, pe line.PathElement) (index int, found bool) {
	if n.byValue == nil {
		n.byValue = make(map[string]int, len(list))
		for at := len(list) - 1; at >= 0; at-- {
			n.byValue[encode(list[at])] = at
		}
	}
	index, found = n.byValue[encode((*pe.Value).Unstructured())]
	return index, found
}

// encode returns the JSON of a value. Equal values have the same JSON.
func encode(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		return "" // not a JSON value
	}
	return string(out)
}
