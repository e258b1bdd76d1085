// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchunit"
	"gonum.org/v1/gonum/stat"
)

// set has what one part of a run measured. Comparisons take the values of the same round only, so that what drifts from
// round to round cancels. None of its statistics assumes a distribution: the times of requests have long tails.
type set struct {
	Rounds int

	values map[key][]value
}

type key struct{ name, unit string }

type value struct {
	round int
	value float64
}

func newSet() *set { return &set{values: map[key][]value{}} }

// add adds values of the current round.
func (s *set) add(name, unit string, values ...float64) {
	for _, v := range values {
		s.values[key{name, unit}] = append(s.values[key{name, unit}], value{s.Rounds, v})
	}
}

// Names returns the names of all that has a time, in alphabetical order.
func (s *set) Names() []string {
	var names []string
	for k := range s.values {
		if k.unit == "ns/op" {
			names = append(names, k.name)
		}
	}
	slices.Sort(names)
	return names
}

// Of summarizes the values of all rounds.
func (s *set) Of(name, unit string) summary { return summarize(s.all(name, unit)) }

// P99 formats the 99th percentile of all values.
func (s *set) P99(name, unit string) string {
	return fmt.Sprintf("%.2f", quantile(0.99, s.all(name, unit)))
}

func (s *set) all(name, unit string) []float64 {
	var all []float64
	for _, v := range s.values[key{name, unit}] {
		all = append(all, v.value)
	}
	return all
}

// Ratio summarizes the values divided by the mean of the bases in the same round.
func (s *set) Ratio(unit, name string, bases ...string) summary {
	return s.compare(unit, name, bases, func(v, base float64) float64 { return v / base })
}

// Difference summarizes the values less the mean of the bases in the same round.
func (s *set) Difference(unit, name string, bases ...string) summary {
	return s.compare(unit, name, bases, func(v, base float64) float64 { return v - base })
}

func (s *set) compare(unit, name string, bases []string, with func(v, base float64) float64) summary {
	inRound := map[int][]float64{}
	for _, base := range bases {
		for _, v := range s.values[key{base, unit}] {
			inRound[v.round] = append(inRound[v.round], v.value)
		}
	}
	var out []float64
	for _, v := range s.values[key{name, unit}] {
		if base := inRound[v.round]; len(base) > 0 {
			out = append(out, with(v.value, stat.Mean(base, nil)))
		}
	}
	return summarize(out)
}

// summary of many measurements of one thing.
type summary struct {
	median float64
	// low and high bound the median with a confidence of at least 95% if there are six values or more. Otherwise they are
	// the smallest and the largest value.
	low, high float64
	n         int
}

func summarize(values []float64) summary {
	if len(values) == 0 {
		return summary{}
	}
	sample := benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
	s := benchmath.AssumeNothing.Summary(sample, 0.95)
	least, most := sample.Values[0], sample.Values[len(values)-1]
	return summary{s.Center, max(s.Lo, least), min(s.Hi, most), len(values)}
}

// In returns the summary in another unit.
func (s summary) In(unit float64) summary {
	return summary{s.median / unit, s.low / unit, s.high / unit, s.n}
}

func (s summary) isAtMost(limit float64) bool { return s.n > 0 && s.median <= limit }

// Number formats the median.
func (s summary) Number(format string) string {
	if s.n == 0 {
		return "–"
	}
	return fmt.Sprintf(format, s.median)
}

// Interval formats the median and its interval.
func (s summary) Interval(format string) string {
	if s.n == 0 {
		return "–"
	}
	return fmt.Sprintf(format+" ["+format+", "+format+"]", s.median, s.low, s.high)
}

// Time formats a median of nanoseconds, and half of its interval as a part of it.
func (s summary) Time() string {
	if s.n == 0 {
		return "–"
	}
	return fmt.Sprintf("%s ± %.0f%%", shortTime(s.median), 100*math.Abs((s.high-s.low)/2/s.median))
}

// shortTime formats nanoseconds with a unit that fits.
func shortTime(ns float64) string { return benchunit.Scale(ns/1e9, benchunit.Decimal) + "s" }

// quantile returns the value below which a part of the values is, or 0 if there are none.
func quantile(part float64, values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return stat.Quantile(part, stat.Empirical, slices.Sorted(slices.Values(values)), nil)
}
