// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonvalue

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestG5RemainingItemsAreThoseThatARequestRemoves (rule G5) takes the items of a request from the persisted list.
func TestG5RemainingItemsAreThoseThatARequestRemoves(t *testing.T) {
	named := func(names ...any) []any {
		list := []any{}
		for i, name := range names {
			list = append(list, object("name", name, "id", strconv.Itoa(i)))
		}
		return list
	}
	for _, tc := range []struct {
		name                 string
		persisted, requested []any
		want                 []string // the ids of the remaining items
	}{
		{"all items are taken in order", named("a", "b"), named("a", "b"), nil},
		{"all items are taken in another order", named("a", "b", "c"), named("c", "a", "b"), nil},
		{"no item is taken", named("a", "b"), nil, []string{"0", "1"}},
		{"the first item remains", named("a", "b", "c"), named("b", "c"), []string{"0"}},
		{"the last item remains", named("a", "b", "c"), named("a", "b"), []string{"2"}},
		{"an item in the middle remains", named("a", "b", "c"), named("a", "c"), []string{"1"}},
		{"items that are not in the list are requested", named("a", "b"), named("x", "b", "y"), []string{"0"}},
		{"of two items with the same keys one is taken", named("a", "a"), named("a"), []string{"1"}},
		{"both items with the same keys are taken", named("a", "a"), named("a", "a", "a"), nil},
		{"an item whose key is an object is never taken", named(object(), "b"), named(object(), "b"), []string{"0"}},
		{"items that are not objects are skipped", []any{"x", object("name", "a", "id", "1"), nil}, nil, []string{"1"}},
		{"the list is empty", nil, named("a"), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list := NewListMap(tc.persisted, []string{"name"})
			for i := range tc.requested {
				list.Take(tc.requested[i].(map[string]any), i)
			}
			for range 2 { // Remaining does not take items
				var got []string
				for item := range list.Remaining() {
					got = append(got, item["id"].(string))
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			if len(tc.want) > 0 && !list.HasRemaining() {
				t.Error("HasRemaining is false")
			}
		})
	}
}

func TestRemainingStopsAtBreak(t *testing.T) {
	list := NewListMap([]any{object("name", "a"), object("name", "b")}, []string{"name"})
	count := 0
	for range list.Remaining() {
		count++
		break
	}
	if count != 1 {
		t.Errorf("%d items after break", count)
	}
}

// TestR2NothingRemainsAfterTakingAllItemsInOrder (rule R2): if nothing was removed, finding that out costs nothing.
func TestR2NothingRemainsAfterTakingAllItemsInOrder(t *testing.T) {
	items := []any{object("name", "a"), object("name", "b")}
	keys := []string{"name"}
	if n := testing.AllocsPerRun(100, func() {
		list := NewListMap(items, keys)
		for i := range items {
			list.Take(items[i].(map[string]any), i)
		}
		if list.HasRemaining() {
			t.Fatal("HasRemaining is true")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
