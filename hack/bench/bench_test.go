// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestSummary(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   summary
	}{
		"none": {nil, summary{}},
		"four are too few for an interval of 95%":       {[]float64{4, 1, 3, 2}, summary{2.5, 1, 4, 4}},
		"of twelve the outer two on each side drop out": {[]float64{12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, summary{6.5, 3, 10, 12}},
	} {
		if got := summarize(c.values); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestComparisonsAreWithinRounds(t *testing.T) {
	s := newSet()
	for _, round := range [][]float64{{1, 3, 4}, {10, 30, 60}, {100, 300}} { // the last is measured in some rounds only
		for i, v := range round {
			s.add([]string{"first", "second", "other"}[i], "x", v)
		}
		s.Rounds++
	}
	if got := s.Ratio("x", "other", "first", "second"); got != (summary{2.5, 2, 3, 2}) {
		t.Errorf("ratio %v", got)
	}
	if got := s.Difference("x", "other", "first", "second"); got != (summary{21, 2, 40, 2}) {
		t.Errorf("difference %v", got)
	}
}

// TestBars changes one figure of servers that all cost the same.
func TestBars(t *testing.T) {
	const one, eight, apply = "1 worker: ", "8 workers: ", "Server-side apply, 1 worker: "
	for _, c := range []struct {
		name, unit string
		factor     float64
		missed     string
	}{
		{one + unions, "cpu-ms", 1.019, ""},
		{one + unions, "cpu-ms", 1.021, "ours with unions : stock, CPU, 1 worker"},
		{eight + unions, "KiB", 1.081, "ours with unions − stock, allocated, 8 workers"},
		{eight + gatesOff, "cpu-ms", 1.011, "ours, gates off : stock, CPU, 8 workers"},
		{apply + unionsGates, "cpu-ms", 1.051, "ours with unions and 10 gates : stock, CPU of an apply, 1 worker"},
		{unionsInAll, "live-KiB-per-CRD-v3", 1.21, "live heap per CRD with a union and 10 gates over the same without"},
		// Where two equal servers differ by as much, it is noise.
		{one + stockAgain, "cpu-ms", 1.05, ""},
		{one + stockAgain, "KiB", 1.06, ""},
	} {
		r := &results{EndToEnd: newSet(), CRDs: newSet()}
		add := func(s *set, name, unit string) {
			value := map[bool]float64{false: 100, true: 100 * c.factor}[name == c.name && unit == c.unit]
			s.add(name, unit, value)
		}
		for _, a := range endToEndArms {
			for _, l := range loads {
				add(r.EndToEnd, l.Of(a.Name), "cpu-ms")
				add(r.EndToEnd, l.Of(a.Name), "KiB")
			}
		}
		for _, a := range crdArms {
			add(r.CRDs, a.Name, "live-KiB-per-CRD-v3")
		}
		var missed []string
		for _, b := range r.Bars() {
			if !b.Pass {
				missed = append(missed, b.What)
			}
		}
		if got := strings.Join(missed, "; "); got != c.missed {
			t.Errorf("%s %s × %v: missed %q, want %q", c.name, c.unit, c.factor, got, c.missed)
		}
		if report, err := execute(reportTemplate, r); err != nil || strings.Contains(string(report), "NaN") {
			t.Errorf("%v: %s", err, report)
		}
	}
}

func TestChartWithoutFigures(t *testing.T) {
	for _, c := range (&results{Micro: newSet(), EndToEnd: newSet(), CRDs: newSet()}).charts() {
		if image, err := execute(chartTemplate, c.image()); err != nil || strings.Contains(string(image), "NaN") {
			t.Errorf("%v: %s", err, image)
		}
	}
}

func TestReadBenchmarks(t *testing.T) {
	s := newSet()
	err := readBenchmarks(strings.NewReader(`goos: linux
BenchmarkScale/union/size=1-2         	    1597	      6459 ns/op	       0 B/op	       0 allocs/op
BenchmarkHeld/unions+gates-2          	       1	  41099628 ns/op	      5560 held-B
PASS
`), s)
	if time, held := s.Of("Scale/union/size=1", "ns/op"), s.Of("Held/unions+gates", "held-B"); err != nil || time.median != 6459 || held.median != 5560 {
		t.Errorf("%v, %v, %v", time, held, err)
	}
}

func TestParseHeap(t *testing.T) {
	got, err := parseHeap([]byte("heap profile: 1: 2 [3: 4]\n\n# runtime.MemStats\n# Alloc = 1\n# TotalAlloc = 2000\n# Sys = 2\n" +
		"# Mallocs = 30\n# Frees = 4\n# HeapAlloc = 100\n# NumGC = 5\n"))
	if want := (heap{live: 100, bytes: 2000, objects: 30}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestEveryTurnHasAnotherOrder(t *testing.T) {
	if got := [][]int{order(3, 0), order(3, 1), order(3, 2)}; !slices.EqualFunc(got, [][]int{{0, 1, 2}, {0, 2, 1}, {2, 0, 1}}, slices.Equal) {
		t.Error(got)
	}
}

func TestEveryRequestIsAnother(t *testing.T) {
	w := target{object: []byte(`a` + versionMark + `b"port":61234c`), version: []byte("7")}
	if first, second := string(w.body()), string(w.body()); first != `a7b"port":1c` || second != `a7b"port":2c` {
		t.Errorf("%s, then %s", first, second)
	}
}

func TestVariants(t *testing.T) {
	schema, err := os.ReadFile("../../test/benchmark/testdata/httproute-schema.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for v, want := range map[variant][3]int{
		{}:                            {0, 0, 0},
		{unions: true}:                {2, 0, 0},
		{rules: true}:                 {0, 20, 0},
		{oneUnion: true, gates: true}: {1, 0, 10},
	} {
		crd, err := newCRD(schema, routeGroup, routePlural, "HTTPRoute", v)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(crd)
		count := func(what string) int { return strings.Count(string(text), what) }
		if got := [3]int{count("x-kubernetes-unions"), count(`"rule":`), count("fieldPaths")}; err != nil || got != want {
			t.Errorf("%+v: %v, want %v unions, rules and gates", v, got, want)
		}
	}
}
