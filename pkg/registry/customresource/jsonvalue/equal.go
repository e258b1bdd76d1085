// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonvalue

// Equal reports whether two JSON values are deeply equal. Numbers are compared by value: 1 equals 1.0. An empty value
// is not equal to null, unlike in apiequality.Semantic. A value of a type that is not listed in the package comment is
// not equal to anything. Unlike reflect.DeepEqual, Equal does not allocate.
func Equal(a, b any) bool { return equal(a, b, false) }

// Identical reports whether two JSON values are Equal and their numbers have the same Go types: int64(1) and float64(1)
// are not Identical.
func Identical(a, b any) bool { return equal(a, b, true) }

// equal compares two values. If exact is set, an int64 is not equal to a float64.
func equal(a, b any, exact bool) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && equalMaps(a, b, exact)
	case []any:
		b, ok := b.([]any)
		return ok && equalLists(a, b, exact)
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case int64:
		switch b := b.(type) {
		case int64:
			return a == b
		case float64:
			return !exact && isSameNumber(a, b)
		}
	case float64:
		switch b := b.(type) {
		case float64:
			return a == b
		case int64:
			return !exact && isSameNumber(b, a)
		}
	}
	return false
}

// isSameNumber reports whether an integer and a float are the same number.
func isSameNumber(i int64, f float64) bool { return isInt64(f) && i == int64(f) }

func equalMaps(a, b map[string]any, exact bool) bool {
	if len(a) != len(b) {
		return false
	}
	for k, av := range a {
		if bv, ok := b[k]; !ok || !equal(av, bv, exact) {
			return false
		}
	}
	return true
}

func equalLists(a, b []any, exact bool) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equal(a[i], b[i], exact) {
			return false
		}
	}
	return true
}

// isInt64 reports whether a float is a whole number in the range of int64.
func isInt64(f float64) bool {
	const limit = 1 << 63
	return f >= -limit && f < limit && f == float64(int64(f))
}

// OrNil returns the object, or an untyped nil if the object is nil. Without it, a nil map that is converted to an
// interface would not compare equal to nil.
func OrNil(object map[string]any) any {
	if object == nil {
		return nil
	}
	return object
}
