// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// check compares a history with what the clients were told.
type check struct {
	*testing.T
	history history
}

// wantStates checks every state: no union has a member that is not selected (rules U4, U6), and no managedFields entry
// names a field that the object lacks (rules G7.4, U8).
func (c check) wantStates() {
	c.Helper()
	for name, states := range c.history {
		for _, u := range states {
			id := name + " at " + u.GetResourceVersion()
			if message := unionFault(u); message != "" {
				c.Errorf("U6: %s: %s", id, message)
			}
			for _, entry := range entriesOf(u) {
				for _, path := range missingFields(entry.fields, u.Object, "") {
					c.Errorf("G7.4, U8: %s: the entry of %s names %s, which the object lacks", id, entry.manager, path)
				}
			}
		}
	}
}

// unionFault returns what is wrong with the union of a state.
func unionFault(u *unstructured.Unstructured) string {
	source, _, _ := unstructured.NestedMap(u.Object, "spec", "source")
	selected := map[any]string{"Git": "git", "S3": "s3"}[source["type"]]
	for _, member := range []string{"git", "s3"} {
		if _, set := source[member]; set != (member == selected) {
			return fmt.Sprintf("the member %s does not fit the discriminator: %v", member, source)
		}
	}
	return ""
}

// managedEntry is an entry of managedFields.
type managedEntry struct {
	manager, operation string
	fields             map[string]any
}

// entriesOf returns the managedFields of an object that was read as JSON.
func entriesOf(u *unstructured.Unstructured) []managedEntry {
	list, _, _ := unstructured.NestedSlice(u.Object, "metadata", "managedFields")
	var entries []managedEntry
	for _, item := range list {
		entry := item.(map[string]any)
		fields, _ := entry["fieldsV1"].(map[string]any)
		entries = append(entries, managedEntry{
			manager: entry["manager"].(string), operation: entry["operation"].(string), fields: fields,
		})
	}
	return entries
}

// missingFields returns the fields of an entry that a value lacks.
func missingFields(fields map[string]any, value any, path string) []string {
	var missing []string
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if key == "." {
			continue
		}
		child, found := childOf(value, key)
		if !found {
			missing = append(missing, path+" "+key)
			continue
		}
		missing = append(missing, missingFields(fields[key].(map[string]any), child, path+" "+key)...)
	}
	return missing
}

// childOf returns the part of a value that a key of managedFields names.
func childOf(value any, key string) (any, bool) {
	kind, name, _ := strings.Cut(key, ":")
	switch value := value.(type) {
	case map[string]any:
		child, found := value[name]
		return child, found && kind == "f"
	case []any:
		var keys map[string]any
		if kind != "k" || json.Unmarshal([]byte(name), &keys) != nil {
			return nil, false
		}
		for _, item := range value {
			if fields, _ := item.(map[string]any); containsAll(fields, keys) {
				return item, true
			}
		}
	}
	return nil, false
}

func containsAll(fields, want map[string]any) bool {
	for key, value := range want {
		if fields[key] != value {
			return false
		}
	}
	return true
}

// wantWrites checks that every acknowledged write is in the history as it was answered, and what the gate did to it.
func (c check) wantWrites(writes []*loadWrite) {
	c.Helper()
	for _, w := range writes {
		if w.gate == gateOff && isApplyConflict(w.refused) {
			c.Errorf("G7.3: %v: a disabled field raised a conflict: %v", w, w.refused)
		}
		if w.answer != nil {
			c.wantPersisted(w)
		}
	}
	c.wantInOrder(writes)
}

func (c check) wantPersisted(w *loadWrite) {
	c.Helper()
	before, state := c.history.at(w.object, w.answer.GetResourceVersion())
	if state == nil {
		c.Errorf("%v: the acknowledged write is lost: no state has the resource version %s", w, w.answer.GetResourceVersion())
		return
	}
	if diff := cmp.Diff(w.answer, state); diff != "" {
		c.Errorf("%v: another state was persisted than answered (-answer +persisted):\n%s", w, diff)
	}
	if got, _, _ := unstructured.NestedInt64(state.Object, w.writer.field...); got != w.number {
		c.Errorf("%v: the acknowledged write is lost: its field is %d", w, got)
	}
	c.wantGuarded(w, before, state)
	c.wantOwner(w, before, state)
}

// wantGuarded checks what became of the guarded field that the write sent. A server whose gate is on writes it. One
// whose gate is off leaves it as it was, with a warning. While a flip spreads, either is right (rules G2, G10, G11).
func (c check) wantGuarded(w *loadWrite, before, state *unstructured.Unstructured) {
	c.Helper()
	value := func(u *unstructured.Unstructured) any {
		got, _, _ := unstructured.NestedFieldNoCopy(u.Object, w.writer.guarded...)
		return got
	}
	got, old, warnings := value(state), value(before), w.gateWarnings()
	written := got == w.number && len(warnings) == 0
	kept := got == old && len(warnings) == 1
	if written && w.gate != gateOff || kept && w.gate != gateOn {
		return
	}
	c.Errorf("G2: %v: the guarded field was %v and is %v, with the warnings %q", w, old, got, warnings)
}

// wantOwner checks that an applier owns what it applied (rule G7), except for a guarded field that was not written, and
// that who changed a discriminator owns it (rule U8).
func (c check) wantOwner(w *loadWrite, before, state *unstructured.Unstructured) {
	c.Helper()
	operation, wanted := "Update", map[string]any{}
	switch {
	case w.writer.applies != nil:
		operation, wanted["spec"] = "Apply", w.writer.applies(w.number)
	case w.writer.name == "switcher" && discriminator(before) != discriminator(state):
		wanted["spec"] = map[string]any{"source": map[string]any{"type": discriminator(state)}}
	}
	entries := entriesOf(state)
	i := slices.IndexFunc(entries, func(e managedEntry) bool { return e.manager == w.writer.name && e.operation == operation })
	if i < 0 {
		c.Errorf("G7: %v: the manager has no entry", w)
		return
	}
	for _, path := range unownedFields(wanted, entries[i].fields, "") {
		if path != "."+strings.Join(w.writer.guarded, ".") || len(w.gateWarnings()) == 0 {
			c.Errorf("G7, U8: %v: the manager does not own %s", w, path)
		}
	}
}

func discriminator(u *unstructured.Unstructured) string {
	value, _, _ := unstructured.NestedString(u.Object, "spec", "source", "type")
	return value
}

// unownedFields returns the fields of a configuration that an entry does not name.
func unownedFields(configuration, entry map[string]any, path string) []string {
	var unowned []string
	for _, name := range slices.Sorted(maps.Keys(configuration)) {
		fields, found := entry["f:"+name].(map[string]any)
		if !found {
			unowned = append(unowned, path+"."+name)
		} else if child, isMap := configuration[name].(map[string]any); isMap {
			unowned = append(unowned, unownedFields(child, fields, path+"."+name)...)
		}
	}
	return unowned
}

// wantInOrder checks that no later state has an earlier write of a field than a state before, since the field has one
// writer. A write whose outcome the client does not know may be late.
func (c check) wantInOrder(writes []*loadWrite) {
	c.Helper()
	acknowledged := map[int64]bool{}
	for _, w := range writes {
		acknowledged[w.number] = w.answer != nil
	}
	for name, states := range c.history {
		for _, w := range append(loadWriters(), directWriter) {
			var last int64
			for _, u := range states {
				number, _, _ := unstructured.NestedInt64(u.Object, w.field...)
				if number < last && acknowledged[last] {
					c.Errorf("%s at %s: the acknowledged write %d of %s is lost: its field is %d",
						name, u.GetResourceVersion(), last, w.name, number)
				}
				last = number
			}
		}
	}
}

// wantFrozen checks the states of a time in which all servers had the gate disabled: guarded values and their owners
// are those of the state before (rules G2, G7.1, G7.2).
func (c check) wantFrozen(from, to int64) {
	c.Helper()
	for name, states := range c.history {
		first, last := c.firstAfter(states, from), c.firstAfter(states, to)
		if first == last {
			c.Errorf("%s was not written while the gate was disabled", name)
		}
		frozen := guardedParts(states[first-1])
		for _, u := range states[first:last] {
			if diff := cmp.Diff(frozen, guardedParts(u)); diff != "" {
				c.Errorf("G2, G7: %s at %s: a disabled field changed (-before +after):\n%s", name, u.GetResourceVersion(), diff)
			}
		}
	}
}

// firstAfter returns the index of the first state after a revision.
func (c check) firstAfter(states []*unstructured.Unstructured, revision int64) int {
	c.Helper()
	i := slices.IndexFunc(states, func(u *unstructured.Unstructured) bool { return revisionOf(c.T, u) > revision })
	if i < 0 {
		return len(states)
	}
	return i
}

// guardedParts returns the guarded values of an object, and who owns them.
func guardedParts(u *unstructured.Unstructured) map[string]any {
	parts := map[string]any{}
	for _, path := range [][]string{
		{"f:spec", "f:replicas"}, {"f:status", "f:ready"}, {"f:spec", "f:containers", `k:{"name":"main"}`, "f:size"},
	} {
		var value any = u.Object
		for _, key := range path {
			value, _ = childOf(value, key)
		}
		name := strings.Join(path, " ")
		parts[name] = value
		for _, entry := range entriesOf(u) {
			if _, found, _ := unstructured.NestedFieldNoCopy(entry.fields, path...); found {
				parts[name+" of "+entry.manager+" "+entry.operation] = true
			}
		}
	}
	return parts
}

// observer watches like an informer. When a watch ends it goes on from the last resource version, at the next server.
// If that is too old, as after a change of the CRD, it lists and watches again.
type observer struct {
	clients []resource
	seen    []*unstructured.Unstructured
	spans   []span // in each of them it must see every event
}

// span is from a resource version, which is not part of it, to the last event.
type span struct {
	from   string
	events []string
}

// start observes until stop is called or the test ends.
func (o *observer) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		var from string
		for i := 0; ctx.Err() == nil; i++ {
			var err error
			if from, err = o.observe(ctx, o.clients[i%len(o.clients)], from); err != nil && unexplained(err) != nil {
				t.Errorf("a watch failed: %v", err)
				return
			}
			time.Sleep(loadPause)
		}
	})
	stop = func() { cancel(); group.Wait() }
	t.Cleanup(stop)
	return stop
}

// observe watches at one server, and returns where to go on. Without a resource version it begins with a list.
func (o *observer) observe(ctx context.Context, client resource, from string) (string, error) {
	if from == "" {
		list, err := client.List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", err
		}
		from = list.GetResourceVersion()
		o.noteList(list)
	}
	return watchFrom(ctx, client, from, o.noteEvent)
}

// watchFrom watches from a resource version on, and returns where to go on when the watch has ended.
func watchFrom(
	ctx context.Context, client dynamic.ResourceInterface, from string, note func(*unstructured.Unstructured),
) (string, error) {
	events, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: from})
	if err != nil {
		return afterError(from, err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		u, isObject := event.Object.(*unstructured.Unstructured)
		if event.Type == watch.Error || !isObject {
			return afterError(from, apierrors.FromObject(event.Object))
		}
		from = u.GetResourceVersion()
		note(u)
	}
	return from, nil
}

func (o *observer) noteList(list *unstructured.UnstructuredList) {
	o.spans = append(o.spans, span{from: list.GetResourceVersion()})
	for i := range list.Items {
		o.seen = append(o.seen, &list.Items[i])
	}
}

func (o *observer) noteEvent(u *unstructured.Unstructured) {
	o.seen = append(o.seen, u)
	current := &o.spans[len(o.spans)-1]
	current.events = append(current.events, u.GetResourceVersion())
}

// afterError returns where to go on after an error of a watch.
func afterError(from string, err error) (string, error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return "", nil
	}
	return from, err
}

// wantObserved checks that every state that the clients read or watched was persisted so, and that the watches missed
// none.
func (c check) wantObserved(o *observer) {
	c.Helper()
	for _, u := range o.seen {
		if _, state := c.history.at(u.GetName(), u.GetResourceVersion()); !reflect.DeepEqual(u, state) {
			c.Errorf("%s at %s: another state was persisted than observed (-observed +persisted):\n%s",
				u.GetName(), u.GetResourceVersion(), cmp.Diff(u, state))
		}
	}
	revisions, events := c.history.revisions(c.T), 0
	for _, s := range o.spans {
		c.wantWithoutGap(revisions, s)
		events += len(s.events)
	}
	c.Logf("observed %d states, %d of them as events, in %d watches without a gap", len(o.seen), events, len(o.spans))
	if events == 0 {
		c.Error("the watches saw no event")
	}
}

// wantWithoutGap checks that the events of a span are all revisions from its beginning to its last event.
func (c check) wantWithoutGap(revisions []int64, s span) {
	c.Helper()
	if len(s.events) == 0 {
		return
	}
	got := make([]int64, len(s.events))
	for i, event := range s.events {
		got[i] = parseRevision(c.T, event)
	}
	first, _ := slices.BinarySearch(revisions, parseRevision(c.T, s.from)+1)
	last, _ := slices.BinarySearch(revisions, got[len(got)-1]+1)
	if diff := cmp.Diff(revisions[first:last], got); diff != "" {
		c.Errorf("the events of a watch from %s on (-persisted +observed):\n%s", s.from, diff)
	}
}

// revisions returns the revisions of all states in their order.
func (h history) revisions(t *testing.T) []int64 {
	t.Helper()
	var revisions []int64
	for _, states := range h {
		for _, u := range states {
			revisions = append(revisions, revisionOf(t, u))
		}
	}
	slices.Sort(revisions)
	return revisions
}
