// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonvalue

// Contains reports whether part is a part of the value. The objects in part may lack fields of the value, and its lists
// may lack items, but the items must be in the same order. Everything else must be Equal.
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

// containsItems searches for each item after the previous match, so that every item of value is visited once.
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
