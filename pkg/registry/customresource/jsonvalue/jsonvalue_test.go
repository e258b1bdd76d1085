// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonvalue

import (
	"math"
	"testing"
)

func TestEqual(t *testing.T) {
	m := func(kv ...any) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			out[kv[i].(string)] = kv[i+1]
		}
		return out
	}
	for _, tc := range []struct {
		name string
		a, b any
		want bool
	}{
		{"nil is nil", nil, nil, true},
		{"nil is not an empty object", nil, m(), false},
		{"an empty object is not an empty list", m(), []any{}, false},
		{"the same string", "a", "a", true},
		{"a string is not a number", "1", int64(1), false},
		{"numbers compare by value", int64(1), float64(1), true},
		{"numbers compare by value the other way", float64(1), int64(1), true},
		{"a fraction is no integer", int64(1), 1.5, false},
		{"2^63 is no int64", int64(math.MaxInt64), float64(1 << 63), false},
		{"NaN equals nothing", math.NaN(), math.NaN(), false},
		{"bools differ", true, false, false},
		{"objects by content", m("a", m("b", []any{"c"})), m("a", m("b", []any{"c"})), true},
		{"null is not absent", m("a", nil), m("b", nil), false},
		{"a key more", m("a", int64(1)), m("a", int64(1), "b", int64(2)), false},
		{"lists are ordered", []any{"a", "b"}, []any{"b", "a"}, false},
		{"lists of other length", []any{"a"}, []any{"a", "a"}, false},
		{"types that JSON does not have equal nothing", struct{}{}, struct{}{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Equal(tc.a, tc.b); got != tc.want {
				t.Errorf("Equal(%v, %v) = %v", tc.a, tc.b, got)
			}
			if got := Equal(tc.b, tc.a); got != tc.want {
				t.Errorf("Equal(%v, %v) = %v", tc.b, tc.a, got)
			}
		})
	}
}

func TestContains(t *testing.T) {
	list := func(items ...any) []any { return items }
	for _, tc := range []struct {
		name        string
		value, part any
		want        bool
	}{
		{"itself", item("a", int64(1)), item("a", int64(1)), true},
		{"fields may be left out", item("a", int64(1), "b", int64(2)), item("b", int64(2)), true},
		{"a field more", item("a", int64(1)), item("a", int64(1), "b", nil), false},
		{"another value", item("a", int64(1)), item("a", int64(2)), false},
		{"items may be left out", list("a", "b", "c"), list("a", "c"), true},
		{"items keep their order", list("a", "b"), list("b", "a"), false},
		{"an item counts once", list("a"), list("a", "a"), false},
		{"items in part", list(item("k", "a", "v", "1"), item("k", "b", "v", "2")), list(item("k", "b")), true},
		{"an object is no list", item(), list(), false},
		{"null is null", nil, nil, true},
		{"null is not a part of an object", item("a", int64(1)), nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Contains(tc.value, tc.part); got != tc.want {
				t.Errorf("Contains(%v, %v) = %v", tc.value, tc.part, got)
			}
		})
	}
}

func item(kv ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i < len(kv); i += 2 {
		out[kv[i].(string)] = kv[i+1]
	}
	return out
}

func TestListMapFindsItemsByTheirKeys(t *testing.T) {
	items := []any{
		item("name", "a", "port", int64(80), "id", "0"),
		"not an object",
		item("name", "a", "port", int64(81), "id", "2"),
		item("name", "b", "port", 80.5, "id", "3"),
		item("name", item(), "port", int64(80), "id", "4"),
		item("name", "a", "port", int64(80), "id", "second of its keys"),
		item("port", int64(1), "id", "6"),
	}
	for _, tc := range []struct {
		name     string
		item     map[string]any
		position int
		want     any
	}{
		{"at its place", item("name", "a", "port", int64(80)), 0, "0"},
		{"elsewhere", item("name", "a", "port", int64(81)), 0, "2"},
		{"beyond the end", item("name", "a", "port", int64(81)), 99, "2"},
		{"numbers by value", item("name", "a", "port", float64(81)), 0, "2"},
		{"fractions", item("name", "b", "port", 80.5), 0, "3"},
		{"none", item("name", "c", "port", int64(80)), 0, nil},
		{"a key that is an object matches nothing", item("name", item(), "port", int64(80)), 4, nil},
		{"an absent key matches an absent one", item("port", int64(1)), 0, "6"},
		{"keys do not run into each other", item("name", "a1:80", "port", nil), 0, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list := NewListMap(items, []string{"name", "port"})
			got := list.Get(tc.item, tc.position)
			if got["id"] != tc.want {
				t.Errorf("got %v, want the item %v", got, tc.want)
			}
		})
	}
}

// TestG5ListMapFindsItemsThatLackADefaultedKey (rules G5, U5): a list of an applied configuration is not defaulted.
func TestG5ListMapFindsItemsThatLackADefaultedKey(t *testing.T) {
	defaults := map[string]any{"protocol": "TCP", "unrelated": "x"}
	keys := []string{"port", "protocol"}
	items := []any{
		item("port", int64(53), "protocol", "UDP", "id", "0"),
		item("port", int64(53), "id", "1"),
		item("port", int64(80), "protocol", nil, "id", "2"),
		item("port", int64(81), "protocol", "TCP", "id", "3"),
		item("port", int64(82), "protocol", item(), "id", "4"),
	}
	for _, tc := range []struct {
		name     string
		item     map[string]any
		position int
		defaults map[string]any
		want     any
	}{
		{"an indexed item lacks the key", item("port", int64(53), "protocol", "TCP"), 1, defaults, "1"},
		{"an indexed item lacks the key, elsewhere", item("port", int64(53), "protocol", "TCP"), 0, defaults, "1"},
		{"an indexed item has null", item("port", int64(80), "protocol", "TCP"), 0, defaults, "2"},
		{"the item lacks the key", item("port", int64(81)), 3, defaults, "3"},
		{"the item lacks the key, elsewhere", item("port", int64(81)), 9, defaults, "3"},
		{"both lack the key", item("port", int64(53)), 0, defaults, "1"},
		{"another value than the default", item("port", int64(53), "protocol", "UDP"), 1, defaults, "0"},
		{"no such item", item("port", int64(80), "protocol", "UDP"), 2, defaults, nil},
		{"a key without default is not filled in", item("protocol", "TCP"), 1, defaults, nil},
		{"an empty string is a value", item("port", int64(81), "protocol", ""), 3, defaults, nil},
		{"a key that is an object is not defaulted", item("port", int64(82)), 4, defaults, nil},
		{"no defaults: absent is another item", item("port", int64(53), "protocol", "TCP"), 1, nil, nil},
		{"no defaults: absent matches absent", item("port", int64(53)), 1, nil, "1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list := NewListMapWithDefaults(items, keys, tc.defaults)
			if got := list.Get(tc.item, tc.position); got["id"] != tc.want {
				t.Errorf("got %v, want the item %v", got, tc.want)
			}
		})
	}
}

// TestR1ListMapReturnsDefaultedDuplicatesOnce: an item with the default and one without the key are the same twice.
func TestR1ListMapReturnsDefaultedDuplicatesOnce(t *testing.T) {
	items := []any{item("name", "a", "id", "0"), item("name", "a", "kind", "K", "id", "1")}
	list := NewListMapWithDefaults(items, []string{"name", "kind"}, map[string]any{"kind": "K"})
	for i, want := range []any{"1", "0", nil} {
		if got := list.Get(item("name", "a"), 1); got["id"] != want {
			t.Errorf("look-up %d: got %v, want the item %v", i, got, want)
		}
	}
}

func TestListMapInOrderAllocatesNothing(t *testing.T) {
	var items []any
	for i := range 100 {
		items = append(items, item("name", string(rune('a'+i))))
	}
	keys, defaults := []string{"name", "kind"}, map[string]any{"kind": "K"}
	for claim, newList := range map[string]func() ListMap{
		"R2: without defaults": func() ListMap { return NewListMap(items, keys) },
		"R2: with defaults":    func() ListMap { return NewListMapWithDefaults(items, keys, defaults) },
	} {
		t.Run(claim, func(t *testing.T) {
			if n := testing.AllocsPerRun(100, func() {
				list := newList()
				for i := range items {
					if list.Get(items[i].(map[string]any), i) == nil {
						t.Fatal("not found")
					}
				}
			}); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}
