// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/client-go/rest"
)

// The corpus is a set of published CRDs that have one-of patterns without our extension, and of changes to their
// objects (testdata/unions-corpus, a file per case). All requests are sent to a stock server and to ours with gates
// disabled and enabled. The answers must be the same, byte for byte.

// TestF2ExistingUnionsDoNotBreak (rule F2) is about KEP-1027's first risk.
func TestF2ExistingUnionsDoNotBreak(t *testing.T) {
	t.Parallel()
	crds := corpusCRDs(t)
	scenarios := slices.Concat(crdScenarios(crds), documentScenarios(crds), caseScenarios(t, crds), []corpusScenario{canaryScenario()})
	servers := startCorpusServers(t)
	runOnAll(t, servers, scenarios)
	stock, ours := servers[0], servers[1:]
	sent := 0
	for i, scenario := range scenarios {
		t.Run(scenario.name, func(t *testing.T) {
			for _, a := range stock.answers[i] {
				if a.wrong != "" {
					t.Errorf("the case does not describe the stock server: %s: %s", a.Request, a.wrong)
				}
			}
			for _, s := range ours {
				if diff := diffAnswers(stock.answers[i], s.answers[i]); (diff != "") != scenario.differs {
					t.Errorf("answers of the server with %s (-stock +ours):\n%s", s.name, diff)
				}
			}
		})
		sent += len(stock.answers[i])
	}
	t.Logf("%d CRDs, %d scenarios, %d answers of each server", len(crds), len(scenarios), sent)
}

// runOnAll runs the scenarios on all servers in parallel.
func runOnAll(t *testing.T, servers []*corpusServer, scenarios []corpusScenario) {
	t.Helper()
	var wg sync.WaitGroup
	for _, s := range servers {
		wg.Go(func() { s.run(t.Context(), scenarios) })
	}
	wg.Wait()
	for _, s := range servers {
		if s.err != nil {
			t.Fatalf("%s: %v", s.name, s.err)
		}
	}
}

// corpusScenario sends requests whose answers are compared.
type corpusScenario struct {
	name string
	run  func(*corpusRecorder)
	// differs says that the answers must differ, which shows that the test detects differences.
	differs bool
}

// corpusCanary is a CRD with a field that the stock server does not know.
const corpusCanary = `{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
	"metadata": {"name": "canaries.corpus.example.com"},
	"spec": {
		"group": "corpus.example.com", "scope": "Cluster",
		"names": {"plural": "canaries", "kind": "Canary"},
		"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
			"type": "object", "properties": {"spec": {"type": "object"}}
		}}}],
		"customFeatureGates": {"featureGates": [{"name": "G", "preRelease": "alpha", "fieldPaths": [".spec"]}]}
	}
}`

func canaryScenario() corpusScenario {
	return corpusScenario{name: "canary", differs: true, run: func(r *corpusRecorder) {
		accepted := ""
		r.send(corpusRequest{
			name: "create, dry run", method: http.MethodPost, path: crdPath + "?dryRun=All", body: []byte(corpusCanary),
			want: &accepted,
		})
	}}
}

// run records the answers of the server in each scenario.
func (s *corpusServer) run(ctx context.Context, scenarios []corpusScenario) {
	for _, scenario := range scenarios {
		r := &corpusRecorder{ctx: ctx, server: s, corpusNormalizer: corpusNormalizer{since: s.since}}
		scenario.run(r)
		s.answers = append(s.answers, r.answers)
		if r.err != nil {
			s.err = fmt.Errorf("%s: %w, after %s", scenario.name, r.err, r.last())
			return
		}
	}
}

// corpusServer is one of the servers that are compared, with its answers in each scenario.
type corpusServer struct {
	name    string
	url     string
	client  *http.Client
	etcd    *clientv3.Client
	since   time.Time
	answers [][]corpusAnswer
	err     error
}

// startCorpusServers starts the stock server, and ours with gates disabled and enabled.
func startCorpusServers(t *testing.T) []*corpusServer {
	t.Helper()
	off := strings.ReplaceAll(allGates, "true", "false")
	servers := []*corpusServer{{name: "stock"}, {name: "gates off"}, {name: "gates on"}}
	binaries, gates := []string{stockBinary(t), "", ""}, []string{"", off, allGates}
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() { s.start(t, binaries[i], gates[i]) })
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return servers
}

// start runs the server over a new etcd. An empty binary stands for the server under test.
func (s *corpusServer) start(t *testing.T, binary, gates string) {
	t.Helper()
	s.since = time.Now().Truncate(time.Second) // like the times of the server
	server, err := start(options{program: binary, featureGates: gates})
	if err == nil {
		t.Cleanup(func() {
			if err := server.stop(); err != nil {
				t.Error(err)
			}
		})
		err = s.connect(server.config, server.etcd.URL)
	}
	if err != nil {
		t.Errorf("%s: %v", s.name, err)
		return
	}
	t.Cleanup(func() { _ = s.etcd.Close() })
}

func (s *corpusServer) connect(config *rest.Config, etcd string) (err error) {
	config = rest.CopyConfig(config)
	config.DisableCompression = true
	s.url = strings.TrimSuffix(config.Host, "/")
	if s.client, err = rest.HTTPClientFor(config); err != nil {
		return err
	}
	s.etcd, err = clientv3.New(clientv3.Config{Endpoints: []string{etcd}})
	return err
}

// corpusRequest is a request and the etcd key of its object.
type corpusRequest struct {
	name        string // describes the request
	method      string
	path        string
	accept      string
	contentType string
	body        any     // bytes, or a value to be sent as JSON
	key         string  // in etcd; may be empty
	want        *string // the expected result as in corpusAnswer.failure; not checked if nil
}

// corpusAnswer is everything that a client sees of a response, and what is in etcd after it. Values that necessarily
// differ between two servers are normalized.
type corpusAnswer struct {
	Request string
	Code    int
	Header  http.Header
	Body    string
	Stored  string
	wrong   string // says how the answer differs from the one that the case expects
}

// corpusRecorder sends the requests of a scenario to a server and records the answers. After an error it does nothing.
type corpusRecorder struct {
	corpusNormalizer
	ctx     context.Context
	server  *corpusServer
	answers []corpusAnswer
	err     error
}

// send records the answer to a request and returns its original body.
func (r *corpusRecorder) send(q corpusRequest) []byte {
	a := r.fetch(q)
	body := a.Body
	a.Stored = r.stored(q.key)
	if r.err != nil {
		return nil
	}
	if failure := a.failure(); q.want != nil && failure != *q.want {
		a.wrong = fmt.Sprintf("the result is %q, want %q:\n%s", failure, *q.want, body)
	}
	dropHeaders(a.Header)
	a.Body, a.Stored = r.normalize(body), r.normalize(a.Stored)
	r.answers = append(r.answers, a)
	return []byte(body)
}

// last returns the last answer as text.
func (r *corpusRecorder) last() string {
	if len(r.answers) == 0 {
		return "nothing"
	}
	a := r.answers[len(r.answers)-1]
	return a.Request + ": " + a.indented()
}

// note records a part of an answer unchanged.
func (r *corpusRecorder) note(name, body string) {
	r.answers = append(r.answers, corpusAnswer{Request: name, Body: body})
}

// fetch sends a request and returns the original answer, or an empty one after an error.
func (r *corpusRecorder) fetch(q corpusRequest) corpusAnswer {
	if r.err != nil {
		return corpusAnswer{}
	}
	a, err := r.server.fetch(r.ctx, q)
	r.err = err
	return a
}

func (s *corpusServer) fetch(ctx context.Context, q corpusRequest) (corpusAnswer, error) {
	body, err := q.bytes()
	if err != nil {
		return corpusAnswer{}, err
	}
	out, err := http.NewRequestWithContext(ctx, q.method, s.url+q.path, bytes.NewReader(body))
	if err != nil {
		return corpusAnswer{}, err
	}
	setHeader(out.Header, "Accept", q.accept)
	setHeader(out.Header, "Content-Type", q.contentType)
	in, err := s.client.Do(out)
	if err != nil {
		return corpusAnswer{}, err
	}
	body, err = io.ReadAll(in.Body)
	a := corpusAnswer{Request: q.name, Code: in.StatusCode, Header: in.Header, Body: string(body)}
	return a, errors.Join(err, in.Body.Close())
}

func (q corpusRequest) bytes() ([]byte, error) {
	switch body := q.body.(type) {
	case nil:
		return nil, nil
	case []byte:
		return body, nil
	default:
		return json.Marshal(body)
	}
}

// setHeader sets a content type. Empty means JSON.
func setHeader(header http.Header, key, value string) {
	if value == "" {
		value = "application/json"
	}
	header.Set(key, value)
}

// dropHeaders drops the headers that are not about the content.
func dropHeaders(header http.Header) {
	for _, name := range []string{
		"Date", "Audit-Id", // differ between requests
		"Last-Modified",                                                       // is the time when the server generated the document
		"Content-Length",                                                      // follows from the body
		"X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid", // are UIDs of objects that the server creates at its start
	} {
		header.Del(name)
	}
}

// failure returns "" if the request succeeded, else the reason in the Status, or the code if there is no reason.
func (a corpusAnswer) failure() string {
	var status struct{ Reason string }
	if a.Code < http.StatusBadRequest {
		return ""
	}
	if json.Unmarshal([]byte(a.Body), &status) != nil || status.Reason == "" {
		return strconv.Itoa(a.Code)
	}
	return status.Reason
}

// stored returns what etcd has at a key.
func (r *corpusRecorder) stored(key string) string {
	if r.err != nil || key == "" {
		return ""
	}
	got, err := r.server.etcd.Get(r.ctx, key)
	if err != nil {
		r.err = err
		return ""
	}
	if len(got.Kvs) == 0 {
		return "nothing"
	}
	return string(got.Kvs[0].Value)
}

// await polls until the condition is true.
func (r *corpusRecorder) await(what string, condition func() bool) {
	for deadline := time.Now().Add(2 * time.Minute); r.err == nil && !condition(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.err = fmt.Errorf("timed out waiting until %s", what)
		}
	}
}
