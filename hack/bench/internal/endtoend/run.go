// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endtoend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-dev/fairlead/hack/bench/internal/control"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/route"
)

// Config says what to run.
type Config struct {
	// Server, Stock and Etcd are programs.
	Server, Stock, Etcd string
	// Schema is that of the CRD, with unions.
	Schema route.Schema
	// Workers are how many there are at once, in one batch after another.
	Workers []int
	// Requests are sent in a round to each arm by each number of workers. All that they allocate stays in memory until
	// the next round.
	Requests int
	// Batch is how many of them are sent before it is the next arm's turn, at least one by each worker.
	Batch int
	// Rounds are run at least, and more until For has passed.
	Rounds int
	For    time.Duration
	// Profiles is a directory for profiles of all arms; none are taken if it is empty.
	Profiles string
	// Log is told what goes on.
	Log func(format string, args ...any)
}

// Series is what was measured of one arm, with a value for each of its rounds.
type Series struct {
	// Rounds are those in which the arm was measured, from 0.
	Rounds []int
	// CPU of the API server and of this process, in seconds for a request.
	CPU, Client []float64
	// Bytes and Objects that the API server allocated for a request.
	Bytes, Objects []float64
	// PerSecond is how many requests were answered.
	PerSecond []float64
	// Latencies are those of all requests, in seconds.
	Latencies []float64
	// P50 and P99 are of each round.
	P50, P99 []float64
}

// Result is what was measured.
type Result struct {
	Rounds   int
	Requests int
	// Series are by arm and number of workers.
	Series map[string]map[int]*Series
	// Applied is what was measured of server-side apply by one worker, by arm.
	Applied map[string]*Series
	// Live is the heap after a collection, in the middle of the run, and Peak the most memory that the kernel has seen,
	// by arm, in bytes.
	Live, Peak map[string]float64
}

type bench struct {
	config      Config
	dir         string
	credentials *control.Credentials
	etcd        *control.Etcd
	webhookURL  string
	arms        []arm
	servers     []*control.Server
	workers     []map[int][]*worker // by arm and number
	appliers    [][]*worker         // by arm, none where apply is not measured
}

// Run measures all arms.
func Run(ctx context.Context, config Config) (*Result, error) {
	dir, err := control.WorkDir("endtoend")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := &bench{config: config, dir: dir, arms: arms()}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer b.stop()
	if err := b.start(ctx); err != nil {
		return nil, err
	}
	return b.measure(ctx)
}

func (b *bench) start(ctx context.Context) error {
	var err error
	if b.credentials, err = control.NewCredentials(b.dir); err != nil {
		return err
	}
	if b.webhookURL, err = serveWebhooks(ctx, b.credentials); err != nil {
		return err
	}
	if b.etcd, err = control.StartEtcd(ctx, b.dir, b.config.Etcd); err != nil {
		return err
	}
	b.servers = make([]*control.Server, len(b.arms))
	b.workers = make([]map[int][]*worker, len(b.arms))
	b.appliers = make([][]*worker, len(b.arms))
	errs := make([]error, len(b.arms))
	var group sync.WaitGroup
	slots := make(chan struct{}, 2)
	for i, a := range b.arms {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := b.startArm(ctx, i, a); err != nil {
				errs[i] = fmt.Errorf("%s: %w", a.name, err)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func (b *bench) startArm(ctx context.Context, i int, a arm) error {
	server, err := control.StartServer(ctx, b.dir, b.etcd, b.credentials, b.options(i, a))
	if err != nil {
		return err
	}
	b.servers[i] = server
	crd, err := b.config.Schema.CRD(route.Group, route.Plural, a.variant)
	if err != nil {
		return err
	}
	if _, err := server.JSON(ctx, http.MethodPost, route.CRDs, crd); err != nil {
		return err
	}
	if a.extend != nil {
		for _, m := range a.extend(b) {
			if _, err := server.JSON(ctx, http.MethodPost, m.path, m.object); err != nil {
				return err
			}
		}
	}
	if err := prove(ctx, server, a); err != nil {
		return err
	}
	b.config.Log("%s: accepts a good object; refuses a bad one: %v; a stale update is %s", a.name, a.refusesBad, a.stale)
	return b.makeWorkers(ctx, i)
}

func (b *bench) makeWorkers(ctx context.Context, i int) error {
	b.workers[i] = map[int][]*worker{}
	for _, n := range b.config.Workers {
		for j := range n {
			w, err := newWorker(ctx, b.servers[i], fmt.Sprintf("of-%d-%d", n, j))
			if err != nil {
				return err
			}
			b.workers[i][n] = append(b.workers[i][n], w)
		}
	}
	if !b.arms[i].applied {
		return nil
	}
	w, err := newApplier(ctx, b.servers[i])
	b.appliers[i] = []*worker{w}
	return err
}

func (b *bench) stop() {
	var group sync.WaitGroup
	for _, s := range b.servers {
		if s != nil {
			group.Go(s.Stop)
		}
	}
	group.Wait()
	if b.etcd != nil {
		b.etcd.Stop()
	}
}

func (b *bench) measure(ctx context.Context) (*Result, error) {
	r := &Result{
		Requests: b.config.Requests, Series: map[string]map[int]*Series{},
		Applied: map[string]*Series{}, Live: map[string]float64{}, Peak: map[string]float64{},
	}
	for _, a := range b.arms {
		r.Series[a.name] = map[int]*Series{}
		for _, n := range b.config.Workers {
			r.Series[a.name][n] = &Series{}
		}
		if a.applied {
			r.Applied[a.name] = &Series{}
		}
	}
	for start := time.Now(); r.Rounds < b.config.Rounds || time.Since(start) < b.config.For; r.Rounds++ {
		if err := b.round(ctx, r); err != nil {
			return nil, err
		}
		if r.Rounds%10 == 9 {
			b.config.Log("end to end: %d rounds after %v", r.Rounds+1, time.Since(start).Round(time.Second))
		}
	}
	for i, a := range b.arms {
		memory, err := b.servers[i].Memory()
		if err != nil {
			return nil, err
		}
		r.Peak[a.name] = memory.Peak
	}
	if b.config.Profiles != "" {
		return r, b.profile(ctx, b.config.Profiles)
	}
	return r, nil
}

// order starts with another arm in each round, and goes backwards in every other: none is always behind the same one.
func order(n, round int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = (i + round) % n
	}
	if round%2 == 1 {
		slices.Reverse(list)
	}
	return list
}

// round measures the arms whose turn it is, with each number of workers. They take turns at short batches: the speed of a
// machine that others use, too, may change by a tenth from one second to the next, and less within a tenth of that.
func (b *bench) round(ctx context.Context, r *Result) error {
	var visits []*visit
	for i, a := range b.arms {
		if r.Rounds%a.every == 0 {
			visits = append(visits, &visit{bench: b, arm: i})
		}
	}
	for _, v := range visits {
		if err := v.collect(ctx, r); err != nil {
			return v.wrap(err)
		}
	}
	for _, n := range b.config.Workers {
		if err := b.takeTurns(ctx, r.Rounds, visits, func(arm int) []*worker { return b.workers[arm][n] }); err != nil {
			return err
		}
		for _, v := range visits {
			r.Series[b.arms[v.arm].name][n].add(r.Rounds, v.sum)
		}
	}
	visits = slices.DeleteFunc(visits, func(v *visit) bool { return !b.arms[v.arm].applied })
	if err := b.takeTurns(ctx, r.Rounds, visits, func(arm int) []*worker { return b.appliers[arm] }); err != nil {
		return err
	}
	for _, v := range visits {
		r.Applied[b.arms[v.arm].name].add(r.Rounds, v.sum)
	}
	return nil
}

// takeTurns has the arms measured with some of their workers each.
func (b *bench) takeTurns(ctx context.Context, round int, visits []*visit, workersOf func(arm int) []*worker) error {
	for _, v := range visits {
		v.senders = workersOf(v.arm)
		if err := v.warmUp(ctx); err != nil {
			return v.wrap(err)
		}
	}
	batch := max(len(visits[0].senders), b.config.Batch) // at least one by each worker
	for turn := range max(1, b.config.Requests/batch) {
		for _, i := range order(len(visits), round+turn) {
			if err := visits[i].batch(ctx, batch); err != nil {
				return visits[i].wrap(err)
			}
		}
	}
	return nil
}

// visit is what happens to an arm in a round.
type visit struct {
	*bench
	arm     int
	senders []*worker
	sum     measurement // of the batches so far
}

func (v *visit) wrap(err error) error { return fmt.Errorf("%s: %w", v.arms[v.arm].name, err) }

// collect removes what the last round has left behind.
func (v *visit) collect(ctx context.Context, r *Result) error {
	heap, err := v.servers[v.arm].Collect(ctx)
	if err != nil {
		return err
	}
	r.Live[v.arms[v.arm].name] = heap.Live
	return nil
}

// warmUp begins with other workers. The collection emptied pools.
func (v *visit) warmUp(ctx context.Context) error {
	v.sum = measurement{}
	_, err := load(ctx, v.servers[v.arm], v.senders, v.config.Requests/5)
	return err
}

// usage is what was used up to now.
type usage struct {
	at             time.Time
	server, client time.Duration
}

func usageOf(s *control.Server) (u usage, err error) {
	if u.client, err = control.CPU(os.Getpid()); err != nil {
		return u, err
	}
	u.server, err = s.CPU()
	u.at = time.Now()
	return u, err
}

// measurement is what was measured of a batch.
type measurement struct {
	took           time.Duration
	server, client time.Duration // processor time
	allocated      control.Allocations
	latencies      []float64 // seconds
}

// settling is how long a server is given to finish what an update leaves to do after its answer: it decodes the event
// of its own write.
const settling = 10 * time.Millisecond

// add adds another measurement.
func (m *measurement) add(other measurement) {
	m.took += other.took
	m.server += other.server
	m.client += other.client
	m.allocated = m.allocated.Plus(other.allocated)
	m.latencies = append(m.latencies, other.latencies...)
}

// batch measures that many requests.
func (v *visit) batch(ctx context.Context, requests int) error {
	s := v.servers[v.arm]
	// To read the heap allocates, too; how much is found by reading it twice.
	first, err := s.Heap(ctx)
	if err != nil {
		return err
	}
	heap, err := s.Heap(ctx)
	if err != nil {
		return err
	}
	before, err := usageOf(s)
	if err != nil {
		return err
	}
	latencies, err := load(ctx, s, v.senders, requests)
	if err != nil {
		return err
	}
	took := time.Now()
	time.Sleep(settling)
	after, err := usageOf(s)
	if err != nil {
		return err
	}
	end, err := s.Heap(ctx)
	if err != nil {
		return err
	}
	v.sum.add(measurement{
		took: took.Sub(before.at), server: after.server - before.server, client: after.client - before.client,
		allocated: end.Since(heap).Less(heap.Since(first)), latencies: latencies,
	})
	return nil
}
