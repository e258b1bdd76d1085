// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestG2EveryWriteObeysTheTable (rules G2, G10) plays the table of rule G2 with every way to write.
func TestG2EveryWriteObeysTheTable(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	for _, row := range []struct {
		name           string
		old, new, want string
		enabled        bool
		warnings       []string
		notApplied     bool // applies do not remove what they leave out
	}{
		{
			name: "G2: a disabled field is dropped if it is not persisted",
			old:  `{image: a}`, new: `{image: b, replicas: 5}`, want: "image: b", warnings: []string{droppedReplicas},
		},
		{
			name: "G2: an enabled field is set if it is not persisted",
			old:  `{image: a}`, new: `{image: b, replicas: 5}`, want: "image: b\nreplicas: 5", enabled: true,
		},
		{
			name: "G2: a disabled field is kept if it is persisted",
			old:  `{image: a, replicas: 3}`, new: `{image: b, replicas: 5}`, want: "image: b\nreplicas: 3", warnings: []string{keptReplicas},
		},
		{
			name: "G10: a disabled field draws no warning if it has the persisted value",
			old:  `{image: a, replicas: 3}`, new: `{image: b, replicas: 3}`, want: "image: b\nreplicas: 3",
		},
		{
			name: "G2: an enabled field is updated if it is persisted",
			old:  `{image: a, replicas: 3}`, new: `{image: b, replicas: 5}`, want: "image: b\nreplicas: 5", enabled: true,
		},
		{
			name: "G10: a disabled field that is left out is kept with a warning",
			old:  `{image: a, replicas: 3}`, new: `{image: b}`, want: "image: b\nreplicas: 3", warnings: []string{keptReplicas}, notApplied: true,
		},
	} {
		for _, w := range writers {
			if w.applies && row.notApplied {
				continue
			}
			t.Run(w.name+"/"+row.name, func(t *testing.T) {
				s := s.forSubtest(t)
				name := s.persist(row.old)
				s.flipReplicas(row.enabled)
				s.write(w, name, row.new)
				s.wantWarnings(row.warnings...)
				s.wantSpec(name, row.want)
			})
		}
	}
}

// nestedGates are gates on .spec.foo and .spec.foo.qux.
const nestedGates = `
featureGates:
- {name: FooFeatureGate, preRelease: alpha, fieldPaths: [.spec.foo]}
- {name: QuxFeatureGate, preRelease: alpha, fieldPaths: [.spec.foo.qux]}
`

const nestedSpec = `{foo: {baz: 2, qux: 3}}`

// flipNested sets the gates of nestedGates.
func (s subject) flipNested(foo, qux bool) {
	s.Helper()
	created := "foo:\n  baz: 2\n  qux: 3"
	switch {
	case !foo:
		created = "{}"
	case !qux:
		created = "foo:\n  baz: 2"
	}
	s.flip(map[string]bool{"FooFeatureGate": foo, "QuxFeatureGate": qux}, nestedSpec, created)
}

// TestG2TheNestedTable (rules G2, C8) plays the nested table of KEP-2608 with every way to write.
func TestG2TheNestedTable(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, nestedGates))
	for i, row := range []struct {
		persisted, foo, qux bool
		want                string
	}{
		{false, false, false, "{}"},
		{false, false, true, "{}"},
		{false, true, false, "foo:\n  baz: 2"},
		{false, true, true, "foo:\n  baz: 2\n  qux: 3"},
		{true, false, false, "foo:\n  qux: 1"},
		{true, false, true, "foo:\n  qux: 1"},
		{true, true, false, "foo:\n  baz: 2\n  qux: 1"},
		{true, true, true, "foo:\n  baz: 2\n  qux: 3"},
	} {
		t.Run(fmt.Sprintf("row %d: persisted %v, foo enabled %v, qux enabled %v", i+1, row.persisted, row.foo, row.qux), func(t *testing.T) {
			s := s.forSubtest(t)
			s.flipNested(true, true)
			old := map[bool]string{true: `{foo: {qux: 1}}`, false: `{}`}[row.persisted]
			for _, w := range writers {
				create(t, s.client, cronTab(t, s.crd, w.objectName(fmt.Sprintf("row-%d-", i)), old), metav1.CreateOptions{})
			}
			s.flipNested(row.foo, row.qux)
			for _, w := range writers {
				name := w.objectName(fmt.Sprintf("row-%d-", i))
				s.write(w, name, nestedSpec)
				s.wantSpecOf("the object after "+w.name, s.get(name), row.want)
			}
		})
	}
}

// TestG6AnIgnoredWriteIsNoWrite (rule G6): a write that only changes a disabled field does not increase generation.
// Sent again, it writes nothing.
func TestG6AnIgnoredWriteIsNoWrite(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	for _, w := range writers {
		t.Run(w.name, func(t *testing.T) {
			s := s.forSubtest(t)
			name := s.persist(`{image: a, replicas: 3}`)
			s.flipReplicas(false)
			// The first write may change owners and the annotation of kubectl apply.
			generation := s.get(name).GetGeneration()
			s.write(w, name, `{image: a, replicas: 5}`)
			s.wantGeneration(name, generation)
			s.wantNoEvent(name, func() {
				s.wantRepeatedWriteUnchanged(w, name, `{image: a, replicas: 5}`)
			}, func() {
				s.write(w, name, `{image: seen, replicas: 5}`)
			})
		})
	}
}

// wantNoEvent checks that a watch sees no event of ignored: its first event is that of seen, which sets the image
// "seen".
func (s subject) wantNoEvent(name string, ignored, seen func()) {
	s.Helper()
	list, err := s.client.List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	watch, err := s.client.Watch(s.Context(), metav1.ListOptions{
		ResourceVersion: list.GetResourceVersion(), FieldSelector: "metadata.name=" + name,
	})
	if err != nil {
		s.Fatal(err)
	}
	defer watch.Stop()
	ignored()
	seen()
	event := <-watch.ResultChan()
	u, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		s.Fatalf("the watch failed: %v", event.Object)
	}
	if got := specOf(s.T, u); !strings.Contains(got, "image: seen") {
		s.Errorf("the watch saw the ignored write: %s", got)
	}
}

// TestG4AndG5ThroughListsAndParents (rules G4, G5, G10) reorders a list, adds and removes items, and removes a parent.
func TestG4AndG5ThroughListsAndParents(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, `
featureGates:
- {name: Size, preRelease: alpha, enabled: true, fieldPaths: ['.spec.containers[*].size']}
- {name: Qux, preRelease: alpha, enabled: true, fieldPaths: [.spec.foo.qux]}
`))
	create(t, s.client, cronTab(t, s.crd, "a", `{foo: {baz: 1, qux: 1}, containers: [{name: a, size: 1}, {name: b, size: 2}, {name: c, size: 3}]}`), metav1.CreateOptions{})
	s.flip(map[string]bool{"Size": false, "Qux": false}, `{containers: [{name: a, size: 1}]}`, "containers:\n- name: a")

	s.write(put, "a", `{containers: [{name: new, size: 9}, {name: c, size: 9}, {name: a}]}`)
	s.wantWarnings(`.spec.containers[*].size: removed with an item of .spec.containers: feature gate "Size" is disabled`,
		`.spec.foo.qux: removed with .spec.foo: feature gate "Qux" is disabled`)
	s.wantSpec("a", "containers:\n- name: new\n- name: c\n  size: 3\n- name: a\n  size: 1")
}

// TestG9StatusWritesObeyGatesOnStatus (rules G9, G10) has gates on spec and on status.
func TestG9StatusWritesObeyGatesOnStatus(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, `
featureGates:
- {name: Replicas, preRelease: alpha, fieldPaths: [.spec.replicas]}
- {name: Ready, preRelease: alpha, enabled: true, fieldPaths: [.status.ready]}
`)
	version := &crd.Spec.Versions[0]
	version.Subresources = statusSubresource()
	addStatus(t, version, `{type: object, properties: {ready: {type: integer}, phase: {type: string}}}`)
	s := newSubject(t, crd)
	create(t, s.client, cronTab(t, crd, "a", `{image: i}`), metav1.CreateOptions{})
	s.updateStatus(`{ready: 1, phase: x}`, "phase: x\nready: 1")
	s.flip(map[string]bool{"Ready": false, "Replicas": true}, `{replicas: 1}`, "replicas: 1")
	s.updateStatus(`{ready: 2, phase: z}`, "phase: z\nready: 1")
	s.wantWarnings(`.status.ready: not updated: feature gate "Ready" is disabled`)

	// An update of the resource does not write status, so it draws no warning about a gate on status.
	u := s.get("a")
	u.Object["status"] = map[string]any{}
	u.Object["spec"] = map[string]any{"image": "j"}
	if _, err := s.client.Update(t.Context(), u, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.wantWarnings()
}

// updateStatus updates the status of the object "a" and compares the status in the answer.
func (s subject) updateStatus(status, want string) {
	s.Helper()
	s.takeWarnings()
	u := s.get("a")
	u.Object["status"] = parse[map[string]any](s.T, status)
	updated, err := s.client.UpdateStatus(s.Context(), u, metav1.UpdateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	text, err := yaml.Marshal(updated.Object["status"])
	if err != nil {
		s.Fatal(err)
	}
	if diff := cmp.Diff(want, strings.TrimSpace(string(text))); diff != "" {
		s.Errorf("status (-want +got):\n%s", diff)
	}
}

// newScalableCRD returns a CRD with replicasGate and the scale subresource.
func newScalableCRD(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := newCRD(t, replicasGate)
	version := &crd.Spec.Versions[0]
	version.Subresources = scaleSubresource(".spec.replicas")
	addStatus(t, version, `{type: object, properties: {replicas: {type: integer}}}`)
	return crd
}

// TestG9ScaleIsAnUpdateLikeAnyOther (rules G6, G7, G9) scales with kubectl.
func TestG9ScaleIsAnUpdateLikeAnyOther(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newScalableCRD(t))
	name := s.persist(`{replicas: 3}`)
	s.flipReplicas(false)
	before := s.get(name)
	_, stderr := shared.kubectl(t, "", "scale", s.crd.Name, name, "--replicas=5")
	if want := "Warning: " + keptReplicas; !strings.Contains(stderr, want) {
		t.Errorf("kubectl scale prints %q, want %q", stderr, want)
	}
	s.wantUnchanged("G6, G7: scale", before)
	s.flipReplicas(true)
	shared.kubectl(t, "", "scale", s.crd.Name, name, "--replicas=5")
	s.wantSpec(name, "replicas: 5")
}
