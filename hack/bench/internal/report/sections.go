// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-dev/fairlead/hack/bench/internal/endtoend"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/manycrds"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/micro"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/stats"
)

// works are what is compared for an HTTPRoute, with what a reader sees of them.
func works() [][2]string {
	return [][2]string{
		{"union", "**union checks**"}, {"gates", "**evaluation of 10 gates**"}, {"walk", "hand-written walk"},
		{"deepcopy", "deep copy"}, {"decode", "decoding JSON"}, {"cel", "CEL rules"}, {"schema", "schema validation"},
		{"managedfields", "managed fields"},
	}
}

func (w *writer) micro(r *micro.Result) {
	w.printf("## Micro: an update of an HTTPRoute, %d rounds\n\n", r.Rounds)
	var rows [][]string
	for _, work := range works() {
		row := []string{work[1]}
		for _, size := range []int{1, 4, 16, 64} {
			row = append(row, duration(r.Time(fmt.Sprintf("Scale/%s/size=%d", work[0], size))))
		}
		name := fmt.Sprintf("Scale/%s/size=1", work[0])
		rows = append(rows, append(row,
			number(r.Of(name, "allocs/op"), "%.0f"), number(in(r.Of(name, "B/op"), kib), "%.1f"),
			interval(r.Ratio(name, "Scale/union/size=1"), "%.3g"), number(r.Ratio(name, "Scale/schema/size=1"), "%.4f"),
		))
	}
	w.table([]string{"work", "5 KB", "4×", "16×", "64×", "allocations", "KiB", ": union checks", ": schema"}, rows)
	w.growth(r)
	w.compiled(r)
}

// compiled shows what is made once for a CRD.
func (w *writer) compiled(r *micro.Result) {
	var rows [][]string
	for _, c := range [][2]string{
		{"unions", "unions"}, {"gates", "10 gates"}, {"unions+gates", "**unions and 10 gates**"}, {"cel", "20 CEL rules"},
		{"structural", "structural schema"}, {"schema", "schema validator"},
	} {
		name := "Compile/" + c[0]
		rows = append(rows, []string{
			c[1], duration(r.Time(name)), number(r.Of(name, "allocs/op"), "%.0f"),
			number(in(r.Of("Held/"+c[0], "held-B"), kib), "%.1f"),
		})
	}
	w.printf("### Once for a CRD\n\n")
	w.table([]string{"what", "to compile", "allocations", "KiB held"}, rows)
}

// allBenchmarks lists every benchmark, for those who look for one.
func (w *writer) allBenchmarks(r *micro.Result) {
	w.printf("<details><summary>All benchmarks</summary>\n\n")
	var rows [][]string
	for _, name := range r.Names() {
		rows = append(rows, []string{
			name, duration(r.Time(name)), number(r.Of(name, "B/op"), "%.0f"), number(r.Of(name, "allocs/op"), "%.0f"),
		})
	}
	w.table([]string{"benchmark", "time", "bytes", "allocations"}, rows)
	w.printf("</details>\n")
}

func (w *writer) endToEnd(r *endtoend.Result) {
	w.printf("## End to end: %d rounds of %d requests\n\n", r.Rounds, r.Requests)
	for _, n := range slices.Sorted(maps.Keys(r.Series[endtoend.Stock])) {
		w.printf("### %s\n\n", workers(n))
		w.arms(comparison{result: r, workers: n}, endtoend.Names())
	}
	w.printf("### Server-side apply, 1 worker\n\n")
	w.arms(comparison{result: r, applied: true}, slices.DeleteFunc(endtoend.Names(), func(name string) bool { return r.Applied[name] == nil }))
	w.printf("### Memory, with the collector off during batches\n\n")
	var rows [][]string
	for _, name := range endtoend.Names() {
		rows = append(rows, []string{name, fmt.Sprintf("%.1f", r.Live[name]/mib), fmt.Sprintf("%.0f", r.Peak[name]/mib)})
	}
	w.table([]string{"arm", "live heap MiB", "peak RSS MiB"}, rows)
}

// arms has a row for each arm.
func (w *writer) arms(c comparison, names []string) {
	var rows [][]string
	for _, name := range names {
		rows = append(rows, c.row(name))
	}
	w.table([]string{
		"arm", "p50 ms", "p99 ms", "requests/s", "CPU ms", "CPU : stock", "KiB allocated", "− stock, KiB", "allocations",
		"client CPU ms",
	}, rows)
}

func (c comparison) row(name string) []string {
	s := c.series(name)
	const milli = 1e-3
	return []string{
		name,
		number(in(stats.Of(s.P50), milli), "%.2f"), fmt.Sprintf("%.2f", stats.Quantile(0.99, s.Latencies)/milli),
		number(stats.Of(s.PerSecond), "%.0f"),
		number(in(stats.Of(s.CPU), milli), "%.3f"), interval(c.cpu(name), "%.3f"),
		number(in(stats.Of(s.Bytes), kib), "%.1f"), interval(in(c.bytes(name), kib), "%+.1f"),
		number(stats.Of(s.Objects), "%.0f"),
		number(in(stats.Of(s.Client), milli), "%.2f"),
	}
}

func (w *writer) manyCRDs(r *manycrds.Result) {
	w.printf("## %d CRDs: %d starts\n\n", r.CRDs, r.Rounds)
	var rows [][]string
	for _, name := range manycrds.Names() {
		s := r.Series[name]
		rows = append(rows, []string{
			name,
			number(stats.Of(s.Ready), "%.1f"), number(stats.Of(s.Served), "%.1f"), number(stats.Of(s.CPU), "%.1f"),
			number(in(stats.Of(s.Live), mib), "%.1f"),
			interval(in(heldPerCRD(r, name, manycrds.Stock), kib), "%+.1f"),
			interval(in(heldPerCRD(r, name, manycrds.Plain), kib), "%+.1f"),
			interval(in(heldWithV2(r, name, manycrds.Plain), kib), "%+.1f"),
			number(in(stats.Of(s.RSS), mib), "%.0f"), number(in(stats.Of(s.Peak), mib), "%.0f"),
		})
	}
	w.table([]string{
		"arm", "ready s", "served s", "CPU s", "live heap MiB", "− stock, KiB per CRD", "− ours without, KiB per CRD",
		"with OpenAPI v2, too", "RSS MiB", "peak RSS MiB",
	}, rows)
}
