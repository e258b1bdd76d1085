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

// TestV1CountingDoesNotWaitForCollection has a collection that nobody reads while a write is counted.
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
	<-collected // it sends the metrics of the second gate next

	counted := make(chan struct{})
	go func() {
		defer close(counted)
		c.countWrites(crd.UID, oneDrop)
	}()
	select {
	case <-counted:
	case <-time.After(10 * time.Second):
		t.Fatal("a write waits for the reader of metrics")
	}
	for range collected {
		// What was counted meanwhile may be in it or not.
	}
	if _, snapshot := c.snapshot(); snapshot[crd.UID].writes[gatedWrite{"Replicas", fieldgate.Dropped}] != 1 {
		t.Errorf("the write was not counted: %v", snapshot)
	}
}

// growingList is a list of CRDs to which one is added, and written to, right after it was read.
type growingList struct{ written func() }

func (l growingList) List(labels.Selector) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	l.written()
	return nil, nil
}

// TestV1ANewCRDKeepsItsCounts although a collection listed the CRDs before it was created.
func TestV1ANewCRDKeepsItsCounts(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.CRDFieldLevelVersioning, true)
	c := &crdCollector{counts: map[types.UID]*counts{}}
	c.countWrites("gone", oneDrop)
	c.setLister(growingList{written: func() { c.countWrites("new", oneDrop) }})
	collected := make(chan metrics.Metric)
	go func() {
		defer close(collected)
		c.CollectWithStability(collected)
	}()
	for range collected {
		t.Error("a metric of a CRD that was not listed")
	}
	_, snapshot := c.snapshot()
	if _, isThere := snapshot["gone"]; isThere {
		t.Error("the counts of a CRD that is gone remain")
	}
	if _, isThere := snapshot["new"]; !isThere {
		t.Error("the counts of a new CRD were removed")
	}
}
