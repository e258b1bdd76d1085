// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/fairlead-dev/fairlead/hack/bench/internal/endtoend"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/manycrds"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/micro"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/stats"
)

// Draw writes the charts of the parts that were run into a directory, and their names into the results.
func Draw(dir string, r *Results) error {
	d := drawing{dir: dir}
	if r.Micro != nil {
		d.microCharts(r.Micro)
	}
	if r.EndToEnd != nil {
		for _, n := range slices.Sorted(maps.Keys(r.EndToEnd.Series[endtoend.Stock])) {
			d.endToEndCharts(comparison{result: r.EndToEnd, workers: n})
		}
	}
	if r.CRDs != nil {
		d.manyCRDsCharts(r.CRDs)
	}
	r.Charts = d.names
	return errors.Join(d.errs...)
}

type drawing struct {
	dir   string
	names []string
	errs  []error
}

func (d *drawing) save(name string, c chart) {
	p, err := c.plot()
	if err == nil {
		err = p.Save(c.width(), c.height(), filepath.Join(d.dir, name))
	}
	if err != nil {
		d.errs = append(d.errs, fmt.Errorf("%s: %w", name, err))
		return
	}
	d.names = append(d.names, name)
}

// chart is one that can be drawn.
type chart interface {
	plot() (*plot.Plot, error)
	width() vg.Length
	height() vg.Length
}

func (d *drawing) microCharts(r *micro.Result) {
	object := dots{title: "An update of a 5 KB HTTPRoute", axis: "time, logarithmic", log: true}
	sizes := lines{title: "Size of the HTTPRoute", x: "times 5 KB", y: "time"}
	for _, work := range works() {
		name := "Scale/" + work[0]
		object.add(plain(work[1]), in(r.Time(name+"/size=1"), 1e9))
		g := growth{title: plain(work[1]), format: name + "/size=%d", sizes: []int{1, 4, 16, 64}}
		sizes.add(g.title, g, r)
	}
	d.save("micro.svg", object)
	d.save("sizes.svg", sizes)
	lists := lines{title: "List maps, an update", x: "items", y: "time"}
	for _, g := range growths()[:5] {
		lists.add(g.title, g, r)
	}
	d.save("listmaps.svg", lists)
	gates := lines{title: "Gates of a CRD, an update", x: "gates", y: "time"}
	gates.add(numberOfGates().title, numberOfGates(), r)
	d.save("gates.svg", gates)
}

func (d *drawing) endToEndCharts(c comparison) {
	cpu := dots{title: "CPU of the API server for an update, " + workers(c.workers), axis: "times that of stock"}
	bytes := dots{title: "Allocated for an update, " + workers(c.workers), axis: "KiB more than stock"}
	latency := dots{title: "Latency of an update (median), " + workers(c.workers), axis: "ms", zero: true}
	for _, name := range endtoend.Names() {
		cpu.add(name, c.cpu(name))
		bytes.add(name, in(c.bytes(name), kib))
		latency.add(name, in(stats.Of(c.series(name).P50), 1e-3))
	}
	suffix := fmt.Sprintf("-%d.svg", c.workers)
	d.save("cpu"+suffix, cpu)
	d.save("allocated"+suffix, bytes)
	d.save("latency"+suffix, latency)
}

func (d *drawing) manyCRDsCharts(r *manycrds.Result) {
	heap := dots{title: fmt.Sprintf("Live heap with %d CRDs", r.CRDs), axis: "MiB", zero: true}
	start := dots{title: fmt.Sprintf("Start with %d CRDs, until all are served", r.CRDs), axis: "s", zero: true}
	for _, name := range manycrds.Names() {
		heap.add(name, in(stats.Of(r.Series[name].Live), mib))
		start.add(name, stats.Of(r.Series[name].Served))
	}
	d.save("crds-heap.svg", heap)
	d.save("crds-start.svg", start)
}
