// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endtoend

import "github.com/fairlead-dev/fairlead/hack/bench/internal/stats"

// add adds what was measured in a round.
func (s *Series) add(round int, m measurement) {
	n := float64(len(m.latencies))
	s.Rounds = append(s.Rounds, round)
	s.CPU = append(s.CPU, m.server.Seconds()/n)
	s.Client = append(s.Client, m.client.Seconds()/n)
	s.PerSecond = append(s.PerSecond, n/m.took.Seconds())
	s.Bytes = append(s.Bytes, m.allocated.Bytes/n)
	s.Objects = append(s.Objects, m.allocated.Objects/n)
	s.Latencies = append(s.Latencies, m.latencies...)
	s.P50 = append(s.P50, stats.Quantile(0.5, m.latencies))
	s.P99 = append(s.P99, stats.Quantile(0.99, m.latencies))
}

// In returns the values of the series, one for each of its rounds, in the rounds of another series. Both have been
// measured in those: one of the two in every round.
func (s *Series) In(other *Series, values []float64) []float64 {
	at := make(map[int]float64, len(values))
	for i, round := range s.Rounds {
		at[round] = values[i]
	}
	out := make([]float64, len(other.Rounds))
	for i, round := range other.Rounds {
		out[i] = at[round]
	}
	return out
}
