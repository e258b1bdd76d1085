// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// TestG11FlipsUnderLoad flips a gate 50 times while eight writers write and a watcher watches (rules G11, R1). No
// request may fail, no acknowledged write may be lost, and the last flip counts. The test is not parallel, since it
// makes its own load.
func TestG11FlipsUnderLoad(t *testing.T) {
	const parallelWriters, flips = 8, 50
	s := newSubject(t, newCRD(t, replicasGate))
	for i := range parallelWriters {
		create(t, s.client, cronTab(t, s.crd, fmt.Sprintf("w%d", i), `{image: "0"}`), metav1.CreateOptions{})
	}

	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	last := make([]int, parallelWriters)
	errs := make(chan error, parallelWriters+1)
	for i := range parallelWriters {
		group.Go(func() { last[i] = s.keepWriting(ctx, fmt.Sprintf("w%d", i), errs) })
	}
	watched := &watcher{}
	group.Go(func() { watched.run(ctx, s, errs) })
	for i := range flips {
		flip(t, s.crd, i%2 == 0)
		time.Sleep(100 * time.Millisecond) // so that writers meet each state and each change
	}
	// On a busy machine each watch may end before an event comes. The watcher must go on anyway.
	eventually(t, "the watcher sees an event", func(context.Context) (bool, error) { return watched.events.Load() > 0, nil })
	stop()
	group.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	s.wantLastWrites(last)

	s.flipReplicas(false)
	created, warnings := create(t, s.client, cronTab(t, s.crd, "after", `{replicas: 3}`), metav1.CreateOptions{})
	if got := specOf(t, created); got != "{}" || len(warnings) != 1 {
		t.Errorf("after the last flip the field must be dropped with a warning: spec %q, warnings %q", got, warnings)
	}
}

// wantLastWrites checks that each writer wrote, and that the persisted objects have the numbers that were acknowledged
// last.
func (s subject) wantLastWrites(last []int) {
	s.Helper()
	for i, n := range last {
		name := fmt.Sprintf("w%d", i)
		if got, _, _ := unstructured.NestedString(s.get(name).Object, "spec", "image"); got != strconv.Itoa(n) {
			s.Errorf("a write of %s was lost: the persisted image is %q, the last acknowledged one is %d", name, got, n)
		}
		if n == 0 {
			s.Errorf("%s never wrote", name)
		}
	}
}

// keepWriting updates the object with increasing numbers until ctx is done, and returns the last number that the server
// acknowledged.
func (s subject) keepWriting(ctx context.Context, name string, errs chan<- error) (acknowledged int) {
	for n := 1; ctx.Err() == nil; n++ {
		u, err := s.client.Get(context.WithoutCancel(ctx), name, metav1.GetOptions{})
		if err == nil {
			u.Object["spec"] = map[string]any{"image": strconv.Itoa(n), "replicas": int64(n)}
			_, err = s.client.Update(context.WithoutCancel(ctx), u, metav1.UpdateOptions{})
		}
		if err != nil {
			errs <- fmt.Errorf("%s: %w", name, err)
			return acknowledged
		}
		acknowledged = n
	}
	return acknowledged
}

// watcher watches like an informer: when a watch ends, it lists and watches again.
type watcher struct {
	events atomic.Int64
}

func (w *watcher) run(ctx context.Context, s subject, errs chan<- error) {
	for ctx.Err() == nil {
		list, err := s.client.List(ctx, metav1.ListOptions{})
		if err == nil {
			err = w.watch(ctx, s, list.GetResourceVersion())
		}
		if err != nil && ctx.Err() == nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			errs <- fmt.Errorf("watcher: %w", err)
			return
		}
	}
}

func (w *watcher) watch(ctx context.Context, s subject, resourceVersion string) error {
	events, err := s.client.Watch(ctx, metav1.ListOptions{ResourceVersion: resourceVersion})
	if err != nil {
		return err
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		if event.Type == watch.Error {
			return apierrors.FromObject(event.Object)
		}
		w.events.Add(1)
	}
	return nil
}
