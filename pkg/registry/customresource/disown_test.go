// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/pkg/endpoints/applied"
)

func managed(manager, operation, version, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), APIVersion: "example.com/" + version,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

func fieldsByManager(u *unstructured.Unstructured) map[string]string {
	got := map[string]string{}
	for _, entry := range u.GetManagedFields() {
		got[entry.Manager+" "+string(entry.Operation)] = string(entry.FieldsV1.GetRawBytes())
	}
	return got
}

// TestG7OwnershipOfADisabledFieldLapsesWithAWriteOfItsOwner has count persisted as 3, disabled, and written as it is:
// the evaluation leaves it alone.
func TestG7OwnershipOfADisabledFieldLapsesWithAWriteOfItsOwner(t *testing.T) {
	const count, image, both = `{"f:spec":{"f:count":{}}}`, `{"f:spec":{"f:image":{}}}`, `{"f:spec":{"f:count":{},"f:image":{}}}`
	entries := func(entries ...metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry { return entries }
	apply := func(manager, fields string) metav1.ManagedFieldsEntry {
		return managed(manager, "Apply", "v1beta1", fields)
	}
	update := func(manager, fields string) metav1.ManagedFieldsEntry {
		return managed(manager, "Update", "v1beta1", fields)
	}
	spec := func(image string) map[string]any { return map[string]any{"image": image, "count": int64(3)} }

	for _, tc := range []struct {
		name          string
		before, asked []metav1.ManagedFieldsEntry
		image         string         // that the request makes of i
		applied       map[string]any // as spec
		want          map[string]string
		conversions   int
	}{
		{
			name:  "who applies the persisted value owns nothing",
			asked: entries(apply("bob", count)), image: "i", applied: map[string]any{"count": int64(3)},
			want: map[string]string{}, conversions: 3,
		},
		{
			name:   "the owner's next apply",
			before: entries(apply("alice", both)),
			asked:  entries(apply("alice", both)), image: "j", applied: spec("j"),
			want: map[string]string{"alice Apply": image}, conversions: 3,
		},
		{
			name:   "the owner's next apply, which changes nothing",
			before: entries(apply("alice", both)),
			asked:  entries(apply("alice", both)), image: "i", applied: spec("i"),
			want: map[string]string{"alice Apply": image}, conversions: 3,
		},
		{
			name:   "somebody else's apply leaves the owner alone",
			before: entries(apply("alice", count), update("creator", both)),
			asked:  entries(apply("alice", count), apply("bob", image), update("creator", count)), image: "j",
			applied: map[string]any{"image": "j"},
			want:    map[string]string{"alice Apply": count, "bob Apply": image, "creator Update": count}, conversions: 3,
		},
		{
			name:   "of two with the same fields the new one wrote",
			before: entries(apply("alice", both)),
			asked:  entries(apply("alice", both), apply("bob", both)), image: "i", applied: spec("i"),
			want: map[string]string{"alice Apply": both, "bob Apply": image}, conversions: 3,
		},
		{
			name:   "of two with the same fields nobody can tell who wrote the same again",
			before: entries(apply("alice", both), apply("bob", both)),
			asked:  entries(apply("alice", both), apply("bob", both)), image: "i", applied: spec("i"),
			want: map[string]string{"alice Apply": both, "bob Apply": both}, conversions: 2,
		},
		{
			name:   "the owner's next update",
			before: entries(update("alice", both)),
			asked:  entries(update("alice", both)), image: "j",
			want: map[string]string{"alice Update": image}, conversions: 3,
		},
		{
			name:   "somebody else's update",
			before: entries(update("alice", both), apply("carol", count)),
			asked:  entries(update("alice", count), update("bob", image), apply("carol", count)), image: "j",
			want: map[string]string{"alice Update": count, "bob Update": image, "carol Apply": count}, conversions: 3,
		},
		{
			name:   "an update that changes nothing tells nothing",
			before: entries(update("alice", both)),
			asked:  entries(update("alice", both)), image: "i",
			want: map[string]string{"alice Update": both}, conversions: 2,
		},
		{
			name:   "entries of other versions are reset fields' business",
			before: entries(managed("alice", "Update", "v1", `{"f:spec":{"f:replicas":{}}}`)),
			asked:  entries(managed("alice", "Update", "v1", `{"f:spec":{"f:replicas":{}}}`), update("bob", image)), image: "j",
			want: map[string]string{"alice Update": `{"f:spec":{"f:replicas":{}}}`, "bob Update": image}, conversions: 3,
		},
		{
			name:   "metadata is owned as ever",
			before: entries(update("alice", `{"f:metadata":{"f:labels":{"f:changed-by":{}}},"f:spec":{"f:count":{},"f:image":{}}}`)),
			asked:  entries(update("alice", `{"f:metadata":{"f:labels":{"f:changed-by":{}}},"f:spec":{"f:count":{},"f:image":{}}}`)), image: "j",
			want: map[string]string{"alice Update": `{"f:metadata":{"f:labels":{"f:changed-by":{}}},"f:spec":{"f:image":{}}}`}, conversions: 3,
		},
	} {
		t.Run("G7: "+tc.name, func(t *testing.T) {
			webhook := &renamer{}
			ctx, request := planFor(t, withWebhook(t), webhook).Resource("v1beta1").Begin(t.Context(), nil)
			if tc.applied != nil {
				applied.Note(ctx, customResource("v1beta1", tc.applied).Object)
			}
			old, u := customResource("v1beta1", spec("i")), customResource("v1beta1", spec(tc.image))
			old.SetManagedFields(tc.before)
			u.SetManagedFields(tc.asked)
			if err := request.evaluate(u, old); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, fieldsByManager(u)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if webhook.calls != tc.conversions {
				t.Errorf("%d conversions, want %d", webhook.calls, tc.conversions)
			}
			if diff := cmp.Diff(spec(tc.image), u.Object["spec"]); diff != "" {
				t.Errorf("the object changed (-want +got):\n%s", diff)
			}
		})
	}
}

// TestG7LeavingOutAnOwnedFieldLetsGoOfIt has an apply that no longer names what it owned, and a gate that sets it back.
func TestG7LeavingOutAnOwnedFieldLetsGoOfIt(t *testing.T) {
	ctx, request := planFor(t, withWebhook(t), &renamer{}).Resource("v1beta1").Begin(t.Context(), nil)
	applied.Note(ctx, customResource("v1beta1", map[string]any{"image": "i"}).Object)
	old := customResource("v1beta1", map[string]any{"image": "i", "count": int64(3)})
	old.SetManagedFields([]metav1.ManagedFieldsEntry{
		managed("alice", "Apply", "v1beta1", `{"f:spec":{"f:count":{},"f:image":{}}}`),
	})
	u := customResource("v1beta1", map[string]any{"image": "i"})
	u.SetManagedFields([]metav1.ManagedFieldsEntry{managed("alice", "Apply", "v1beta1", `{"f:spec":{"f:image":{}}}`)})
	if err := request.evaluate(u, old); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"alice Apply": `{"f:spec":{"f:image":{}}}`}, fieldsByManager(u)); diff != "" {
		t.Errorf("G7: (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(old.Object["spec"], u.Object["spec"]); diff != "" {
		t.Errorf("G2: (-want +got):\n%s", diff)
	}
}

// TestG1NothingIsConvertedForOwnersWhereNoFieldIsDisabled counts the conversions of an update without the field.
func TestG1NothingIsConvertedForOwnersWhereNoFieldIsDisabled(t *testing.T) {
	webhook := &renamer{}
	_, request := planFor(t, withWebhook(t), webhook).Resource("v1beta1").Begin(t.Context(), nil)
	old, u := customResource("v1beta1", map[string]any{"image": "i"}), customResource("v1beta1", map[string]any{"image": "j"})
	u.SetManagedFields([]metav1.ManagedFieldsEntry{managed("alice", "Update", "v1beta1", `{"f:spec":{"f:image":{}}}`)})
	if err := request.evaluate(u, old); err != nil {
		t.Fatal(err)
	}
	if webhook.calls != 2 {
		t.Errorf("%d conversions, want those of the object and the persisted one", webhook.calls)
	}
}

func TestLapse(t *testing.T) {
	object := func(kv ...any) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			out[kv[i].(string)] = kv[i+1]
		}
		return out
	}
	leaf := object()
	for _, tc := range []struct {
		name                     string
		fields, settled, without map[string]any
		want                     map[string]any
	}{
		{"absent", object("f:a", leaf, "f:b", leaf), object("a", int64(1), "b", int64(2)), object("b", int64(2)), object("f:b", leaf)},
		{"what Go types encode for absent", object("f:a", leaf), object("a", int64(1)), object("a", int64(0)), object()},
		{"another shape: only a part of it is disabled", object("f:size", leaf), object("size", "3x5"), object("size", "x5"), object("f:size", leaf)},
		{"an atomic list that loses an item", object("f:l", leaf), object("l", []any{"a", "b"}), object("l", []any{"a"}), object("f:l", leaf)},
		{"an object, with the object itself", object("f:o", object(".", leaf, "f:a", leaf)), object("o", object("a", int64(1))), object(), object()},
		{
			"a field of an object, which stays (G3)",
			object("f:o", object(".", leaf, "f:a", leaf)), object("o", object("a", int64(1))), object("o", object()),
			object("f:o", object(".", leaf)),
		},
		{
			"an item and a field of another",
			object("f:l", object(`k:{"n":"a"}`, object(".", leaf, "f:n", leaf), `k:{"n":"b"}`, object("f:n", leaf, "f:s", leaf))),
			object("l", []any{object("n", "a"), object("n", "b", "s", int64(1))}), object("l", []any{object("n", "b")}),
			object("f:l", object(`k:{"n":"b"}`, object("f:n", leaf))),
		},
		{"nothing owned", object(), object("a", int64(1)), object(), object()},
	} {
		t.Run("G7: "+tc.name, func(t *testing.T) {
			lapse(tc.fields, tc.settled, tc.without)
			if diff := cmp.Diff(tc.want, tc.fields); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestIsSetOf(t *testing.T) {
	leaf := map[string]any{}
	list := []any{map[string]any{"n": "a", "s": int64(1)}, map[string]any{"n": "b"}}
	items := map[string]any{
		`k:{"n":"a"}`: map[string]any{".": leaf, "f:n": leaf, "f:s": leaf},
		`k:{"n":"b"}`: map[string]any{".": leaf, "f:n": leaf},
	}
	for _, tc := range []struct {
		name   string
		fields map[string]any
		value  any
		want   bool
	}{
		{"a scalar", leaf, int64(1), true},
		{"an object", map[string]any{"f:a": leaf, "f:b": leaf}, map[string]any{"a": int64(1), "b": "x"}, true},
		{"a field more in the value", map[string]any{"f:a": leaf}, map[string]any{"a": int64(1), "b": "x"}, false},
		{"a field more in the set", map[string]any{"f:a": leaf, "f:b": leaf}, map[string]any{"a": int64(1)}, false},
		{"fields of a scalar", map[string]any{"f:a": leaf}, int64(1), false},
		{"an atomic object", leaf, map[string]any{"a": int64(1)}, true},
		{"a list map", items, list, true},
		{"a list map with another item", items, []any{list[0], map[string]any{"n": "c"}}, false},
		{"a list map with an item more", items, append(list, map[string]any{"n": "c"}), false},
		{"a set", map[string]any{`v:"a"`: leaf, `v:"b"`: leaf}, []any{"a", "b"}, true},
		{"a set with an item more", map[string]any{`v:"a"`: leaf}, []any{"a", "b"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := isSetOf(tc.fields, tc.value); got != tc.want {
				t.Errorf("isSetOf(%v, %v) = %v", tc.fields, tc.value, got)
			}
		})
	}
}

func TestG7OfADroppedObjectNothingIsOwned(t *testing.T) {
	fields := map[string]any{"f:foo": map[string]any{".": map[string]any{}, "f:bar": map[string]any{}}}
	disownFields(fields, map[string]any{"foo": map[string]any{"bar": int64(1)}}, map[string]any{})
	if len(fields) != 0 {
		t.Errorf("G7: left with %v", fields)
	}
}

// TestAGoneEntryOfAnotherVersionStaysGone has a manager that lost all it had in the storage version.
func TestAGoneEntryOfAnotherVersionStaysGone(t *testing.T) {
	_, request := planFor(t, withWebhook(t), &renamer{}).Resource("v1beta1").Begin(t.Context(), nil)
	old := customResource("v1beta1", map[string]any{"image": "i", "count": int64(3)})
	old.SetManagedFields([]metav1.ManagedFieldsEntry{managed("alice", "Update", "v1", `{"f:spec":{"f:image":{}}}`)})
	u := customResource("v1beta1", map[string]any{"image": "j", "count": int64(5)})
	u.SetManagedFields([]metav1.ManagedFieldsEntry{managed("bob", "Update", "v1beta1", `{"f:spec":{"f:image":{}}}`)})
	if err := request.evaluate(u, old); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"bob Update": `{"f:spec":{"f:image":{}}}`}, fieldsByManager(u)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
