// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package micro runs the Go benchmarks of test/benchmark, in rounds.
package micro

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"time"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"

	"github.com/fairlead-dev/fairlead/hack/bench/internal/stats"
)

// Config says what to run.
type Config struct {
	// Binary is the compiled test, and Dir where it finds its data.
	Binary, Dir string
	// Time is how long each benchmark runs in a round.
	Time time.Duration
	// Rounds are run at least, and more until For has passed.
	Rounds int
	For    time.Duration
	// Log is told what goes on.
	Log func(format string, args ...any)
}

// Result has the values of all rounds by benchmark, without Benchmark in its name, and unit.
type Result struct {
	Rounds int
	values map[string]map[string][]float64
}

// groups of benchmarks, which take turns at being the first. Those of a group are compared with each other. Left out is
// UnionListMap, whose largest objects are larger than etcd takes, and slow to make.
var groups = []string{
	"Scale", "Union$", "ListMap", "FieldGate$", "FieldGateListMap", "(Gates|Depth|UnionNone)$",
	"(Compile|UnionCompile|Held)$", "(Serve|ManyPaths|DropDefaults|DefaultsOfVersion|AllDropped)$",
}

// Run runs all groups in every round, in another order each time, so that drift of the machine cancels.
func Run(ctx context.Context, config Config) (*Result, error) {
	r := &Result{values: map[string]map[string][]float64{}}
	for start := time.Now(); r.Rounds < config.Rounds || time.Since(start) < config.For; r.Rounds++ {
		for i := range groups {
			if err := runGroup(ctx, config, groups[(i+r.Rounds)%len(groups)], r); err != nil {
				return nil, err
			}
		}
		config.Log("micro: round %d after %v", r.Rounds+1, time.Since(start).Round(time.Second))
	}
	return r, nil
}

func runGroup(ctx context.Context, config Config, group string, r *Result) error {
	cmd := exec.CommandContext(ctx, config.Binary, "-test.run=^$", "-test.bench=^Benchmark("+group+")",
		"-test.benchtime="+config.Time.String(), "-test.benchmem")
	cmd.Dir = config.Dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("benchmarks %s: %w: %.1000s%.1000s", group, err, out, stderr.String())
	}
	return r.add(bytes.NewReader(out))
}

// processors is what the Go test adds to names.
var processors = regexp.MustCompile(`-\d+$`)

// add reads the output of a benchmark.
func (r *Result) add(output io.Reader) error {
	reader := benchfmt.NewReader(output, "")
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			return record
		case *benchfmt.Result:
			name := processors.ReplaceAllString(record.Name.String(), "")
			if r.values[name] == nil {
				r.values[name] = map[string][]float64{}
			}
			for _, v := range record.Values {
				value, unit := untidied(v)
				r.values[name][unit] = append(r.values[name][unit], value)
			}
		}
	}
	return reader.Err()
}

// untidied returns the value in the unit that the benchmark printed.
func untidied(v benchfmt.Value) (float64, string) {
	if v.OrigUnit != "" {
		return v.OrigValue, v.OrigUnit
	}
	return v.Value, v.Unit
}

// Values returns the values of all rounds, none if there is no such benchmark or unit.
func (r *Result) Values(name, unit string) []float64 { return r.values[name][unit] }

// Time returns the nanoseconds of a benchmark.
func (r *Result) Time(name string) stats.Summary { return stats.Of(r.Values(name, "ns/op")) }

// Of summarizes values of another unit.
func (r *Result) Of(name, unit string) stats.Summary { return stats.Of(r.Values(name, unit)) }

// Ratio summarizes the ratio of two times within the rounds.
func (r *Result) Ratio(name, base string) stats.Summary {
	return stats.Of(stats.Ratios(r.Values(name, "ns/op"), r.Values(base, "ns/op")))
}

// FormatTime writes nanoseconds with a unit that fits.
func FormatTime(nanoseconds float64) string {
	return benchunit.Scale(nanoseconds/1e9, benchunit.Decimal) + "s"
}

// Names returns the names of all benchmarks, in alphabetical order.
func (r *Result) Names() []string { return slices.Sorted(maps.Keys(r.values)) }
