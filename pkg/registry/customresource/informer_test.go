// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"

	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/features"
)

type informer struct{ transform cache.TransformFunc }

func (i *informer) SetTransform(transform cache.TransformFunc) error {
	i.transform = transform
	return nil
}

// TestF2TheInformerIsUpstreamsWithoutGates (rule F2): it keeps what upstream keeps.
func TestF2TheInformerIsUpstreamsWithoutGates(t *testing.T) {
	for _, tc := range []struct {
		claim string
		gates map[featuregate.Feature]bool
		trims bool
	}{
		{"none", map[featuregate.Feature]bool{features.CRDFieldLevelVersioning: false, features.APIUnions: false}, false},
		{"field gates", map[featuregate.Feature]bool{features.CRDFieldLevelVersioning: true, features.APIUnions: false}, true},
		{"unions", map[featuregate.Feature]bool{features.CRDFieldLevelVersioning: false, features.APIUnions: true}, true},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, tc.gates)
			var of informer
			if err := TrimCRDs(&of); err != nil {
				t.Fatal(err)
			}
			if got := of.transform != nil; got != tc.trims {
				t.Errorf("transforms: %v, want %v", got, tc.trims)
			}
		})
	}
}

// TestTrimCRDKeepsAllButManagedFieldsAndSlack: the status that controllers write with a trimmed CRD is the same.
func TestTrimCRDKeepsAllButManagedFieldsAndSlack(t *testing.T) {
	crd := testCRD(t)
	crd.Finalizers, crd.Annotations = []string{"a"}, map[string]string{"b": "c"}
	crd.Status.StoredVersions = []string{"v1"}
	want := crd.DeepCopy()
	crd.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
	gates := crd.Spec.CustomFeatureGates
	gates.FeatureGates = append(make([]fairlead.CustomResourceDefinitionFeatureGate, 0, 16), gates.FeatureGates...)

	var once any = crd
	for range 2 { // an informer that lists again may give back what it has
		var err error
		if once, err = trimCRD(once); err != nil {
			t.Fatal(err)
		}
	}
	trimmed := once.(*apiextensionsv1.CustomResourceDefinition)
	if diff := cmp.Diff(want, trimmed); diff != "" {
		t.Errorf("trimmed (-want +got):\n%s", diff)
	}
	if got := cap(trimmed.Spec.CustomFeatureGates.FeatureGates); got != 2 {
		t.Errorf("room for %d gates, want 2", got)
	}
}

func TestTrimCRDLeavesATombstone(t *testing.T) {
	tombstone := cache.DeletedFinalStateUnknown{Key: "crontabs.example.com"}
	got, err := trimCRD(tombstone)
	if err != nil || got != any(tombstone) {
		t.Errorf("trimCRD(%v) = %v, %v", tombstone, got, err)
	}
}
