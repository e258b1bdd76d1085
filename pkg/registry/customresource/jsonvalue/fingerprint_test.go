// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonvalue

import (
	"math"
	"testing"
)

func TestFingerprintsAreTheSameExactlyForEqualValues(t *testing.T) {
	values := []any{
		nil, true, false, "", "a", "true", "1", int64(0), int64(1), int64(-1), int64(math.MaxInt64), int64(math.MinInt64),
		float64(0), math.Copysign(0, -1), float64(1), 1.5, float64(1 << 63), float64(-(1 << 63)), math.Inf(1),
		[]any{}, []any{nil}, []any{[]any{}}, []any{map[string]any{}}, []any{"a", "b"}, []any{"b", "a"}, []any{"a", "a"}, []any{"a"},
		item(), item("a", nil), item("a", item()), item("a", []any{}), item("", ""), item("a", "b"), item("b", "a"),
		item("a", "a"), item("a", int64(1)), item("a", float64(1)), item("a", int64(1), "b", int64(2)),
		item("b", float64(2), "a", int64(1)), item("a", int64(2), "b", int64(1)), item("a", item("b", "c")), item("ab", "c"),
	}
	for _, a := range values {
		for _, b := range values {
			if same := FingerprintOf(a) == FingerprintOf(b); same != Equal(a, b) {
				t.Errorf("%#v and %#v: same fingerprint: %v", a, b, same)
			}
		}
	}
}

func TestFingerprintsOfObjectsAreSums(t *testing.T) {
	field := func(name string, value any) Fingerprint { return FieldFingerprint(name, FingerprintOf(value)) }
	if got := NoFields + field("a", "x") + field("b", item()); got != FingerprintOf(item("b", item(), "a", "x")) {
		t.Error("fields do not add up")
	}
	if got := FingerprintOf(item("a", "x", "b", "y")) - field("b", "y"); got != FingerprintOf(item("a", "x")) {
		t.Error("a field cannot be taken away")
	}
	if got := NoItems + ItemFingerprint(1, FingerprintOf("b")) + ItemFingerprint(0, FingerprintOf("a")); got != FingerprintOf([]any{"a", "b"}) {
		t.Error("items do not add up")
	}
}

func TestFingerprintOfAllocatesNothing(t *testing.T) {
	value := item("a", []any{"b", int64(1), 1.5, nil, true}, "c", item("d", "e"))
	if n := testing.AllocsPerRun(100, func() { FingerprintOf(value) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
