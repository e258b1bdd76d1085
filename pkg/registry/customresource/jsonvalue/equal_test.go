// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonvalue

import (
	"math"
	"testing"
)

func TestEqual(t *testing.T) {
	for _, tc := range []struct {
		name string
		a, b any
		want bool
	}{
		{"null equals null", nil, nil, true},
		{"null does not equal an empty object", nil, object(), false},
		{"an empty object does not equal an empty list", object(), []any{}, false},
		{"a string equals the same string", "a", "a", true},
		{"a string does not equal a number", "1", int64(1), false},
		{"numbers are compared by value, integer first", int64(1), float64(1), true},
		{"numbers are compared by value, float first", float64(1), int64(1), true},
		{"an integer does not equal a fraction", int64(1), 1.5, false},
		{"the largest int64 does not equal 2^63", int64(math.MaxInt64), float64(1 << 63), false},
		{"NaN does not equal itself", math.NaN(), math.NaN(), false},
		{"true does not equal false", true, false, false},
		{"objects are compared by content", object("a", object("b", []any{"c"})), object("a", object("b", []any{"c"})), true},
		{"a null field does not equal an absent field", object("a", nil), object("b", nil), false},
		{"an object with another field is different", object("a", int64(1)), object("a", int64(1), "b", int64(2)), false},
		{"lists in different order are different", []any{"a", "b"}, []any{"b", "a"}, false},
		{"lists of different length are different", []any{"a"}, []any{"a", "a"}, false},
		{"a value of a type that JSON does not have does not equal itself", struct{}{}, struct{}{}, false},
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

// object returns an object of the given names and values, in turn.
func object(kv ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i < len(kv); i += 2 {
		out[kv[i].(string)] = kv[i+1]
	}
	return out
}
