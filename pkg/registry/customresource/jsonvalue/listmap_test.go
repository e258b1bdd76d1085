// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonvalue

import "testing"

func TestTakeMatchesItemsByTheirKeys(t *testing.T) {
	items := []any{
		object("name", "a", "port", int64(80), "id", "0"),
		"not an object",
		object("name", "a", "port", int64(81), "id", "2"),
		object("name", "b", "port", 80.5, "id", "3"),
		object("name", object(), "port", int64(80), "id", "4"),
		object("name", "a", "port", int64(80), "id", "second of its keys"),
		object("port", int64(1), "id", "6"),
	}
	for _, tc := range []struct {
		name     string
		item     map[string]any
		position int
		want     any
	}{
		{"the item is at the same position", object("name", "a", "port", int64(80)), 0, "0"},
		{"the item is at another position", object("name", "a", "port", int64(81)), 0, "2"},
		{"the position is beyond the end of the list", object("name", "a", "port", int64(81)), 99, "2"},
		{"numbers are compared by value", object("name", "a", "port", float64(81)), 0, "2"},
		{"a key may be a fraction", object("name", "b", "port", 80.5), 0, "3"},
		{"no item has the keys", object("name", "c", "port", int64(80)), 0, nil},
		{"an item whose key is an object does not match", object("name", object(), "port", int64(80)), 4, nil},
		{"an absent key matches an absent key", object("port", int64(1)), 0, "6"},
		{"a value that looks like two encoded keys does not match them", object("name", "a1:80", "port", nil), 0, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list := NewListMap(items, []string{"name", "port"})
			got := list.Take(tc.item, tc.position)
			if got["id"] != tc.want {
				t.Errorf("got %v, want the item %v", got, tc.want)
			}
		})
	}
}

// TestG5TakeDefaultsAbsentKeys (rules G5, U5) matches items that lack keys with defaults, as in an applied
// configuration.
func TestG5TakeDefaultsAbsentKeys(t *testing.T) {
	defaults := map[string]any{"protocol": "TCP", "unrelated": "x"}
	keys := []string{"port", "protocol"}
	items := []any{
		object("port", int64(53), "protocol", "UDP", "id", "0"),
		object("port", int64(53), "id", "1"),
		object("port", int64(80), "protocol", nil, "id", "2"),
		object("port", int64(81), "protocol", "TCP", "id", "3"),
		object("port", int64(82), "protocol", object(), "id", "4"),
	}
	for _, tc := range []struct {
		name     string
		item     map[string]any
		position int
		defaults map[string]any
		want     any
	}{
		{"the list's item lacks the key, same position", object("port", int64(53), "protocol", "TCP"), 1, defaults, "1"},
		{"the list's item lacks the key, another position", object("port", int64(53), "protocol", "TCP"), 0, defaults, "1"},
		{"the list's item has null for the key", object("port", int64(80), "protocol", "TCP"), 0, defaults, "2"},
		{"the given item lacks the key, same position", object("port", int64(81)), 3, defaults, "3"},
		{"the given item lacks the key, another position", object("port", int64(81)), 9, defaults, "3"},
		{"both items lack the key", object("port", int64(53)), 0, defaults, "1"},
		{"a value that is not the default matches the same value", object("port", int64(53), "protocol", "UDP"), 1, defaults, "0"},
		{"no item has the keys", object("port", int64(80), "protocol", "UDP"), 2, defaults, nil},
		{"a key without a default is not defaulted", object("protocol", "TCP"), 1, defaults, nil},
		{"an empty string is not defaulted", object("port", int64(81), "protocol", ""), 3, defaults, nil},
		{"a key that is an object is not defaulted", object("port", int64(82)), 4, defaults, nil},
		{"without defaults an absent key does not match a value", object("port", int64(53), "protocol", "TCP"), 1, nil, nil},
		{"without defaults an absent key matches an absent key", object("port", int64(53)), 1, nil, "1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list := NewListMapWithDefaults(items, keys, tc.defaults)
			if got := list.Take(tc.item, tc.position); got["id"] != tc.want {
				t.Errorf("got %v, want the item %v", got, tc.want)
			}
		})
	}
}

// TestR1TakeReturnsDefaultedDuplicatesOnce (rule R1) has an item with the default and one without the key: their keys
// are equal.
func TestR1TakeReturnsDefaultedDuplicatesOnce(t *testing.T) {
	items := []any{object("name", "a", "id", "0"), object("name", "a", "kind", "K", "id", "1")}
	list := NewListMapWithDefaults(items, []string{"name", "kind"}, map[string]any{"kind": "K"})
	for i, want := range []any{"1", "0", nil} {
		if got := list.Take(object("name", "a"), 1); got["id"] != want {
			t.Errorf("Take %d: got %v, want the item %v", i, got, want)
		}
	}
}

func TestTakeInOrderAllocatesNothing(t *testing.T) {
	var items []any
	for i := range 100 {
		items = append(items, object("name", string(rune('a'+i))))
	}
	keys, defaults := []string{"name", "kind"}, map[string]any{"kind": "K"}
	for name, newList := range map[string]func() ListMap{
		"R2: without defaults": func() ListMap { return NewListMap(items, keys) },
		"R2: with defaults":    func() ListMap { return NewListMapWithDefaults(items, keys, defaults) },
	} {
		t.Run(name, func(t *testing.T) {
			if n := testing.AllocsPerRun(100, func() {
				list := newList()
				for i := range items {
					if list.Take(items[i].(map[string]any), i) == nil {
						t.Fatal("Take returned nil")
					}
				}
			}); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}
