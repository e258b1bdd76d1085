// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// bench is what `make bench` calls: it measures what fairlead costs, beside what a user would pick instead, and writes
// a report in Markdown, with charts. See README.md.
//
// Begin reading at run. The parts are in micro.go, endtoend.go and crds.go. They put what they measure into a set
// (samples.go), from which report.md.tmpl, bars.go and charts.go make the report.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const allParts = "micro,endtoend,crds"

// config is what the flags say.
type config struct {
	ours, stock, etcdProgram string // programs
	benchmarks, data         string // the compiled test of test/benchmark, and that directory
	machine, out, parts      string
	quick                    bool // a smoke run, whose figures mean nothing
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	var c config
	flag.StringVar(&c.ours, "server", "", "our kube-apiserver")
	flag.StringVar(&c.stock, "stock", "", "the unpatched kube-apiserver")
	flag.StringVar(&c.etcdProgram, "etcd", "", "etcd")
	flag.StringVar(&c.benchmarks, "benchmarks", "", "the compiled test of test/benchmark")
	flag.StringVar(&c.data, "data", "", "the directory test/benchmark")
	flag.StringVar(&c.machine, "machine", "", "what the figures depend on, for the head of the report")
	flag.StringVar(&c.out, "out", "", "the directory for the report and the charts")
	flag.StringVar(&c.parts, "parts", allParts, "what to measure")
	flag.BoolVar(&c.quick, "quick", false, "a smoke run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := c.run(ctx); err != nil {
		log.Print(err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func (c config) run(ctx context.Context) error {
	if err := os.MkdirAll(c.out, 0o755); err != nil {
		return err
	}
	r := &results{Machine: c.machine, Quick: c.quick, Requests: c.requests(), NumCRDs: c.crds()}
	start := time.Now()
	var err error
	for part := range strings.SplitSeq(c.parts, ",") {
		switch part {
		case "micro":
			r.Micro, err = c.micro(ctx)
		case "endtoend":
			r.EndToEnd, err = c.endToEnd(ctx)
		case "crds":
			r.CRDs, err = c.manyCRDs(ctx)
		default:
			err = errors.New("no such part: there are " + allParts)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	r.Took = time.Since(start).Round(time.Second)
	return r.write(c.out)
}

// repeat measures rounds until there are enough of them and enough time has passed. A smoke run has one.
func (c config) repeat(part string, s *set, least int, atLeast time.Duration, round func() error) error {
	if c.quick {
		least, atLeast = 1, 0
	}
	for start := time.Now(); s.Rounds < least || time.Since(start) < atLeast; s.Rounds++ {
		if err := round(); err != nil {
			return err
		}
		log.Printf("%s: round %d after %v", part, s.Rounds+1, time.Since(start).Round(time.Second))
	}
	return nil
}
