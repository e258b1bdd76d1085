// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonvalue

import "iter"

// HasUnfound reports whether there may be items that Get has not returned so far.
func (l *ListMap) HasUnfound() bool { return l.prefix < len(l.items) }

// Unfound returns the items that Get has not returned so far, in their order. Items that are no objects, which Get
// never returns, are left out.
func (l *ListMap) Unfound() iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		for i := l.prefix; i < len(l.items); i++ {
			item, ok := l.items[i].(map[string]any)
			if ok && !l.isFound(i) && !yield(item) {
				return
			}
		}
	}
}
