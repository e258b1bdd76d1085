// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonvalue compares JSON values and matches the items of list maps. Values have the types that the API server
// decodes JSON to: map[string]any, []any, string, bool, int64, float64 and nil.
//
// Read the files in this order:
//
//   - equal.go: Equal and Identical compare two values.
//   - contains.go: Contains reports whether one value is a part of another.
//   - listmap.go: ListMap matches the items of two lists of x-kubernetes-list-type: map by their keys.
//   - remaining.go: Remaining returns the items of a ListMap that were not matched.
//   - fingerprint.go: Fingerprint is a hash of a value that can be updated field by field.
package jsonvalue
