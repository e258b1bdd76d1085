// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
)

// bar is something that must hold.
type bar struct {
	What, Want, Measured string
	Pass                 bool
}

// Bars returns those of the parts that were run.
func (r *results) Bars() []bar {
	var bars []bar
	if r.Micro != nil {
		bars = append(microBars(r.Micro), growthBars(r.Micro)...)
	}
	if r.EndToEnd != nil {
		for _, l := range loads {
			bars = append(bars, l.bars(r.EndToEnd)...)
		}
	}
	if r.CRDs != nil {
		held := r.CRDs.Difference("live-KiB-per-CRD-v3", unionsInAll, plainCRDs)
		bars = append(bars, bar{
			"live heap per CRD with a union and 10 gates over the same without", "at most 20 KiB",
			held.Interval("%.1f") + " KiB", held.isAtMost(20),
		})
	}
	return bars
}

// Passed returns how many bars pass.
func (r *results) Passed() (n int) {
	for _, b := range r.Bars() {
		if b.Pass {
			n++
		}
	}
	return n
}

func microBars(s *set) []bar {
	ratio := func(name, base string) summary {
		return s.Ratio("ns/op", "Scale/"+name+"/size=1", "Scale/"+base+"/size=1")
	}
	cel, walk := ratio("cel", "union"), ratio("union", "walk")
	unions, gates := ratio("union", "schema"), ratio("gates", "schema")
	served := s.Ratio("ns/op", "Serve/gates/paths=16384", "Serve/plain/paths=16384")
	allocations := s.Of("Scale/union/size=1", "allocs/op")
	return []bar{
		{"CEL rules : union checks", "at least 200", cel.Interval("%.0f"), cel.median >= 200},
		{
			"allocations of union checks, valid object", "0", allocations.Number("%.0f"),
			allocations.n > 0 && allocations.high == 0,
		},
		{"union checks : hand-written walk", "at most 2", walk.Interval("%.2f"), walk.isAtMost(2)},
		{"union checks : schema validation", "at most 0.01", unions.Interval("%.4f"), unions.isAtMost(0.01)},
		{"evaluation of 10 gates : schema validation", "at most 0.01", gates.Interval("%.4f"), gates.isAtMost(0.01)},
		{
			"to serve a CRD with 16,384 guarded paths and a default of 60,000 entries : the same without gates", "at most 3",
			served.Interval("%.2f"), served.isAtMost(3),
		},
	}
}

func growthBars(s *set) []bar {
	var bars []bar
	for _, g := range growths {
		if fit := g.Fit(s); fit != nil && !g.isReference() {
			limit := g.limit(s)
			bars = append(bars, bar{
				"growth: " + g.Title, fmt.Sprintf("linear: exponent at most %.2f", limit),
				fmt.Sprintf("%.2f", fit.Exponent), fit.Exponent <= limit,
			})
		}
	}
	return bars
}

// bars returns those of one load.
func (l load) bars(s *set) []bar {
	if l.Applied {
		cpu := l.CPU(s, unionsGates)
		return []bar{{
			"ours with unions and 10 gates : stock, CPU of an apply, 1 worker", "at most 1.05",
			cpu.Interval("%.3f"), cpu.isAtMost(1.05),
		}}
	}
	offCPU, offKiB, unionsCPU, unionsKiB := l.CPU(s, gatesOff), l.Allocated(s, gatesOff), l.CPU(s, unions), l.Allocated(s, unions)
	cpuNoise, kibNoise := l.noise(s)
	return []bar{
		{
			"ours, gates off : stock, CPU, " + l.Name, fmt.Sprintf("1.00 ± noise (%.3f)", cpuNoise),
			offCPU.Interval("%.3f"), math.Abs(offCPU.median-1) <= cpuNoise,
		},
		{
			"ours, gates off − stock, allocated, " + l.Name, fmt.Sprintf("0 ± noise (%.1f KiB)", kibNoise),
			offKiB.Interval("%+.1f") + " KiB", math.Abs(offKiB.median) <= kibNoise,
		},
		{"ours with unions : stock, CPU, " + l.Name, "at most 1.02", unionsCPU.Interval("%.3f"), unionsCPU.isAtMost(1.02)},
		{
			"ours with unions − stock, allocated, " + l.Name, "at most +8 KiB",
			unionsKiB.Interval("%+.1f") + " KiB", unionsKiB.isAtMost(8),
		},
	}
}

// CPU compares what a request takes with stock.
func (l load) CPU(s *set, arm string) summary {
	return s.Ratio("cpu-ms", l.Of(arm), l.Of(stock), l.Of(stockAgain))
}

// Allocated compares the KiB that a request allocates with stock.
func (l load) Allocated(s *set, arm string) summary {
	return s.Difference("KiB", l.Of(arm), l.Of(stock), l.Of(stockAgain))
}

// noise returns by how much the same server differs from itself, or may do as far as this run can show. Less than 1% and
// 4 KiB are noise in any run.
func (l load) noise(s *set) (cpu, kib float64) {
	ratio := s.Ratio("cpu-ms", l.Of(stockAgain), l.Of(stock))
	allocated := s.Difference("KiB", l.Of(stockAgain), l.Of(stock))
	return max(0.01, math.Abs(ratio.low-1), math.Abs(ratio.high-1)), max(4, math.Abs(allocated.low), math.Abs(allocated.high))
}

// growth is a benchmark that was run for several sizes.
type growth struct {
	Title  string
	format string // of the benchmark's name
	sizes  []int
	Unit   string // of the size
	// reference is the format of other work on the same objects, known to be linear: large objects are not in the
	// processor's caches, which makes everything slower. It is empty if objects are the same for all sizes.
	reference string
}

// Linear is an exponent of at most maxExponent, or one that is hardly above the reference's.
const (
	maxExponent    = 1.2
	aboveReference = 0.1
)

const (
	copyOfItems = "ListMap/deepcopy/items=%d"
	walkOfRules = "Scale/walk/size=%d"
)

var (
	items = []int{10, 100, 1_000, 10_000}
	times = []int{1, 4, 16, 64}
	paths = []int{256, 1024, 4096, 16384}
)

// growths are those that must be linear, and two references.
var growths = []growth{
	{"unions, list map", "ListMap/union/items=%d", items, "item", copyOfItems},
	{"unions, list map reversed", "ListMap/union-reversed/items=%d", items, "item", copyOfItems},
	{"gates, list map", "FieldGateListMap/update/kept/items=%d", items, "item", copyOfItems},
	{"gates, list map reversed", "FieldGateListMap/update/kept-reversed/items=%d", items, "item", copyOfItems},
	{"(deep copy, list map)", copyOfItems, items, "item", ""},
	{"unions, rules", "Scale/union/size=%d", times, "4 rules", walkOfRules},
	{"gates, rules", "Scale/gates/size=%d", times, "4 rules", walkOfRules},
	{"(hand-written walk, rules)", walkOfRules, times, "4 rules", ""},
	{"unions, depth", "Depth/union/depth=%d", times, "level", "Depth/deepcopy/depth=%d"},
	{"gates, number", "Gates/gates=%d", []int{1, 2, 4, 8, 16, 32, 64, 128}, "gate", ""},
	{"gates, a CRD served", "Serve/gates/paths=%d", paths, "path", "Serve/plain/paths=%d"},
	{"gates, paths compiled", "ManyPaths/compile/paths=%d", paths, "path", ""},
	{"gates, defaults dropped", "DropDefaults/gates/paths=%d", paths, "path", "DropDefaults/deepcopy/paths=%d"},
	{"gates, defaults of a version", "DefaultsOfVersion/create/paths=%d", paths, "path", "DefaultsOfVersion/deepcopy/paths=%d"},
	{"gates, fields dropped", "AllDropped/create/paths=%d", paths, "path", ""},
}

func (g growth) isReference() bool { return g.format == copyOfItems || g.format == walkOfRules }

// limit returns the exponent that the growth may have.
func (g growth) limit(s *set) float64 {
	if g.reference == "" {
		return maxExponent
	}
	reference := growth{format: g.reference, sizes: g.sizes}.Fit(s)
	if reference == nil {
		return maxExponent
	}
	return max(maxExponent, reference.Exponent+aboveReference)
}

// fit is how times grow with sizes: the line Fixed + Each × size in nanoseconds, the part of the variation that it
// explains, and the exponent of the power of the size. What is fixed makes the exponent smaller.
type fit struct {
	growth
	First, Last               int    // size
	Least, Most               string // time
	Fixed, Each, R2, Exponent float64
}

// Fit returns nil if there are not enough points. The line weighs relative errors, so that small sizes count as much as
// large ones.
func (g growth) Fit(s *set) *fit {
	var x, y, logX, logY, weights []float64
	for _, size := range g.sizes {
		if time := s.Of(fmt.Sprintf(g.format, size), "ns/op"); time.n > 0 {
			x, y = append(x, float64(size)), append(y, time.median)
			logX, logY = append(logX, math.Log(float64(size))), append(logY, math.Log(time.median))
			weights = append(weights, 1/(time.median*time.median))
		}
	}
	last := len(x) - 1
	if last < 2 {
		return nil
	}
	f := &fit{growth: g, First: int(x[0]), Last: int(x[last]), Least: shortTime(y[0]), Most: shortTime(y[last])}
	f.Fixed, f.Each = stat.LinearRegression(x, y, weights, false)
	f.R2 = stat.RSquared(x, y, weights, f.Fixed, f.Each)
	_, f.Exponent = stat.LinearRegression(logX, logY, nil, false)
	return f
}
