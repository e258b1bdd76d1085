// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endtoend

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/hack/bench/internal/control"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/route"
)

func TestOrder(t *testing.T) {
	first := map[int]bool{}
	for round := range 4 {
		got := order(4, round)
		first[got[0]] = true
		if slices.Sort(got); !slices.Equal(got, []int{0, 1, 2, 3}) {
			t.Errorf("round %d has %v", round, got)
		}
	}
	if got := order(3, 1); !slices.Equal(got, []int{0, 2, 1}) {
		t.Errorf("the second round is %v", got)
	}
	if len(first) < 2 {
		t.Error("every round starts with the same arm")
	}
}

func TestSeries(t *testing.T) {
	var s Series
	m := measurement{
		took: time.Second, server: 4 * time.Second, client: time.Second, latencies: []float64{1, 2, 3, 4},
		allocated: control.Heap{Allocated: 1600, Objects: 160}.Since(control.Heap{Allocated: 1000, Objects: 100}).
			Less(control.Allocations{Bytes: 200, Objects: 20}),
	}
	s.add(0, m)
	if s.CPU[0] != 1 || s.Client[0] != 0.25 || s.PerSecond[0] != 4 || s.Bytes[0] != 100 || s.Objects[0] != 10 {
		t.Errorf("%+v", s)
	}
	s.add(1, measurement{server: time.Second, latencies: []float64{1}})
	s.add(2, measurement{server: 2 * time.Second, latencies: []float64{1}})
	if got := s.In(&Series{Rounds: []int{0, 2}}, s.CPU); !slices.Equal(got, []float64{1, 2}) {
		t.Errorf("in every other round %v", got)
	}
}

func TestBatchesAddUp(t *testing.T) {
	var sum measurement
	for range 2 {
		sum.add(measurement{
			took: time.Second, server: 2 * time.Second, client: 3 * time.Second,
			allocated: control.Allocations{Bytes: 4, Objects: 5}, latencies: []float64{6},
		})
	}
	want := measurement{
		took: 2 * time.Second, server: 4 * time.Second, client: 6 * time.Second,
		allocated: control.Allocations{Bytes: 8, Objects: 10}, latencies: []float64{6, 6},
	}
	if !reflect.DeepEqual(sum, want) {
		t.Errorf("%+v, want %+v", sum, want)
	}
}

func TestWebhooks(t *testing.T) {
	stale := route.Object("a")
	route.Switch(stale)
	response, err := clearStale(&admissionRequest{Object: stale, OldObject: route.Object("a")})
	if err != nil || !response.Allowed {
		t.Fatal(response, err)
	}
	want := `[{"op":"remove","path":"/spec/rules/1/filters/1/requestMirror"}]`
	if got := string(response.Patch); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if response, _ = clearStale(&admissionRequest{Object: stale, OldObject: stale}); response.Patch != nil {
		t.Errorf("patches what no change left behind: %s", response.Patch)
	}
	for object, allowed := range map[*map[string]any]bool{ptr(route.Object("a")): true, &stale: false} {
		if response, _ := validate(&admissionRequest{Object: *object}); response.Allowed != allowed {
			t.Errorf("allowed: %v", response.Allowed)
		}
	}
}

func ptr[T any](v T) *T { return &v }

func TestBodyOfTarget(t *testing.T) {
	w := target{head: []byte("a"), mid: []byte("b"), tail: []byte("c"), resourceVersion: []byte("7")}
	if first, second := string(w.body()), string(w.body()); first != "a7b1c" || second != "a7b2c" {
		t.Errorf("%s, then %s", first, second)
	}
	applied, err := newAppliedTarget("a")
	if err != nil {
		t.Fatal(err)
	}
	if first, second := string(applied.body()), string(applied.body()); first == second || strings.Contains(first, "resourceVersion") {
		t.Errorf("%s, then %s", first, second)
	}
}

func TestExpressionsNameAllMembers(t *testing.T) {
	for _, expression := range []string{valid(), clearing()} {
		for _, u := range []route.Union{route.RuleUnion, route.FilterUnion} {
			for value, member := range u.Members {
				if !strings.Contains(expression, value) || !strings.Contains(expression, member) {
					t.Errorf("no %s or %s in %s", value, member, expression)
				}
			}
		}
	}
}
