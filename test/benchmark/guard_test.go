// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/union"
)

// allocationGuards returns fixed requests with the number of allocations that they may make. Unlike times, allocations
// are the same on every machine. They are almost the same on every run: limits other than 0 leave some room for how
// maps grow. A change that saves allocations lowers the limit; a change that raises a limit gives the reason.
func allocationGuards(tb testing.TB) []allocationGuard {
	tb.Helper()
	structural := structuralOf(tb, longRouteSchema(tb))
	unions := union.Compile(structural, nil)
	gates := fieldgate.Compile(disabledGates(gatedPaths()), structural, fieldgate.Options{})
	guards := []allocationGuard{
		{"compile the unions of a CRD", 750, func() { union.Compile(structural, nil) }},
		{"compile 10 gates", 185, func() { fieldgate.Compile(disabledGates(gatedPaths()), structural, fieldgate.Options{}) }},
	}
	for _, rules := range []int{4, 256} {
		obj, old := routeOf(rules), routeOf(rules)
		name := func(what string) string { return fmt.Sprintf("%s, %d rules", what, rules) }
		switched := routeOf(rules)
		stale := filterOf(switched, 1, 1)
		stale["type"], stale["extensionRef"] = "ExtensionRef", map[string]any{}
		invalid := routeOf(rules)
		filterOf(invalid, 2, 0)["requestRedirect"] = map[string]any{}
		guards = append(guards,
			allocationGuard{name("R2: unions of a valid object"), 0, func() { normalizeAndValidate(unions, obj, old) }},
			allocationGuard{name("R2: no unions"), 0, func() { normalizeAndValidate(nil, obj, old) }},
			allocationGuard{name("R2: gates without a guarded field"), 0, func() { evaluate(gates, obj, old) }},
			allocationGuard{name("R2: no gates"), 0, func() { evaluate(nil, obj, old) }},
			// Only what is cleared may allocate, not the rest of the object.
			allocationGuard{name("a member is cleared"), 30, func() { unions.Normalize(switched, old, scope.Everything) }},
			// To report the errors the object is walked a second time, with a path.
			allocationGuard{
				name("a union is invalid"), 30 + 6*float64(rules),
				func() { unions.Validate(invalid, old, union.Options{}) },
			},
		)
	}
	return guards
}

type allocationGuard struct {
	name  string
	limit float64
	run   func()
}

func TestAllocationsDoNotGrow(t *testing.T) {
	for _, g := range allocationGuards(t) {
		if got := testing.AllocsPerRun(20, g.run); got > g.limit {
			t.Errorf("%s: %v allocations, want at most %v", g.name, got, g.limit)
		} else {
			t.Logf("%s: %v allocations, limit %v", g.name, got, g.limit)
		}
	}
}

// TestAllocationsOfDroppedFields counts the allocations for fields that gates drop. Evaluation changes the object, so
// each run needs a new one.
func TestAllocationsOfDroppedFields(t *testing.T) {
	const runs, fields, limit = 20, 10, 4
	p := plan(t, false, optionalPaths(fields)...)
	objects := make([]map[string]any, runs+1) // AllocsPerRun has one more run, to warm up
	for i := range objects {
		objects[i] = crontab(fields)
	}
	next := 0
	got := testing.AllocsPerRun(runs, func() {
		evaluate(p, objects[next], nil)
		next++
	})
	if got > limit {
		t.Errorf("%v allocations for %d dropped fields, want at most %v", got, fields, limit)
	}
	t.Logf("%v allocations for %d dropped fields", got, fields)
}

// TestGuardedObjectsAreWhatTheyClaim checks that the switched route has exactly one union to normalize. Normalization
// must not modify its input (rule R4), so a second run finds the same.
func TestGuardedObjectsAreWhatTheyClaim(t *testing.T) {
	unions := union.Compile(structuralOf(t, routeSchema(t)), nil)
	switched := switchedRoute()
	before := runtime.DeepCopyJSON(switched)
	for range 2 {
		if _, cleared := unions.Normalize(switched, route(), scope.Everything); len(cleared) != 1 {
			t.Errorf("%d unions are cleared, want 1", len(cleared))
		}
	}
	if !hasOutdatedFilters(before, route()) {
		t.Error("the switched route has no member to clear")
	}
}
