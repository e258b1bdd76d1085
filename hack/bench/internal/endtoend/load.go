// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endtoend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/fairlead-dev/fairlead/hack/bench/internal/control"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/route"
)

// objectsOfWorker is how many objects a worker updates in turn. With one alone the next update may be there before the
// server's cache has seen the last one: then it does its work twice, for some requests in a hundred, by chance.
const objectsOfWorker = 4

// worker updates its objects in turn, and nobody else's.
type worker struct {
	targets []*target
	next    int
}

// target is an object that is updated again and again, each time with another port. It is sent as the server returned
// it once, owners included, with two values in it replaced: making the request takes next to no time.
type target struct {
	path            string
	applied         bool   // by server-side apply, which needs no version
	head, mid, tail []byte // what is around the two values
	resourceVersion []byte
	port            int
}

// Marks for where the two values are.
const (
	versionMark = "mark-of-version"
	portMark    = 61234
)

// versionAttribute is what a version follows. Owners have none, so that the first one is that of the object.
var versionAttribute = []byte(`"resourceVersion":"`)

// newWorker creates the objects of a worker.
func newWorker(ctx context.Context, s *control.Server, name string) (*worker, error) {
	w := &worker{}
	for i := range objectsOfWorker {
		t, err := newTarget(ctx, s, fmt.Sprintf("%s-%d", name, i))
		if err != nil {
			return nil, err
		}
		w.targets = append(w.targets, t)
	}
	return w, nil
}

// newApplier creates the objects of a worker that applies them.
func newApplier(ctx context.Context, s *control.Server) (*worker, error) {
	w := &worker{}
	for i := range objectsOfWorker {
		t, err := newAppliedTarget(fmt.Sprintf("applied-%d", i))
		if err != nil {
			return nil, err
		}
		if _, err := t.apply(ctx, s); err != nil {
			return nil, err
		}
		w.targets = append(w.targets, t)
	}
	return w, nil
}

// newAppliedTarget returns the target for a configuration, which is the whole object.
func newAppliedTarget(name string) (*target, error) {
	object := route.Object(name)
	route.SetPort(object, portMark)
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	t := &target{path: route.Resource + "/" + name + "?fieldManager=bench", applied: true}
	var found bool
	if t.mid, t.tail, found = bytes.Cut(text, []byte(strconv.Itoa(portMark))); !found {
		return nil, errors.New("the configuration has no place for what changes")
	}
	return t, nil
}

// newTarget creates an object.
func newTarget(ctx context.Context, s *control.Server, name string) (*target, error) {
	object, err := s.JSON(ctx, http.MethodPost, route.Resource, route.Object(name))
	if err != nil {
		return nil, err
	}
	metadata := object["metadata"].(map[string]any)
	version := metadata["resourceVersion"].(string)
	metadata["resourceVersion"] = versionMark
	route.SetPort(object, portMark)
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	t := &target{path: route.Resource + "/" + name, resourceVersion: []byte(version)}
	var found, foundToo bool
	t.head, t.tail, found = bytes.Cut(text, []byte(versionMark))
	t.mid, t.tail, foundToo = bytes.Cut(t.tail, []byte(strconv.Itoa(portMark)))
	if !found || !foundToo {
		return nil, errors.New("the object has no place for what changes")
	}
	return t, nil
}

// body is the next request. Ports go round.
func (t *target) body() []byte {
	t.port = t.port%60_000 + 1
	body := make([]byte, 0, len(t.head)+len(t.mid)+len(t.tail)+32)
	body = append(append(body, t.head...), t.resourceVersion...)
	body = append(body, t.mid...)
	body = strconv.AppendInt(body, int64(t.port), 10)
	return append(body, t.tail...)
}

// update sends a request for the next object and returns how long it took.
func (w *worker) update(ctx context.Context, s *control.Server) (time.Duration, error) {
	t := w.targets[w.next]
	w.next = (w.next + 1) % len(w.targets)
	return t.update(ctx, s)
}

// apply sends the next configuration and returns how long it took.
func (t *target) apply(ctx context.Context, s *control.Server) (time.Duration, error) {
	body := t.body()
	start := time.Now()
	code, answer, err := s.Do(ctx, http.MethodPatch, t.path, body)
	took := time.Since(start)
	if err == nil && code != http.StatusOK && code != http.StatusCreated {
		err = &control.StatusError{Code: code, Text: string(answer)}
	}
	return took, err
}

func (t *target) update(ctx context.Context, s *control.Server) (time.Duration, error) {
	if t.applied {
		return t.apply(ctx, s)
	}
	body := t.body()
	start := time.Now()
	code, answer, err := s.Do(ctx, http.MethodPut, t.path, body)
	took := time.Since(start)
	if err != nil {
		return 0, err
	}
	if code != http.StatusOK {
		return 0, &control.StatusError{Code: code, Text: string(answer)}
	}
	_, rest, found := bytes.Cut(answer, versionAttribute)
	version, _, closed := bytes.Cut(rest, []byte{'"'})
	if !found || !closed {
		return 0, fmt.Errorf("an answer without a version: %.200s", answer)
	}
	t.resourceVersion = bytes.Clone(version)
	return took, nil
}

// load lets the workers send that many requests in all, and returns their times.
func load(ctx context.Context, s *control.Server, workers []*worker, requests int) ([]float64, error) {
	each := max(1, requests/len(workers))
	times := make([][]float64, len(workers))
	errs := make([]error, len(workers))
	var group sync.WaitGroup
	for i, w := range workers {
		group.Go(func() {
			for range each {
				took, err := w.update(ctx, s)
				if err != nil {
					errs[i] = err
					return
				}
				times[i] = append(times[i], took.Seconds())
			}
		})
	}
	group.Wait()
	var all []float64
	for _, t := range times {
		all = append(all, t...)
	}
	return all, errors.Join(errs...)
}
