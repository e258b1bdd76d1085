// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// owners returns who owns a field, given as in managedFields: f:spec f:replicas.
func owners(t *testing.T, u *unstructured.Unstructured, path ...string) []string {
	t.Helper()
	var names []string
	for _, entry := range u.GetManagedFields() {
		var fields map[string]any
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			t.Fatal(err)
		}
		if _, found, _ := unstructured.NestedFieldNoCopy(fields, path...); found {
			names = append(names, entry.Manager)
		}
	}
	slices.Sort(names)
	return names
}

var replicasField = []string{"f:spec", "f:replicas"}

// apply applies the object "a".
func (s subject) apply(manager, spec string, force bool) (*unstructured.Unstructured, error) {
	s.Helper()
	s.takeWarnings()
	return s.client.Apply(s.Context(), "a", cronTab(s.T, s.crd, "a", spec), metav1.ApplyOptions{FieldManager: manager, Force: force})
}

func (s subject) mustApply(manager, spec string, force bool) *unstructured.Unstructured {
	s.Helper()
	u, err := s.apply(manager, spec, force)
	if err != nil {
		s.Fatal(err)
	}
	return u
}

func (s subject) wantOwners(u *unstructured.Unstructured, want ...string) {
	s.Helper()
	if diff := cmp.Diff(want, owners(s.T, u, replicasField...)); diff != "" {
		s.Errorf("G7: owners of .spec.replicas (-want +got):\n%s", diff)
	}
}

func (s subject) wantWarnings(want ...string) {
	s.Helper()
	if diff := cmp.Diff(want, s.takeWarnings()); diff != "" {
		s.Errorf("G10: warnings (-want +got):\n%s", diff)
	}
}

// TestG7AFirstApplyOfADisabledFieldDoesNotOwnIt (rule G7.1): the first apply with the gate on does.
func TestG7AFirstApplyOfADisabledFieldDoesNotOwnIt(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	u := s.mustApply("alice", `{image: i, replicas: 3}`, false)
	s.wantWarnings(droppedReplicas)
	s.wantOwners(u)

	// Once the gate is on, the next apply that names the field owns it.
	s.flipReplicas(true)
	u = s.mustApply("alice", `{image: i, replicas: 3}`, false)
	s.wantWarnings()
	s.wantOwners(u, "alice")
	if got := specOf(t, u); got != "image: i\nreplicas: 3" {
		t.Errorf("spec is %q", got)
	}
}

// TestG7TheOwnerStaysTheOwner (rules G7.2, G11), whether she applies the persisted value or another one.
func TestG7TheOwnerStaysTheOwner(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	s.flipReplicas(true)
	s.wantOwners(s.mustApply("alice", `{image: i, replicas: 3}`, false), "alice")
	s.flipReplicas(false)
	s.wantOwners(s.get("a"), "alice") // G11: a flip rewrites nothing

	// The same value is no attempt to change the field.
	u := s.mustApply("alice", `{image: j, replicas: 3}`, false)
	s.wantWarnings()
	s.wantOwners(u, "alice")
	if got := specOf(t, u); got != "image: j\nreplicas: 3" {
		t.Errorf("spec is %q", got)
	}
	// Another value is one.
	u = s.mustApply("alice", `{image: j, replicas: 5}`, false)
	s.wantWarnings(keptReplicas)
	s.wantOwners(u, "alice")
	if got := specOf(t, u); got != "image: j\nreplicas: 3" {
		t.Errorf("spec is %q", got)
	}

	s.flipReplicas(true)
	u = s.mustApply("alice", `{image: j, replicas: 5}`, false)
	s.wantOwners(u, "alice")
	if got := specOf(t, u); got != "image: j\nreplicas: 5" {
		t.Errorf("with the gate back on: spec is %q", got)
	}
}

// TestG7LeavingOutAnOwnedFieldDoesNotRemoveIt (rule G7.2): it ends the ownership of the applier.
func TestG7LeavingOutAnOwnedFieldDoesNotRemoveIt(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	s.flipReplicas(true)
	s.mustApply("alice", `{image: i, replicas: 3}`, false)
	s.flipReplicas(false)
	u := s.mustApply("alice", `{image: i}`, false)
	s.wantWarnings(keptReplicas)
	s.wantOwners(u)
	if got := specOf(t, u); got != "image: i\nreplicas: 3" {
		t.Errorf("spec is %q", got)
	}
	// It is nobody's now: leaving it out again asks for nothing.
	s.mustApply("alice", `{image: j}`, false)
	s.wantWarnings()
}

// TestG7ADisabledFieldRaisesNoConflict (rules G7.1, G7.2, G7.3): with the gate back on it does again.
func TestG7ADisabledFieldRaisesNoConflict(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	s.flipReplicas(true)
	s.mustApply("alice", `{image: i, replicas: 3}`, false)
	if _, err := s.apply("bob", `{replicas: 5}`, false); !apierrors.IsConflict(err) {
		t.Fatalf("with the gate on there is no conflict: %v", err)
	}
	s.flipReplicas(false)
	u := s.mustApply("bob", `{replicas: 5}`, false)
	s.wantWarnings(keptReplicas)
	s.wantOwners(u, "alice")
	u = s.mustApply("bob", `{replicas: 5}`, true)
	s.wantWarnings(keptReplicas)
	s.wantOwners(u, "alice")
	if got := specOf(t, u); got != "image: i\nreplicas: 3" {
		t.Errorf("spec is %q", got)
	}

	s.flipReplicas(true)
	if _, err := s.apply("bob", `{replicas: 5}`, false); !apierrors.IsConflict(err) {
		t.Errorf("with the gate back on there is no conflict: %v", err)
	}
	s.wantOwners(s.mustApply("bob", `{replicas: 5}`, true), "bob")
}

// TestG7AnUpdateByAControllerOwnsNothingThatItDidNotChange (rules G7.1, G7.2), by every verb but apply.
func TestG7AnUpdateByAControllerOwnsNothingThatItDidNotChange(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	s.flipReplicas(true)
	s.mustApply("alice", `{image: i, replicas: 3}`, false)
	s.flipReplicas(false)
	for _, w := range writers {
		if w.apply || strings.HasPrefix(w.name, "kubectl") {
			continue // these go by other names
		}
		s.write(w, "a", `{image: `+strings.ReplaceAll(w.name, " ", "")+`, replicas: 5}`)
		s.wantWarnings(keptReplicas)
		s.wantOwners(s.get("a"), "alice")
		if diff := cmp.Diff([]string{"writer"}, owners(t, s.get("a"), "f:spec", "f:image")); diff != "" {
			t.Errorf("%s: owners of .spec.image (-want +got):\n%s", w.name, diff)
		}
	}
}

// TestG7ThroughListItems (rules G5, G7.1, G7.2): another applier owns the item that it adds, and no disabled field.
func TestG7ThroughListItems(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, `featureGates: [{name: Size, preRelease: alpha, enabled: true, fieldPaths: ['.spec.containers[*].size']}]`))
	field := []string{"f:spec", "f:containers", `k:{"name":"a"}`, "f:size"}
	u := s.mustApply("alice", `{containers: [{name: a, size: 1}]}`, false)
	if diff := cmp.Diff([]string{"alice"}, owners(t, u, field...)); diff != "" {
		t.Errorf("enabled (-want +got):\n%s", diff)
	}
	s.flip(map[string]bool{"Size": false}, `{containers: [{name: a, size: 1}]}`, "containers:\n- name: a")
	u = s.mustApply("bob", `{containers: [{name: a, size: 5}, {name: b, size: 6}]}`, false)
	s.wantWarnings(`.spec.containers[*].size: not updated: feature gate "Size" is disabled`)
	if diff := cmp.Diff([]string{"alice"}, owners(t, u, field...)); diff != "" {
		t.Errorf("disabled (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"bob"}, owners(t, u, "f:spec", "f:containers", `k:{"name":"b"}`, "f:name")); diff != "" {
		t.Errorf("the item that bob added (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("containers:\n- name: a\n  size: 1\n- name: b", specOf(t, u)); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

// TestG7SeveralFieldsOfTheItemsOfAList has two gates below one list: each takes its own field out of managedFields, and
// neither the item, whose owner removes it later.
func TestG7SeveralFieldsOfTheItemsOfAList(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, `featureGates: [
 {name: Size, preRelease: alpha, fieldPaths: ['.spec.containers[*].size']},
 {name: Port, preRelease: alpha, fieldPaths: ['.spec.containers[*].port']}]`))
	item := []string{"f:spec", "f:containers", `k:{"name":"a"}`}
	u := s.mustApply("alice", `{containers: [{name: a, size: 1, port: 2}]}`, false)
	for field, want := range map[string][]string{"f:size": nil, "f:port": nil, "f:name": {"alice"}, ".": {"alice"}} {
		if diff := cmp.Diff(want, owners(t, u, append(slices.Clip(item), field)...)); diff != "" {
			t.Errorf("owners of %s (-want +got):\n%s", field, diff)
		}
	}
	u = s.mustApply("alice", `{containers: [{name: b, size: 1}]}`, false)
	if diff := cmp.Diff("containers:\n- name: b", specOf(t, u)); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

// TestG7ScaleOwnsNothingThatItDidNotChange (rules G7.1, G7.2, G9).
func TestG7ScaleOwnsNothingThatItDidNotChange(t *testing.T) {
	t.Parallel()
	s := newSubject(t, scalable(t))
	s.flipReplicas(true)
	s.mustApply("alice", `{replicas: 3}`, false)
	s.flipReplicas(false)
	before := s.get("a")
	// Server-side apply to the scale of a custom resource fails upstream too: its converter does not know Scale.
	for _, replicas := range []string{"3", "5"} {
		patch := []byte(`{"spec": {"replicas": ` + replicas + `}}`)
		if _, err := s.client.Patch(t.Context(), "a", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "bob"}, "scale"); err != nil {
			t.Fatal(err)
		}
		scale, err := s.client.Get(t.Context(), "a", metav1.GetOptions{}, "scale")
		if err != nil {
			t.Fatal(err)
		}
		scale.Object["spec"] = parse[map[string]any](t, "{replicas: "+replicas+"}")
		if _, err := s.client.Update(t.Context(), scale, metav1.UpdateOptions{FieldManager: "carol"}, "scale"); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(before, s.get("a")); diff != "" {
		t.Errorf("scale changed the object or its owners:\n%s", diff)
	}
}
