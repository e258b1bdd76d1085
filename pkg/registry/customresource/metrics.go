// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"cmp"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/fairlead-dev/fairlead/pkg/features"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
)

const namespace = "apiextensions_apiserver"

var (
	gateEnabledDesc = metrics.NewDesc(namespace+"_custom_feature_gate_enabled",
		"Whether a feature gate of a CustomResourceDefinition is enabled: 1 if any of its fields is.",
		[]string{"group", "resource", "component", "name", "pre_release"}, nil, metrics.ALPHA, "")
	gatedWritesDesc = metrics.NewDesc(namespace+"_gated_field_writes_total",
		"Writes of custom resources in which a feature gate dropped or kept a field, or a deprecated field was used, "+
			"by gate and action (dropped, kept, deprecated). A request counts once per path of a gate.",
		[]string{"group", "resource", "name", "action"}, nil, metrics.ALPHA, "")
)

// CRDLister lists the CRDs that there are; upstream's lister is one.
type CRDLister interface {
	List(selector labels.Selector) ([]*apiextensionsv1.CustomResourceDefinition, error)
}

// ServeMetrics serves the metrics of the CRDs that lister lists (rule V1). What belongs to a CRD is gone with it. There
// is one lister in a process; the last one counts.
func ServeMetrics(lister CRDLister) {
	collector.setLister(lister)
	registerOnce.Do(func() { legacyregistry.CustomMustRegister(collector) })
}

var (
	registerOnce sync.Once
	collector    = &crdCollector{writes: map[types.UID]map[gatedWrite]uint64{}}
)

// gatedWrite is what writes are counted by, within a CRD.
type gatedWrite struct {
	gate   string
	action fieldgate.Action
}

// crdCollector makes metrics when it is asked for them, from the CRDs that exist then: no series needs to be removed.
type crdCollector struct {
	metrics.BaseStableCollector

	mu     sync.Mutex
	lister CRDLister
	writes map[types.UID]map[gatedWrite]uint64
}

func (c *crdCollector) setLister(lister CRDLister) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lister = lister
}

// count counts a request to the resources of a CRD, once per path. A CRD that is made anew has another UID.
func (c *crdCollector) count(crd types.UID, outcomes []fieldgate.Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	writes := c.writes[crd]
	if writes == nil {
		writes = map[gatedWrite]uint64{}
		c.writes[crd] = writes
	}
	for _, o := range outcomes {
		writes[gatedWrite{o.Gate, o.Action}]++
	}
}

// DescribeWithStability implements metrics.StableCollector.
func (c *crdCollector) DescribeWithStability(ch chan<- *metrics.Desc) {
	ch <- gateEnabledDesc
	ch <- gatedWritesDesc
}

// CollectWithStability implements metrics.StableCollector.
func (c *crdCollector) CollectWithStability(ch chan<- metrics.Metric) {
	if !utilfeature.DefaultFeatureGate.Enabled(features.CRDFieldLevelVersioning) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	crds, err := c.lister.List(labels.Everything())
	if err != nil {
		return // upstream's lister reads memory; without it there is nothing to say
	}
	exists := map[types.UID]bool{}
	for _, crd := range crds {
		exists[crd.UID] = true
		collectGates(ch, crd)
		collectWrites(ch, crd, c.writes[crd.UID])
	}
	for uid := range c.writes {
		if !exists[uid] {
			delete(c.writes, uid)
		}
	}
}

func collectGates(ch chan<- metrics.Metric, crd *apiextensionsv1.CustomResourceDefinition) {
	gates := crd.Spec.CustomFeatureGates
	if gates == nil {
		return
	}
	component := ""
	if gates.Component != nil {
		component = *gates.Component
	}
	states := fieldgate.EffectiveStates(gates)
	for i := range gates.FeatureGates {
		gate := &gates.FeatureGates[i]
		if gate.IsUndefined() {
			continue // it guards nothing and has no stage
		}
		value := 0.0
		if states[i] {
			value = 1
		}
		ch <- metrics.NewLazyConstMetric(gateEnabledDesc, metrics.GaugeValue, value,
			crd.Spec.Group, crd.Spec.Names.Plural, component, gate.Name, string(gate.PreRelease))
	}
}

func collectWrites(ch chan<- metrics.Metric, crd *apiextensionsv1.CustomResourceDefinition, writes map[gatedWrite]uint64) {
	keys := make([]gatedWrite, 0, len(writes))
	for key := range writes {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b gatedWrite) int {
		return cmp.Or(cmp.Compare(a.gate, b.gate), cmp.Compare(a.action, b.action))
	})
	for _, key := range keys {
		ch <- metrics.NewLazyConstMetric(gatedWritesDesc, metrics.CounterValue, float64(writes[key]),
			crd.Spec.Group, crd.Spec.Names.Plural, key.gate, string(key.action))
	}
}
