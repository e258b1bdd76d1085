// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/prometheus/procfs"

	"github.com/fairlead-dev/fairlead/internal/localserver"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// control starts API servers over one etcd, below one temporary directory.
type control struct {
	config
	dir    string
	etcd   *localserver.Etcd
	schema []byte
}

func (c config) control(ctx context.Context) (*control, error) {
	schema, err := os.ReadFile(filepath.Join(c.data, "testdata", "httproute-schema.yaml"))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "fairlead-bench-")
	if err != nil {
		return nil, err
	}
	etcd, err := localserver.StartEtcd(ctx, c.etcdProgram, dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &control{config: c, dir: dir, etcd: etcd, schema: schema}, nil
}

func (c *control) stop() {
	c.etcd.Kill() // its data is not used again
	_ = os.RemoveAll(c.dir)
}

// server is an API server with a client, which has one connection as clients of Kubernetes do. The client does as little
// as possible, because it shares the machine with the server.
type server struct {
	*localserver.Server
	name string // of the arm
	http *http.Client
}

// start starts the server of an arm. Servers with the same data have the same objects in etcd.
func (c *control) start(ctx context.Context, a arm, env ...string) (*server, error) {
	program := c.stock
	if a.isOurs {
		program = c.ours
	}
	started, err := localserver.Start(localserver.Options{
		Program: program, Dir: filepath.Join(c.dir, a.data), EtcdURL: c.etcd.URL, FeatureGates: a.gates, Env: env,
		Flags: map[string]string{"etcd-prefix": "/" + a.data},
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Name, err)
	}
	if err := started.WaitReady(ctx); err != nil {
		started.Kill()
		return nil, fmt.Errorf("%s: %w", a.Name, err)
	}
	transport := &http.Transport{TLSClientConfig: started.TLS(), ForceAttemptHTTP2: true}
	return &server{started, a.Name, &http.Client{Transport: transport, Timeout: 2 * time.Minute}}, nil
}

// errInvalid is in the error of a request whose object the server refuses.
var errInvalid = errors.New("invalid")

// do sends a request, with a body of JSON if there is one, and returns the answer. A patch is a server-side apply.
func (s *server) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "bench")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/apply-patch+yaml")
	}
	response, err := s.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	switch {
	case response.StatusCode == http.StatusUnprocessableEntity:
		err = fmt.Errorf("%s: %w: %.500s", s.name, errInvalid, answer)
	case response.StatusCode >= http.StatusBadRequest:
		err = fmt.Errorf("%s: %s %s: %s: %.500s", s.name, method, path, response.Status, answer)
	}
	return answer, err
}

func (s *server) get(ctx context.Context, path string) ([]byte, error) {
	return s.do(ctx, http.MethodGet, path, nil)
}

// waitFor returns once there is an answer with the text, or why there is none.
func (s *server) waitFor(ctx context.Context, path, text string) error {
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		answer, err := s.get(ctx, path)
		if err == nil && !bytes.Contains(answer, []byte(text)) {
			err = fmt.Errorf("%s: no %s in %s", s.name, text, answer)
		}
		if err == nil || time.Now().After(deadline) || ctx.Err() != nil {
			return err
		}
	}
}

// json sends an object and returns the one in the answer.
func (s *server) json(ctx context.Context, method, path string, object map[string]any) (map[string]any, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	answer, err := s.do(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, json.Unmarshal(answer, &out)
}

// heap is what the Go runtime of a server counts: bytes on the heap, which are live ones after a collection, and bytes
// and objects that were allocated since the start.
type heap struct{ live, bytes, objects float64 }

const heapProfile = "/debug/pprof/heap?debug=1"

// heap reads the statistics at the end of a heap profile. They are the source of the metrics go_memstats_*, at a small
// part of the price of a scrape.
func (s *server) heap(ctx context.Context) (heap, error) {
	text, err := s.get(ctx, heapProfile)
	if err != nil {
		return heap{}, err
	}
	return parseHeap(text)
}

// collect makes the server collect its garbage, twice, so that pools are empty too, and returns what is left.
func (s *server) collect(ctx context.Context) (heap, error) {
	for range 2 {
		if _, err := s.get(ctx, heapProfile+"&gc=1"); err != nil {
			return heap{}, err
		}
	}
	return s.heap(ctx)
}

// memStats matches the statistics in the order in which Go writes them.
var memStats = regexp.MustCompile(`(?s)\n# TotalAlloc = (\d+)\n.*\n# Mallocs = (\d+)\n.*\n# HeapAlloc = (\d+)\n`)

func parseHeap(text []byte) (h heap, err error) {
	found := memStats.FindSubmatch(text[max(0, bytes.LastIndex(text, []byte("# runtime.MemStats"))):])
	if found == nil {
		return h, fmt.Errorf("a heap profile without statistics: %.100s", text)
	}
	_, err = fmt.Sscan(string(bytes.Join(found[1:], []byte(" "))), &h.bytes, &h.objects, &h.live)
	return h, err
}

// cpuOf returns how long a process has run. The scheduler counts nanoseconds for each thread, and /proc/<pid>/stat only
// hundredths of a second for all. The threads of a Go program stay until its end, so nothing is lost with them.
func cpuOf(pid int) (time.Duration, error) {
	threads, err := procfs.AllThreads(pid)
	if err != nil {
		return 0, err
	}
	var sum uint64
	for _, thread := range threads {
		if schedstat, err := thread.Schedstat(); err == nil { // otherwise the thread has just ended
			sum += schedstat.RunningNanoseconds
		}
	}
	if sum == 0 {
		return 0, fmt.Errorf("nothing in /proc/%d/task/*/schedstat: bench needs a kernel with CONFIG_SCHED_INFO", pid)
	}
	return time.Duration(sum), nil
}

// addMemory adds what the kernel counts: the memory that is resident, and the most that was.
func (s *server) addMemory(to *set) error {
	process, err := procfs.NewProc(s.PID())
	if err != nil {
		return err
	}
	status, err := process.NewStatus()
	to.add(s.name, "rss-MiB", float64(status.VmRSS)/mib)
	to.add(s.name, "peak-MiB", float64(status.VmHWM)/mib)
	return err
}

// settle returns once the server has had little to do for a while.
func (s *server) settle(ctx context.Context) error {
	const (
		slice  = 500 * time.Millisecond
		little = slice / 8 // a server with hundreds of watch caches is never idle
		quiet  = 3
	)
	deadline := time.Now().Add(30 * time.Second)
	for idle := 0; idle < quiet && time.Now().Before(deadline); idle++ {
		before, beforeErr := cpuOf(s.PID())
		time.Sleep(slice)
		after, afterErr := cpuOf(s.PID())
		if err := errors.Join(beforeErr, afterErr, ctx.Err()); err != nil {
			return err
		}
		if after-before > little {
			idle = -1
		}
	}
	return nil
}
