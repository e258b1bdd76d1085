// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed" // for the charts
	"fmt"
	"math"
	"slices"
	"strconv"
)

//go:embed chart.svg.tmpl
var chartTemplate string

// chart shows values with their intervals, the first on top.
type chart struct {
	name, Title, Axis string // name is that of the file, without its extension
	fromZero, log     bool   // the axis begins at zero, values are logarithms to the base 10
	rows              []row
}

type row struct {
	name   string
	isOurs bool
	value  summary
}

// with adds a row for each arm.
func (c chart) with(arms []arm, of func(name string) summary) chart {
	for _, a := range arms {
		c.rows = append(c.rows, row{a.Name, a.isOurs, of(a.Name)})
	}
	return c
}

// charts returns those of the parts that were run.
func (r *results) charts() []chart {
	var charts []chart
	if r.Micro != nil {
		charts = microCharts(r.Micro)
	}
	if r.EndToEnd != nil {
		for _, l := range loads {
			charts = append(charts, l.charts(r.EndToEnd)...)
		}
	}
	if r.CRDs != nil {
		title := fmt.Sprintf(" with %d CRDs", r.NumCRDs)
		charts = append(charts,
			chart{"crds-heap", "Live heap" + title, "MiB", true, false, nil}.
				with(crdArms, func(name string) summary { return r.CRDs.Of(name, "live-MiB-v3") }),
			chart{"crds-start", "Start" + title + ", until all are served", "s", true, false, nil}.
				with(crdArms, func(name string) summary { return r.CRDs.Of(name, "served-s") }))
	}
	return charts
}

func microCharts(s *set) []chart {
	object := chart{"micro", "An update of a 5 KB HTTPRoute", "µs, logarithmic", false, true, nil}
	for _, w := range works {
		v := s.Of("Scale/"+w.Name+"/size=1", "ns/op").In(1e3)
		v.median, v.low, v.high = math.Log10(v.median), math.Log10(v.low), math.Log10(v.high)
		object.rows = append(object.rows, row{w.Title, w.Ours, v})
	}
	growing := chart{"growth", "Growth", "exponent: 1 is linear, 2 is quadratic", true, false, nil}
	for _, g := range growths {
		if fit := g.Fit(s); fit != nil {
			exponent := summary{fit.Exponent, fit.Exponent, fit.Exponent, 1}
			growing.rows = append(growing.rows, row{g.Title, !g.isReference(), exponent})
		}
	}
	return []chart{object, growing}
}

func (l load) charts(s *set) []chart {
	if l.Applied {
		return nil
	}
	suffix := fmt.Sprintf("-%d", l.workers)
	return []chart{
		chart{"cpu" + suffix, "CPU of the API server for an update, " + l.Name, "times that of stock", false, false, nil}.
			with(endToEndArms, func(name string) summary { return l.CPU(s, name) }),
		chart{"allocated" + suffix, "Allocated for an update, " + l.Name, "KiB more than stock", false, false, nil}.
			with(endToEndArms, func(name string) summary { return l.Allocated(s, name) }),
		chart{"latency" + suffix, "Latency of an update (median), " + l.Name, "ms", true, false, nil}.
			with(endToEndArms, func(name string) summary { return s.Of(l.Of(name), "p50-ms") }),
	}
}

// image is a chart with everything in its place.
type image struct {
	chart
	Bottom, Height int // of the axis, and of the image
	Ticks          []tick
	Dots           []dot
}

type tick struct {
	X     float64
	Label string
}

type dot struct {
	Name, Color       string
	Y                 int
	Low, Median, High float64
}

// image returns the rows that were measured. Ticks are at four to eight round values, or at powers of ten.
func (c chart) image() image {
	c.rows = slices.DeleteFunc(c.rows, func(r row) bool { return r.value.n == 0 })
	least, most := c.ends()
	x := func(value float64) float64 { return math.Round(230 + 540*(value-least)/(most-least)) }
	out := image{chart: c, Bottom: 50 + 30*len(c.rows), Height: 100 + 30*len(c.rows)}
	step, label := math.Pow(10, math.Floor(math.Log10(most-least))), func(value float64) float64 { return value }
	for (most-least)/step < 4 {
		step /= 2
	}
	if c.log {
		step, label = 1, func(value float64) float64 { return math.Pow(10, value) }
	}
	for i := int(math.Ceil(least / step)); float64(i)*step <= most; i++ {
		value := float64(i) * step
		out.Ticks = append(out.Ticks, tick{x(value), strconv.FormatFloat(label(value), 'g', 4, 64)})
	}
	for i, r := range c.rows {
		d := dot{r.name, "#369", 65 + 30*i, x(r.value.low), x(r.value.median), x(r.value.high)}
		if r.isOurs {
			d.Color = "#d03b27"
		}
		out.Dots = append(out.Dots, d)
	}
	return out
}

// ends returns the ends of the axis, with some space so that no dot is on the edge.
func (c chart) ends() (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	if c.fromZero {
		least = 0
	}
	for _, r := range c.rows {
		least, most = min(least, r.value.low), max(most, r.value.high)
	}
	space := max((most-least)/20, 1e-9)
	if !c.fromZero {
		least -= space
	}
	return least, most + space
}
