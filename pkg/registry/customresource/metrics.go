// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"cmp"
	"maps"
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
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/union"
)

const namespace = "apiextensions_apiserver"

var (
	gateEnabledDesc = metrics.NewDesc(namespace+"_custom_feature_gate_enabled",
		"Whether a feature gate of a CustomResourceDefinition is enabled: 1 if any of its fields is.",
		[]string{"group", "resource", "component", "name", "pre_release"}, nil, metrics.ALPHA, "")
	gatedWritesDesc = metrics.NewDesc(namespace+"_gated_field_writes_total",
		"Writes of custom resources in which a feature gate dropped or kept a field, a disabled field was removed with "+
			"its parent, or a deprecated field was used, by gate and action (dropped, kept, removed, deprecated). "+
			"A request counts once per path of a gate.",
		[]string{"group", "resource", "name", "action"}, nil, metrics.ALPHA, "")
	normalizationsDesc = metrics.NewDesc(namespace+"_union_normalizations_total",
		"Unions in which a change of the discriminator cleared members. A request counts once per union of the schema.",
		[]string{"group", "resource"}, nil, metrics.ALPHA, "")
	unionFailuresDesc = metrics.NewDesc(namespace+"_union_validation_failures_total",
		"Unions that were found invalid, by reason (unsupported, forbidden, required). A request counts once per union "+
			"of the schema and reason.",
		[]string{"group", "resource", "reason"}, nil, metrics.ALPHA, "")
)

// CRDLister lists the CRDs of the server. Upstream's CustomResourceDefinitionLister implements it.
type CRDLister interface {
	List(selector labels.Selector) ([]*apiextensionsv1.CustomResourceDefinition, error)
}

// ServeMetrics registers the metrics of the CRDs that lister lists (rule V1). A CRD that is not listed has no metrics.
// If it is called several times in a process, the last lister is used.
func ServeMetrics(lister CRDLister) {
	collector.setLister(lister)
	registerOnce.Do(func() { legacyregistry.CustomMustRegister(collector) })
}

var (
	registerOnce sync.Once
	collector    = &crdCollector{counts: map[types.UID]*counts{}}
)

// counts are the counters of one CRD.
type counts struct {
	writes         map[gatedWrite]uint64
	normalizations uint64
	failures       map[string]uint64
}

// gatedWrite is the key of the counters of writes of one CRD.
type gatedWrite struct {
	gate   string
	action fieldgate.Action
}

// crdCollector creates the metrics when they are collected, for the CRDs that exist then. So the series of a deleted
// CRD need not be removed.
type crdCollector struct {
	metrics.BaseStableCollector

	mu     sync.Mutex // protects the fields below; writes wait for it, so it is not held while metrics are collected
	lister CRDLister
	counts map[types.UID]*counts
}

func (c *crdCollector) setLister(lister CRDLister) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lister = lister
}

// countWrites counts the outcomes of a request: one for each path of a gate.
func (c *crdCollector) countWrites(crd types.UID, outcomes []fieldgate.Outcome) {
	if len(outcomes) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.countsOf(crd)
	for _, o := range outcomes {
		n.writes[gatedWrite{o.Gate, o.Action}]++
	}
}

// countNormalizations counts the unions in which a request cleared members, each union of the schema once.
func (c *crdCollector) countNormalizations(crd types.UID, cleared []union.Cleared) {
	if len(cleared) == 0 {
		return
	}
	ordinals := map[int]bool{}
	for i := range cleared {
		ordinals[cleared[i].Ordinal] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.countsOf(crd).normalizations += uint64(len(ordinals))
}

// countFailures counts the invalid unions of a request.
func (c *crdCollector) countFailures(crd types.UID, failures []union.Failure) {
	if len(failures) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.countsOf(crd)
	for _, failure := range failures {
		n.failures[failure.Reason]++
	}
}

// countsOf returns the counts of a CRD. The caller must hold the lock. A CRD that is deleted and created again has
// another UID.
func (c *crdCollector) countsOf(crd types.UID) *counts {
	found := c.counts[crd]
	if found == nil {
		found = &counts{writes: map[gatedWrite]uint64{}, failures: map[string]uint64{}}
		c.counts[crd] = found
	}
	return found
}

// DescribeWithStability implements metrics.StableCollector.
func (c *crdCollector) DescribeWithStability(ch chan<- *metrics.Desc) {
	ch <- gateEnabledDesc
	ch <- gatedWritesDesc
	ch <- normalizationsDesc
	ch <- unionFailuresDesc
}

// CollectWithStability implements metrics.StableCollector.
func (c *crdCollector) CollectWithStability(ch chan<- metrics.Metric) {
	if !hasFeatures() {
		return
	}
	lister, snapshot := c.snapshot()
	crds, err := lister.List(labels.Everything())
	if err != nil {
		return // upstream's lister reads memory and never fails
	}
	hasGates := utilfeature.DefaultFeatureGate.Enabled(features.CRDFieldLevelVersioning)
	for _, crd := range crds {
		if hasGates {
			collectGates(ch, crd)
		}
		if n, found := snapshot[crd.UID]; found {
			collectWrites(ch, crd, n.writes)
			collectUnions(ch, crd, n)
			delete(snapshot, crd.UID)
		}
	}
	c.remove(snapshot) // what is left are counts of CRDs that are not listed
}

// snapshot returns the lister and a copy of the counts. It must be called before the CRDs are listed: the counts of a
// CRD that is created in between would be removed otherwise.
func (c *crdCollector) snapshot() (CRDLister, map[types.UID]counts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	snapshot := make(map[types.UID]counts, len(c.counts))
	for uid, n := range c.counts {
		snapshot[uid] = counts{
			writes: maps.Clone(n.writes), normalizations: n.normalizations, failures: maps.Clone(n.failures),
		}
	}
	return c.lister, snapshot
}

// remove removes the counts of deleted CRDs.
func (c *crdCollector) remove(deleted map[types.UID]counts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for uid := range deleted {
		delete(c.counts, uid)
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
			continue // it guards no field and has no preRelease
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

func collectUnions(ch chan<- metrics.Metric, crd *apiextensionsv1.CustomResourceDefinition, n counts) {
	if n.normalizations > 0 {
		ch <- metrics.NewLazyConstMetric(normalizationsDesc, metrics.CounterValue, float64(n.normalizations),
			crd.Spec.Group, crd.Spec.Names.Plural)
	}
	for _, reason := range slices.Sorted(maps.Keys(n.failures)) {
		ch <- metrics.NewLazyConstMetric(unionFailuresDesc, metrics.CounterValue, float64(n.failures[reason]),
			crd.Spec.Group, crd.Spec.Names.Plural, reason)
	}
}
