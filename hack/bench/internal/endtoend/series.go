// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endtoend

import (
	"github.com/fairlead-dev/fairlead/hack/bench/internal/control"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/stats"
)

// add adds a round. Of the heaps the first two were read right before the requests, and the last right after.
func (s *Series) add(before, after usage, heaps [3]control.Heap, latencies []float64) {
	n := float64(len(latencies))
	s.CPU = append(s.CPU, (after.server-before.server).Seconds()/n)
	s.Client = append(s.Client, (after.client-before.client).Seconds()/n)
	s.PerSecond = append(s.PerSecond, n/after.at.Sub(before.at).Seconds())
	s.Bytes = append(s.Bytes, beyondReading(heaps[0].Allocated, heaps[1].Allocated, heaps[2].Allocated)/n)
	s.Objects = append(s.Objects, beyondReading(heaps[0].Objects, heaps[1].Objects, heaps[2].Objects)/n)
	s.Latencies = append(s.Latencies, latencies...)
	s.P50 = append(s.P50, stats.Quantile(0.5, latencies))
	s.P99 = append(s.P99, stats.Quantile(0.99, latencies))
}

// beyondReading is what was allocated between the last two readings, but for the reading itself.
func beyondReading(first, second, third float64) float64 { return third - second - (second - first) }
