// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonvalue

import "iter"

// HasRemaining reports whether Remaining may return an item. It takes constant time, and is false if all items were
// taken in order.
func (l *ListMap) HasRemaining() bool { return l.prefix < len(l.items) }

// Remaining returns the items that Take has not returned yet, in their order. Items that are not objects are skipped.
func (l *ListMap) Remaining() iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		for i := l.prefix; i < len(l.items); i++ {
			item, ok := l.items[i].(map[string]any)
			if ok && !l.isTaken(i) && !yield(item) {
				return
			}
		}
	}
}
