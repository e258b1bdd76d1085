// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonvalue

import (
	"math"
	"strconv"
)

// ListMap finds the items of a list of x-kubernetes-list-type: map by their keys. Looking up the items of a list
// that has the same order allocates nothing; the first one out of place costs an index over the whole list, so
// that any number of look-ups takes linear time.
type ListMap struct {
	keys  []string
	items []any
	index map[string]int
}

// NewListMap returns the list map over items, whose x-kubernetes-list-map-keys are keys. Nothing is copied.
func NewListMap(items []any, keys []string) ListMap {
	return ListMap{keys: keys, items: items}
}

// Get returns the item with the keys of item, which stands at position in its own list: the place to look first.
// It is nil where there is none. Items that are no objects, or whose keys are no scalars, match nothing; of several
// items with the same keys the first is returned, or the one at position.
func (l *ListMap) Get(item map[string]any, position int) map[string]any {
	if len(l.items) == 0 {
		return nil
	}
	if position < len(l.items) {
		if candidate, ok := l.items[position].(map[string]any); ok && l.sameKeys(item, candidate) {
			return candidate
		}
	}
	if l.index == nil {
		l.buildIndex()
	}
	id, ok := identity(item, l.keys)
	if !ok {
		return nil
	}
	i, ok := l.index[id]
	if !ok {
		return nil
	}
	return l.items[i].(map[string]any)
}

func (l *ListMap) sameKeys(a, b map[string]any) bool {
	for _, key := range l.keys {
		av, bv := a[key], b[key]
		if !isScalar(av) || !Equal(av, bv) {
			return false
		}
	}
	return true
}

func (l *ListMap) buildIndex() {
	l.index = make(map[string]int, len(l.items))
	for i, item := range l.items {
		item, ok := item.(map[string]any)
		if !ok {
			continue
		}
		if id, ok := identity(item, l.keys); ok {
			if _, taken := l.index[id]; !taken {
				l.index[id] = i
			}
		}
	}
}

// identity encodes the keys of an item so that two items have the same identity exactly if their keys are equal.
// It is false where a key is not a scalar.
func identity(item map[string]any, keys []string) (string, bool) {
	var buf []byte
	for _, key := range keys {
		switch v := item[key].(type) {
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
