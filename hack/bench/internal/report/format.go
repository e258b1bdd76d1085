// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/fairlead-dev/fairlead/hack/bench/internal/micro"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/stats"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

const none = "–"

// in returns the summary in another unit.
func in(s stats.Summary, unit float64) stats.Summary {
	s.Median, s.Low, s.High = s.Median/unit, s.Low/unit, s.High/unit
	return s
}

// interval writes a median and its interval.
func interval(s stats.Summary, format string) string {
	if s.N == 0 {
		return none
	}
	return fmt.Sprintf(format+" ["+format+", "+format+"]", s.Median, s.Low, s.High)
}

// duration writes a median of nanoseconds.
func duration(s stats.Summary) string {
	if s.N == 0 {
		return none
	}
	return fmt.Sprintf("%s ± %.0f%%", micro.FormatTime(s.Median), 100*s.HalfWidth())
}

func number(s stats.Summary, format string) string {
	if s.N == 0 {
		return none
	}
	return fmt.Sprintf(format, s.Median)
}
