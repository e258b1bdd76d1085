// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package micro

import (
	"strings"
	"testing"
)

const output = `goos: linux
goarch: amd64
pkg: example.com/benchmark
cpu: a CPU
BenchmarkScale/union/size=1-2         	    1597	      6459 ns/op	       0 B/op	       0 allocs/op
BenchmarkHeld/unions+gates-2          	       1	  41099628 ns/op	      5560 held-B
BenchmarkUnion/union/both-2           	    1000	        20.5 ns/op
PASS
`

func TestAdd(t *testing.T) {
	r := &Result{values: map[string]map[string][]float64{}}
	for range 2 {
		if err := r.add(strings.NewReader(output)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []struct {
		name, unit string
		value      float64
	}{
		{"Scale/union/size=1", "ns/op", 6459},
		{"Scale/union/size=1", "allocs/op", 0},
		{"Held/unions+gates", "held-B", 5560},
		{"Union/union/both", "ns/op", 20.5},
	} {
		got := r.Values(want.name, want.unit)
		if len(got) != 2 || got[0] != want.value || got[1] != want.value {
			t.Errorf("%s %s: %v, want twice %v", want.name, want.unit, got, want.value)
		}
	}
	if got := r.Ratio("Scale/union/size=1", "Scale/union/size=1").Median; got != 1 {
		t.Errorf("ratio %v", got)
	}
	if got := r.Time("absent").N; got != 0 {
		t.Errorf("%d values of nothing", got)
	}
}

func TestFormatTime(t *testing.T) {
	for ns, want := range map[float64]string{4600: "4.600µs", 1_650_000: "1.650ms"} {
		if got := FormatTime(ns); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
