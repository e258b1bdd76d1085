// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manycrds measures what API servers with many CRDs hold in memory, and how long they take to start.
package manycrds

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-dev/fairlead/hack/bench/internal/control"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/route"
)

// The arms, by what a reader sees of them.
const (
	Stock      = "stock"
	GatesOff   = "ours, gates off"
	Plain      = "ours, gates on"
	UnionsGate = "ours, unions + 10 gates"
)

const allGates = "APIUnions=true,CRDFieldLevelVersioning=true"

// clients is how many requests are sent at once.
const clients = 4

// Config says what to run.
type Config struct {
	// Server, Stock and Etcd are programs.
	Server, Stock, Etcd string
	// Schema is that of every CRD, with unions.
	Schema route.Schema
	// CRDs is their number.
	CRDs int
	// Rounds are run at least, and more until For has passed.
	Rounds int
	For    time.Duration
	// Log is told what goes on.
	Log func(format string, args ...any)
	// Profiles is a directory for heap profiles of all arms; none are taken if it is empty.
	Profiles string
}

// Series has what was measured of one arm, with a value for each start.
type Series struct {
	// Ready and Served are the seconds until /readyz answers and until every CRD has.
	Ready, Served []float64
	// CPU is what the server ran until then, in seconds.
	CPU []float64
	// Live is the heap after a collection; RSS and Peak are as the kernel counts, with the collector at its default.
	Live, RSS, Peak []float64
}

// Result is what was measured, by arm.
type Result struct {
	CRDs   int
	Rounds int
	Series map[string]*Series
}

// arm is a server over one of two sets of data: CRDs without anything, and the same with unions and gates. What one
// server wrote others read.
type arm struct {
	name    string
	ours    bool
	gates   string
	data    string
	variant route.Variant
}

func arms() []arm {
	return []arm{
		{name: Stock, data: "plain"},
		{name: GatesOff, ours: true, data: "plain"},
		{name: Plain, ours: true, gates: allGates, data: "plain"},
		{name: UnionsGate, ours: true, gates: allGates, data: "unions", variant: route.Variant{Unions: true, Gates: true}},
	}
}

// Names returns the names of all arms in their order.
func Names() []string {
	var names []string
	for _, a := range arms() {
		names = append(names, a.name)
	}
	return names
}

type bench struct {
	config      Config
	dir         string
	credentials *control.Credentials
	etcd        *control.Etcd
}

// Run measures all arms, one server at a time.
func Run(ctx context.Context, config Config) (*Result, error) {
	dir, err := control.WorkDir("manycrds")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := &bench{config: config, dir: dir}
	if b.credentials, err = control.NewCredentials(dir); err != nil {
		return nil, err
	}
	if b.etcd, err = control.StartEtcd(ctx, dir, config.Etcd); err != nil {
		return nil, err
	}
	defer b.etcd.Stop()
	for _, i := range []int{0, len(arms()) - 1} {
		if err := b.populate(ctx, arms()[i]); err != nil {
			return nil, err
		}
	}
	return b.measure(ctx)
}

func (b *bench) measure(ctx context.Context) (*Result, error) {
	r := &Result{CRDs: b.config.CRDs, Series: map[string]*Series{}}
	for _, a := range arms() {
		r.Series[a.name] = &Series{}
	}
	for start := time.Now(); r.Rounds < b.config.Rounds || time.Since(start) < b.config.For; r.Rounds++ {
		list := arms()
		if r.Rounds%2 == 1 {
			slices.Reverse(list)
		}
		for _, a := range list {
			if err := b.visit(ctx, a, r.Series[a.name]); err != nil {
				return nil, fmt.Errorf("%s: %w", a.name, err)
			}
		}
		b.config.Log("many CRDs: round %d after %v", r.Rounds+1, time.Since(start).Round(time.Second))
	}
	return r, nil
}

func (b *bench) serve(ctx context.Context, a arm) (*control.Server, error) {
	opts := control.Options{Name: "crds", Data: a.data, Program: b.config.Stock, FeatureGates: a.gates}
	if a.ours {
		opts.Program = b.config.Server
	}
	return control.StartServer(ctx, b.dir, b.etcd, b.credentials, opts)
}

func plural(i int) string { return fmt.Sprintf("routes%03d", i) }

// populate creates the CRDs of an arm.
func (b *bench) populate(ctx context.Context, a arm) error {
	start := time.Now()
	s, err := b.serve(ctx, a)
	if err != nil {
		return err
	}
	defer s.Stop()
	err = b.forEach(func(i int) error {
		crd, err := b.config.Schema.CRD(plural(i), a.variant)
		if err != nil {
			return err
		}
		names := crd["spec"].(map[string]any)["names"].(map[string]any)
		names["kind"], names["listKind"] = fmt.Sprintf("Route%03d", i), fmt.Sprintf("Route%03dList", i)
		_, err = s.JSON(ctx, http.MethodPost, route.CRDs, crd)
		return err
	})
	if err != nil {
		return err
	}
	err = b.forEach(func(i int) error { return waitServed(ctx, s, plural(i)) })
	b.config.Log("many CRDs: %d made with %q after %v", b.config.CRDs, a.name, time.Since(start).Round(time.Second))
	return err
}

// visit starts a server once.
func (b *bench) visit(ctx context.Context, a arm, to *Series) error {
	start := time.Now()
	s, err := b.serve(ctx, a)
	if err != nil {
		return err
	}
	defer s.Stop()
	to.Ready = append(to.Ready, time.Since(start).Seconds())
	if err := b.forEach(func(i int) error { return waitServed(ctx, s, plural(i)) }); err != nil {
		return err
	}
	to.Served = append(to.Served, time.Since(start).Seconds())
	cpu, err := s.CPU()
	if err != nil {
		return err
	}
	to.CPU = append(to.CPU, cpu.Seconds())
	if err := remember(ctx, s, to); err != nil || b.config.Profiles == "" {
		return err
	}
	if err := os.MkdirAll(b.config.Profiles, 0o755); err != nil {
		return err
	}
	name := strings.NewReplacer(",", "", " ", "-", "+", "and").Replace(a.name)
	return s.Save(ctx, "/debug/pprof/heap", filepath.Join(b.config.Profiles, "crds-"+name+".heap.pb.gz"))
}

// remember adds what is in memory once all is quiet.
func remember(ctx context.Context, s *control.Server, to *Series) error {
	if err := s.Settle(ctx); err != nil {
		return err
	}
	memory, err := s.Memory()
	if err != nil {
		return err
	}
	heap, err := s.Collect(ctx)
	if err != nil {
		return err
	}
	to.Live, to.RSS, to.Peak = append(to.Live, heap.Live), append(to.RSS, memory.RSS), append(to.Peak, memory.Peak)
	return nil
}

// waitServed returns when the resource can be listed, for which the server must have built its handler.
func waitServed(ctx context.Context, s *control.Server, plural string) error {
	deadline := time.Now().Add(3 * time.Minute)
	path := fmt.Sprintf("/apis/%s/%s/%s?limit=1", route.Group, route.Version, plural)
	for {
		_, err := s.JSON(ctx, http.MethodGet, path, nil)
		if err == nil || time.Now().After(deadline) || ctx.Err() != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// forEach calls do for every CRD, a few at once.
func (b *bench) forEach(do func(i int) error) error {
	errs := make([]error, clients)
	var group sync.WaitGroup
	for c := range clients {
		group.Go(func() {
			for i := c; i < b.config.CRDs && errs[c] == nil; i += clients {
				errs[c] = do(i)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
