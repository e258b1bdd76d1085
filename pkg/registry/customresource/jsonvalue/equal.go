// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonvalue compares and identifies JSON values as the API server holds them: map[string]any, []any,
// string, bool, int64, float64 and nil.
package jsonvalue

// Equal reports whether two JSON values are deeply equal. Unlike reflect.DeepEqual it allocates nothing, and unlike
// apiequality.Semantic it tells an empty value from an absent one. Numbers compare by value: 1 and 1.0 are the same
// to JSON. Values of a type that JSON does not have are equal to nothing.
func Equal(a, b any) bool { return equal(a, b, false) }

// Identical reports whether two JSON values are Equal and hold their numbers in the same type, so that nothing in the
// server could tell them apart.
func Identical(a, b any) bool { return equal(a, b, true) }

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
			return !exact && isSame(a, b)
		}
	case float64:
		switch b := b.(type) {
		case float64:
			return a == b
		case int64:
			return !exact && isSame(b, a)
		}
	}
	return false
}

func isSame(i int64, f float64) bool { return isInt64(f) && i == int64(f) }

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

// isInt64 reports whether a float is a whole number that int64 holds exactly.
func isInt64(f float64) bool {
	const limit = 1 << 63
	return f >= -limit && f < limit && f == float64(int64(f))
}

// Contains reports whether part is what the value has in part: objects may leave out fields, lists may leave out items
// but keep the order, all else must be equal.
func Contains(value, part any) bool {
	switch part := part.(type) {
	case map[string]any:
		value, ok := value.(map[string]any)
		return ok && containsFields(value, part)
	case []any:
		value, ok := value.([]any)
		return ok && containsItems(value, part)
	default:
		return Equal(value, part)
	}
}

func containsFields(value, part map[string]any) bool {
	for k, p := range part {
		if v, ok := value[k]; !ok || !Contains(v, p) {
			return false
		}
	}
	return true
}

// containsItems looks for each item after the one before it, so that any lists take linear time.
func containsItems(value, part []any) bool {
	i := 0
	for _, p := range part {
		for i < len(value) && !Contains(value[i], p) {
			i++
		}
		if i == len(value) {
			return false
		}
		i++
	}
	return true
}

// OrNil returns an object as a value. It keeps a nil map from becoming an interface that is not nil.
func OrNil(object map[string]any) any {
	if object == nil {
		return nil
	}
	return object
}
