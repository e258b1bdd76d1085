// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonvalue

import (
	"math"
	"strconv"
)

// ListMap matches the items of a list of x-kubernetes-list-type: map with items of another version of the list that
// have the same keys. Each item is matched at most once.
//
// Matching two lists in the same order allocates nothing. The first item at a different position makes ListMap build an
// index of the remaining items. Matching a whole list therefore takes linear time in any order.
type ListMap struct {
	keys     []string
	defaults map[string]any // the values of absent keys
	items    []any

	prefix int    // all items before this index are taken
	taken  []bool // by index, the items that are taken; nil if they are all before prefix

	index map[string]int // by identity, the index of the first item that may not be taken yet
	next  []int          // by index, the index of the next item with the same identity, or 0 if there is none
}

// NewListMap returns a ListMap over items; keys are the x-kubernetes-list-map-keys of the list. Nothing is copied.
func NewListMap(items []any, keys []string) ListMap {
	return ListMap{keys: keys, items: items}
}

// NewListMapWithDefaults returns a ListMap that replaces a key that is absent or null by its value in defaults, both in
// items and in the argument of Take. It is for lists that are not defaulted, such as those of an applied configuration
// (rules G5, U5). Defaults must be scalars, as keys are. Nothing is copied.
func NewListMapWithDefaults(items []any, keys []string, defaults map[string]any) ListMap {
	return ListMap{keys: keys, defaults: defaults, items: items}
}

// Take returns an item that has the same keys as the given item and was not taken yet, or nil if there is none. Take
// looks first at position, which is the index of the given item in its own list.
//
// Only objects whose keys are scalars match. Each item is returned once: if a request repeats the keys of a large
// persisted item, that item is not processed again for every repetition (rule R1). In a valid list the keys are unique.
func (l *ListMap) Take(item map[string]any, position int) map[string]any {
	if l.prefix == len(l.items) {
		return nil
	}
	if position < len(l.items) && !l.isTaken(position) {
		if candidate, ok := l.items[position].(map[string]any); ok && l.sameKeys(item, candidate) {
			l.markTaken(position)
			return candidate
		}
	}
	if l.index == nil {
		l.buildIndex()
	}
	return l.takeIndexed(item)
}

// takeIndexed is Take with the index, regardless of the position.
func (l *ListMap) takeIndexed(item map[string]any) map[string]any {
	id, ok := l.identity(item)
	if !ok {
		return nil
	}
	i, ok := l.index[id]
	for ok && l.isTaken(i) {
		i, ok = l.next[i], l.next[i] != 0
	}
	if !ok {
		delete(l.index, id)
		return nil
	}
	l.index[id] = i
	l.markTaken(i)
	return l.items[i].(map[string]any)
}

func (l *ListMap) isTaken(i int) bool {
	return i < l.prefix || (l.taken != nil && l.taken[i])
}

func (l *ListMap) markTaken(i int) {
	if i == l.prefix && l.taken == nil {
		l.prefix++
		return
	}
	if l.taken == nil {
		l.taken = make([]bool, len(l.items))
	}
	l.taken[i] = true
}

// sameKeys reports whether the keys of two items are scalars and equal. It considers defaults only if the keys differ.
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

// valueOf returns the value of a key in an item, or its default, or nil if it has neither.
func (l *ListMap) valueOf(item map[string]any, key string) any {
	if value := item[key]; value != nil {
		return value
	}
	return l.defaults[key]
}

// buildIndex indexes the items after the prefix. It goes backwards, so that the index has the first item of each
// identity. Item 0 is never the next of another item, so 0 can stand for "none".
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

// identity encodes the keys of an item as a string. Two items have the same identity if and only if their keys are
// equal. It returns false if a key is not a scalar.
func (l *ListMap) identity(item map[string]any) (string, bool) {
	var encoded []byte
	for _, key := range l.keys {
		value := l.valueOf(item, key)
		if !isScalar(value) {
			return "", false
		}
		encoded = appendScalar(encoded, value)
	}
	return string(encoded), true
}

// appendScalar appends the encoding of a scalar. Equal scalars have the same encoding, and no encoding is a prefix of
// another.
func appendScalar(buf []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		buf = append(buf, 's')
		buf = strconv.AppendInt(buf, int64(len(v)), 10)
		buf = append(buf, ':')
		return append(buf, v...)
	case bool:
		return strconv.AppendBool(append(buf, 'b'), v)
	case int64:
		return appendInt(buf, v)
	case float64:
		if isInt64(v) {
			return appendInt(buf, int64(v))
		}
		buf = strconv.AppendUint(append(buf, 'f'), math.Float64bits(v), 16)
		return append(buf, ':')
	default:
		return append(buf, 'n')
	}
}

func appendInt(buf []byte, v int64) []byte {
	buf = strconv.AppendInt(append(buf, 'i'), v, 10)
	return append(buf, ':')
}

func isScalar(v any) bool {
	switch v.(type) {
	case nil, string, bool, int64, float64:
		return true
	}
	return false
}
