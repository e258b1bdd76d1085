// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

// Client talks to one server, over one connection as clients of Kubernetes do. It does as little as possible: client
// and server share the machine.
type Client struct {
	url  string
	http *http.Client
}

func newClient(url string, credentials *Credentials) *Client {
	return &Client{url: url, http: &http.Client{
		Transport: &http.Transport{TLSClientConfig: credentials.clientTLS(), ForceAttemptHTTP2: true},
		Timeout:   2 * time.Minute,
	}}
}

// Do sends a request, with a body of JSON if there is one, and returns the status and the whole answer. A patch is one by
// server-side apply.
func (c *Client) Do(ctx context.Context, method, path string, body []byte) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("User-Agent", "bench")
	request.Header.Set("Accept", "application/json")
	switch {
	case method == http.MethodPatch:
		request.Header.Set("Content-Type", "application/apply-patch+yaml")
	case body != nil:
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// Save writes the answer to a request, such as a profile, to a file.
func (c *Client) Save(ctx context.Context, path, file string) error {
	code, answer, err := c.Do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	if code != http.StatusOK {
		return &StatusError{Code: code, Text: string(answer)}
	}
	return os.WriteFile(file, answer, 0o644)
}

// StatusError is an answer that is no success.
type StatusError struct {
	Code int
	Text string
}

func (e *StatusError) Error() string { return fmt.Sprintf("status %d: %.500s", e.Code, e.Text) }

// JSON sends an object, or nothing if that is nil, and returns the one in the answer.
func (c *Client) JSON(ctx context.Context, method, path string, object any) (map[string]any, error) {
	var body []byte
	if object != nil {
		var err error
		if body, err = json.Marshal(object); err != nil {
			return nil, err
		}
	}
	code, answer, err := c.Do(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	if code >= http.StatusBadRequest {
		return nil, &StatusError{Code: code, Text: string(answer)}
	}
	var out map[string]any
	return out, json.Unmarshal(answer, &out)
}

// Heap is what the Go runtime of a server says of its heap.
type Heap struct {
	// Live is what is on the heap, in bytes. It says something after a collection only.
	Live float64
	// Allocated and Objects are all bytes and objects ever allocated.
	Allocated, Objects float64
}

// Allocations are counts of what was allocated.
type Allocations struct{ Bytes, Objects float64 }

// Since returns what was allocated since an earlier reading.
func (h Heap) Since(earlier Heap) Allocations {
	return Allocations{h.Allocated - earlier.Allocated, h.Objects - earlier.Objects}
}

// Plus returns the sum.
func (a Allocations) Plus(b Allocations) Allocations {
	return Allocations{a.Bytes + b.Bytes, a.Objects + b.Objects}
}

// Less returns the rest.
func (a Allocations) Less(b Allocations) Allocations {
	return Allocations{a.Bytes - b.Bytes, a.Objects - b.Objects}
}

// Collect makes the server collect its garbage, twice, so that pools are empty too, and returns what is left.
func (c *Client) Collect(ctx context.Context) (Heap, error) {
	if _, err := c.heap(ctx, "?debug=1&gc=1"); err != nil {
		return Heap{}, err
	}
	return c.heap(ctx, "?debug=1&gc=1")
}

// Heap reads the statistics. They are the source of the metrics go_memstats_*, at a small part of the price of a
// scrape; they are read before the profile is written, which allocates, too.
func (c *Client) Heap(ctx context.Context) (Heap, error) { return c.heap(ctx, "?debug=1") }

func (c *Client) heap(ctx context.Context, query string) (Heap, error) {
	code, text, err := c.Do(ctx, http.MethodGet, "/debug/pprof/heap"+query, nil)
	if err != nil {
		return Heap{}, err
	}
	if code != http.StatusOK {
		return Heap{}, &StatusError{Code: code, Text: string(text)}
	}
	return parseHeap(text)
}

// parseHeap reads the statistics at the end of a heap profile.
func parseHeap(text []byte) (Heap, error) {
	var h Heap
	_, statistics, found := bytes.Cut(text, []byte("\n# runtime.MemStats\n"))
	if !found {
		return h, fmt.Errorf("a heap profile without statistics: %.100s", text)
	}
	for line := range bytes.Lines(statistics) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" = "))
		var err error
		switch string(name) {
		case "# HeapAlloc":
			h.Live, err = strconv.ParseFloat(string(value), 64)
		case "# TotalAlloc":
			h.Allocated, err = strconv.ParseFloat(string(value), 64)
		case "# Mallocs":
			h.Objects, err = strconv.ParseFloat(string(value), 64)
		}
		if err != nil {
			return h, err
		}
	}
	return h, nil
}
