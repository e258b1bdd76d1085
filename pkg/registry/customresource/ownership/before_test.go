// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestG7EntriesThatFieldManagementStartsFrom (rules G7, U8). TestG7BeforeIsUpstreams compares them with upstream's.
func TestG7EntriesThatFieldManagementStartsFrom(t *testing.T) {
	persisted, sent := entries{`alice Update v1: {f:spec: {f:a: {}}}`}, entries{`bob Update v1: {f:spec: {f:b: {}}}`}
	truncated := sent.parse(t)
	truncated[0].FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{"f:b`)
	untyped := sent.parse(t)
	untyped[0].FieldsType = ""
	for _, tc := range []struct {
		name        string
		sent        []metav1.ManagedFieldsEntry
		subresource bool
		want        entries
	}{
		{"what the client sent", sent.parse(t), false, sent},
		{"none sent: the persisted ones", nil, false, persisted},
		{"an empty list resets them", []metav1.ManagedFieldsEntry{}, false, entries{}},
		{"one empty entry resets them", []metav1.ManagedFieldsEntry{{}}, false, entries{}},
		{"two empty entries cannot be decoded", []metav1.ManagedFieldsEntry{{}, {}}, false, persisted},
		{"truncated JSON: the persisted ones", truncated, false, persisted},
		{"one of two is broken: the persisted ones", append(sent.parse(t), truncated...), false, persisted},
		{"no fieldsType: the persisted ones", untyped, false, persisted},
		{"a subresource cannot change them", sent.parse(t), true, persisted},
		{"a subresource cannot reset them", []metav1.ManagedFieldsEntry{}, true, persisted},
	} {
		t.Run("G7: "+tc.name, func(t *testing.T) {
			got := Before(persisted.parse(t), tc.sent, tc.subresource)
			if diff := cmp.Diff(described(t, tc.want.parse(t)), described(t, got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
