// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/hack/bench/internal/endtoend"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/manycrds"
)

// measured returns results in which ours costs as much as stock, but for the factor and the bytes of ours with unions.
func measured(cpu, bytes, held float64) *Results {
	e := &endtoend.Result{
		Rounds: 2, Requests: 10, Series: map[string]map[int]*endtoend.Series{}, Applied: map[string]*endtoend.Series{},
	}
	for _, name := range []string{endtoend.Stock, endtoend.Control, endtoend.UnionsGate} {
		e.Applied[name] = &endtoend.Series{Rounds: []int{0, 1}, CPU: []float64{1, 2}, Bytes: []float64{1e6, 2e6}, P50: []float64{1, 1}}
	}
	for _, name := range endtoend.Names() {
		s := &endtoend.Series{Rounds: []int{0, 1}, CPU: []float64{1, 2}, Bytes: []float64{1e6, 2e6}, P50: []float64{1, 1}, P99: []float64{1, 1}}
		if name == endtoend.Unions {
			s.CPU = []float64{cpu, 2 * cpu}
			s.Bytes = []float64{1e6 + bytes, 2e6 + bytes}
		}
		e.Series[name] = map[int]*endtoend.Series{1: s}
	}
	c := &manycrds.Result{CRDs: 10, Rounds: 1, Series: map[string]*manycrds.Series{}}
	for _, name := range manycrds.Names() {
		c.Series[name] = &manycrds.Series{Live: []float64{1e8}}
	}
	c.Series[manycrds.UnionGates].Live[0] += 10 * held
	return &Results{EndToEnd: e, CRDs: c}
}

func missed(r *Results) []string {
	var list []string
	for _, b := range Bars(r) {
		if !b.Pass {
			list = append(list, b.What)
		}
	}
	return list
}

func TestBars(t *testing.T) {
	if got := missed(measured(1.02, 8*kib, 20*kib)); len(got) > 0 {
		t.Errorf("missed: %q", got)
	}
	got := missed(measured(1.03, 9*kib, 21*kib))
	if len(got) != 3 {
		t.Errorf("missed: %q", got)
	}
	r := measured(1, 0, 0)
	r.EndToEnd.Applied[endtoend.UnionsGate].CPU = []float64{1.06, 2.12}
	if got := missed(r); len(got) != 1 || !strings.Contains(got[0], "CPU of an apply") {
		t.Errorf("missed: %q", got)
	}
}

func TestNoiseIsWhatTheControlShows(t *testing.T) {
	r := measured(1, 0, 0)
	r.EndToEnd.Series[endtoend.Control][1].CPU = []float64{1.05, 1.9}
	r.EndToEnd.Series[endtoend.GatesOff][1].CPU = []float64{1.04, 2.08}
	if got := missed(r); len(got) > 0 {
		t.Errorf("missed: %q", got)
	}
	r.EndToEnd.Series[endtoend.Control][1].CPU = []float64{1, 2}
	if got := missed(r); len(got) != 1 || !strings.HasPrefix(got[0], "ours, gates off : stock, CPU") {
		t.Errorf("missed: %q", got)
	}
}

func TestWriteAndDraw(t *testing.T) {
	r := measured(1, 0, 0)
	if err := Draw(t.TempDir(), r); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := Write(&out, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range append([]string{"# What fairlead costs", "6 of 6 pass", "1 worker", "10 CRDs", endtoend.UnionsGate}, r.Charts...) {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in the report", want)
		}
	}
	if strings.Contains(out.String(), "NaN") || strings.Contains(out.String(), "%!") {
		t.Errorf("not a number, or a bad format:\n%s", out.String())
	}
}
