// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"time"

	"golang.org/x/perf/benchfmt"
)

// groups of benchmarks, which take turns at being the first. Those of a group are compared with each other. Left out is
// UnionListMap, whose largest objects are larger than etcd takes, and slow to make.
var groups = []string{
	"Scale", "Union$", "ListMap", "FieldGate$", "FieldGateListMap", "(Gates|Depth|UnionNone)$",
	"(Compile|UnionCompile|Held)$", "(Serve|ManyPaths|DropDefaults|DefaultsOfVersion|AllDropped)$",
}

// micro runs all Go benchmarks of test/benchmark in every round, in another order each time, so that drift of the
// machine cancels. The units are those of the benchmarks: ns/op, B/op, allocs/op, held-B.
func (c config) micro(ctx context.Context) (*set, error) {
	s := newSet()
	return s, c.repeat("micro", s, 5, 2*time.Minute, func() error {
		for i := range groups {
			if err := c.runGroup(ctx, groups[(i+s.Rounds)%len(groups)], s); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c config) runGroup(ctx context.Context, group string, s *set) error {
	each := 20 * time.Millisecond
	if c.quick {
		each = time.Millisecond
	}
	cmd := exec.CommandContext(ctx, c.benchmarks, "-test.run=^$", "-test.bench=^Benchmark("+group+")",
		"-test.benchtime="+each.String(), "-test.benchmem")
	cmd.Dir = c.data
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("benchmarks %s: %w: %.1000s%.1000s", group, err, out, stderr.String())
	}
	return readBenchmarks(bytes.NewReader(out), s)
}

// processors is the suffix that Go adds to the names of benchmarks.
var processors = regexp.MustCompile(`-\d+$`)

func readBenchmarks(output io.Reader, s *set) error {
	reader := benchfmt.NewReader(output, "")
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			return record
		case *benchfmt.Result:
			name := processors.ReplaceAllString(record.Name.String(), "")
			for _, v := range record.Values {
				if v.OrigUnit != "" { // the reader turns nanoseconds into seconds
					v.Value, v.Unit = v.OrigValue, v.OrigUnit
				}
				s.add(name, v.Unit, v.Value)
			}
		}
	}
	return reader.Err()
}
