// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// stockBinary is the unpatched kube-apiserver of the same version (make stock).
func stockBinary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "..", "stock", "kube-apiserver")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: make stock builds it", err)
	}
	return path
}

// TestF5RollbackToAStockServer is what docs/field-gates.md says of it.
func TestF5RollbackToAStockServer(t *testing.T) {
	t.Parallel()
	s := startFor(t, options{featureGates: allGates})
	ctx := t.Context()

	// Two CRDs: the stock server writes one of them.
	written, untouched := newCRD(t, replicasGate), newCRD(t, replicasGate)
	for _, crd := range []string{written.Name, untouched.Name} {
		t.Cleanup(func() { s.uninstall(t, crd) })
	}
	s.install(t, written)
	s.install(t, untouched)
	if _, err := s.customResources(written).Create(ctx, cronTab(t, written, "a", `{image: i, replicas: 3}`), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	s.restart(t, options{program: stockBinary(t)})
	object, err := s.customResources(written).Get(ctx, "a", metav1.GetOptions{})
	if err != nil {
		t.Fatalf("the stock server cannot read what ours wrote: %v", err)
	}
	if diff := cmp.Diff("image: i", specOf(t, object)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	object.Object["spec"].(map[string]any)["replicas"] = int64(5)
	if _, err := s.customResources(written).Update(ctx, object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	label := []byte(`{"metadata": {"labels": {"written-by": "stock"}}}`)
	crd, err := s.crds.ApiextensionsV1().CustomResourceDefinitions().Patch(ctx, written.Name, types.MergePatchType, label, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if crd.Spec.CustomFeatureGates != nil {
		t.Error("the stock server knows customFeatureGates")
	}

	s.restart(t, options{featureGates: allGates})
	crd, err = s.crds.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, untouched.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(untouched.Spec.CustomFeatureGates, crd.Spec.CustomFeatureGates); diff != "" {
		t.Errorf("a CRD that the stock server only read (-want +got):\n%s", diff)
	}
	crd, err = s.crds.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, written.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if crd.Spec.CustomFeatureGates != nil {
		t.Errorf("a CRD that the stock server wrote still has its gates: update docs/field-gates.md, %v", crd.Spec.CustomFeatureGates)
	}
	object, err = s.customResources(written).Get(ctx, "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("image: i\nreplicas: 5", specOf(t, object)); diff != "" {
		t.Errorf("what the stock server wrote is lost (-want +got):\n%s", diff)
	}
}
