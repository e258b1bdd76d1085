// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestG7AFirstApplyOfADisabledFieldDoesNotOwnIt (rule G7.1): the next apply with the gate enabled does.
func TestG7AFirstApplyOfADisabledFieldDoesNotOwnIt(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	u := s.apply("alice", "a", `{image: i, replicas: 3}`)
	s.wantWarnings(droppedReplicas)
	s.wantOwners(u)

	s.flipReplicas(true)
	u = s.apply("alice", "a", `{image: i, replicas: 3}`)
	s.wantWarnings()
	s.wantOwners(u, "alice")
	s.wantSpecOf("the answer", u, "image: i\nreplicas: 3")
}

// TestG7TheOwnerStaysTheOwner (rules G7.2, G11) if it applies the persisted value, and if it applies another one.
func TestG7TheOwnerStaysTheOwner(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	s.flipReplicas(true)
	s.wantOwners(s.apply("alice", "a", `{image: i, replicas: 3}`), "alice")
	s.flipReplicas(false)
	s.wantOwners(s.get("a"), "alice") // G11: a flip rewrites nothing

	// The persisted value does not ask to change the field, so there is no warning.
	u := s.apply("alice", "a", `{image: j, replicas: 3}`)
	s.wantWarnings()
	s.wantOwners(u, "alice")
	s.wantSpecOf("the answer", u, "image: j\nreplicas: 3")
	u = s.apply("alice", "a", `{image: j, replicas: 5}`)
	s.wantWarnings(keptReplicas)
	s.wantOwners(u, "alice")
	s.wantSpecOf("the answer", u, "image: j\nreplicas: 3")

	s.flipReplicas(true)
	u = s.apply("alice", "a", `{image: j, replicas: 5}`)
	s.wantOwners(u, "alice")
	s.wantSpecOf("the answer with the gate enabled again", u, "image: j\nreplicas: 5")
}

// TestG7LeavingOutAnOwnedFieldDoesNotRemoveIt (rule G7.2): the applier only loses its ownership.
func TestG7LeavingOutAnOwnedFieldDoesNotRemoveIt(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	s.flipReplicas(true)
	s.apply("alice", "a", `{image: i, replicas: 3}`)
	s.flipReplicas(false)
	u := s.apply("alice", "a", `{image: i}`)
	s.wantWarnings(keptReplicas)
	s.wantOwners(u)
	s.wantSpecOf("the answer", u, "image: i\nreplicas: 3")
	// The field has no owner: leaving it out again does not ask to remove it.
	s.apply("alice", "a", `{image: j}`)
	s.wantWarnings()
}

// TestG7ADisabledFieldCausesNoConflict (rules G7.1, G7.2, G7.3) until its gate is enabled again.
func TestG7ADisabledFieldCausesNoConflict(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	s.flipReplicas(true)
	s.apply("alice", "a", `{image: i, replicas: 3}`)
	if _, err := s.tryApply("bob", "a", `{replicas: 5}`, metav1.ApplyOptions{}); !apierrors.IsConflict(err) {
		t.Fatalf("want a conflict with the gate enabled, got: %v", err)
	}
	s.flipReplicas(false)
	u := s.apply("bob", "a", `{replicas: 5}`)
	s.wantWarnings(keptReplicas)
	s.wantOwners(u, "alice")
	u = s.mustApply("bob", "a", `{replicas: 5}`, metav1.ApplyOptions{Force: true})
	s.wantWarnings(keptReplicas)
	s.wantOwners(u, "alice")
	s.wantSpecOf("the answer", u, "image: i\nreplicas: 3")

	s.flipReplicas(true)
	if _, err := s.tryApply("bob", "a", `{replicas: 5}`, metav1.ApplyOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("want a conflict with the gate enabled again, got: %v", err)
	}
	s.wantOwners(s.mustApply("bob", "a", `{replicas: 5}`, metav1.ApplyOptions{Force: true}), "bob")
}

// TestG7AnUpdateByAControllerOwnsNothingThatItDidNotChange (rules G7.1, G7.2) updates and patches.
func TestG7AnUpdateByAControllerOwnsNothingThatItDidNotChange(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	s.flipReplicas(true)
	s.apply("alice", "a", `{image: i, replicas: 3}`)
	s.flipReplicas(false)
	for _, w := range apiWriters() {
		if w.applies {
			continue
		}
		s.write(w, "a", `{image: `+strings.ReplaceAll(w.name, " ", "")+`, replicas: 5}`)
		s.wantWarnings(keptReplicas)
		s.wantOwners(s.get("a"), "alice")
		s.wantOwnersOf(s.get("a"), []string{"f:spec", "f:image"}, "writer")
	}
}

// TestG7ThroughListItems (rules G5, G7.1, G7.2): a second applier owns the item that it adds, but no disabled field.
func TestG7ThroughListItems(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, `featureGates: [{name: Size, preRelease: alpha, enabled: true, fieldPaths: ['.spec.containers[*].size']}]`))
	field := []string{"f:spec", "f:containers", `k:{"name":"a"}`, "f:size"}
	u := s.apply("alice", "a", `{containers: [{name: a, size: 1}]}`)
	s.wantOwnersOf(u, field, "alice")
	s.flip(map[string]bool{"Size": false}, `{containers: [{name: a, size: 1}]}`, "containers:\n- name: a")
	u = s.apply("bob", "a", `{containers: [{name: a, size: 5}, {name: b, size: 6}]}`)
	s.wantWarnings(`.spec.containers[*].size: not updated: feature gate "Size" is disabled`)
	s.wantOwnersOf(u, field, "alice")
	s.wantOwnersOf(u, []string{"f:spec", "f:containers", `k:{"name":"b"}`, "f:name"}, "bob")
	s.wantSpecOf("the answer", u, "containers:\n- name: a\n  size: 1\n- name: b")
}

// TestG7SeveralFieldsOfTheItemsOfAList (rules G7.1, G7.4) has two gates for fields of the same list. Each removes its
// field from managedFields, and none removes the item, so the applier can remove the item later.
func TestG7SeveralFieldsOfTheItemsOfAList(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, `featureGates: [
 {name: Size, preRelease: alpha, fieldPaths: ['.spec.containers[*].size']},
 {name: Port, preRelease: alpha, fieldPaths: ['.spec.containers[*].port']}]`))
	item := []string{"f:spec", "f:containers", `k:{"name":"a"}`}
	u := s.apply("alice", "a", `{containers: [{name: a, size: 1, port: 2}]}`)
	for field, want := range map[string][]string{"f:size": nil, "f:port": nil, "f:name": {"alice"}, ".": {"alice"}} {
		s.wantOwnersOf(u, append(slices.Clip(item), field), want...)
	}
	u = s.apply("alice", "a", `{containers: [{name: b, size: 1}]}`)
	s.wantSpecOf("the object after its applier removed the item", u, "containers:\n- name: b")
}

// TestG7ScaleOwnsNothingThatItDidNotChange (rules G7.1, G7.2, G9) does not use server-side apply, which fails for the
// scale of custom resources upstream too: the converter does not support Scale.
func TestG7ScaleOwnsNothingThatItDidNotChange(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newScalableCRD(t))
	s.flipReplicas(true)
	s.apply("alice", "a", `{replicas: 3}`)
	s.flipReplicas(false)
	before := s.get("a")
	for _, replicas := range []int64{3, 5} {
		patch := fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, replicas)
		if _, err := s.client.Patch(t.Context(), "a", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "bob"}, "scale"); err != nil {
			t.Fatal(err)
		}
		s.scale("a", replicas)
	}
	s.wantUnchanged("scale", before)
}
