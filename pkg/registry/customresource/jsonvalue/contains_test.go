// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonvalue

import "testing"

func TestContains(t *testing.T) {
	list := func(items ...any) []any { return items }
	for _, tc := range []struct {
		name        string
		value, part any
		want        bool
	}{
		{"a value contains itself", object("a", int64(1)), object("a", int64(1)), true},
		{"part may lack fields of an object", object("a", int64(1), "b", int64(2)), object("b", int64(2)), true},
		{"part may not have another field, not even null", object("a", int64(1)), object("a", int64(1), "b", nil), false},
		{"part may not have another value", object("a", int64(1)), object("a", int64(2)), false},
		{"part may lack items of a list", list("a", "b", "c"), list("a", "c"), true},
		{"items must be in the same order", list("a", "b"), list("b", "a"), false},
		{"an item matches one item of part only", list("a"), list("a", "a"), false},
		{"part may lack fields of an item", list(object("k", "a", "v", "1"), object("k", "b", "v", "2")), list(object("k", "b")), true},
		{"an empty object does not contain an empty list", object(), list(), false},
		{"null contains null", nil, nil, true},
		{"an object does not contain null", object("a", int64(1)), nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Contains(tc.value, tc.part); got != tc.want {
				t.Errorf("Contains(%v, %v) = %v", tc.value, tc.part, got)
			}
		})
	}
}
