// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/internal/testcost"
	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

const limitsSchemaYAML = `
type: object
properties:
  spec:
    type: object
    properties:
      image: {type: string}
      tree: {type: object, x-kubernetes-preserve-unknown-fields: true}
      items:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items: {type: object, required: [name], properties: {name: {type: string}, size: {type: integer}, blob: {type: string}}}
      tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
      byKey: {type: object, additionalProperties: {type: object, properties: {size: {type: integer}}}}
`

// limitsPlan returns the plan of one disabled gate at the paths.
func limitsPlan(t testing.TB, paths ...string) *Plan {
	t.Helper()
	plan := Compile(alphaGate(paths...), testyaml.Structural(t, limitsSchemaYAML), Options{})
	if plan == nil {
		t.Fatal("no plan")
	}
	return plan
}

// run evaluates an update, or a create if old is nil.
func run(p *Plan, obj, old map[string]any) *Result { return p.Evaluate(Write{Object: obj, Old: old}) }

// nest returns innermost inside depth objects with a field a, or inside depth lists.
func nest(depth int, innermost any, asLists bool) any {
	value := innermost
	for range depth {
		if asLists {
			value = []any{value}
		} else {
			value = map[string]any{"a": value}
		}
	}
	return value
}

func treeOf(value any) map[string]any {
	return map[string]any{"spec": map[string]any{"image": "i", "tree": value}}
}

func TestDeepObjects(t *testing.T) {
	megabyte := strings.Repeat("x", 1<<20)
	for _, depth := range []int{500, 10_000} {
		for _, asLists := range []bool{false, true} {
			for name, paths := range map[string][]string{
				"the field around it is guarded": {".spec.tree"},
				"a field inside is guarded":      {".spec.tree" + strings.Repeat(".a", 250)},
				"a field inside is absent":       {".spec.tree" + strings.Repeat(".a", 250) + ".b"},
			} {
				t.Run(fmt.Sprintf("R1: a megabyte inside %d levels, of lists %v: %s", depth, asLists, name), func(t *testing.T) {
					checkDeepObject(t, limitsPlan(t, paths...), func(leaf any) map[string]any { return treeOf(nest(depth, leaf, asLists)) }, megabyte)
				})
			}
		}
	}
}

// checkDeepObject creates an object, updates it without a change, and updates it with another innermost value.
func checkDeepObject(t *testing.T, plan *Plan, object func(leaf any) map[string]any, leaf any) {
	t.Helper()
	run(plan, object(leaf), nil)

	same, old := object(leaf), object(leaf)
	if c := testcost.Of(func() { run(plan, same, old) }); c.Mallocs > 20 {
		t.Errorf("R3: an unchanged object costs %+v", c)
	}
	changed := object("changed")
	warnings := Warnings(run(plan, changed, old).Outcomes())
	if len(warnings) > 1 {
		t.Errorf("G10: more than one warning for a path: %q", warnings)
	}
	if again := run(plan, changed, old); again != nil {
		t.Errorf("R4: the second evaluation has warnings %q", Warnings(again.Outcomes()))
	}
}

// listCase generates the items of the requested and of the persisted object.
type listCase struct {
	name     string
	obj, old func(n int) []any
	// isFree is whether the allocations of an evaluation do not grow with the items.
	isFree bool
}

// named returns a function that generates n items with different keys.
func named(prefix string, size any) func(n int) []any {
	return func(n int) []any {
		items := make([]any, n)
		for i := range items {
			item := map[string]any{"name": fmt.Sprintf("%s%06d", prefix, i)}
			if size != nil {
				item["size"] = size
			}
			items[i] = item
		}
		return items
	}
}

func reversed(list func(n int) []any) func(n int) []any {
	return func(n int) []any {
		items := list(n)
		slices.Reverse(items)
		return items
	}
}

// repeated returns a function that generates n items, of which ten each have the same key.
func repeated(size any) func(n int) []any {
	return func(n int) []any {
		var items []any
		for range 10 {
			items = append(items, named("a", size)(n/10)...)
		}
		return items
	}
}

func none(int) []any { return nil }

func listsOfEveryKind() []listCase {
	one, two := int64(1), int64(2)
	notObjects := func(n int) []any { return slices.Repeat([]any{"not an object"}, n) }
	noKeys := func(n int) []any { return copies(map[string]any{"size": one}, n) }
	return []listCase{
		{name: "in the same order and unchanged", obj: named("a", one), old: named("a", one), isFree: true},
		{name: "in the same order without the guarded field", obj: named("a", nil), old: named("a", nil), isFree: true},
		{name: "in the same order with the guarded field changed", obj: named("a", two), old: named("a", one)},
		{name: "in the same order with the guarded field left out", obj: named("a", nil), old: named("a", one)},
		{name: "reversed", obj: reversed(named("a", one)), old: named("a", one)},
		{name: "all new", obj: named("b", one), old: named("a", one)},
		{name: "all new on create", obj: named("a", one), old: none, isFree: true},
		{name: "one inserted at the front", obj: func(n int) []any { return append(named("b", one)(1), named("a", two)(n)...) }, old: named("a", one)},
		{name: "every key ten times in the request", obj: repeated(one), old: named("a", two)},
		{name: "every key ten times in both", obj: reversed(repeated(two)), old: repeated(one)},
		{name: "all with the same key in the request", obj: func(n int) []any { return copies(map[string]any{"name": "a000000"}, n) }, old: named("a", one)},
		{name: "all with the same key in both", obj: func(n int) []any { return copies(map[string]any{"name": "a"}, n) }, old: func(n int) []any { return copies(map[string]any{"name": "a", "size": one}, n) }},
		{name: "without keys", obj: noKeys, old: noKeys, isFree: true},
		{name: "with objects as keys", obj: func(n int) []any { return copies(map[string]any{"name": map[string]any{}, "size": two}, n) }, old: named("a", one)},
		{name: "that are not objects", obj: notObjects, old: notObjects, isFree: true},
		{name: "all removed", obj: none, old: named("a", one), isFree: true},
	}
}

func copies(item map[string]any, n int) []any {
	items := make([]any, n)
	for i := range items {
		items[i] = runtime.DeepCopyJSON(item)
	}
	return items
}

func itemsOf(items []any) map[string]any {
	return map[string]any{"spec": map[string]any{"items": items}}
}

func TestLongListMaps(t *testing.T) {
	plan := limitsPlan(t, ".spec.items[*].size")
	for _, tc := range listsOfEveryKind() {
		t.Run("R3: 50,000 items "+tc.name, func(t *testing.T) {
			costs := map[int]testcost.Cost{}
			for _, n := range []int{5_000, 50_000} {
				obj, old := itemsOf(tc.obj(n)), itemsOf(tc.old(n))
				costs[n] = testcost.Of(func() { run(plan, obj, old) })
				if again := run(plan, obj, old); again.ChangedObject() {
					t.Errorf("R4: the second evaluation changes the object, with warnings %q", Warnings(again.Outcomes()))
				}
			}
			testcost.AssertLinear(t, costs[5_000], costs[50_000])
			if tc.isFree && costs[50_000].Mallocs > 50 {
				t.Errorf("R3: %+v", costs[50_000])
			}
		})
	}
}

// TestLongConfigurations adjusts configurations with all kinds of lists. Either a field of the items is disabled, or
// the list (rules G4, R3).
func TestLongConfigurations(t *testing.T) {
	schema := testyaml.Structural(t, limitsSchemaYAML)
	for _, path := range []string{".spec.items[*].size", ".spec.items", ".spec.tags"} {
		plan := limitsPlan(t, path)
		for _, tc := range listsOfEveryKind() {
			t.Run("R3: 50,000 items "+tc.name+", "+path+" is disabled", func(t *testing.T) {
				costs := map[int]testcost.Cost{}
				for _, n := range []int{5_000, 50_000} {
					configuration, live := itemsOf(tc.obj(n)), itemsOf(tc.old(n))
					if path == ".spec.tags" {
						configuration, live = tagsOf(configuration), tagsOf(live)
					}
					costs[n] = testcost.Of(func() { plan.AdjustConfiguration(configuration, live, schema, scope.Everything) })
				}
				testcost.AssertLinear(t, costs[5_000], costs[50_000])
			})
		}
	}
}

// tagsOf returns an object with the items of .spec.items in the set .spec.tags. They need not be strings, since nothing
// validates the object.
func tagsOf(object map[string]any) map[string]any {
	return map[string]any{"spec": map[string]any{"tags": object["spec"].(map[string]any)["items"]}}
}

// TestManyGatesOverManyAppliedValues applies a configuration that sets values of a map which are null in the requested
// object. Each of them costs what it contains, and not a walk over the whole plan (rules G4, R3).
func TestManyGatesOverManyAppliedValues(t *testing.T) {
	paths := []string{".spec.byKey[*].size"}
	for i := range 16_384 {
		paths = append(paths, fmt.Sprintf(".spec.tree.f%06d", i))
	}
	plan := limitsPlan(t, paths...)
	costs := map[int]testcost.Cost{}
	for _, n := range []int{1_000, 10_000} {
		obj, old, applied := map[string]any{}, map[string]any{}, map[string]any{}
		for i := range n {
			key := fmt.Sprintf("k%06d", i)
			obj[key], old[key], applied[key] = nil, map[string]any{"size": int64(i)}, map[string]any{}
		}
		byKey := func(values map[string]any) map[string]any {
			return map[string]any{"spec": map[string]any{"byKey": values}}
		}
		costs[n] = testcost.Of(func() { plan.Evaluate(Write{Object: byKey(obj), Old: byKey(old), Applied: byKey(applied)}) })
		if got := len(obj[fmt.Sprintf("k%06d", n-1)].(map[string]any)); got != 1 {
			t.Errorf("G4: an applied value has %d fields, want only the disabled field", got)
		}
	}
	testcost.AssertLinear(t, costs[1_000], costs[10_000])
	if perValue := costs[10_000].Bytes / 10_000; perValue > 2_000 {
		t.Errorf("R3: %d bytes for each value", perValue)
	}
}

// TestDuplicateKeysDoNotMultiplyOld bounds the memory of a request whose items all match one large persisted item. The
// persisted field is copied into one of them only.
func TestDuplicateKeysDoNotMultiplyOld(t *testing.T) {
	plan := limitsPlan(t, ".spec.items[*].blob", ".spec.items[*].size")
	const n, size = 1000, 1000
	blob := slices.Repeat([]any{map[string]any{}}, size)
	old := itemsOf([]any{map[string]any{"name": "first"}, map[string]any{"name": "a", "blob": blob}})
	for name, obj := range map[string]map[string]any{
		"R1: the same key everywhere":                                           itemsOf(copies(map[string]any{"name": "a"}, n)),
		"R1: the same key everywhere but in the first item, which is new":       itemsOf(append([]any{map[string]any{"name": "b"}}, copies(map[string]any{"name": "a"}, n)...)),
		"R1: the same key everywhere but in the first item, which is persisted": itemsOf(append([]any{map[string]any{"name": "first"}}, copies(map[string]any{"name": "a"}, n)...)),
	} {
		t.Run(name, func(t *testing.T) {
			c := testcost.Of(func() { run(plan, obj, old) })
			t.Logf("%+v", c)
			if c.Mallocs > 10*(n+size) {
				t.Errorf("R1: %d items, with %d objects in the persisted one, allocate %d times", n, size, c.Mallocs)
			}
		})
	}
}

// manyGates returns n gates of 128 paths each, to fields of .spec.tree.
func manyGates(n int) *apiextensions.CustomResourceDefinitionFeatureGates {
	gates := &apiextensions.CustomResourceDefinitionFeatureGates{}
	for i := range n {
		gate := apiextensions.CustomResourceDefinitionFeatureGate{Name: fmt.Sprintf("G%d", i), PreRelease: apiextensions.PreReleaseAlpha}
		for j := range 128 {
			gate.FieldPaths = append(gate.FieldPaths, fmt.Sprintf(".spec.tree.f%06d", i*128+j))
		}
		gates.FeatureGates = append(gates.FeatureGates, gate)
	}
	return gates
}

// manyFields returns an object with all fields of the gates of manyGates.
func manyFields(gates int) map[string]any {
	tree := map[string]any{}
	for i := range gates * 128 {
		tree[fmt.Sprintf("f%06d", i)] = int64(i)
	}
	return treeOf(tree)
}

func TestLargestLegalGates(t *testing.T) {
	schema := testyaml.Structural(t, limitsSchemaYAML)
	compiled, dropped, kept := map[int]testcost.Cost{}, map[int]testcost.Cost{}, map[int]testcost.Cost{}
	const small, large = 12, 120
	for _, n := range []int{small, large, 128} {
		gates := manyGates(n)
		var plan *Plan
		compiled[n] = testcost.Of(func() { plan = Compile(gates, schema, Options{}) })

		obj := manyFields(n)
		var result *Result
		dropped[n] = testcost.Of(func() { result = run(plan, obj, nil) })
		if left := len(obj["spec"].(map[string]any)["tree"].(map[string]any)); left != 0 {
			t.Errorf("G2: %d of %d fields are left", left, n*128)
		}
		if warnings := Warnings(result.Outcomes()); len(warnings) != n*128 {
			t.Errorf("G10: %d warnings for %d fields", len(warnings), n*128)
		}
		empty, old := treeOf(map[string]any{}), manyFields(n)
		kept[n] = testcost.Of(func() { run(plan, empty, old) })
		if left := len(empty["spec"].(map[string]any)["tree"].(map[string]any)); left != n*128 {
			t.Errorf("G2: %d of %d fields are kept", left, n*128)
		}
		if c := testcost.Of(func() { run(plan, treeOf(map[string]any{}), nil) }); c.Mallocs > 50 {
			t.Errorf("R2: an object without guarded fields costs %+v", c)
		}
	}
	for name, costs := range map[string]map[int]testcost.Cost{
		"R3: compile 128 gates of 128 paths": compiled, "R3: drop their fields": dropped, "R3: keep their fields": kept,
	} {
		t.Run(name, func(t *testing.T) { testcost.AssertLinear(t, costs[small], costs[large]) })
	}
}

// TestDeepestLegalGates guards every prefix of a very long path. A CRD may not have 251 gates, so each gate has up to
// 128 of the paths.
func TestDeepestLegalGates(t *testing.T) {
	for name, enabled := range map[string]bool{"R1: nested guards, all disabled": false, "R1: nested guards, all enabled and deprecated": true} {
		t.Run(name, func(t *testing.T) {
			plan := Compile(nestedGates(enabled), testyaml.Structural(t, limitsSchemaYAML), Options{})
			treeWith := func(leaf any) map[string]any { return treeOf(nest(10_000, leaf, false)) }
			obj, old := treeWith("changed"), treeWith("persisted")
			warnings := Warnings(run(plan, obj, old).Outcomes())
			if want := map[bool]int{false: 1, true: 251}[enabled]; len(warnings) != want {
				t.Errorf("C8: %d warnings, want %d", len(warnings), want)
			}
		})
	}
}

func nestedGates(enabled bool) *apiextensions.CustomResourceDefinitionFeatureGates {
	gates := &apiextensions.CustomResourceDefinitionFeatureGates{}
	for i := range 251 {
		if i%128 == 0 {
			gates.FeatureGates = append(gates.FeatureGates, apiextensions.CustomResourceDefinitionFeatureGate{
				Name: fmt.Sprintf("G%d", i), PreRelease: apiextensions.PreReleaseDeprecated, Default: &enabled,
			})
		}
		gate := &gates.FeatureGates[len(gates.FeatureGates)-1]
		gate.FieldPaths = append(gate.FieldPaths, ".spec.tree"+strings.Repeat(".a", i))
	}
	return gates
}

// TestManyGatesOverManyItems evaluates a long list of almost empty items with the largest plan. Each item costs what it
// contains, and not a walk over the whole plan.
func TestManyGatesOverManyItems(t *testing.T) {
	const fields = 16_384
	var paths []string
	for i := range fields {
		paths = append(paths, fmt.Sprintf(".spec.items[*].f%06d", i))
	}
	plan := limitsPlan(t, paths...)
	obj, old := itemsOf(named("a", nil)(50_000)), itemsOf(named("a", nil)(50_000))
	if c := testcost.Of(func() { run(plan, obj, old) }); c.Mallocs > 50 {
		t.Errorf("R2: objects without guarded fields cost %+v", c)
	}
}
