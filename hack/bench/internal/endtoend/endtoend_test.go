// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endtoend

import (
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

func TestSeriesAdd(t *testing.T) {
	var s Series
	start := time.Now()
	heap := func(n float64) control.Heap { return control.Heap{Allocated: n, Objects: n / 10} }
	s.add(usage{at: start}, usage{at: start.Add(time.Second), server: 4 * time.Second, client: time.Second},
		[3]control.Heap{heap(1000), heap(1100), heap(1600)}, []float64{1, 2, 3, 4})
	if s.CPU[0] != 1 || s.Client[0] != 0.25 || s.PerSecond[0] != 4 || s.Bytes[0] != 100 || s.Objects[0] != 10 {
		t.Errorf("%+v", s)
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

func TestBodyOfWorker(t *testing.T) {
	w := worker{head: []byte("a"), mid: []byte("b"), tail: []byte("c"), resourceVersion: []byte("7")}
	if first, second := string(w.body()), string(w.body()); first != "a7b1c" || second != "a7b2c" {
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
