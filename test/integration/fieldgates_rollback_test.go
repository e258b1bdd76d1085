// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// stockBinary returns the path of the unpatched kube-apiserver of the same version, which make stock builds.
func stockBinary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "..", "stock", "kube-apiserver")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run make stock", err)
	}
	return path
}

// TestF5RollbackToAStockServer (rule F5) shows what docs/field-gates.md says about a rollback: a stock server takes
// over the etcd, and then ours again. A CRD that the stock server writes loses its gates; one that it only reads keeps
// them.
func TestF5RollbackToAStockServer(t *testing.T) {
	t.Parallel()
	s := startFor(t, options{featureGates: allGates})
	written, untouched := newCRD(t, replicasGate), newCRD(t, replicasGate)
	for _, crd := range []*apiextensionsv1.CustomResourceDefinition{written, untouched} {
		t.Cleanup(func() { s.uninstall(t, crd.Name) })
		s.install(t, crd)
	}
	if _, err := s.customResources(written).Create(t.Context(), cronTab(t, written, "a", `{image: i, replicas: 3}`), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	s.restart(t, options{program: stockBinary(t)})
	writeOnStockServer(t, s, written)

	s.restart(t, options{featureGates: allGates})
	if diff := cmp.Diff(untouched.Spec.CustomFeatureGates, s.getCRD(t, untouched.Name).Spec.CustomFeatureGates); diff != "" {
		t.Errorf("gates of the CRD that the stock server only read (-want +got):\n%s", diff)
	}
	if gates := s.getCRD(t, written.Name).Spec.CustomFeatureGates; gates != nil {
		t.Errorf("the CRD that the stock server wrote still has its gates, which docs/field-gates.md denies: %v", gates)
	}
	object, err := s.customResources(written).Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wantSpec(t, "the object that the stock server wrote", object, "image: i\nreplicas: 5")
}

// writeOnStockServer writes the CRD and its object.
func writeOnStockServer(t *testing.T, s *server, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	object, err := s.customResources(crd).Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatalf("the stock server cannot read the object that ours wrote: %v", err)
	}
	wantSpec(t, "the object on the stock server", object, "image: i")
	object.Object["spec"].(map[string]any)["replicas"] = int64(5)
	if _, err := s.customResources(crd).Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	label := []byte(`{"metadata": {"labels": {"written-by": "stock"}}}`)
	labeled, err := s.crdClient().Patch(t.Context(), crd.Name, types.MergePatchType, label, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if labeled.Spec.CustomFeatureGates != nil {
		t.Error("the stock server has customFeatureGates")
	}
}
