// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	startTimeout = 3 * time.Minute
	pollInterval = 20 * time.Millisecond
)

// Etcd is a running etcd for all servers of a part.
type Etcd struct {
	*process
	url string
}

// StartEtcd runs etcd without waiting for disks: they are not what is measured, and their pace varies.
func StartEtcd(ctx context.Context, dir, program string) (*Etcd, error) {
	var urls [2]string
	for i := range urls {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		urls[i] = "http://" + net.JoinHostPort(host, strconv.Itoa(port))
	}
	p, err := start(dir, "etcd", nil, program,
		"--data-dir="+filepath.Join(dir, "etcd"), "--unsafe-no-fsync", "--quota-backend-bytes=8589934592",
		"--listen-client-urls="+urls[0], "--advertise-client-urls="+urls[0],
		"--listen-peer-urls="+urls[1], "--initial-advertise-peer-urls="+urls[1],
		"--initial-cluster=default="+urls[1],
		"--log-level=warn")
	if err != nil {
		return nil, err
	}
	e := &Etcd{process: p, url: urls[0]}
	return e, p.waitFor(ctx, func(ctx context.Context) bool { return isHealthy(ctx, e.url+"/health") })
}

// Stop ends etcd.
func (e *Etcd) Stop() { e.stop() }

func isHealthy(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// waitFor returns when it is ready, or why it will not be.
func (p *process) waitFor(ctx context.Context, ready func(context.Context) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("%s is not ready after %v", p.name, startTimeout))
	defer cancel()
	for !ready(ctx) {
		select {
		case <-ctx.Done():
			p.stop()
			return context.Cause(ctx)
		case <-p.exited:
			return p.died()
		case <-time.After(pollInterval):
		}
	}
	return nil
}

// Options of a server.
type Options struct {
	// Name is unique among the servers that run; log and data in etcd have it.
	Name string
	// Data is the name of the data in etcd, Name if it is empty.
	Data string
	// Program is the kube-apiserver.
	Program string
	// FeatureGates is the value of the flag, if not empty.
	FeatureGates string
	// NoGC switches the garbage collector off but for collections that are forced.
	NoGC bool
	// Profiled keeps samples of what was allocated where. To write them takes much of the time of reading the heap.
	Profiled bool
}

// Server is a running API server.
type Server struct {
	*Client
	process *process
}

// env returns variables for the Go runtime. Without the collector a server soon has a heap that it only fills anew; to
// give its memory back and to fault it in again, page by page, would take a tenth of its time, by chance.
func (o Options) env() []string {
	var env, debug []string
	if given := os.Getenv("GODEBUG"); given != "" {
		debug = append(debug, given)
	}
	if o.NoGC {
		env = append(env, "GOGC=off")
		debug = append(debug, "madvdontneed=0")
	}
	if !o.Profiled {
		debug = append(debug, "memprofilerate=0")
	}
	return append(env, "GODEBUG="+strings.Join(debug, ","))
}

// StartServer returns when the server is ready.
func StartServer(ctx context.Context, dir string, etcd *Etcd, credentials *Credentials, opts Options) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p, err := start(dir, opts.Name, opts.env(), opts.Program, flags(port, etcd, credentials, opts)...)
	if err != nil {
		return nil, err
	}
	s := &Server{
		Client:  newClient("https://"+net.JoinHostPort(host, strconv.Itoa(port)), credentials),
		process: p,
	}
	return s, p.waitFor(ctx, func(ctx context.Context) bool {
		code, _, err := s.Do(ctx, http.MethodGet, "/readyz", nil)
		return err == nil && code == http.StatusOK
	})
}

func flags(port int, etcd *Etcd, c *Credentials, opts Options) []string {
	data := opts.Data
	if data == "" {
		data = opts.Name
	}
	list := []string{
		"--etcd-servers=" + etcd.url, "--etcd-prefix=/" + data,
		"--bind-address=" + host, "--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + c.servingCrt, "--tls-private-key-file=" + c.servingKey,
		// There are no nodes that would have to find the server.
		"--advertise-address=" + host, "--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--anonymous-auth=false", "--client-ca-file=" + c.caFile, "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.servingKey, "--service-account-signing-key-file=" + c.servingKey,
		// No controller makes the service accounts without which this plugin refuses pods.
		"--disable-admission-plugins=ServiceAccount",
	}
	if opts.FeatureGates != "" {
		list = append(list, "--feature-gates="+opts.FeatureGates)
	}
	return list
}

// Stop ends the server.
func (s *Server) Stop() {
	s.http.CloseIdleConnections()
	s.process.stop()
}

// CPU returns the time that the server has run.
func (s *Server) CPU() (time.Duration, error) { return CPU(s.process.cmd.Process.Pid) }

// Memory returns what the kernel says of the server.
func (s *Server) Memory() (Memory, error) { return memoryOf(s.process.cmd.Process.Pid) }

// Settle returns when the server has had little to do for a while.
func (s *Server) Settle(ctx context.Context) error {
	const (
		slice  = 500 * time.Millisecond
		little = slice / 8 // a server with hundreds of watch caches is never idle
		quiet  = 3
	)
	deadline := time.Now().Add(30 * time.Second)
	for idle := 0; idle < quiet && time.Now().Before(deadline); {
		before, err := s.CPU()
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(slice):
		}
		after, err := s.CPU()
		if err != nil {
			return err
		}
		if idle++; after-before > little {
			idle = 0
		}
	}
	return nil
}

// WorkDir makes a directory for a part; it is removed by the caller.
func WorkDir(name string) (string, error) { return os.MkdirTemp("", "fairlead-bench-"+name+"-") }
