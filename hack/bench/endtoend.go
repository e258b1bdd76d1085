// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"
)

// The arms of several parts and bars, as the report names them.
const (
	stock       = "stock"
	stockAgain  = "stock, again"
	celRules    = "stock, CEL rules"
	gatesOff    = "ours, gates off"
	unions      = "ours, unions"
	unionsGates = "ours, unions + 10 gates"

	// allGates are the server's feature gates that are measured.
	allGates = "APIUnions=true,CRDFieldLevelVersioning=true"
)

// arm is a kind of server and the CRD that it serves.
type arm struct {
	Name    string
	isOurs  bool
	gates   string // the server's feature gates
	variant variant
	data    string // where its objects are in etcd

	// every is how many rounds there are from one visit to the next. The cost of CEL rules is plain to see, so the time is
	// used for small differences.
	every int
	// Applied reports whether server-side apply is measured, too.
	Applied bool
	want    behavior
}

var keepsAll = behavior{kept, kept, kept}

// endToEndArms have a server each, so that what one costs does not depend on the others. They are compared with the mean
// of the first two, which are the same and so show how much two equal servers differ.
var endToEndArms = []arm{
	{Name: stock, every: 1, Applied: true, want: keepsAll},
	{Name: stockAgain, every: 1, Applied: true, want: keepsAll},
	{Name: celRules, every: 4, variant: variant{rules: true}, want: behavior{refused, refused, kept}},
	{Name: gatesOff, every: 1, isOurs: true, want: keepsAll},
	{Name: "ours, gates on, plain CRD", every: 1, isOurs: true, gates: allGates, want: keepsAll},
	{
		Name: unions, every: 1, isOurs: true, gates: allGates, variant: variant{unions: true},
		want: behavior{refused, dropped, kept},
	},
	{
		Name: unionsGates, every: 1, Applied: true, isOurs: true, gates: allGates, variant: variant{unions: true, gates: true},
		want: behavior{refused, dropped, dropped},
	},
}

// load is what is sent to an arm.
type load struct {
	Name    string // as the report has it
	workers int    // how many requests are sent at once
	Applied bool   // by server-side apply; otherwise objects are updated
}

var loads = []load{{"1 worker", 1, false}, {"8 workers", 8, false}, {"Server-side apply, 1 worker", 1, true}}

// Of returns the name in a set of an arm under the load.
func (l load) Of(arm string) string { return l.Name + ": " + arm }

const (
	// requests are sent in a round to each arm with each load. An update allocates some 5 MiB, which stays in memory until
	// the next round: it must not be more than a gibibyte in each of the servers.
	requests = 64
	// smallBatch is how many of them are sent before it is the next arm's turn, at least one by each worker. Small batches
	// and many rounds show small differences best.
	smallBatch = 4
	// settling is how long a server has to finish what an update leaves to do after its answer: it decodes the event of
	// its own write.
	settling = 10 * time.Millisecond
)

// runner is an arm with its server and its workers.
type runner struct {
	arm
	*server
	workers [][]*worker // by load
	sum     batch       // of the batches so far
}

// endToEnd measures updates of an HTTPRoute at API servers that differ in how they check its unions. The names in the
// set are those of load.Of, and those of the arms for what depends on no load.
func (c config) endToEnd(ctx context.Context) (*set, error) {
	control, err := c.control(ctx)
	if err != nil {
		return nil, err
	}
	defer control.stop()
	runners, err := control.runners(ctx)
	defer func() {
		for _, r := range runners {
			r.Kill()
		}
	}()
	if err != nil {
		return nil, err
	}
	s := newSet()
	err = c.repeat("end to end", s, 8, 5*time.Minute, func() error { return c.round(ctx, runners, s) })
	for _, r := range runners {
		err = errors.Join(err, r.addMemory(s))
	}
	return s, err
}

// runners starts the servers of all arms. After an error it returns those that run.
func (c *control) runners(ctx context.Context) ([]*runner, error) {
	var runners []*runner
	for i, a := range endToEndArms {
		// The collector takes about half of a server's CPU, in bursts that would hide all else. Without it the heap grows
		// only: to give memory back and to fault it in again, page by page, would take a tenth of the server's time.
		a.data = fmt.Sprintf("arm%d", i)
		server, err := c.start(ctx, a, "GOGC=off", "GODEBUG=madvdontneed=0,memprofilerate=0")
		if err != nil {
			return runners, err
		}
		r := &runner{arm: a, server: server}
		runners = append(runners, r)
		if err := r.prepare(ctx, c.schema); err != nil {
			return runners, err
		}
	}
	return runners, nil
}

// prepare creates what is measured, and shows that the server does what its arm is for.
func (r *runner) prepare(ctx context.Context, schema []byte) error {
	crd, err := newCRD(schema, routeGroup, routePlural, "HTTPRoute", r.variant)
	if err != nil {
		return err
	}
	if _, err := r.json(ctx, http.MethodPost, crdsPath, crd); err != nil {
		return err
	}
	if err := r.prove(ctx); err != nil {
		return err
	}
	r.workers = make([][]*worker, len(loads))
	for i, l := range loads {
		for j := range l.workers {
			if l.Applied && !r.Applied {
				continue
			}
			w, err := newWorker(ctx, r.server, fmt.Sprintf("load-%d-%d", i, j), l.Applied)
			if err != nil {
				return err
			}
			r.workers[i] = append(r.workers[i], w)
		}
	}
	return nil
}

// round measures the arms whose turn it is, with each load.
func (c config) round(ctx context.Context, runners []*runner, s *set) error {
	due := slices.DeleteFunc(slices.Clone(runners), func(r *runner) bool { return s.Rounds%r.every != 0 })
	for _, r := range due { // removes what the last round has left behind
		heap, err := r.collect(ctx)
		if err != nil {
			return err
		}
		s.add(r.Name, "live-MiB", heap.live/mib)
	}
	for i, l := range loads {
		loaded := slices.DeleteFunc(slices.Clone(due), func(r *runner) bool { return len(r.workers[i]) == 0 })
		if err := c.takeTurns(ctx, s.Rounds, i, loaded); err != nil {
			return err
		}
		for _, r := range loaded {
			r.sum.addTo(s, l.Of(r.Name))
		}
	}
	return nil
}

// takeTurns measures the arms with one load. They take turns at short batches: the speed of a machine that others use,
// too, may change by a tenth from one second to the next, and less within a tenth of that.
func (c config) takeTurns(ctx context.Context, round, load int, runners []*runner) error {
	for _, r := range runners {
		r.sum = batch{}
		if _, err := send(ctx, r.server, r.workers[load], c.requests()/5); err != nil { // the collection has emptied pools
			return err
		}
	}
	size := max(smallBatch, loads[load].workers)
	for turn := range max(1, c.requests()/size) {
		for _, i := range order(len(runners), round+turn) {
			if err := runners[i].measure(ctx, runners[i].workers[load], size); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c config) requests() int {
	if c.quick {
		return requests / 4
	}
	return requests
}

// order starts with another arm in each turn and goes backwards in every other, so that none always follows the same one.
func order(n, turn int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = (i + turn) % n
	}
	if turn%2 == 1 {
		slices.Reverse(list)
	}
	return list
}

// batch is what was measured of some requests.
type batch struct {
	took, server, client time.Duration // the last two are CPU
	bytes, objects       float64       // allocated by the server
	latencies            []float64     // in ms
}

// measure adds a batch to the sum.
func (r *runner) measure(ctx context.Context, workers []*worker, requests int) error {
	// Reading the heap allocates, too. Reading it twice shows how much.
	first, firstErr := r.heap(ctx)
	before, beforeErr := r.heap(ctx)
	client, clientErr := cpuOf(os.Getpid())
	server, serverErr := cpuOf(r.PID())
	if err := errors.Join(firstErr, beforeErr, clientErr, serverErr); err != nil {
		return err
	}
	start := time.Now()
	latencies, err := send(ctx, r.server, workers, requests)
	took := time.Since(start)
	time.Sleep(settling)
	clientEnd, clientErr := cpuOf(os.Getpid())
	serverEnd, serverErr := cpuOf(r.PID())
	after, afterErr := r.heap(ctx)

	r.sum.took += took
	r.sum.client += clientEnd - client
	r.sum.server += serverEnd - server
	r.sum.bytes += after.bytes - before.bytes - (before.bytes - first.bytes)
	r.sum.objects += after.objects - before.objects - (before.objects - first.objects)
	r.sum.latencies = append(r.sum.latencies, latencies...)
	return errors.Join(err, clientErr, serverErr, afterErr)
}

// addTo adds the figures of one request.
func (b batch) addTo(s *set, name string) {
	n := float64(len(b.latencies))
	s.add(name, "cpu-ms", 1e3*b.server.Seconds()/n)
	s.add(name, "client-cpu-ms", 1e3*b.client.Seconds()/n)
	s.add(name, "requests/s", n/b.took.Seconds())
	s.add(name, "KiB", b.bytes/kib/n)
	s.add(name, "allocations", b.objects/n)
	s.add(name, "p50-ms", quantile(0.5, b.latencies))
	s.add(name, "latency-ms", b.latencies...)
}
