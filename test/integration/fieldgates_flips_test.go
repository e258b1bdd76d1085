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

// TestG11FlipsUnderLoad flips a gate 50 times while eight writers write and one watcher watches. It is not parallel: it
// makes its own load.
func TestG11FlipsUnderLoad(t *testing.T) {
	const writersAtOnce, flips = 8, 50
	s := newSubject(t, newCRD(t, replicasGate))
	for i := range writersAtOnce {
		create(t, s.client, cronTab(t, s.crd, fmt.Sprintf("w%d", i), `{image: "0"}`), metav1.CreateOptions{})
	}

	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	last := make([]int, writersAtOnce)
	errs := make(chan error, writersAtOnce+1)
	for i := range writersAtOnce {
		group.Go(func() { last[i] = s.keepWriting(ctx, fmt.Sprintf("w%d", i), errs) })
	}
	watched := &watcher{}
	group.Go(func() { watched.run(ctx, s, errs) })

	for i := range flips {
		flip(t, s.crd, i%2 == 0)
		time.Sleep(100 * time.Millisecond) // so that writers meet every state, and its change
	}
	// A busy machine may end every watch before an event comes; the watcher must not be lost for that.
	eventually(t, "the watcher sees an event", func(context.Context) (bool, error) { return watched.events.Load() > 0, nil })
	stop()
	group.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}

	for i, n := range last {
		name := fmt.Sprintf("w%d", i)
		if got, _, _ := unstructured.NestedString(s.get(name).Object, "spec", "image"); got != strconv.Itoa(n) {
			t.Errorf("a write of %s was lost: stored image is %q, the last one acknowledged is %d", name, got, n)
		}
		if n == 0 {
			t.Errorf("%s never wrote", name)
		}
	}
	// The last flip was to disabled.
	s.flipReplicas(false)
	created, warnings := create(t, s.client, cronTab(t, s.crd, "after", `{replicas: 3}`), metav1.CreateOptions{})
	if got := specOf(t, created); got != "{}" || len(warnings) != 1 {
		t.Errorf("after the last flip: spec %q, warnings %q", got, warnings)
	}
}

// keepWriting updates the object until ctx ends, and returns the last number that the server acknowledged.
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

// watcher watches as informers do: when a watch ends, it lists and watches again.
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
