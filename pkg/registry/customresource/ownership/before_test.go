// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/line"
)

// TestG7BeforeHasTheEntriesOfAnUpdate (rules G7, U8): TestG7BeforeIsUpstreams compares Before with upstream.
func TestG7BeforeHasTheEntriesOfAnUpdate(t *testing.T) {
	persisted, sent := entries{`alice Update v1: {f:spec: {f:a: {}}}`}, entries{`bob Update v1: {f:spec: {f:b: {}}}`}
	truncated := sent.parse(t)
	truncated[0].FieldsV1 = line.NewFields(`{"f:spec":{"f:b`)
	untyped := sent.parse(t)
	untyped[0].FieldsType = ""
	for _, tc := range []struct {
		name        string
		sent        []metav1.ManagedFieldsEntry
		subresource bool
		want        entries
	}{
		{"entries in the request are taken", sent.parse(t), false, sent},
		{"without entries in the request the persisted ones are taken", nil, false, persisted},
		{"an empty list resets them", []metav1.ManagedFieldsEntry{}, false, entries{}},
		{"one empty entry resets them", []metav1.ManagedFieldsEntry{{}}, false, entries{}},
		{"two empty entries cannot be decoded, so they are ignored", []metav1.ManagedFieldsEntry{{}, {}}, false, persisted},
		{"truncated JSON is ignored", truncated, false, persisted},
		{"entries are ignored if one of two cannot be decoded", append(sent.parse(t), truncated...), false, persisted},
		{"entries without fieldsType are ignored", untyped, false, persisted},
		{"a write of a subresource cannot change them", sent.parse(t), true, persisted},
		{"a write of a subresource cannot reset them", []metav1.ManagedFieldsEntry{}, true, persisted},
	} {
		t.Run("G7: "+tc.name, func(t *testing.T) {
			assertEntries(t, tc.want, Before(persisted.parse(t), tc.sent, tc.subresource))
		})
	}
}
