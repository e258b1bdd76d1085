// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonvalue

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestG5UnfoundItemsAreThoseThatARequestRemoved (rule G5): a list map tells which of its items nobody asked for.
func TestG5UnfoundItemsAreThoseThatARequestRemoved(t *testing.T) {
	named := func(names ...any) []any {
		list := []any{}
		for i, name := range names {
			list = append(list, item("name", name, "id", strconv.Itoa(i)))
		}
		return list
	}
	for _, tc := range []struct {
		name         string
		items, asked []any
		want         []string // their ids
	}{
		{"all in order", named("a", "b"), named("a", "b"), nil},
		{"all in another order", named("a", "b", "c"), named("c", "a", "b"), nil},
		{"nothing was asked for", named("a", "b"), nil, []string{"0", "1"}},
		{"the first", named("a", "b", "c"), named("b", "c"), []string{"0"}},
		{"the last", named("a", "b", "c"), named("a", "b"), []string{"2"}},
		{"one in the middle", named("a", "b", "c"), named("a", "c"), []string{"1"}},
		{"some others were asked for", named("a", "b"), named("x", "b", "y"), []string{"0"}},
		{"the second of two with the same keys", named("a", "a"), named("a"), []string{"1"}},
		{"both of two with the same keys", named("a", "a"), named("a", "a", "a"), nil},
		{"an item whose key is an object is never found", named(item(), "b"), named(item(), "b"), []string{"0"}},
		{"items that are no objects are left out", []any{"x", item("name", "a", "id", "1"), nil}, nil, []string{"1"}},
		{"no items", nil, named("a"), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list := NewListMap(tc.items, []string{"name"})
			for i := range tc.asked {
				list.Get(tc.asked[i].(map[string]any), i)
			}
			for range 2 { // to look at them finds none of them
				var got []string
				for item := range list.Unfound() {
					got = append(got, item["id"].(string))
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			if len(tc.want) > 0 && !list.HasUnfound() {
				t.Error("HasUnfound says that there are none")
			}
		})
	}
}

func TestUnfoundStopsWhenToldTo(t *testing.T) {
	list := NewListMap([]any{item("name", "a"), item("name", "b")}, []string{"name"})
	count := 0
	for range list.Unfound() {
		count++
		break
	}
	if count != 1 {
		t.Errorf("%d items", count)
	}
}

// TestR2FindingAllItemsInOrderLeavesNothingToLookFor: then a walk over what was removed costs nothing.
func TestR2FindingAllItemsInOrderLeavesNothingToLookFor(t *testing.T) {
	items := []any{item("name", "a"), item("name", "b")}
	keys := []string{"name"}
	if n := testing.AllocsPerRun(100, func() {
		list := NewListMap(items, keys)
		for i := range items {
			list.Get(items[i].(map[string]any), i)
		}
		if list.HasUnfound() {
			t.Fatal("not all were found")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
