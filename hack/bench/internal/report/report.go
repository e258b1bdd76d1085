// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report writes what was measured as Markdown and as charts.
package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/hack/bench/internal/endtoend"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/manycrds"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/micro"
)

// Results are those of all parts; a part that was not run is nil.
type Results struct {
	// Quick is a smoke run: figures mean nothing.
	Quick    bool
	Took     time.Duration
	Machine  Machine
	Micro    *micro.Result
	EndToEnd *endtoend.Result
	CRDs     *manycrds.Result
	// Charts are the names of the files beside the report.
	Charts []string
}

// Machine is what the figures depend on.
type Machine struct {
	CPU, Kernel, Go     string
	Cores               int
	Memory              float64 // in bytes
	Server, Stock, Etcd string  // versions
	Load                string  // at the start
}

// writer keeps the first error.
type writer struct {
	out io.Writer
	err error
}

func (w *writer) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.out, format, args...)
	}
}

// table writes a table; the first column is text.
func (w *writer) table(head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	w.printf("| %s |\n|---%s|\n", strings.Join(head, " | "), strings.Repeat("|--:", len(head)-1))
	for _, row := range rows {
		w.printf("| %s |\n", strings.Join(row, " | "))
	}
	w.printf("\n")
}

// Write writes the report.
func Write(out io.Writer, r *Results) error {
	w := &writer{out: out}
	w.printf("# What fairlead costs\n\n")
	if r.Quick {
		w.printf("**A smoke run: it shows that everything works, its figures mean nothing.**\n\n")
	}
	w.head(r)
	w.bars(Bars(r))
	if r.Micro != nil {
		w.micro(r.Micro)
	}
	if r.EndToEnd != nil {
		w.endToEnd(r.EndToEnd)
	}
	if r.CRDs != nil {
		w.manyCRDs(r.CRDs)
	}
	w.charts(r.Charts)
	if r.Micro != nil {
		w.allBenchmarks(r.Micro)
	}
	return w.err
}

func (w *writer) charts(names []string) {
	if len(names) == 0 {
		return
	}
	w.printf("## Charts\n\n")
	for _, name := range names {
		w.printf("![%s](%s)\n\n", strings.TrimSuffix(name, ".svg"), name)
	}
}

func (w *writer) head(r *Results) {
	m := r.Machine
	w.printf("%s, %s, %s, built with %s, on %d × %s with %.0f GiB and %s, load at the start %s. It took %v.\n\n",
		m.Server, m.Stock, m.Etcd, m.Go, m.Cores, m.CPU, m.Memory/gib, m.Kernel, m.Load, r.Took.Round(time.Second))
	w.printf(`Figures are medians. What follows ± is half of the interval that holds the median with a confidence of 95%%, as a
part of it; intervals in brackets are the same. Ratios and differences are taken within a round, and then their
median: what drifts from round to round cancels.

- *Micro*: the benchmarks of test/benchmark, in rounds and groups that take turns at being the first.
- *End to end*: updates (PUT) of a whole HTTPRoute of 5 KB with 16 unions, one scalar changed, over loopback. Each
  arm has an API server of its own, all over one etcd that does not wait for disks, and shows first that it accepts
  a good object, and refuses a bad one and clears a stale update, or does not. Arms take turns at
  batches of a few requests, in another order each time; those whose cost is plain to see in every fourth round. Each
  worker has objects of its own. Two stock servers and one of ours also have the same object applied, all of it, by
  one manager. The servers run with GOGC=off and collect before each round, and they keep their
  memory (GODEBUG=madvdontneed=0): the collector takes about half of a server's CPU, in bursts that would hide all else,
  and page faults a tenth, so that real servers use more CPU and less memory than these. CPU is what the kernel counts
  for the server until 10 ms after the last answer, when it has seen the events of its own writes; bytes are the
  runtime's count, less what reading it allocates. The second arm is the
  first once more, and shows how much two servers differ that do not; the others are compared with the mean of both.
- *Many CRDs*: servers that start with the collector at its default over the same data, ten CRDs in a group; served is
  when a list of every resource has been answered. The heap is measured after a collection, when all is quiet and
  somebody has asked for OpenAPI v3, and again after v2, which few clients ask for any more: what a server has encoded
  it keeps.

`)
}
