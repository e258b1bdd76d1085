// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math"
	"testing"
)

func TestOf(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   Summary
	}{
		"none":               {nil, Summary{}},
		"one":                {[]float64{3}, Summary{3, 3, 3, 1}},
		"even":               {[]float64{4, 1, 3, 2}, Summary{2.5, 1, 4, 4}},
		"eight are too few":  {[]float64{1, 2, 3, 4, 5, 6, 7, 8}, Summary{4.5, 1, 8, 8}},
		"nine lose the ends": {[]float64{9, 8, 7, 6, 5, 4, 3, 2, 1}, Summary{5, 2, 8, 9}},
	} {
		if got := Of(c.values); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	// A table of the sign test says: of 20 values the 6th smallest and the 6th largest.
	if got := rankOfBound(20); got != 5 {
		t.Errorf("of 20: %d", got)
	}
}

func TestOfKeepsItsArgument(t *testing.T) {
	values := []float64{3, 1, 2}
	Of(values)
	Quantile(0.5, values)
	if values[0] != 3 || values[1] != 1 {
		t.Error(values)
	}
}

func TestQuantile(t *testing.T) {
	values := make([]float64, 100)
	for i := range values {
		values[i] = float64(100 - i)
	}
	if p50, p99 := Quantile(0.5, values), Quantile(0.99, values); p50 != 50 || p99 != 99 {
		t.Errorf("%v, %v", p50, p99)
	}
}

func TestPairs(t *testing.T) {
	if got := Ratios([]float64{2, 6, 9}, []float64{1, 2}); len(got) != 2 || got[0] != 2 || got[1] != 3 {
		t.Error(got)
	}
	if got := Differences([]float64{2, 6}, []float64{1, 2}); got[0] != 1 || got[1] != 4 {
		t.Error(got)
	}
}

func TestGrows(t *testing.T) {
	sizes := []float64{10, 100, 1000, 10000}
	for name, c := range map[string]struct {
		cost     func(float64) float64
		exponent float64
	}{
		"linear":    {func(n float64) float64 { return 50 * n }, 1},
		"quadratic": {func(n float64) float64 { return n * n }, 2},
	} {
		costs := make([]float64, len(sizes))
		for i, n := range sizes {
			costs[i] = c.cost(n)
		}
		if got := Grows(sizes, costs); math.Abs(got.Exponent-c.exponent) > 1e-9 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	got := Grows([]float64{1, 2, 4}, []float64{12, 14, 18})
	if math.Abs(got.Fixed-10) > 1e-9 || math.Abs(got.Each-2) > 1e-9 || math.Abs(got.R2-1) > 1e-9 {
		t.Errorf("%+v", got)
	}
}
