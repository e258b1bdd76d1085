// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// Arms with many CRDs, besides those of endtoend.go.
const (
	plainCRDs   = "ours, gates on"
	unionsInAll = "ours, union + 10 gates"
)

// crdArms have three sets of data: CRDs without anything, CRDs with a union and gates, and CRDs with CEL rules for all
// unions. What one server wrote others read.
var crdArms = []arm{
	{Name: stock, data: "plain"},
	{Name: gatesOff, data: "plain", isOurs: true},
	{Name: plainCRDs, data: "plain", isOurs: true, gates: allGates},
	{Name: unionsInAll, data: "union", isOurs: true, gates: allGates, variant: variant{oneUnion: true, gates: true}},
	{Name: celRules, data: "cel", variant: variant{rules: true}},
}

const (
	// perGroup is how many CRDs have a group in common. The API server keeps a document of OpenAPI for each group.
	perGroup = 10
	// clients is how many requests are sent at once.
	clients = 4
)

// crds returns how many there are.
func (c config) crds() int {
	if c.quick {
		return 10
	}
	return 500
}

func crdGroup(i int) string  { return fmt.Sprintf("group%03d.%s", i/perGroup, routeGroup) }
func crdPlural(i int) string { return fmt.Sprintf("routes%03d", i) }

// manyCRDs measures what API servers with many CRDs hold in memory, and how long they take to start. One server runs at
// a time. The live heap of v3 is that once somebody has read /openapi/v3, which the server does by itself, too. That of v2
// is once somebody has also read /openapi/v2, as clients before Kubernetes 1.27 do.
func (c config) manyCRDs(ctx context.Context) (*set, error) {
	control, err := c.control(ctx)
	if err != nil {
		return nil, err
	}
	defer control.stop()
	haveSameData := func(a, b arm) bool { return a.data == b.data }
	for _, a := range slices.CompactFunc(slices.Clone(crdArms), haveSameData) {
		if err := control.populate(ctx, a); err != nil {
			return nil, err
		}
	}
	s := newSet()
	return s, c.repeat("many CRDs", s, 2, 0, func() error {
		arms := slices.Clone(crdArms)
		if s.Rounds%2 == 1 {
			slices.Reverse(arms)
		}
		for _, a := range arms {
			if err := control.visit(ctx, a, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// populate creates the CRDs of an arm and waits until they are established, seconds after they are served. If a server
// ends before, a CRD is never published in OpenAPI.
func (c *control) populate(ctx context.Context, a arm) error {
	server, err := c.start(ctx, a)
	if err != nil {
		return err
	}
	defer server.Kill()
	err = c.forEachCRD(func(i int) error {
		crd, err := newCRD(c.schema, crdGroup(i), crdPlural(i), fmt.Sprintf("Route%03d", i), a.variant)
		if err != nil {
			return err
		}
		_, err = server.json(ctx, http.MethodPost, crdsPath, crd)
		return err
	})
	if err != nil {
		return err
	}
	log.Printf("many CRDs: %d created for %q", c.crds(), a.Name)
	return c.forEachCRD(func(i int) error {
		return server.waitFor(ctx, crdsPath+"/"+crdPlural(i)+"."+crdGroup(i), `"type":"Established","status":"True"`)
	})
}

// visit starts a server once.
func (c *control) visit(ctx context.Context, a arm, s *set) error {
	start := time.Now()
	server, err := c.start(ctx, a, "GODEBUG=memprofilerate=0")
	if err != nil {
		return err
	}
	defer server.Kill()
	s.add(a.Name, "ready-s", time.Since(start).Seconds())
	waitServed := func(i int) error { // a list needs the handler of the resource
		return server.waitFor(ctx, fmt.Sprintf("/apis/%s/%s/%s?limit=1", crdGroup(i), routeVersion, crdPlural(i)), "")
	}
	if err := c.forEachCRD(waitServed); err != nil {
		return err
	}
	s.add(a.Name, "served-s", time.Since(start).Seconds())
	cpu, err := cpuOf(server.PID())
	s.add(a.Name, "cpu-s", cpu.Seconds())
	if err := errors.Join(err, server.addMemory(s)); err != nil {
		return err
	}
	return errors.Join(server.addLive(ctx, "v3", s, c.crds()), server.addLive(ctx, "v2", s, c.crds()))
}

// addLive adds the live heap once a version of OpenAPI was read. The server encodes OpenAPI when somebody reads it, and
// keeps the outcome: otherwise chance would decide what it holds, tens of KiB for each CRD.
func (s *server) addLive(ctx context.Context, version string, to *set, crds int) error {
	if err := s.settle(ctx); err != nil {
		return err
	}
	if _, err := s.get(ctx, "/openapi/"+version); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	// What a server does by itself, such as encoding documents of MiBs, may run at any time, so the least counts.
	least := math.Inf(1)
	for range 3 {
		heap, err := s.collect(ctx)
		if err != nil {
			return err
		}
		least = min(least, heap.live)
		time.Sleep(500 * time.Millisecond)
	}
	to.add(s.name, "live-MiB-"+version, least/mib)
	to.add(s.name, "live-KiB-per-CRD-"+version, least/kib/float64(crds))
	return nil
}

// forEachCRD calls do for every CRD, a few at once.
func (c *control) forEachCRD(do func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(clients)
	for i := range c.crds() {
		group.Go(func() error { return do(i) })
	}
	return group.Wait()
}
