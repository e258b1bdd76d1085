// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Before returns the entries that field management of an update starts from. persisted are the entries of the persisted
// object, and sent those in the request. Like upstream's field manager, it lets a request reset managedFields with an
// empty list or one empty entry, and ignores entries that cannot be decoded. Writes of a subresource cannot change
// managedFields.
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
