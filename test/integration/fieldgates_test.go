// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"strconv"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Warnings about the gate of replicasGate.
const (
	droppedReplicas = `.spec.replicas: dropped: feature gate "ReplicasFeatureGate" is disabled`
	keptReplicas    = `.spec.replicas: not updated: feature gate "ReplicasFeatureGate" is disabled`
)

func TestG2CreateWithADisabledGateDropsTheField(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	created, warnings := create(t, s.client, cronTab(t, s.crd, "a", `{image: i, replicas: 3}`), metav1.CreateOptions{})
	wantWarnings(t, "G10: create", []string{droppedReplicas}, warnings)
	s.wantSpecOf("the answer", created, "image: i")
	s.wantSpec("a", "image: i")
	s.wantGeneration("a", 1)
}

func TestG2CreateOfEveryKind(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, gates, spec, want string
		warnings                []string
	}{
		{
			name:  "G2: an enabled gate sets the field",
			gates: `featureGates: [{name: A, preRelease: alpha, enabled: true, fieldPaths: [.spec.replicas]}]`,
			spec:  `{replicas: 3}`, want: "replicas: 3",
		},
		{
			name:  "C1, G2: a beta gate is enabled",
			gates: `featureGates: [{name: A, preRelease: beta, fieldPaths: [.spec.replicas]}]`,
			spec:  `{replicas: 3}`, want: "replicas: 3",
		},
		{
			name:  "C1, C7: a stable gate is enabled although enabled is false",
			gates: `featureGates: [{name: A, preRelease: stable, enabled: false, fieldPaths: [.spec.replicas]}]`,
			spec:  `{replicas: 3}`, want: "replicas: 3",
		},
		{
			name:  "C8: a gate inside a disabled one draws no warning",
			gates: `featureGates: [{name: Foo, preRelease: alpha, fieldPaths: [.spec.foo]}, {name: Qux, preRelease: alpha, fieldPaths: [.spec.foo.qux]}]`,
			spec:  `{image: i, foo: {baz: 1, qux: 2}}`, want: "image: i",
			warnings: []string{`.spec.foo: dropped: feature gate "Foo" is disabled`},
		},
		{
			name:  "G3: an object left empty by a drop stays",
			gates: `featureGates: [{name: Qux, preRelease: alpha, fieldPaths: [.spec.foo.qux]}]`,
			spec:  `{foo: {qux: 2}}`, want: "foo: {}",
			warnings: []string{`.spec.foo.qux: dropped: feature gate "Qux" is disabled`},
		},
		{
			name:  "G5, G10: a field is dropped from all items of a list map, with one warning that names the component",
			gates: `{component: istio, featureGates: [{name: Size, preRelease: alpha, fieldPaths: ['.spec.containers[*].size']}]}`,
			spec:  `{containers: [{name: a, size: 1}, {name: b, size: 2}]}`, want: "containers:\n- name: a\n- name: b",
			warnings: []string{`.spec.containers[*].size: dropped: feature gate "istio/Size" is disabled`},
		},
		{
			name:  "G10: a deprecated field is set with a warning, and a gate with its own text warns once",
			gates: `featureGates: [{name: Old, preRelease: deprecated, default: true, fieldPaths: [.spec.image]}, {name: Told, preRelease: deprecated, default: true, fieldDeprecationWarning: use foo, fieldPaths: [.spec.replicas, .spec.cronSpec]}]`,
			spec:  `{image: i, replicas: 1, cronSpec: c}`, want: "cronSpec: c\nimage: i\nreplicas: 1",
			warnings: []string{".spec.image: deprecated field", "use foo"},
		},
		{
			name:  "C4: a gate without definition guards nothing",
			gates: `featureGates: [{name: Gone, enabled: false}]`,
			spec:  `{replicas: 3}`, want: "replicas: 3",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, newCRD(t, tc.gates))
			created, warnings := create(t, s.client, cronTab(t, s.crd, "a", tc.spec), metav1.CreateOptions{})
			wantWarnings(t, "create", tc.warnings, warnings)
			s.wantSpecOf("the answer", created, tc.want)
		})
	}
}

func TestG2ServerSideApplyThatCreates(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	applied := s.apply("test", "a", `{image: i, replicas: 3}`)
	s.wantWarnings(droppedReplicas)
	s.wantSpecOf("the answer", applied, "image: i")
}

func TestG10ARefusedCreateDrawsNoWarning(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	s.takeWarnings()
	if _, err := s.client.Create(t.Context(), cronTab(t, s.crd, "a", `{image: 5, replicas: 3}`), metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Fatalf("an image of the wrong type is not refused: %v", err)
	}
	s.wantWarnings()

	// Storage refuses a name that exists, after the strategy has evaluated the gates.
	create(t, s.client, cronTab(t, s.crd, "taken", `{image: i}`), metav1.CreateOptions{})
	if _, err := s.client.Create(t.Context(), cronTab(t, s.crd, "taken", `{replicas: 3}`), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Fatalf("a second object of the same name is not refused: %v", err)
	}
	s.wantWarnings()
}

func TestG1ADroppedFieldIsNotValidated(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	created, warnings := create(t, s.client, cronTab(t, s.crd, "a", `{image: i, replicas: -1}`), metav1.CreateOptions{})
	s.wantSpecOf("the answer", created, "image: i")
	wantWarnings(t, "create", []string{droppedReplicas}, warnings)
}

func TestG13DryRunAnswersWhatTheCreateWould(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	created, warnings := create(t, s.client, cronTab(t, s.crd, "a", `{image: i, replicas: 3}`), metav1.CreateOptions{DryRun: dryRun})
	wantWarnings(t, "dry run of a create", []string{droppedReplicas}, warnings)
	s.wantSpecOf("the answer", created, "image: i")
	if _, err := s.client.Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the dry run persisted the object: %v", err)
	}
}

func TestG11AFlipTakesEffectWithoutARestartAndRewritesNothing(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	before, _ := create(t, s.client, cronTab(t, s.crd, "before", `{image: i, replicas: 3}`), metav1.CreateOptions{})

	flip(t, s.crd, true)
	s.awaitCreated("the enabled gate takes effect", "after", "replicas: 3")
	after, warnings := create(t, s.client, cronTab(t, s.crd, "after", `{replicas: 3}`), metav1.CreateOptions{})
	s.wantSpecOf("the answer with the gate enabled", after, "replicas: 3")
	wantWarnings(t, "create with the gate enabled", nil, warnings)

	flip(t, s.crd, false)
	s.awaitCreated("the disabled gate takes effect", "again", "{}")
	for _, object := range []*unstructured.Unstructured{before, after} {
		s.wantUnchanged("a flip", object)
	}
}

// awaitCreated waits until a dry-run create of replicas is answered with the spec.
func (s subject) awaitCreated(what, name, want string) {
	s.Helper()
	eventually(s.T, what, func(ctx context.Context) (bool, error) {
		u, err := s.client.Create(ctx, cronTab(s.T, s.crd, name, `{replicas: 3}`), metav1.CreateOptions{DryRun: dryRun})
		return err == nil && specOf(s.T, u) == want, err
	})
}

// flip sets the first gate of a CRD, and does not wait until that takes effect.
func flip(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, enabled bool) {
	t.Helper()
	patch := `[{"op": "add", "path": "/spec/customFeatureGates/featureGates/0/enabled", "value": ` + strconv.FormatBool(enabled) + `}]`
	if _, err := shared.crdClient().Patch(t.Context(), crd.Name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestF4OffOnOff (rules F2, F4, F5) restarts one server over one etcd.
func TestF4OffOnOff(t *testing.T) {
	t.Parallel()
	s := startFor(t, options{})
	dropped := newCRD(t, replicasGate)
	s.install(t, dropped)
	got := s.getCRD(t, dropped.Name)
	if got.Spec.CustomFeatureGates != nil {
		t.Error("F4: with the server's gate disabled, create kept the field")
	}
	updated := s.editCRD(t, dropped.Name, func(crd *apiextensionsv1.CustomResourceDefinition) {
		got.Generation, crd.Spec.CustomFeatureGates = crd.Generation, dropped.Spec.CustomFeatureGates
	})
	if updated.Spec.CustomFeatureGates != nil || updated.Generation != got.Generation {
		t.Errorf("F4: with the server's gate disabled, update added the field or increased the generation: %v, generation %d",
			updated.Spec.CustomFeatureGates, updated.Generation)
	}

	s.restart(t, options{featureGates: "CRDFieldLevelVersioning=true"})
	kept := newCRD(t, replicasGate)
	s.install(t, kept)

	s.restart(t, options{})
	got = s.getCRD(t, kept.Name)
	wantGates(t, "F5: after the server's gate was disabled", kept, got)
	updated = s.editCRD(t, kept.Name, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Labels = map[string]string{"a": "b"} })
	wantGates(t, "F4: after an update with the server's gate disabled", kept, updated)
	created, err := s.customResources(kept).Create(t.Context(), cronTab(t, kept, "a", `{replicas: 3}`), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wantSpec(t, "a created object (F2: with the server's gate disabled, the CRD's gates have no effect)", created, "replicas: 3")
}
