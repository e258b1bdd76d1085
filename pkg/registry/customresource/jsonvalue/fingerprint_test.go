// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonvalue

import (
	"math"
	"testing"
)

func TestFingerprintsAreEqualIfAndOnlyIfValuesAre(t *testing.T) {
	values := []any{
		nil, true, false, "", "a", "true", "1", int64(0), int64(1), int64(-1), int64(math.MaxInt64), int64(math.MinInt64),
		float64(0), math.Copysign(0, -1), float64(1), 1.5, float64(1 << 63), float64(-(1 << 63)), math.Inf(1),
		[]any{}, []any{nil}, []any{[]any{}}, []any{map[string]any{}}, []any{"a", "b"}, []any{"b", "a"}, []any{"a", "a"},
		[]any{"a"},
		object(), object("a", nil), object("a", object()), object("a", []any{}), object("", ""),
		object("a", "b"), object("b", "a"),
		object("a", "a"), object("a", int64(1)), object("a", float64(1)), object("a", int64(1), "b", int64(2)),
		object("b", float64(2), "a", int64(1)), object("a", int64(2), "b", int64(1)),
		object("a", object("b", "c")), object("ab", "c"),
	}
	for _, a := range values {
		for _, b := range values {
			if same := FingerprintOf(a) == FingerprintOf(b); same != Equal(a, b) {
				t.Errorf("%#v and %#v: same fingerprint = %v, want %v", a, b, same, !same)
			}
		}
	}
}

func TestFingerprintsAreSums(t *testing.T) {
	field := func(name string, value any) Fingerprint { return FieldFingerprint(name, FingerprintOf(value)) }
	if got := NoFields + field("a", "x") + field("b", object()); got != FingerprintOf(object("b", object(), "a", "x")) {
		t.Error("the fingerprint of an object is not the sum of its fields")
	}
	if got := FingerprintOf(object("a", "x", "b", "y")) - field("b", "y"); got != FingerprintOf(object("a", "x")) {
		t.Error("a field cannot be subtracted")
	}
	item := func(index int, value any) Fingerprint { return ItemFingerprint(index, FingerprintOf(value)) }
	if got := NoItems + item(1, "b") + item(0, "a"); got != FingerprintOf([]any{"a", "b"}) {
		t.Error("the fingerprint of a list is not the sum of its items")
	}
}

func TestFingerprintOfAllocatesNothing(t *testing.T) {
	value := object("a", []any{"b", int64(1), 1.5, nil, true}, "c", object("d", "e"))
	if n := testing.AllocsPerRun(100, func() { FingerprintOf(value) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
