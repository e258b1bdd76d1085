// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonvalue

import (
	"math"
	"strconv"
)

// ListMap finds the items of a list of x-kubernetes-list-type: map by their keys, each of them once. Looking up the
// items of a list that has the same order allocates nothing; the first one out of place costs an index over the whole
// list, so that any number of look-ups takes linear time.
type ListMap struct {
	keys     []string
	defaults map[string]any // the values of absent keys
	items    []any

	prefix int    // how many items at the start are found already
	found  []bool // those after the prefix, nil if none

	index map[string]int // the first item of every identity that is perhaps not found yet
	next  []int          // the next item of the same identity, 0 if none
}

// NewListMap returns the list map over items, whose x-kubernetes-list-map-keys are keys. Nothing is copied.
func NewListMap(items []any, keys []string) ListMap {
	return ListMap{keys: keys, items: items}
}

// NewListMapWithDefaults returns a list map in which an item that lacks a key, or has null for it, has the value that
// defaults gives to that key, if any. It is for items that are not defaulted, such as those of an applied configuration
// (rules G5, U5). Both the items and the one to look for may lack keys. Defaults are scalars, as keys are. Nothing is copied.
func NewListMapWithDefaults(items []any, keys []string, defaults map[string]any) ListMap {
	return ListMap{keys: keys, defaults: defaults, items: items}
}

// Get returns the item with the keys of item, which stands at position in its own list: the place to look first.
// It is nil where there is none. Items that are no objects, or whose keys are no scalars, match nothing. Every item
// is returned once: where several have the same keys, which no valid list has, one stands for one. A request that
// repeats the keys of a large item does not get it many times over (rule R1).
func (l *ListMap) Get(item map[string]any, position int) map[string]any {
	if l.prefix == len(l.items) {
		return nil
	}
	if position < len(l.items) && !l.isFound(position) {
		if candidate, ok := l.items[position].(map[string]any); ok && l.sameKeys(item, candidate) {
			l.markFound(position)
			return candidate
		}
	}
	if l.index == nil {
		l.buildIndex()
	}
	return l.lookUp(item)
}

func (l *ListMap) lookUp(item map[string]any) map[string]any {
	id, ok := l.identity(item)
	if !ok {
		return nil
	}
	i, ok := l.index[id]
	for ok && l.isFound(i) {
		i, ok = l.next[i], l.next[i] != 0
	}
	if !ok {
		delete(l.index, id)
		return nil
	}
	l.index[id] = i
	l.markFound(i)
	return l.items[i].(map[string]any)
}

func (l *ListMap) isFound(i int) bool {
	return i < l.prefix || (l.found != nil && l.found[i])
}

func (l *ListMap) markFound(i int) {
	if i == l.prefix && l.found == nil {
		l.prefix++
		return
	}
	if l.found == nil {
		l.found = make([]bool, len(l.items))
	}
	l.found[i] = true
}

func (l *ListMap) sameKeys(a, b map[string]any) bool {
	for _, key := range l.keys {
		if av := a[key]; !isScalar(av) || !Equal(av, b[key]) {
			return l.defaults != nil && l.sameKeysWithDefaults(a, b)
		}
	}
	return true
}

func (l *ListMap) sameKeysWithDefaults(a, b map[string]any) bool {
	for _, key := range l.keys {
		if av := l.valueOf(a, key); !isScalar(av) || !Equal(av, l.valueOf(b, key)) {
			return false
		}
	}
	return true
}

// valueOf returns the value that an item has for a key, or nil if it has neither a value nor a default.
func (l *ListMap) valueOf(item map[string]any, key string) any {
	if value := item[key]; value != nil {
		return value
	}
	return l.defaults[key]
}

// buildIndex goes backwards, so that the first item of an identity is the one in the index. The item 0 is never the
// next of another.
func (l *ListMap) buildIndex() {
	l.index = make(map[string]int, len(l.items)-l.prefix)
	l.next = make([]int, len(l.items))
	for i := len(l.items) - 1; i >= l.prefix; i-- {
		item, ok := l.items[i].(map[string]any)
		if !ok {
			continue
		}
		if id, ok := l.identity(item); ok {
			l.next[i] = l.index[id]
			l.index[id] = i
		}
	}
}

// identity encodes the keys of an item so that two items have the same identity exactly if their keys are equal.
// It is false where a key is not a scalar.
func (l *ListMap) identity(item map[string]any) (string, bool) {
	var buf []byte
	for _, key := range l.keys {
		switch v := l.valueOf(item, key).(type) {
		case nil:
			buf = append(buf, 'n')
		case string:
			buf = append(buf, 's')
			buf = strconv.AppendInt(buf, int64(len(v)), 10)
			buf = append(buf, ':')
			buf = append(buf, v...)
		case bool:
			buf = append(buf, 'b')
			buf = strconv.AppendBool(buf, v)
		case int64:
			buf = appendInt(buf, v)
		case float64:
			if isInt64(v) {
				buf = appendInt(buf, int64(v))
				continue
			}
			buf = append(buf, 'f')
			buf = strconv.AppendUint(buf, math.Float64bits(v), 16)
			buf = append(buf, ':')
		default:
			return "", false
		}
	}
	return string(buf), true
}

func appendInt(buf []byte, v int64) []byte {
	buf = append(buf, 'i')
	buf = strconv.AppendInt(buf, v, 10)
	return append(buf, ':')
}

func isScalar(v any) bool {
	switch v.(type) {
	case nil, string, bool, int64, float64:
		return true
	}
	return false
}
