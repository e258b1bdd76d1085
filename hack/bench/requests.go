// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// objectsOfWorker is how many objects a worker sends in turn. With one alone the next update may arrive before the
// server's cache has seen the last one: then the server does its work twice, for some requests in a hundred, by chance.
const objectsOfWorker = 4

// worker sends its objects in turn. No other worker sends them.
type worker struct {
	targets []*target
	next    int
}

func newWorker(ctx context.Context, s *server, name string, applied bool) (*worker, error) {
	w := &worker{}
	for i := range objectsOfWorker {
		t, err := newTarget(ctx, s, fmt.Sprintf("%s-%d", name, i), applied)
		if err != nil {
			return nil, err
		}
		w.targets = append(w.targets, t)
	}
	return w, nil
}

// target is an object that is sent again and again, each time with another port. It is sent as the server returned it
// once, managed fields included, with two values replaced: making a request takes next to no time.
type target struct {
	method, path string
	object       []byte // with marks for the two values
	version      []byte // resourceVersion, which an applied configuration does not have
	port         int
}

const (
	versionMark = "mark-of-version"
	markedPort  = 61234
)

var (
	portMark = []byte(`"port":` + strconv.Itoa(markedPort))
	// versionAttribute precedes the version. Managed fields have none, so the first one is that of the object.
	versionAttribute = []byte(`"resourceVersion":"`)
)

// newTarget creates an object.
func newTarget(ctx context.Context, s *server, name string, applied bool) (t *target, err error) {
	t = &target{method: http.MethodPatch, path: routesPath + "/" + name + "?fieldManager=bench"}
	object := newRoute(name)
	if !applied {
		t.method, t.path = http.MethodPut, routesPath+"/"+name
		if object, err = s.json(ctx, http.MethodPost, routesPath, object); err != nil {
			return nil, err
		}
		metadata := object["metadata"].(map[string]any)
		t.version = []byte(metadata["resourceVersion"].(string))
		metadata["resourceVersion"] = versionMark
	}
	setPort(object, markedPort)
	if t.object, err = json.Marshal(object); err == nil && applied {
		_, err = t.send(ctx, s)
	}
	return t, err
}

// body returns the body of the next request. Ports go round.
func (t *target) body() []byte {
	t.port = t.port%60_000 + 1
	body := bytes.Replace(t.object, []byte(versionMark), t.version, 1)
	return bytes.Replace(body, portMark, fmt.Appendf(nil, `"port":%d`, t.port), 1)
}

// send sends the next request and returns how long it took.
func (t *target) send(ctx context.Context, s *server) (time.Duration, error) {
	body := t.body()
	start := time.Now()
	answer, err := s.do(ctx, t.method, t.path, body)
	took := time.Since(start)
	if err != nil || t.version == nil {
		return took, err
	}
	_, rest, found := bytes.Cut(answer, versionAttribute)
	version, _, closed := bytes.Cut(rest, []byte{'"'})
	if !found || !closed {
		return 0, fmt.Errorf("an answer without a version: %.200s", answer)
	}
	t.version = bytes.Clone(version)
	return took, nil
}

// send lets the workers send that many requests in all, and returns how many milliseconds each took.
func send(ctx context.Context, s *server, workers []*worker, requests int) ([]float64, error) {
	each := max(1, requests/len(workers))
	times := make([]float64, each*len(workers))
	var group errgroup.Group
	for i, w := range workers {
		group.Go(func() error {
			for n := range each {
				took, err := w.targets[w.next].send(ctx, s)
				if err != nil {
					return err
				}
				times[i*each+n] = 1e3 * took.Seconds()
				w.next = (w.next + 1) % len(w.targets)
			}
			return nil
		})
	}
	return times, group.Wait()
}

// behavior is what becomes of three objects: one with a member that is not selected, an update that changes a
// discriminator and leaves the member, and one with a field that a disabled gate guards.
type behavior struct{ bad, stale, gated string }

const kept, dropped, refused = "kept", "dropped", "refused"

// prove shows that an arm does what it is measured for.
func (r *runner) prove(ctx context.Context) error {
	if err := r.waitFor(ctx, routesPath, ""); err != nil { // it is served some time after the CRD was created
		return err
	}
	good, err := r.json(ctx, http.MethodPost, routesPath, markMember(newRoute("stale")))
	if err != nil {
		return err
	}
	var got behavior
	var errs [3]error
	got.bad, errs[0] = r.outcome(ctx, http.MethodPost, routesPath, spoil(newRoute("bad")))
	got.stale, errs[1] = r.outcome(ctx, http.MethodPut, routesPath+"/stale", leaveMember(good))
	got.gated, errs[2] = r.outcome(ctx, http.MethodPost, routesPath, setGated(newRoute("gated")))
	log.Printf("%s: %+v", r.Name, got)
	if got != r.want {
		errs[0] = errors.Join(errs[0], fmt.Errorf("%s does not do what is to be measured: %+v, want %+v", r.Name, got, r.want))
	}
	return errors.Join(errs[:]...)
}

// outcome sends an object and returns what becomes of the part that is marked.
func (r *runner) outcome(ctx context.Context, method, path string, object map[string]any) (string, error) {
	answer, err := r.json(ctx, method, path, object)
	switch {
	case errors.Is(err, errInvalid):
		return refused, nil
	case err != nil:
		return "", err
	case hasMark(answer):
		return kept, nil
	default:
		return dropped, nil
	}
}
