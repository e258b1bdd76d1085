// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"
)

const keptReplicas = `.spec.replicas: not updated: feature gate "ReplicasFeatureGate" is disabled`

// subject is a custom resource under test: its CRD, whose first gate the test flips, and its client. Subjects do not
// see each other's warnings, so tests of them may run in parallel.
type subject struct {
	*testing.T
	crd    *apiextensionsv1.CustomResourceDefinition
	client resource
}

func newSubject(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) subject {
	t.Helper()
	return subject{T: t, crd: crd, client: shared.install(t, crd)}
}

// takeWarnings returns the warnings that the subject's client and kubectl got since the last call.
func (s subject) takeWarnings() []string {
	return s.client.warnings.take()
}

// flip switches the CRD's gates and waits until that has an effect: a dry-run create of probe then has the fields that
// want tells (YAML).
func (s subject) flip(enabled map[string]bool, probe, want string) {
	s.Helper()
	crds := s.client.crds.ApiextensionsV1().CustomResourceDefinitions()
	// The server's own controllers write the status of a CRD while it is new.
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd, err := crds.Get(s.Context(), s.crd.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for i := range crd.Spec.CustomFeatureGates.FeatureGates {
			gate := &crd.Spec.CustomFeatureGates.FeatureGates[i]
			if on, ok := enabled[gate.Name]; ok {
				gate.Enabled = &on
			}
		}
		_, err = crds.Update(s.Context(), crd, metav1.UpdateOptions{})
		return err
	}); err != nil {
		s.Fatal(err)
	}
	eventually(s.T, "the flip takes effect", func(ctx context.Context) (bool, error) {
		u, err := s.client.Create(ctx, cronTab(s.T, s.crd, "flip-probe", probe), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && specOf(s.T, u) == want, err
	})
	s.takeWarnings()
}

func (s subject) flipReplicas(on bool) {
	s.Helper()
	s.flip(map[string]bool{"ReplicasFeatureGate": on}, `{replicas: 7}`, map[bool]string{true: "replicas: 7", false: "{}"}[on])
}

func (s subject) get(name string) *unstructured.Unstructured {
	s.Helper()
	u, err := s.client.Get(s.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return u
}

// writer is a kind of write: it makes the object's spec what is given, as a client of that kind would.
type writer struct {
	name  string
	write func(s subject, name, spec string) error
	// apply writes own fields and leave alone what they do not name; the others remove it.
	apply bool
}

// writers are all ways to write a custom resource. Those that merge send null for what is to go.
var writers = []writer{
	{name: "PUT", write: func(s subject, name, spec string) error {
		u := s.get(name)
		u.Object["spec"] = parse[map[string]any](s.T, spec)
		_, err := s.client.Update(s.Context(), u, metav1.UpdateOptions{FieldManager: "writer"})
		return err
	}},
	{name: "JSON patch", write: func(s subject, name, spec string) error {
		patch, err := json.Marshal([]any{map[string]any{"op": "replace", "path": "/spec", "value": parse[any](s.T, spec)}})
		if err != nil {
			return err
		}
		_, err = s.client.Patch(s.Context(), name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: "writer"})
		return err
	}},
	{name: "merge patch", write: func(s subject, name, spec string) error {
		wanted := parse[map[string]any](s.T, spec)
		old, _, _ := unstructured.NestedMap(s.get(name).Object, "spec")
		for field := range old {
			if _, ok := wanted[field]; !ok {
				wanted[field] = nil
			}
		}
		patch, err := json.Marshal(map[string]any{"spec": wanted})
		if err != nil {
			return err
		}
		_, err = s.client.Patch(s.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "writer"})
		return err
	}},
	{name: "server-side apply", apply: true, write: func(s subject, name, spec string) error {
		_, err := s.client.Apply(s.Context(), name, cronTab(s.T, s.crd, name, spec), metav1.ApplyOptions{FieldManager: "writer", Force: true})
		return err
	}},
	{name: "kubectl replace", write: func(s subject, name, spec string) error {
		return s.kubectlWith(name, spec, "replace")
	}},
	{name: "kubectl edit", write: func(s subject, name, spec string) error {
		u := s.get(name)
		u.Object["spec"] = parse[map[string]any](s.T, spec)
		manifest, err := yaml.Marshal(u.Object)
		if err != nil {
			return err
		}
		edited := filepath.Join(s.TempDir(), "edited.yaml")
		if err := os.WriteFile(edited, manifest, 0o600); err != nil {
			return err
		}
		_, stderr, err := s.client.server.kubectlIn([]string{"KUBE_EDITOR=cp " + edited}, "", "edit", s.crd.Name, name)
		return s.noteWarnings(stderr, err)
	}},
	{name: "kubectl apply", apply: true, write: func(s subject, name, spec string) error {
		return s.kubectlWith(name, spec, "apply")
	}},
}

// kubectlWith pipes the object to kubectl; its warnings count like those that clients in Go get.
func (s subject) kubectlWith(name, spec string, args ...string) error {
	u := cronTab(s.T, s.crd, name, spec)
	u.SetNamespace("default")
	manifest, err := yaml.Marshal(u.Object)
	if err != nil {
		return err
	}
	_, stderr, err := s.client.server.tryKubectl(string(manifest), append(args, "-f", "-")...)
	return s.noteWarnings(stderr, err)
}

// noteWarnings takes the warnings from what kubectl printed.
func (s subject) noteWarnings(stderr string, err error) error {
	if err != nil {
		return fmt.Errorf("%w: %s", err, stderr)
	}
	for _, line := range strings.Split(stderr, "\n") {
		// kubectl apply complains of objects that it did not make itself.
		if text, ok := strings.CutPrefix(line, "Warning: "); ok && !strings.Contains(text, "last-applied-configuration") {
			s.client.warnings.HandleWarningHeaderWithContext(s.Context(), 299, "", text)
		}
	}
	return nil
}

// TestG2EveryWriteObeysTheTable is the table of G2, through every way to write.
func TestG2EveryWriteObeysTheTable(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	for _, w := range writers {
		for _, row := range []struct {
			name           string
			old, new, want string
			enabled        bool
			warnings       []string
		}{
			{"no field, disabled: dropped", `{image: a}`, `{image: b, replicas: 5}`, "image: b", false, []string{droppedReplicas}},
			{"no field, enabled: set", `{image: a}`, `{image: b, replicas: 5}`, "image: b\nreplicas: 5", true, nil},
			{"field, disabled: kept", `{image: a, replicas: 3}`, `{image: b, replicas: 5}`, "image: b\nreplicas: 3", false, []string{keptReplicas}},
			{"field, disabled and untouched: no warning", `{image: a, replicas: 3}`, `{image: b, replicas: 3}`, "image: b\nreplicas: 3", false, nil},
			{"field, enabled: updated", `{image: a, replicas: 3}`, `{image: b, replicas: 5}`, "image: b\nreplicas: 5", true, nil},
		} {
			t.Run(w.name+"/"+row.name, func(t *testing.T) {
				s := s.in(t)
				name := s.persisted(row.old)
				s.flipReplicas(row.enabled)
				s.write(w, name, row.new)
				if diff := cmp.Diff(row.warnings, s.takeWarnings()); diff != "" {
					t.Errorf("G10: warnings (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(row.want, specOf(t, s.get(name))); diff != "" {
					t.Errorf("spec (-want +got):\n%s", diff)
				}
			})
		}
		if w.apply {
			continue
		}
		t.Run(w.name+"/G10: leaving the field out is an attempt to remove it", func(t *testing.T) {
			s := s.in(t)
			name := s.persisted(`{image: a, replicas: 3}`)
			s.flipReplicas(false)
			s.write(w, name, `{image: b}`)
			if diff := cmp.Diff([]string{keptReplicas}, s.takeWarnings()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff("image: b\nreplicas: 3", specOf(t, s.get(name))); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

// in returns the subject for a subtest.
func (s subject) in(t *testing.T) subject {
	s.T = t
	return s
}

var objects atomic.Int64

// persisted creates an object while all gates are on, and returns its name.
func (s subject) persisted(spec string) string {
	s.Helper()
	s.flipReplicas(true)
	name := fmt.Sprintf("object-%d", objects.Add(1))
	if _, err := s.client.Create(s.Context(), cronTab(s.T, s.crd, name, spec), metav1.CreateOptions{FieldManager: "creator"}); err != nil {
		s.Fatal(err)
	}
	return name
}

func (s subject) write(w writer, name, spec string) {
	s.Helper()
	s.takeWarnings()
	if err := w.write(s, name, spec); err != nil {
		s.Fatal(err)
	}
}

// TestG2TheNestedTable (rules G2, C8) is the table of KEP-2608 for .spec.foo and .spec.foo.qux, by every kind of write.
func TestG2TheNestedTable(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, `
featureGates:
- {name: FooFeatureGate, preRelease: alpha, fieldPaths: [.spec.foo]}
- {name: QuxFeatureGate, preRelease: alpha, fieldPaths: [.spec.foo.qux]}
`))
	gates := func(foo, qux bool) map[string]bool {
		return map[string]bool{"FooFeatureGate": foo, "QuxFeatureGate": qux}
	}
	const probe = `{foo: {baz: 2, qux: 3}}`
	fresh := func(foo, qux bool) string {
		switch {
		case !foo:
			return "{}"
		case !qux:
			return "foo:\n  baz: 2"
		default:
			return "foo:\n  baz: 2\n  qux: 3"
		}
	}
	flip := func(s subject, foo, qux bool) {
		s.Helper()
		s.flip(gates(foo, qux), probe, fresh(foo, qux))
	}
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
		t.Run(fmt.Sprintf("row %d", i+1), func(t *testing.T) {
			s := s.in(t)
			flip(s, true, true)
			old := `{}`
			if row.persisted {
				old = `{foo: {qux: 1}}`
			}
			for j := range writers {
				if _, err := s.client.Create(s.Context(), cronTab(t, s.crd, fmt.Sprintf("row-%d-%d", i, j), old), metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			flip(s, row.foo, row.qux)
			for j, w := range writers {
				name := fmt.Sprintf("row-%d-%d", i, j)
				s.write(w, name, probe)
				if diff := cmp.Diff(row.want, specOf(t, s.get(name))); diff != "" {
					t.Errorf("%s: spec (-want +got):\n%s", w.name, diff)
				}
			}
		})
	}
}

func TestG6AnIgnoredWriteIsNoWrite(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	for _, w := range writers {
		t.Run(w.name, func(t *testing.T) {
			s := s.in(t)
			name := s.persisted(`{image: a, replicas: 3}`)
			s.flipReplicas(false)
			// The first write may change owners and what kubectl notes of itself, but not generation.
			before := s.get(name)
			s.write(w, name, `{image: a, replicas: 5}`)
			first := s.get(name)
			if got := first.GetGeneration(); got != before.GetGeneration() {
				t.Errorf("generation went from %d to %d", before.GetGeneration(), got)
			}
			list, err := s.client.List(s.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			watch, err := s.client.Watch(s.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion(), FieldSelector: "metadata.name=" + name})
			if err != nil {
				t.Fatal(err)
			}
			defer watch.Stop()
			s.write(w, name, `{image: a, replicas: 5}`)
			if diff := cmp.Diff(first, s.get(name)); diff != "" {
				t.Errorf("the second write changed the object:\n%s", diff)
			}
			// A write that does something is the first event that the watch sees.
			s.write(w, name, `{image: seen, replicas: 5}`)
			event := <-watch.ResultChan()
			seen, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				t.Fatalf("the watch failed: %v", event.Object)
			}
			if got := specOf(t, seen); !strings.Contains(got, "image: seen") {
				t.Errorf("the watch saw the ignored write: %s", got)
			}
		})
	}
}

func TestG4AndG5ThroughListsAndParents(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, `
featureGates:
- {name: Size, preRelease: alpha, enabled: true, fieldPaths: ['.spec.containers[*].size']}
- {name: Qux, preRelease: alpha, enabled: true, fieldPaths: [.spec.foo.qux]}
`))
	create(t, s.client, cronTab(t, s.crd, "a", `{foo: {baz: 1, qux: 1}, containers: [{name: a, size: 1}, {name: b, size: 2}, {name: c, size: 3}]}`), metav1.CreateOptions{})
	s.flip(map[string]bool{"Size": false, "Qux": false}, `{containers: [{name: a, size: 1}]}`, "containers:\n- name: a")
	put := writers[0]

	s.write(put, "a", `{containers: [{name: new, size: 9}, {name: c, size: 9}, {name: a}]}`)
	want := "containers:\n- name: new\n- name: c\n  size: 3\n- name: a\n  size: 1"
	if diff := cmp.Diff(want, specOf(t, s.get("a"))); diff != "" {
		t.Errorf("reordered, inserted, removed (-want +got):\n%s", diff)
	}
	s.wantWarnings(`.spec.containers[*].size: removed with an item of .spec.containers: feature gate "Size" is disabled`,
		`.spec.foo.qux: removed with .spec.foo: feature gate "Qux" is disabled`)
}

func TestG9StatusWritesObeyGatesOnStatus(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, `
featureGates:
- {name: Replicas, preRelease: alpha, fieldPaths: [.spec.replicas]}
- {name: Ready, preRelease: alpha, enabled: true, fieldPaths: [.status.ready]}
`)
	version := &crd.Spec.Versions[0]
	version.Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
	version.Schema.OpenAPIV3Schema.Properties["status"] = *parse[*apiextensionsv1.JSONSchemaProps](t, `{type: object, properties: {ready: {type: integer}, phase: {type: string}}}`)
	s := newSubject(t, crd)
	create(t, s.client, cronTab(t, crd, "a", `{image: i}`), metav1.CreateOptions{})
	status := func(text string) string {
		t.Helper()
		s.takeWarnings()
		u := s.get("a")
		u.Object["status"] = parse[map[string]any](t, text)
		updated, err := s.client.UpdateStatus(t.Context(), u, metav1.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := yaml.Marshal(updated.Object["status"])
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	if diff := cmp.Diff("phase: x\nready: 1", status(`{ready: 1, phase: x}`)); diff != "" {
		t.Errorf("enabled (-want +got):\n%s", diff)
	}
	s.flip(map[string]bool{"Ready": false, "Replicas": true}, `{replicas: 1}`, "replicas: 1")
	if diff := cmp.Diff("phase: z\nready: 1", status(`{ready: 2, phase: z}`)); diff != "" {
		t.Errorf("disabled (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{`.status.ready: not updated: feature gate "Ready" is disabled`}, s.takeWarnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	// A write of the resource does not write status, and a gate on status says nothing of it.
	u := s.get("a")
	u.Object["status"] = map[string]any{}
	u.Object["spec"] = map[string]any{"image": "j"}
	if _, err := s.client.Update(t.Context(), u, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if warnings := s.takeWarnings(); warnings != nil {
		t.Errorf("warnings %q", warnings)
	}
}

func scalable(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := newCRD(t, replicasGate)
	version := &crd.Spec.Versions[0]
	version.Subresources = &apiextensionsv1.CustomResourceSubresources{
		Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas"},
	}
	version.Schema.OpenAPIV3Schema.Properties["status"] = *parse[*apiextensionsv1.JSONSchemaProps](t, `{type: object, properties: {replicas: {type: integer}}}`)
	return crd
}

func TestG9ScaleIsAnUpdateLikeAnyOther(t *testing.T) {
	t.Parallel()
	s := newSubject(t, scalable(t))
	name := s.persisted(`{replicas: 3}`)
	s.flipReplicas(false)
	before := s.get(name)
	_, stderr := s.client.server.kubectl(t, "", "scale", s.crd.Name, name, "--replicas=5")
	if want := "Warning: " + keptReplicas; !strings.Contains(stderr, want) {
		t.Errorf("kubectl scale prints %q", stderr)
	}
	if diff := cmp.Diff(before, s.get(name)); diff != "" {
		t.Errorf("G6, G7: scale changed the object or its owners:\n%s", diff)
	}
	s.flipReplicas(true)
	shared.kubectl(t, "", "scale", s.crd.Name, name, "--replicas=5")
	if got := specOf(t, s.get(name)); got != "replicas: 5" {
		t.Errorf("with the gate back on: %s", got)
	}
}
