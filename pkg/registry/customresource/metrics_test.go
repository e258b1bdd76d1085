// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"github.com/fairlead-dev/fairlead/pkg/features"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
)

var oneDrop = []fieldgate.Outcome{{Gate: "Replicas", Action: fieldgate.Dropped}}

// TestV1CountingDoesNotWaitForCollection (rule V1): a write is counted while a collection waits for its reader.
func TestV1CountingDoesNotWaitForCollection(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.CRDFieldLevelVersioning, true)
	crd := testCRD(t)
	c := &crdCollector{lister: crdList{crd}, counts: map[types.UID]*counts{}}
	testutil.NewFakeKubeRegistry("1.37.0").CustomMustRegister(c) // completes the descriptions of the metrics
	collected := make(chan metrics.Metric)
	go func() {
		defer close(collected)
		c.CollectWithStability(collected)
	}()
	<-collected // the collection blocks on the metric of the second gate

	counted := make(chan struct{})
	go func() {
		defer close(counted)
		c.countWrites(crd.UID, oneDrop)
	}()
	select {
	case <-counted:
	case <-time.After(10 * time.Second):
		t.Fatal("counting a write waits for the collection")
	}
	for range collected {
		// The rest may include the write or not.
	}
	if _, snapshot := c.snapshot(); snapshot[crd.UID].writes[gatedWrite{"Replicas", fieldgate.Dropped}] != 1 {
		t.Errorf("the write was not counted: %v", snapshot)
	}
}

// emptyList lists no CRDs. It calls afterwards, as if a CRD was created and written to right after the call.
type emptyList struct{ afterwards func() }

func (l emptyList) List(labels.Selector) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	l.afterwards()
	return nil, nil
}

// TestV1ANewCRDKeepsItsCounts (rule V1), even if it was created after a collection listed the CRDs.
func TestV1ANewCRDKeepsItsCounts(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.CRDFieldLevelVersioning, true)
	c := &crdCollector{counts: map[types.UID]*counts{}}
	c.countWrites("deleted", oneDrop)
	c.setLister(emptyList{afterwards: func() { c.countWrites("new", oneDrop) }})
	collected := make(chan metrics.Metric)
	go func() {
		defer close(collected)
		c.CollectWithStability(collected)
	}()
	for range collected {
		t.Error("a metric of a CRD that was not listed")
	}
	_, snapshot := c.snapshot()
	if _, found := snapshot["deleted"]; found {
		t.Error("the counts of a deleted CRD remain")
	}
	if _, found := snapshot["new"]; !found {
		t.Error("the counts of a new CRD were removed")
	}
}
