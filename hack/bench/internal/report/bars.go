// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/fairlead-dev/fairlead/hack/bench/internal/endtoend"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/manycrds"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/micro"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/stats"
)

// Bar is something that must hold.
type Bar struct {
	What, Want, Measured string
	Pass                 bool
}

// Least noise: a smaller difference between two servers is none that this could show.
const (
	leastRatioNoise = 0.01
	leastByteNoise  = 4 * kib
)

// Bars returns those of the parts that were run.
func Bars(r *Results) []Bar {
	var bars []Bar
	if r.Micro != nil {
		bars = append(bars, microBars(r.Micro)...)
		bars = append(bars, growthBars(r.Micro)...)
	}
	if r.EndToEnd != nil {
		bars = append(bars, endToEndBars(r.EndToEnd)...)
	}
	if r.CRDs != nil {
		bars = append(bars, heapBar(r.CRDs))
	}
	return bars
}

func (w *writer) bars(bars []Bar) {
	passed := 0
	var rows [][]string
	for _, b := range bars {
		verdict := "**missed**"
		if b.Pass {
			verdict = "pass"
			passed++
		}
		rows = append(rows, []string{b.What, b.Want, b.Measured, verdict})
	}
	w.printf("## Bars: %d of %d pass\n\n", passed, len(bars))
	w.table([]string{"what", "bar", "measured", ""}, rows)
}

func microBars(r *micro.Result) []Bar {
	ratio := func(name, base string) stats.Summary {
		return r.Ratio("Scale/"+name+"/size=1", "Scale/"+base+"/size=1")
	}
	cel, walk := ratio("cel", "union"), ratio("union", "walk")
	unions, gates := ratio("union", "schema"), ratio("gates", "schema")
	served := r.Ratio("Serve/gates/paths=16384", "Serve/plain/paths=16384")
	allocations := r.Of("Scale/union/size=1", "allocs/op")
	return []Bar{
		{"CEL rules : union checks", "at least 200", interval(cel, "%.0f"), cel.Median >= 200},
		{
			"allocations of union checks, valid object", "0", number(allocations, "%.0f"),
			allocations.N > 0 && allocations.High == 0,
		},
		{"union checks : hand-written walk", "at most 2", interval(walk, "%.2f"), isAtMost(walk, 2)},
		{"union checks : schema validation", "at most 0.01", interval(unions, "%.4f"), isAtMost(unions, 0.01)},
		{"evaluation of 10 gates : schema validation", "at most 0.01", interval(gates, "%.4f"), isAtMost(gates, 0.01)},
		{
			"to serve a CRD with 16,384 guarded paths and a default of 60,000 entries : the same without gates", "at most 3",
			interval(served, "%.2f"), isAtMost(served, 3),
		},
	}
}

func isAtMost(s stats.Summary, limit float64) bool { return s.N > 0 && s.Median <= limit }

func growthBars(r *micro.Result) []Bar {
	var bars []Bar
	for _, s := range growths() {
		fit, ok := s.fit(r)
		if !ok || s.isReference() {
			continue
		}
		pass, limit := s.isLinear(r, fit)
		bars = append(bars, Bar{
			What: "growth: " + s.title, Want: fmt.Sprintf("linear: exponent at most %.2f", limit),
			Measured: fmt.Sprintf("%.2f", fit.Exponent), Pass: pass,
		})
	}
	return bars
}

func endToEndBars(r *endtoend.Result) []Bar {
	var bars []Bar
	for _, n := range slices.Sorted(maps.Keys(r.Series[endtoend.Stock])) {
		c := comparison{result: r, workers: n}
		off, unions := endtoend.GatesOff, endtoend.Unions
		cpu, bytes := c.cpu(off), c.bytes(off)
		ratioNoise, byteNoise := c.noise()
		bars = append(bars,
			Bar{
				"ours, gates off : stock, CPU, " + workers(n), fmt.Sprintf("1.00 ± noise (%.3f)", ratioNoise),
				interval(cpu, "%.3f"), math.Abs(cpu.Median-1) <= ratioNoise,
			},
			Bar{
				"ours, gates off − stock, allocated, " + workers(n), fmt.Sprintf("0 ± noise (%.1f KiB)", byteNoise/kib),
				interval(in(bytes, kib), "%+.1f") + " KiB", math.Abs(bytes.Median) <= byteNoise,
			},
		)
		cpu, bytes = c.cpu(unions), c.bytes(unions)
		bars = append(bars,
			Bar{
				"ours with unions : stock, CPU, " + workers(n), "at most 1.02",
				interval(cpu, "%.3f"), isAtMost(cpu, 1.02),
			},
			Bar{
				"ours with unions − stock, allocated, " + workers(n), "at most +8 KiB",
				interval(in(bytes, kib), "%+.1f") + " KiB", isAtMost(bytes, 8*kib),
			},
		)
	}
	return append(bars, applyBar(r))
}

func applyBar(r *endtoend.Result) Bar {
	cpu := comparison{result: r, applied: true}.cpu(endtoend.UnionsGate)
	return Bar{
		"ours with unions and 10 gates : stock, CPU of an apply, 1 worker", "at most 1.05",
		interval(cpu, "%.3f"), isAtMost(cpu, 1.05),
	}
}

func workers(n int) string {
	if n == 1 {
		return "1 worker"
	}
	return fmt.Sprintf("%d workers", n)
}

// comparison compares arms with stock, for updates by a number of workers, or for server-side apply.
type comparison struct {
	result  *endtoend.Result
	workers int
	applied bool
}

func (c comparison) series(arm string) *endtoend.Series {
	if c.applied {
		return c.result.Applied[arm]
	}
	return c.result.Series[arm][c.workers]
}

// stocks returns the mean of what was measured of the two stock servers, for each round of another arm.
func (c comparison) stocks(of *endtoend.Series, values func(*endtoend.Series) []float64) []float64 {
	stock, again := c.series(endtoend.Stock), c.series(endtoend.Control)
	means := stock.In(of, values(stock))
	for i, value := range again.In(of, values(again)) {
		means[i] = (means[i] + value) / 2
	}
	return means
}

func cpuOf(s *endtoend.Series) []float64   { return s.CPU }
func bytesOf(s *endtoend.Series) []float64 { return s.Bytes }

func (c comparison) cpu(arm string) stats.Summary {
	s := c.series(arm)
	return stats.Of(stats.Ratios(s.CPU, c.stocks(s, cpuOf)))
}

func (c comparison) bytes(arm string) stats.Summary {
	s := c.series(arm)
	return stats.Of(stats.Differences(s.Bytes, c.stocks(s, bytesOf)))
}

// noise is by how much the same server differs from itself, or may do as far as this run can tell.
func (c comparison) noise() (ratio, bytes float64) {
	stock, control := c.series(endtoend.Stock), c.series(endtoend.Control)
	again := stats.Of(stats.Ratios(control.CPU, stock.CPU))
	ratio = max(leastRatioNoise, math.Abs(again.Low-1), math.Abs(again.High-1))
	again = stats.Of(stats.Differences(control.Bytes, stock.Bytes))
	return ratio, max(leastByteNoise, math.Abs(again.Low), math.Abs(again.High))
}

func heapBar(r *manycrds.Result) Bar {
	held := heldPerCRD(r, manycrds.UnionGates, manycrds.Plain)
	return Bar{
		What: "live heap per CRD with a union and 10 gates over the same without", Want: "at most 20 KiB",
		Measured: interval(in(held, kib), "%.1f") + " KiB", Pass: isAtMost(held, 20*kib),
	}
}

// heldPerCRD is how much more heap an arm holds than another, for each CRD.
func heldPerCRD(r *manycrds.Result, arm, base string) stats.Summary {
	return in(stats.Of(stats.Differences(r.Series[arm].Live, r.Series[base].Live)), float64(r.CRDs))
}

// heldWithV2 is the same once OpenAPI v2 was read.
func heldWithV2(r *manycrds.Result, arm, base string) stats.Summary {
	return in(stats.Of(stats.Differences(r.Series[arm].WithV2, r.Series[base].WithV2)), float64(r.CRDs))
}
