// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/fairlead-dev/fairlead/hack/bench/internal/micro"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/stats"
)

// growth is a benchmark that was run for several sizes.
type growth struct {
	title  string
	format string // of the benchmark's name
	sizes  []int
	unit   string // of the size
	// reference is the format of other work on the same objects, known to be linear: large objects are not in the
	// processor's caches, which makes everything slower. It is empty where objects are the same for all sizes.
	reference string
}

// What counts as linear: an exponent of at most maxExponent, or one that is hardly above the reference's.
const (
	maxExponent    = 1.2
	aboveReference = 0.1
)

// The references.
const (
	itemsReference = "ListMap/deepcopy/items=%d"
	rulesReference = "Scale/walk/size=%d"
)

// isLinear tells whether the growth is, and the exponent that it may have.
func (g growth) isLinear(r *micro.Result, fit stats.Fit) (ok bool, limit float64) {
	limit = maxExponent
	reference := growth{format: g.reference, sizes: g.sizes}
	if reference, found := reference.fit(r); found {
		limit = max(limit, reference.Exponent+aboveReference)
	}
	return fit.Exponent <= limit, limit
}

// growths are those that must be linear, and the references.
func growths() []growth {
	items := []int{10, 100, 1_000, 10_000}
	times := []int{1, 4, 16, 64}
	list := func(title, format, reference string) growth {
		return growth{title: title, format: format, sizes: items, unit: "item", reference: reference}
	}
	rules := func(title, format, reference string) growth {
		return growth{title: title, format: format, sizes: times, unit: "4 rules", reference: reference}
	}
	return append([]growth{
		list("unions, list map", "ListMap/union/items=%d", itemsReference),
		list("unions, list map reversed", "ListMap/union-reversed/items=%d", itemsReference),
		list("gates, list map", "FieldGateListMap/update/kept/items=%d", itemsReference),
		list("gates, list map reversed", "FieldGateListMap/update/kept-reversed/items=%d", itemsReference),
		list("(deep copy, list map)", itemsReference, ""),
		rules("unions, rules", "Scale/union/size=%d", rulesReference),
		rules("gates, rules", "Scale/gates/size=%d", rulesReference),
		rules("(hand-written walk, rules)", rulesReference, ""),
		{
			title: "unions, depth", format: "Depth/union/depth=%d", sizes: times, unit: "level",
			reference: "Depth/deepcopy/depth=%d",
		},
		numberOfGates(),
	}, growthsWithPaths()...)
}

// growthsWithPaths are those in the guarded paths of a CRD, or in as much of what its gates have to look at.
func growthsWithPaths() []growth {
	paths := func(title, format, reference string) growth {
		return growth{title: title, format: format, sizes: []int{256, 1024, 4096, 16384}, unit: "path", reference: reference}
	}
	return []growth{
		paths("gates, a CRD served", "Serve/gates/paths=%d", "Serve/plain/paths=%d"),
		paths("gates, paths compiled", "ManyPaths/compile/paths=%d", ""),
		paths("gates, defaults dropped", "DropDefaults/gates/paths=%d", "DropDefaults/deepcopy/paths=%d"),
		paths("gates, defaults of a version", "DefaultsOfVersion/create/paths=%d", "DefaultsOfVersion/deepcopy/paths=%d"),
		paths("gates, fields dropped", "AllDropped/create/paths=%d", ""),
	}
}

// isReference tells whether others are judged by it.
func (g growth) isReference() bool { return g.format == itemsReference || g.format == rulesReference }

// numberOfGates is how the cost grows with the gates of a CRD.
func numberOfGates() growth {
	sizes := []int{1, 2, 4, 8, 16, 32, 64, 128}
	return growth{title: "gates, number", format: "Gates/gates=%d", sizes: sizes, unit: "gate"}
}

// points returns the sizes that were measured, and their times.
func (g growth) points(r *micro.Result) (sizes, times []float64) {
	if g.format == "" {
		return nil, nil
	}
	for _, size := range g.sizes {
		if s := r.Time(fmt.Sprintf(g.format, size)); s.N > 0 {
			sizes, times = append(sizes, float64(size)), append(times, s.Median)
		}
	}
	return sizes, times
}

// fit is false where there is nothing to fit.
func (g growth) fit(r *micro.Result) (stats.Fit, bool) {
	sizes, times := g.points(r)
	if len(sizes) < 3 {
		return stats.Fit{}, false
	}
	return stats.Grows(sizes, times), true
}

func (w *writer) growth(r *micro.Result) {
	var rows [][]string
	for _, g := range growths() {
		fit, ok := g.fit(r)
		if !ok {
			continue
		}
		_, times := g.points(r)
		rows = append(rows, []string{
			g.title, fmt.Sprintf("%d … %d", g.sizes[0], g.sizes[len(g.sizes)-1]),
			micro.FormatTime(times[0]), micro.FormatTime(times[len(times)-1]),
			fmt.Sprintf("%.0f + %.2f × %s", fit.Fixed, fit.Each, g.unit),
			fmt.Sprintf("%.4f", fit.R2), fmt.Sprintf("%.2f", fit.Exponent),
		})
	}
	w.printf("### Growth\n\nThe fit is in nanoseconds. The exponent is 1 for linear and 2 for quadratic growth.\n\n")
	w.table([]string{"what", "sizes", "smallest", "largest", "fit", "R²", "exponent"}, rows)
}
