// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var countField = []string{"f:spec", "f:count"}

// wantFieldOwners compares the managers that own .spec.replicas or .spec.count, since each managedFields entry has the
// name of its version.
func (c converted) wantFieldOwners(what string, u *unstructured.Unstructured, want ...string) {
	c.Helper()
	got := append(owners(c.T, u, replicasField...), owners(c.T, u, countField...)...)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		c.Errorf("G7: %s: owners of .spec.replicas or .spec.count (-want +got):\n%s", what, diff)
	}
}

// TestG1ConvWebhookG7NobodyOwnsADroppedOrKeptField (rules G1, G7.1, G7.2) writes v1beta1.
func TestG1ConvWebhookG7NobodyOwnsADroppedOrKeptField(t *testing.T) {
	t.Parallel()
	s := newConverted(t, replicasGate, renameCount)
	created, _ := create(t, s.beta.client, cronTab(t, s.beta.crd, "created", `{image: i, count: 3}`), metav1.CreateOptions{FieldManager: "alice"})
	s.wantFieldOwners("create", created)
	s.wantFieldOwners("apply that creates", s.beta.apply("alice", "applied", `{image: i, count: 3}`))
	for version, spec := range map[string]string{"v1": `{image: i, replicas: 3}`, "v1beta1": `{image: i, count: 3}`} {
		creator := s.inVersion(version)
		for i, w := range apiWriters() {
			name := fmt.Sprintf("%s-%d", version, i)
			s.flipReplicas(true)
			create(t, creator.client, cronTab(t, creator.crd, name, spec), metav1.CreateOptions{FieldManager: "creator"})
			s.flipReplicas(false)
			s.beta.write(w, name, `{image: j, count: 5}`)
			s.wantFieldOwners(w.name+" of another value, created in "+version, s.beta.get(name), "creator")
		}
	}
}

// TestG1ConvWebhookG7NoConflict (rules G1, G7.3) has an owner in the stored version.
func TestG1ConvWebhookG7NoConflict(t *testing.T) {
	t.Parallel()
	s := newConverted(t, replicasGate, renameCount)
	s.flipReplicas(true)
	s.apply("alice", "a", `{image: i, replicas: 3}`)
	s.flipReplicas(false)
	s.beta.apply("bob", "a", `{count: 5}`)
	s.beta.wantWarnings(keptReplicas)
	s.wantSpec("a", "image: i\nreplicas: 3")
}

// TestG1ConvWebhookG7Scale (rules G1, G6, G7.2): a scale in v1beta1 changes neither the object nor its owners.
func TestG1ConvWebhookG7Scale(t *testing.T) {
	t.Parallel()
	s := newConverted(t, replicasGate, renameCount, scalable(t))
	name := s.persist(`{image: i, replicas: 3}`)
	s.flipReplicas(false)
	before := s.get(name)
	s.beta.scale(name, 5)
	s.wantUnchanged("G6, G7: scale", before)
}

// TestG1ConvWebhookG7ApplyingThePersistedValueShares (rules G1, G6, G7.1, G7.2): an applier becomes a second owner of a
// kept field if it applies the persisted value, and only then.
func TestG1ConvWebhookG7ApplyingThePersistedValueShares(t *testing.T) {
	t.Parallel()
	s := newConverted(t, replicasGate, renameCount)
	s.flipReplicas(true)
	create(t, s.client, cronTab(t, s.crd, "a", `{image: i, replicas: 3}`), metav1.CreateOptions{FieldManager: "creator"})
	s.flipReplicas(false)

	u := s.beta.apply("bob", "a", `{image: i, count: 3}`)
	s.beta.wantWarnings()
	s.wantFieldOwners("apply of the persisted value", u, "bob", "creator")
	s.wantOwnersOf(u, []string{"f:spec", "f:image"}, "bob", "creator")
	before := s.get("a")
	s.beta.apply("bob", "a", `{image: i, count: 3}`)
	s.wantUnchanged("G6: the apply, sent again,", before)

	s.wantFieldOwners("apply of another value", s.beta.apply("carol", "a", `{count: 4}`), "bob", "creator")
	s.beta.wantWarnings(keptReplicas)
	s.wantFieldOwners("apply without the field", s.beta.apply("bob", "a", `{image: i}`), "creator")
	s.beta.wantWarnings()
}

// ownerCase is what the owner of a field does before and while its gate is disabled.
type ownerCase struct {
	name      string
	own, next func(beta subject)
	want      string // the spec in v1 after next
	warnings  []string
	owners    []string // of the field, after next
}

func applies(spec string) func(subject) {
	return func(beta subject) { beta.apply("writer", "a", spec) }
}

func puts(spec string) func(subject) {
	return func(beta subject) { beta.write(put, "a", spec) }
}

// TestG1ConvWebhookG7OwnersStayUntilTheyLeaveTheFieldOut (rules G1, G7.2, G7.3) has owners in v1beta1.
func TestG1ConvWebhookG7OwnersStayUntilTheyLeaveTheFieldOut(t *testing.T) {
	t.Parallel()
	kept, writer := []string{keptReplicas}, []string{"writer"}
	for _, tc := range []ownerCase{
		{"G7.2: an applier that applies the field still owns it",
			applies(`{image: i, count: 3}`), applies(`{image: j, count: 3}`), "image: j\nreplicas: 3", nil, writer},
		{"G7.2: an applier that applies the same configuration still owns the field",
			applies(`{image: i, count: 3}`), applies(`{image: i, count: 3}`), "image: i\nreplicas: 3", nil, writer},
		{"G7.2: an applier that applies another value still owns the field",
			applies(`{image: i, count: 3}`), applies(`{image: i, count: 5}`), "image: i\nreplicas: 3", kept, writer},
		{"G7.2: an applier that leaves the field out loses it",
			applies(`{image: i, count: 3}`), applies(`{image: i}`), "image: i\nreplicas: 3", kept, nil},
		{"G7.2: an owner that updates still owns the field",
			puts(`{image: i, count: 3}`), puts(`{image: j, count: 3}`), "image: j\nreplicas: 3", nil, writer},
		{"G7.2: an owner that updates with another value still owns the field",
			puts(`{image: i, count: 3}`), puts(`{image: j, count: 5}`), "image: j\nreplicas: 3", kept, writer},
		{"G7.2: an owner that updates without the field still owns it",
			puts(`{image: i, count: 3}`), puts(`{image: j}`), "image: j\nreplicas: 3", kept, writer},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.run(newConverted(t, replicasGate, renameCount))
		})
	}
}

func (tc ownerCase) run(s converted) {
	s.Helper()
	s.flipReplicas(true)
	create(s.T, s.client, cronTab(s.T, s.crd, "a", `{}`), metav1.CreateOptions{FieldManager: "creator"})
	tc.own(s.beta)
	s.flipReplicas(false)
	s.wantFieldOwners("after the flip", s.beta.get("a"), "writer")

	s.beta.mergePatch("other", "a", `{"metadata": {"labels": {"by": "other"}}}`)
	s.wantFieldOwners("after a write by another manager", s.beta.get("a"), "writer")

	tc.next(s.beta)
	s.beta.wantWarnings(tc.warnings...)
	s.wantFieldOwners("after the owner's next write", s.beta.get("a"), tc.owners...)
	s.wantSpec("a", tc.want)
	// G7.3: a disabled field causes no conflict, whoever owns it.
	s.beta.apply("bob", "a", `{count: 7}`)
	s.beta.wantWarnings(keptReplicas)

	s.flipReplicas(true)
	s.beta.mustApply("writer", "a", `{image: j, count: 4}`, metav1.ApplyOptions{Force: true})
	s.wantFieldOwners("with the gate enabled again", s.beta.get("a"), "writer")
	s.wantSpec("a", "image: j\nreplicas: 4")
}

// TestG1ConvWebhookG7AConflictAboutAnotherFieldStands (rules G1, G6, G7.3) has two appliers in v1beta1.
func TestG1ConvWebhookG7AConflictAboutAnotherFieldStands(t *testing.T) {
	t.Parallel()
	s := newConverted(t, replicasGate, renameCount)
	s.flipReplicas(true)
	s.beta.apply("alice", "a", `{image: i, count: 3}`)
	s.flipReplicas(false)
	_, err := s.beta.tryApply("bob", "a", `{image: j, count: 5}`, metav1.ApplyOptions{})
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), ".spec.image") || strings.Contains(err.Error(), ".spec.count") {
		t.Errorf("want a conflict about .spec.image and not about .spec.count, got: %v", err)
	}
	u := s.beta.apply("bob", "a", `{image: i, count: 5}`)
	s.beta.wantWarnings(keptReplicas)
	s.wantFieldOwners("apply of another value", u, "alice")
	s.wantOwnersOf(u, []string{"f:spec", "f:image"}, "alice", "bob")
	if diff := cmp.Diff(u, s.beta.apply("bob", "a", `{image: i, count: 5}`)); diff != "" {
		t.Errorf("G6: the apply, sent again, changed the object (-before +after):\n%s", diff)
	}
}

// shapesSchema is the schema of a v1beta1 in which the disabled field is elsewhere, and also part of another field.
var shapesSchema = specSchema(`
image: {type: string}
scaling: {type: object, properties: {count: {type: integer}}}
workload: {type: string}
`)

// nestCount converts between .spec.replicas of v1 and .spec.scaling.count of v1beta1. v1beta1 also has .spec.workload,
// which consists of the image and the replicas.
func nestCount(object map[string]any, to string) error {
	spec, ok := object["spec"].(map[string]any)
	if !ok {
		return nil
	}
	if to == "v1" {
		if count, found, _ := unstructured.NestedFieldNoCopy(spec, "scaling", "count"); found {
			spec["replicas"] = count
		}
		delete(spec, "scaling")
		delete(spec, "workload")
		return nil
	}
	spec["workload"] = fmt.Sprint(spec["image"], "x", spec["replicas"])
	if replicas, ok := spec["replicas"]; ok {
		spec["scaling"] = map[string]any{"count": replicas}
		delete(spec, "replicas")
	}
	return nil
}

// TestG1ConvWebhookG7FieldsOfAnotherShape (rules G1, G7.1): the fields of v1beta1 that depend on the disabled field get
// owners as usual.
func TestG1ConvWebhookG7FieldsOfAnotherShape(t *testing.T) {
	t.Parallel()
	s := newConverted(t, replicasGate, nestCount, betaSchema(t, shapesSchema))
	s.flipReplicas(true)
	create(t, s.client, cronTab(t, s.crd, "a", `{image: i, replicas: 3}`), metav1.CreateOptions{FieldManager: "creator"})
	s.flipReplicas(false)
	u := s.beta.apply("alice", "a", `{image: i, workload: ix3, scaling: {count: 3}}`)
	s.beta.wantWarnings()
	for field, want := range map[string][]string{"f:image": {"alice", "creator"}, "f:workload": {"alice"}, "f:scaling": {"alice"}} {
		s.wantOwnersOf(u, []string{"f:spec", field}, want...)
	}
	s.wantSpec("a", "image: i\nreplicas: 3")
}

// TestG1ConvWebhookG7OwnersCostNoConversion (rules G1, G7) compares updates of an object with and without the disabled
// field.
func TestG1ConvWebhookG7OwnersCostNoConversion(t *testing.T) {
	t.Parallel()
	s := newConverted(t, replicasGate, renameCount)
	s.flipReplicas(true)
	create(t, s.beta.client, cronTab(t, s.beta.crd, "without", `{image: i}`), metav1.CreateOptions{FieldManager: "writer"})
	create(t, s.beta.client, cronTab(t, s.beta.crd, "with", `{image: i, count: 3}`), metav1.CreateOptions{FieldManager: "writer"})
	s.flipReplicas(false)
	counts := map[string]conversions{}
	for name, spec := range map[string]string{"without": `{image: j}`, "with": `{image: j, count: 3}`} {
		s.webhook.take(t)
		s.beta.write(put, name, spec)
		counts[name] = s.webhook.take(t)
	}
	if counts["with"].Requests != counts["without"].Requests {
		t.Errorf("conversion requests: %v, want as many with as without the field", counts)
	}
}
