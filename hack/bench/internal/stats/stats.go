// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stats holds the few statistics that the report needs. None of them assumes a distribution: times of requests
// have long tails.
package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Summary is what many measurements of one thing come to.
type Summary struct {
	Median float64
	// Low and High bound the median with a confidence of at least 95% where there are enough values (six), else they
	// are the smallest and the largest.
	Low, High float64
	N         int
}

// Of summarizes values; all is zero where there are none.
func Of(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	sorted := slices.Sorted(slices.Values(values))
	i := rankOfBound(len(sorted))
	return Summary{Median: median(sorted), Low: sorted[i], High: sorted[len(sorted)-1-i], N: len(sorted)}
}

// HalfWidth returns half of the interval around the median, as a part of the median.
func (s Summary) HalfWidth() float64 {
	if s.Median == 0 {
		return 0
	}
	return math.Abs((s.High - s.Low) / 2 / s.Median)
}

func median(sorted []float64) float64 {
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// rankOfBound returns the largest i for which the values from the i-th smallest to the i-th largest hold the median
// with a confidence of 95%: the number of values below the median is binomial.
func rankOfBound(n int) int {
	below, i := math.Pow(0.5, float64(n)), 0
	term := below
	for next := i + 1; next < (n+1)/2; next++ {
		term *= float64(n-next+1) / float64(next)
		if below += term; below > 0.025 {
			break
		}
		i = next
	}
	return i
}

// Quantile returns the value below which that part of the values is.
func Quantile(part float64, values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return stat.Quantile(part, stat.Empirical, slices.Sorted(slices.Values(values)), nil)
}

// Ratios divides the values of the rounds by those of the base in the same rounds: what drifts from round to round
// cancels.
func Ratios(values, base []float64) []float64 {
	return pairs(values, base, func(v, b float64) float64 { return v / b })
}

// Differences subtracts the base, round by round.
func Differences(values, base []float64) []float64 {
	return pairs(values, base, func(v, b float64) float64 { return v - b })
}

func pairs(values, base []float64, of func(v, b float64) float64) []float64 {
	out := make([]float64, min(len(values), len(base)))
	for i := range out {
		out[i] = of(values[i], base[i])
	}
	return out
}

// Fit tells how a cost grows with a size.
type Fit struct {
	// Fixed and Each are of the line cost = Fixed + Each × size.
	Fixed, Each float64
	// R2 is how much of the variation the line explains, 1 for all of it.
	R2 float64
	// Exponent is that of the power of the size by which the cost grows: 1 is linear, 2 quadratic. What is fixed makes
	// it smaller.
	Exponent float64
}

// Grows fits costs to sizes. The line weighs relative errors, so that small sizes count as much as large ones.
func Grows(sizes, costs []float64) Fit {
	weights := make([]float64, len(costs))
	for i, cost := range costs {
		weights[i] = 1 / (cost * cost)
	}
	var fit Fit
	fit.Fixed, fit.Each = stat.LinearRegression(sizes, costs, weights, false)
	fit.R2 = stat.RSquared(sizes, costs, weights, fit.Fixed, fit.Each)
	_, fit.Exponent = stat.LinearRegression(logs(sizes), logs(costs), nil, false)
	return fit
}

func logs(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = math.Log(v)
	}
	return out
}
