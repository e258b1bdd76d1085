// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manycrds measures what API servers with many CRDs hold in memory, and how long they take to start.
package manycrds

import (
	"context"
	"errors"
	"fmt"
	"math"
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
	UnionGates = "ours, union + 10 gates"
	CEL        = "stock, CEL rules"
)

const allGates = "APIUnions=true,CRDFieldLevelVersioning=true"

const (
	// clients is how many requests are sent at once.
	clients = 4
	// perGroup is how many CRDs have a group in common. The API server keeps a document of OpenAPI for each group.
	perGroup = 10
)

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
	// Live is the heap after a collection once somebody has asked for /openapi/v3, which the server does by itself, too;
	// WithV2 also for /openapi/v2, as clients before Kubernetes 1.27 do.
	Live, WithV2 []float64
	// RSS and Peak are as the kernel counts, with the collector at its default.
	RSS, Peak []float64
}

// Result is what was measured, by arm.
type Result struct {
	CRDs   int
	Rounds int
	Series map[string]*Series
}

// arm is a server over one of three sets of data: CRDs without anything, the same with a union and gates, and with CEL
// rules for all unions. What one server wrote others read.
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
		{name: UnionGates, ours: true, gates: allGates, data: "union", variant: route.Variant{OneUnion: true, Gates: true}},
		{name: CEL, data: "cel", variant: route.Variant{Rules: true}},
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
	made := map[string]bool{}
	for _, a := range arms() {
		if made[a.data] {
			continue
		}
		made[a.data] = true
		if err := b.populate(ctx, a); err != nil {
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
	opts := control.Options{
		Name: "crds", Data: a.data, Program: b.config.Stock, FeatureGates: a.gates, Profiled: b.config.Profiles != "",
	}
	if a.ours {
		opts.Program = b.config.Server
	}
	return control.StartServer(ctx, b.dir, b.etcd, b.credentials, opts)
}

func group(i int) string { return fmt.Sprintf("group%03d.%s", i/perGroup, route.Group) }

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
		crd, err := b.config.Schema.CRD(group(i), plural(i), a.variant)
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
	err = b.forEach(func(i int) error { return waitEstablished(ctx, s, i) })
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
	if err := b.forEach(func(i int) error { return waitServed(ctx, s, i) }); err != nil {
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

// remember adds what is in memory once all is quiet. The server encodes OpenAPI when it is asked for it, and keeps the
// outcome: without asking, chance decides what it holds, tens of KiB for each CRD.
func remember(ctx context.Context, s *control.Server, to *Series) error {
	memory, err := s.Memory()
	if err != nil {
		return err
	}
	live, err := liveAfter(ctx, s, "/openapi/v3")
	if err != nil {
		return err
	}
	withV2, err := liveAfter(ctx, s, "/openapi/v2")
	if err != nil {
		return err
	}
	to.RSS, to.Peak = append(to.RSS, memory.RSS), append(to.Peak, memory.Peak)
	to.Live, to.WithV2 = append(to.Live, live), append(to.WithV2, withV2)
	return nil
}

// liveAfter returns the live heap once a path was read.
func liveAfter(ctx context.Context, s *control.Server, path string) (float64, error) {
	if err := s.Settle(ctx); err != nil {
		return 0, err
	}
	code, answer, err := s.Do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return 0, err
	}
	if code != http.StatusOK {
		return 0, &control.StatusError{Code: code, Text: string(answer)}
	}
	if err := s.Settle(ctx); err != nil {
		return 0, err
	}
	// What a server does by itself, such as encoding documents of MiBs, may run at any time: the least counts.
	least := math.Inf(1)
	for range 3 {
		heap, err := s.Collect(ctx)
		if err != nil {
			return 0, err
		}
		least = min(least, heap.Live)
		time.Sleep(500 * time.Millisecond)
	}
	return least, nil
}

// waitServed returns when the resource can be listed, for which the server must have built its handler.
func waitServed(ctx context.Context, s *control.Server, i int) error {
	path := fmt.Sprintf("/apis/%s/%s/%s?limit=1", group(i), route.Version, plural(i))
	return retry(ctx, func() error {
		_, err := s.JSON(ctx, http.MethodGet, path, nil)
		return err
	})
}

// waitEstablished returns when the CRD is established. That is seconds after it is served, and a server that ends before
// leaves a CRD that is never published in OpenAPI.
func waitEstablished(ctx context.Context, s *control.Server, i int) error {
	return retry(ctx, func() error {
		crd, err := s.JSON(ctx, http.MethodGet, route.CRDs+"/"+plural(i)+"."+group(i), nil)
		if err != nil {
			return err
		}
		status, _ := crd["status"].(map[string]any)
		conditions, _ := status["conditions"].([]any)
		for _, c := range conditions {
			if c := c.(map[string]any); c["type"] == "Established" && c["status"] == "True" {
				return nil
			}
		}
		return fmt.Errorf("%s is not established: %v", plural(i), conditions)
	})
}

// retry returns when do succeeds, or with its last error.
func retry(ctx context.Context, do func() error) error {
	for deadline := time.Now().Add(3 * time.Minute); ; {
		err := do()
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
