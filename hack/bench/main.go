// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// bench is what `make bench` calls: it measures what fairlead costs, beside what a user would pick instead, and writes
// a report in Markdown, with charts. See README.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead-dev/fairlead/hack/bench/internal/endtoend"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/manycrds"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/micro"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/report"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/route"
)

// parts of a run.
const allParts = "micro,endtoend,crds"

// options are what the flags say.
type options struct {
	server, stock, etcd string // programs
	benchmarks          string // the compiled test of test/benchmark
	data                string // the directory of that test
	out                 string
	parts               string
	quick               bool
	profiles            bool
}

func main() {
	var o options
	flag.StringVar(&o.server, "server", "", "our kube-apiserver")
	flag.StringVar(&o.stock, "stock", "", "the unpatched kube-apiserver")
	flag.StringVar(&o.etcd, "etcd", "", "etcd")
	flag.StringVar(&o.benchmarks, "benchmarks", "", "the compiled test of test/benchmark")
	flag.StringVar(&o.data, "data", "", "the directory test/benchmark")
	flag.StringVar(&o.out, "out", "", "where the report and the charts go")
	flag.StringVar(&o.parts, "parts", allParts, "what to measure")
	flag.BoolVar(&o.quick, "quick", false, "a smoke run")
	flag.BoolVar(&o.profiles, "profiles", false, "write profiles of the API servers of the end to end part into OUT/profiles")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, o options) error {
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	start := time.Now()
	results := &report.Results{Quick: o.quick, Machine: machine(ctx, o)}
	if err := measure(ctx, o, results); err != nil {
		return err
	}
	results.Took = time.Since(start)
	if err := report.Draw(o.out, results); err != nil {
		return err
	}
	return write(filepath.Join(o.out, "report.md"), results)
}

// write writes the report to a file and to standard output.
func write(path string, results *report.Results) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := report.Write(io.MultiWriter(file, os.Stdout), results); err != nil {
		return err
	}
	return file.Close()
}

// measure runs the parts, one after the other.
func measure(ctx context.Context, o options, results *report.Results) error {
	schema, err := route.ReadSchema(filepath.Join(o.data, "testdata", "httproute-schema.yaml"))
	if err != nil {
		return err
	}
	p := planOf(o, schema)
	for part := range strings.SplitSeq(o.parts, ",") {
		switch part {
		case "micro":
			results.Micro, err = micro.Run(ctx, p.micro)
		case "endtoend":
			results.EndToEnd, err = endtoend.Run(ctx, p.endToEnd)
		case "crds":
			results.CRDs, err = manycrds.Run(ctx, p.crds)
		default:
			err = fmt.Errorf("no such part: there are %s", allParts)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	return nil
}
