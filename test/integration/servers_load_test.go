// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// gateState is the state of the CRD's gate while a writer writes.
type gateState string

const (
	gateOn       gateState = "on"
	gateOff      gateState = "off"
	gateFlipping gateState = "flipping" // the servers may differ
)

// loadWriter is a client that writes objects through all servers in turn. It is the only one that writes the field with
// its name, and one of several that write the guarded field. Its field manager has the same name.
type loadWriter struct {
	name string
	// field and guarded get the number of each write. The gate guards the latter.
	field, guarded []string
	write          func(ctx context.Context, r loadRequest) (*unstructured.Unstructured, error)
	// applies has the configuration of a writer that applies.
	applies func(number int64) map[string]any
	force   bool
}

// loadRequest is what a writer sends: a number, to an object that it has read.
type loadRequest struct {
	client resource
	object *unstructured.Unstructured
	number int64
}

// directWriter writes when the test calls it.
var directWriter = &loadWriter{
	name: "direct", field: []string{"spec", "direct"}, guarded: []string{"spec", "replicas"},
	write: func(ctx context.Context, r loadRequest) (*unstructured.Unstructured, error) {
		return r.mergePatch(ctx, "direct", map[string]any{"direct": r.number, "replicas": r.number})
	},
}

// loadWriters are writers of every kind that write by themselves.
func loadWriters() []*loadWriter {
	writers := []*loadWriter{
		{name: "put", write: putNumber},
		{name: "status", field: []string{"status", "status"}, guarded: []string{"status", "ready"}, write: putStatus},
		{name: "merge", write: mergeNumber},
		{name: "json", write: jsonPatchNumber},
		{name: "switcher", write: switchUnion},
		{name: "applier", applies: func(n int64) map[string]any {
			return map[string]any{"applier": n, "replicas": n}
		}},
		{name: "forcer", force: true, applies: func(n int64) map[string]any {
			return map[string]any{"forcer": n, "replicas": n, "source": unionFor(n)}
		}},
	}
	for _, w := range writers {
		if w.field == nil {
			w.field, w.guarded = []string{"spec", w.name}, []string{"spec", "replicas"}
		}
		if w.applies != nil {
			w.write = w.apply
		}
	}
	return writers
}

// unionFor returns a union. Numbers select different members.
func unionFor(n int64) map[string]any {
	switch n % 3 {
	case 0:
		return map[string]any{"type": "Git", "git": map[string]any{"url": strconv.FormatInt(n, 10)}}
	case 1:
		return map[string]any{"type": "S3", "s3": map[string]any{"bucket": strconv.FormatInt(n, 10)}}
	default:
		return map[string]any{"type": "None"}
	}
}

func putNumber(ctx context.Context, r loadRequest) (*unstructured.Unstructured, error) {
	spec := r.object.Object["spec"].(map[string]any)
	spec["put"], spec["replicas"] = r.number, r.number
	spec["containers"] = []any{map[string]any{"name": "main", "size": r.number, "port": int64(1)}}
	return r.client.Update(ctx, r.object, metav1.UpdateOptions{FieldManager: "put"})
}

func putStatus(ctx context.Context, r loadRequest) (*unstructured.Unstructured, error) {
	r.object.Object["status"] = map[string]any{"status": r.number, "ready": r.number}
	return r.client.UpdateStatus(ctx, r.object, metav1.UpdateOptions{FieldManager: "status"})
}

func mergeNumber(ctx context.Context, r loadRequest) (*unstructured.Unstructured, error) {
	return r.mergePatch(ctx, "merge", map[string]any{"merge": r.number, "replicas": r.number})
}

func jsonPatchNumber(ctx context.Context, r loadRequest) (*unstructured.Unstructured, error) {
	return r.patch(ctx, "json", types.JSONPatchType, []any{
		map[string]any{"op": "add", "path": "/spec/json", "value": r.number},
		map[string]any{"op": "add", "path": "/spec/replicas", "value": r.number},
	})
}

// switchUnion leaves the members that it does not select to normalization.
func switchUnion(ctx context.Context, r loadRequest) (*unstructured.Unstructured, error) {
	return r.mergePatch(ctx, "switcher", map[string]any{"switcher": r.number, "replicas": r.number, "source": unionFor(r.number)})
}

func (r loadRequest) mergePatch(ctx context.Context, manager string, spec map[string]any) (*unstructured.Unstructured, error) {
	return r.patch(ctx, manager, types.MergePatchType, map[string]any{"spec": spec})
}

func (r loadRequest) patch(ctx context.Context, manager string, kind types.PatchType, patch any) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	return r.client.Patch(ctx, r.object.GetName(), kind, data, metav1.PatchOptions{FieldManager: manager})
}

func (w *loadWriter) apply(ctx context.Context, r loadRequest) (*unstructured.Unstructured, error) {
	configuration := &unstructured.Unstructured{Object: map[string]any{"spec": w.applies(r.number)}}
	configuration.SetGroupVersionKind(r.object.GroupVersionKind())
	configuration.SetName(r.object.GetName())
	return r.client.Apply(ctx, r.object.GetName(), configuration, metav1.ApplyOptions{FieldManager: w.name, Force: w.force})
}

// loadWrite is a write and its outcome.
type loadWrite struct {
	writer *loadWriter
	number int64
	server int
	object string
	gate   gateState
	// answer is the object in the answer, or nil if the write was not acknowledged.
	answer   *unstructured.Unstructured
	warnings []string
	// refused is the error of a write that changed nothing. One that is neither acknowledged nor refused may have been
	// persisted.
	refused error
}

func (w *loadWrite) String() string {
	return fmt.Sprintf("%s %d of %s through server %d, gate %s", w.writer.name, w.number, w.object, w.server, w.gate)
}

// load is what the writers do.
type load struct {
	crd     *apiextensionsv1.CustomResourceDefinition
	servers []*server
	objects []string

	numbers atomic.Int64
	mu      sync.Mutex
	writes  []*loadWrite
	// acknowledged counts writes by server.
	acknowledged []atomic.Int64
}

const (
	// loadPause leaves time to the other tests.
	loadPause = 40 * time.Millisecond
	// maxLoad is the most writes of a writer in a run. It stops writers whose test hangs.
	maxLoad = 5000
	// loadTimeout is longer than etcd needs to elect a leader.
	loadTimeout = 30 * time.Second
)

// start lets all writers write until stop is called or the test ends. stop returns when their last requests are
// answered.
func (l *load) start(t *testing.T, gate gateState) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for i, w := range loadWriters() {
		clients := make([]resource, len(l.servers))
		for j, s := range l.servers {
			clients[j] = s.customResources(l.crd)
		}
		group.Go(func() { l.run(ctx, t, w, clients, gate, i) })
	}
	stop = func() { cancel(); group.Wait() }
	t.Cleanup(stop)
	return stop
}

// run writes until ctx is done. Writers begin at different servers and objects.
func (l *load) run(ctx context.Context, t *testing.T, w *loadWriter, clients []resource, gate gateState, offset int) {
	for i := offset; ctx.Err() == nil && i < maxLoad; i++ {
		write := &loadWrite{
			writer: w, number: l.numbers.Add(1), gate: gate,
			server: i % len(clients), object: l.objects[i/len(clients)%len(l.objects)],
		}
		if err := l.send(context.WithoutCancel(ctx), write, clients[write.server]); err != nil {
			t.Errorf("%v: %v", write, err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(loadPause):
		}
	}
}

// writeThrough writes every object through one server.
func (l *load) writeThrough(t *testing.T, server int, gate gateState) {
	t.Helper()
	client := l.servers[server].customResources(l.crd)
	for _, object := range l.objects {
		write := &loadWrite{writer: directWriter, number: l.numbers.Add(1), server: server, object: object, gate: gate}
		if err := l.send(t.Context(), write, client); err != nil || write.answer == nil {
			t.Errorf("%v: %v", write, err)
		}
	}
}

// send reads the object, writes it and notes the outcome. It returns an error that no fault explains.
func (l *load) send(ctx context.Context, w *loadWrite, client resource) error {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	u, err := client.Get(ctx, w.object, metav1.GetOptions{})
	if err != nil {
		return unexplained(err)
	}
	client.warnings.take()
	answer, err := w.writer.write(ctx, loadRequest{client: client, object: u, number: w.number})
	w.warnings = client.warnings.take()
	if err == nil {
		w.answer = answer
		l.acknowledged[w.server].Add(1)
	}
	if apierrors.IsConflict(err) {
		w.refused, err = err, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes = append(l.writes, w)
	return unexplained(err)
}

// unexplained returns nil for errors that clients get while a server or etcd is not available, and other errors
// unchanged.
func unexplained(err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil // there was no connection, or it broke
	}
	if code := status.Status().Code; code >= http.StatusInternalServerError || code == http.StatusTooManyRequests {
		return nil
	}
	return err
}

// await waits until each of the servers acknowledged some more writes.
func (l *load) await(t *testing.T, what string, servers ...int) {
	t.Helper()
	const more = 15
	want := make([]int64, len(servers))
	for i, server := range servers {
		want[i] = l.acknowledged[server].Load() + more
	}
	eventually(t, fmt.Sprintf("writes through servers %v %s", servers, what), func(context.Context) (bool, error) {
		for i, server := range servers {
			if l.acknowledged[server].Load() < want[i] {
				return false, nil
			}
		}
		return true, nil
	})
}

// isApplyConflict reports whether other field managers own what a client applied without force.
func isApplyConflict(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
}

// gateWarnings returns the warnings about a field and a disabled gate (rule G10).
func (w *loadWrite) gateWarnings() []string {
	var found []string
	for _, text := range w.warnings {
		if strings.HasPrefix(text, "."+strings.Join(w.writer.guarded, ".")+": ") {
			found = append(found, text)
		}
	}
	return found
}

// log logs the number of writes by outcome, and fails if a writer never wrote.
func (l *load) log(t *testing.T) {
	t.Helper()
	acknowledged, refused, unknown := map[string]int{}, map[string]int{}, map[string]int{}
	for _, w := range l.writes {
		switch {
		case w.answer != nil:
			acknowledged[w.writer.name]++
		case w.refused != nil:
			refused[w.writer.name]++
		default:
			unknown[w.writer.name]++
		}
	}
	t.Logf("%d writes; acknowledged: %v; refused: %v; unknown: %v", len(l.writes), acknowledged, refused, unknown)
	for _, w := range loadWriters() {
		if acknowledged[w.name] == 0 {
			t.Errorf("the writer %s never wrote", w.name)
		}
	}
}
