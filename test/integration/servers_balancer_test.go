// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// balancer forwards connections to API servers that are ready, as a load balancer with health checks does.
type balancer struct {
	listener net.Listener
	backends []*backend
	next     atomic.Int64
	group    sync.WaitGroup
}

// backend is an API server behind a balancer.
type backend struct {
	address string
	ready   atomic.Bool
}

const healthCheckInterval = 100 * time.Millisecond

// startBalancer balances over the servers until the test ends.
func startBalancer(t *testing.T, servers []*server) *balancer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{listener: listener}
	for _, s := range servers {
		b.add(t.Context(), s)
	}
	b.group.Go(func() { b.accept(t.Context()) })
	t.Cleanup(func() {
		_ = listener.Close()
		b.group.Wait()
	})
	return b
}

func (b *balancer) add(ctx context.Context, s *server) {
	end := &backend{address: strings.TrimPrefix(s.api.URL, "https://")}
	end.ready.Store(true)
	b.backends = append(b.backends, end)
	client := &http.Client{
		// A check of a kept connection could succeed although the server does not listen any more.
		Transport: &http.Transport{TLSClientConfig: s.api.TLS(), DisableKeepAlives: true}, Timeout: 5 * time.Second,
	}
	b.group.Go(func() { end.check(ctx, client, s.api.URL+"/readyz") })
}

// url is that of the balanced API servers.
func (b *balancer) url() string { return "https://" + b.listener.Addr().String() }

// check notes whether the server is ready until ctx is done.
func (e *backend) check(ctx context.Context, client *http.Client, url string) {
	for ctx.Err() == nil {
		response, err := client.Get(url)
		e.ready.Store(err == nil && response.StatusCode == http.StatusOK)
		if err == nil {
			_ = response.Body.Close()
		}
		select {
		case <-ctx.Done():
		case <-time.After(healthCheckInterval):
		}
	}
}

func (b *balancer) accept(ctx context.Context) {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			return // it was closed
		}
		b.group.Go(func() { b.forward(ctx, client) })
	}
}

// forward connects a client with the next ready server. If there is none it closes the connection.
func (b *balancer) forward(ctx context.Context, client net.Conn) {
	defer func() { _ = client.Close() }()
	server := b.dial()
	if server == nil {
		return
	}
	defer func() { _ = server.Close() }()
	ended := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		b.group.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			ended <- struct{}{}
		})
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

func (b *balancer) dial() net.Conn {
	for range b.backends {
		end := b.backends[int(b.next.Add(1))%len(b.backends)]
		if !end.ready.Load() {
			continue
		}
		if connection, err := net.Dial("tcp", end.address); err == nil {
			return connection
		}
	}
	return nil
}
