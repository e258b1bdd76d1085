// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/internal/testcost"
	"github.com/fairlead-dev/fairlead/line"
)

// The tests in this file bound the work for large requests, see package testcost.

func entryOf(manager, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "example.com/v1",
		FieldsType: "FieldsV1", FieldsV1: line.NewFields(fields),
	}
}

// times returns a JSON object with the fields that field returns for n numbers.
func times(n int, field func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = field(i)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// listOf returns an object with a list map of n items with a size.
func listOf(n int, size int64) map[string]any {
	list := make([]any, n)
	for i := range list {
		list[i] = map[string]any{"name": fmt.Sprintf("n%06d", i), "size": size}
	}
	return map[string]any{"items": list}
}

// keptList returns the states of an object in which a gate kept the size of each of n items.
func keptList(n int) *Objects {
	return &Objects{Old: listOf(n, 1), Requested: listOf(n, 2), Final: listOf(n, 1)}
}

func itemFields(i int) string { return fmt.Sprintf(`"k:{\"name\":\"n%06d\"}":{".":{},"f:size":{}}`, i) }

// largeWrites are the cases of TestR3CorrectTakesLinearTime.
var largeWrites = map[string]func(n int) Write{
	"an entry with many items of a list map": func(n int) Write {
		fields := `{"f:items":` + times(n, itemFields) + `}`
		return Write{
			Before:  []metav1.ManagedFieldsEntry{entryOf("alice", fields)},
			After:   []metav1.ManagedFieldsEntry{entryOf("bob", fields)},
			Objects: inAllVersions(keptList(n)),
		}
	},
	"many entries, each with an item of a long list": func(n int) Write {
		w := Write{Objects: inAllVersions(keptList(n))}
		for i := range n {
			w.After = append(w.After, entryOf(fmt.Sprintf("m%06d", i), `{"f:items":{`+itemFields(i)+`}}`))
		}
		return w
	},
	"many sets of keys that the schema does not have": func(n int) Write {
		fields := times(n, func(i int) string { return fmt.Sprintf(`"k:{\"x%06d\":1}":{"f:size":{}}`, i) })
		return Write{After: []metav1.ManagedFieldsEntry{entryOf("bob", `{"f:items":`+fields+`}`)}, Objects: inAllVersions(keptList(n))}
	},
	"many items of a set": func(n int) Write {
		set := func(from int) map[string]any {
			items := make([]any, n)
			for i := range items {
				items[i] = int64(from + i)
			}
			return map[string]any{"tags": items}
		}
		fields := times(n, func(i int) string { return fmt.Sprintf(`"v:%d":{}`, i) })
		return Write{
			Before:  []metav1.ManagedFieldsEntry{entryOf("alice", `{"f:tags":`+fields+`}`)},
			Objects: inAllVersions(&Objects{Old: set(0), Requested: set(1), Final: set(0)}),
		}
	},
	"entries whose fields interleave": func(n int) Write {
		field := func(from int) func(int) string {
			return func(i int) string { return fmt.Sprintf(`"f:%06d":{"f:a":{}}`, 2*i+from) }
		}
		return Write{
			Before:  []metav1.ManagedFieldsEntry{entryOf("alice", times(n, field(0)))},
			After:   []metav1.ManagedFieldsEntry{entryOf("alice", times(n, field(1)))},
			Objects: inAllVersions(&Objects{Old: map[string]any{}, Requested: map[string]any{"a": true}, Final: map[string]any{}}),
		}
	},
}

func TestR3CorrectTakesLinearTime(t *testing.T) {
	for name, write := range largeWrites {
		t.Run("R3: "+name, func(t *testing.T) {
			costs := map[int]testcost.Cost{}
			for _, n := range []int{1_000, 10_000} {
				w := write(n)
				costs[n] = testcost.Of(func() { mustCorrect(t, w) })
			}
			testcost.AssertLinear(t, costs[1_000], costs[10_000])
		})
	}
}

// TestR1DeepObjectsAreComparedOnce changes a field deep inside of an object, beside many others. If its value was
// compared at each level again, the test would take minutes.
func TestR1DeepObjectsAreComparedOnce(t *testing.T) {
	const depth, width = 8_000, 50_000
	object := func(changed int64) map[string]any {
		leaves := map[string]any{"changed": changed}
		for i := range width {
			leaves[fmt.Sprintf("l%06d", i)] = int64(i)
		}
		for range depth {
			leaves = map[string]any{"a": leaves}
		}
		return leaves
	}
	fields := strings.Repeat(`{".":{},"f:a":`, depth) + `{"f:changed":{}}` + strings.Repeat("}", depth)
	old := object(1)
	got := mustCorrect(t, Write{
		Before:  []metav1.ManagedFieldsEntry{entryOf("alice", fields)},
		After:   []metav1.ManagedFieldsEntry{entryOf("bob", fields)},
		Objects: inAllVersions(&Objects{Old: old, Requested: object(2), Final: old}),
	})
	if len(got) != 1 || got[0].Manager != "alice" {
		t.Errorf("G7: %d entries, want that of alice", len(got))
	}
}

// TestR3VersionsAreConvertedOnce (rule R3): many entries of one version need one conversion.
func TestR3VersionsAreConvertedOnce(t *testing.T) {
	calls := map[string]int{}
	w := Write{Objects: func(apiVersion string, _ bool) (*Objects, error) {
		calls[apiVersion]++
		return keptList(1), nil
	}}
	for i := range 10 {
		w.After = append(w.After, entryOf(strconv.Itoa(i), `{"f:items":{`+itemFields(0)+`}}`))
	}
	mustCorrect(t, w)
	if calls["example.com/v1"] != 1 {
		t.Errorf("%d conversions", calls["example.com/v1"])
	}
}
