// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Before returns the entries that field management starts from in an update, given those of the persisted object and
// those that the client sent with the object to persist. It decides as upstream's field manager does: an empty list, or
// one empty entry, resets managedFields; a client that sends none, or what cannot be decoded, leaves them as they are.
// Writes through a subresource cannot change them.
func Before(persisted, sent []metav1.ManagedFieldsEntry, subresource bool) []metav1.ManagedFieldsEntry {
	switch {
	case subresource:
		return persisted
	case isReset(sent):
		return nil
	case len(sent) == 0 || !areDecodable(sent):
		return persisted
	}
	return sent
}

func isReset(entries []metav1.ManagedFieldsEntry) bool {
	switch len(entries) {
	case 0:
		return entries != nil
	case 1:
		return entries[0] == metav1.ManagedFieldsEntry{}
	}
	return false
}

func areDecodable(entries []metav1.ManagedFieldsEntry) bool {
	for _, entry := range entries {
		if _, err := decode(entry); err != nil {
			return false
		}
	}
	return true
}
