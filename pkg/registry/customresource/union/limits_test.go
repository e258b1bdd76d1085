// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// These tests bound the work by what is allocated, which is the same on every machine; no time is measured. What
// takes far more than linear time would run into the timeout of go test.

// cost is what a function allocates.
type cost struct{ mallocs, bytes uint64 }

func costOf(do func()) cost {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return cost{after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc}
}

// assertLinear claims that ten times the input costs at most ten times as much, with room for the steps in which
// maps and slices grow, and for what does not depend on the input.
func assertLinear(t *testing.T, small, large cost) {
	t.Helper()
	t.Logf("n: %+v, 10n: %+v", small, large)
	const factor, constantMallocs, constantBytes = 20, 500, 1 << 17
	if large.mallocs > factor*small.mallocs+constantMallocs {
		t.Errorf("R3: %d allocations for n, %d for 10n", small.mallocs, large.mallocs)
	}
	if large.bytes > factor*small.bytes+constantBytes {
		t.Errorf("R3: %d bytes for n, %d for 10n", small.bytes, large.bytes)
	}
}

// items makes n items of a list map, named after prefix.
func items(prefix, kind string, members ...string) func(n int) []any {
	return func(n int) []any {
		list := make([]any, n)
		for i := range list {
			item := map[string]any{"name": fmt.Sprintf("%s%06d", prefix, i), "type": kind}
			for _, m := range members {
				item[m] = map[string]any{}
			}
			list[i] = item
		}
		return list
	}
}

func reversed(list func(n int) []any) func(n int) []any {
	return func(n int) []any {
		out := list(n)
		slices.Reverse(out)
		return out
	}
}

func copies(item map[string]any) func(n int) []any {
	return func(n int) []any {
		list := make([]any, n)
		for i := range list {
			list[i] = apiruntime.DeepCopyJSON(item)
		}
		return list
	}
}

func inItems(list []any) map[string]any {
	return map[string]any{"spec": map[string]any{"items": list}}
}

func TestLongListMaps(t *testing.T) {
	plan := planOf(t, placesSchemaYAML(), nil)
	git, s3, stale := items("a", "Git", "git"), items("a", "S3", "s3"), items("a", "S3", "s3", "git")
	for _, tc := range []struct {
		name        string
		object, old func(n int) []any
		cleared     bool // all
		free        bool // nothing to speak of is allocated
	}{
		{name: "unchanged", object: git, old: git, free: true},
		{name: "switched properly", object: s3, old: git, free: true},
		{name: "switched", object: stale, old: git, cleared: true},
		{name: "reversed", object: reversed(git), old: git},
		{name: "reversed and switched", object: reversed(stale), old: git, cleared: true},
		{name: "all new", object: items("b", "S3", "s3", "git"), old: git},
		{name: "one key for all", object: copies(map[string]any{"name": "a", "type": "S3", "git": "x"}), old: copies(map[string]any{"name": "a", "type": "Git"}), cleared: true},
		{name: "one key for all in the object", object: copies(map[string]any{"name": "a000000", "type": "S3"}), old: git},
		{name: "no keys", object: copies(map[string]any{"type": "S3"}), old: copies(map[string]any{"type": "Git"}), free: true},
		{name: "no discriminator", object: copies(map[string]any{"name": "a"}), old: copies(map[string]any{"name": "a"}), free: true},
		{name: "empty", object: copies(nil), old: copies(nil), free: true},
		{name: "all removed", object: func(int) []any { return nil }, old: git, free: true},
	} {
		t.Run("R3: 50,000 items "+tc.name, func(t *testing.T) {
			normalized, validated, compared := map[int]cost{}, map[int]cost{}, map[int]cost{}
			for _, n := range []int{5_000, 50_000} {
				object, old := inItems(tc.object(n)), inItems(tc.old(n))
				var result map[string]any
				var cleared []Cleared
				normalized[n] = costOf(func() { result, cleared = plan.Normalize(object, old, scope.Everything) })
				if (len(cleared) == n) != tc.cleared {
					t.Errorf("U4: %d of %d unions were cleared", len(cleared), n)
				}
				for _, ratchet := range []bool{false, true} {
					validated[n] = costOf(func() { plan.Validate(result, old, Options{Ratchet: ratchet}) })
				}
				compared[n] = costOf(func() { plan.Unchanged(object, old, scope.Everything) })
			}
			assertLinear(t, normalized[5_000], normalized[50_000])
			assertLinear(t, validated[5_000], validated[50_000])
			assertLinear(t, compared[5_000], compared[50_000])
			if tc.free && normalized[50_000].mallocs > 50 {
				t.Errorf("R3: %+v", normalized[50_000])
			}
		})
	}
}

func TestVeryManyErrors(t *testing.T) { // R1
	plan := planOf(t, placesSchemaYAML(), nil)
	object := inItems(items("a", "FTP")(50_000))
	object["spec"].(map[string]any)["atomic"] = items("a", "S3", "git")(50_000)
	errs, failures := plan.Validate(object, nil, Options{})
	if len(errs) != maxErrors || len(failures) == 0 {
		t.Errorf("%d errors, failures %v", len(errs), failures)
	}
}

// TestLongPathsDoNotMultiply is about memory: a request of a megabyte must not become one of gigabytes.
func TestLongPathsDoNotMultiply(t *testing.T) { // R1
	plan := planOf(t, inSpec("maps", "\n  type: object\n  additionalProperties:\n    type: object\n    additionalProperties:"+sourceIndented), nil)
	const n = 10_000
	key := strings.Repeat("k", 1<<20)
	objectOf := func(kind string) map[string]any {
		values := map[string]any{}
		for i := range n {
			values[strconv.Itoa(i)] = map[string]any{"type": kind, "git": map[string]any{}}
		}
		return map[string]any{"spec": map[string]any{"maps": map[string]any{key: values}}}
	}
	object, old := objectOf("None"), objectOf("Git")
	var cleared []Cleared
	if c := costOf(func() { _, cleared = plan.Normalize(object, old, scope.Everything) }); c.bytes > 100<<20 {
		t.Errorf("normalization: %+v", c)
	}
	if len(cleared) != n {
		t.Fatalf("%d cleared", len(cleared))
	}
	if c := costOf(func() { Warnings(cleared) }); c.bytes > 1<<30 {
		t.Errorf("V3: warnings: %+v", c)
	}
	if c := costOf(func() { plan.Validate(object, nil, Options{}) }); c.bytes > 2<<30 {
		t.Errorf("validation: %+v", c)
	}
}

// nestedSchema is a schema of that many structs in each other, of lists or of maps, each with a union.
func nestedSchema(depth int, wrap func(*structuralschema.Structural) structuralschema.Structural) *structuralschema.Structural {
	discriminator := structuralschema.Structural{Generic: structuralschema.Generic{Type: "string"}}
	discriminator.XUnions = &apiextensions.Unions{FieldMembers: map[string]apiextensions.MemberField{"": {}, "A": {Name: "a"}, "B": {Name: "b"}}}
	schema := &structuralschema.Structural{}
	for range depth {
		schema = &structuralschema.Structural{Properties: map[string]structuralschema.Structural{"type": discriminator, "a": wrap(schema), "b": {}}}
	}
	return schema
}

func TestDeepObjects(t *testing.T) {
	const depth = 500
	listMap := "map"
	for name, tc := range map[string]struct {
		schema func(*structuralschema.Structural) structuralschema.Structural
		value  func(map[string]any) any
	}{
		"structs": {
			func(s *structuralschema.Structural) structuralschema.Structural { return *s },
			func(value map[string]any) any { return value },
		},
		"maps": {
			func(s *structuralschema.Structural) structuralschema.Structural {
				return structuralschema.Structural{AdditionalProperties: &structuralschema.StructuralOrBool{Structural: s}}
			},
			func(value map[string]any) any { return map[string]any{"k": value} },
		},
		"list maps": {
			func(s *structuralschema.Structural) structuralschema.Structural {
				list := structuralschema.Structural{Items: s}
				list.XListType, list.XListMapKeys = &listMap, []string{"name"}
				return list
			},
			func(value map[string]any) any { return []any{value} },
		},
	} {
		t.Run(fmt.Sprintf("R1: %d %s in each other", depth, name), func(t *testing.T) {
			plan := Compile(nestedSchema(depth, tc.schema), nil)
			nest := func(levels int, innermost map[string]any) map[string]any {
				value := innermost
				for range levels {
					value = map[string]any{"type": "A", "name": "n", "a": tc.value(value)}
				}
				return value
			}
			innermost := map[string]any{"type": "B", "name": "n", "a": 1.5, "b": 1.5}
			object, old := nest(depth-1, innermost), nest(depth-1, map[string]any{"name": "n"})
			result, cleared := plan.Normalize(object, old, scope.Everything)
			if len(cleared) != 1 || !strings.HasSuffix(cleared[0].MemberPath("a"), ".a") {
				t.Errorf("%d cleared", len(cleared))
			}
			if errs, _ := plan.Validate(result, old, Options{Ratchet: true}); len(errs) > 0 {
				t.Error("the innermost union is not valid")
			}
			if errs, _ := plan.Validate(object, old, Options{Ratchet: true}); len(errs) != 1 {
				t.Errorf("%d errors", len(errs))
			}
			// Far deeper than the schema.
			deep, deepOld := nest(10_000, innermost), nest(10_000, nil)
			if same, cleared := plan.Normalize(deep, deepOld, scope.Everything); len(cleared) > 0 || !isSame(deep, same) {
				t.Error("something below the schema was cleared")
			}
			plan.Validate(deep, deepOld, Options{})
			plan.Unchanged(deep, deepOld, scope.Everything)
		})
	}
}

// TestManyMembers has objects on both sides of isSmall.
func TestManyMembers(t *testing.T) { // U6.2
	declared := &apiextensions.Unions{FieldMembers: map[string]apiextensions.MemberField{}}
	properties := map[string]structuralschema.Structural{}
	for i := range 100 {
		declared.FieldMembers[fmt.Sprintf("V%02d", i)] = apiextensions.MemberField{Name: fmt.Sprintf("m%02d", i)}
	}
	discriminator := structuralschema.Structural{}
	discriminator.XUnions = declared
	properties["type"] = discriminator
	plan := Compile(&structuralschema.Structural{Properties: properties}, nil)
	for fields := range 60 {
		object := map[string]any{"type": "V42", "m42": true, "m41": nil}
		for i := range fields {
			object[fmt.Sprintf("x%02d", i)] = true
		}
		if errs, _ := plan.Validate(object, nil, Options{}); len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		object["m99"], object["m00"] = false, ""
		errs, _ := plan.Validate(object, nil, Options{})
		if len(errs) != 2 || errs[0].Field != "m00" || errs[1].Field != "m99" {
			t.Fatalf("%d fields: %v", fields, errs)
		}
		result, cleared := plan.Normalize(object, map[string]any{"type": "V00"}, scope.Everything)
		if len(cleared) != 1 || !slices.Equal(cleared[0].Members, []string{"m00", "m99"}) || reflect.DeepEqual(result, object) {
			t.Fatalf("%d fields: %v", fields, cleared)
		}
	}
}

// TestManyUnions is about one object with as many unions as a CRD may have room for.
func TestManyUnions(t *testing.T) { // R1
	const n = 2_000
	properties := map[string]structuralschema.Structural{}
	object, old := map[string]any{}, map[string]any{}
	for i := range n {
		name, member := fmt.Sprintf("d%06d", i), fmt.Sprintf("m%06d", i)
		discriminator := structuralschema.Structural{}
		discriminator.XUnions = &apiextensions.Unions{FieldMembers: map[string]apiextensions.MemberField{"A": {Name: member}, "B": {}}}
		properties[name] = discriminator
		object[name], old[name], object[member] = "B", "A", "x"
	}
	plan := Compile(&structuralschema.Structural{Properties: properties}, nil)
	result, cleared := plan.Normalize(object, old, scope.Everything)
	if len(cleared) != n || len(result) != n {
		t.Errorf("%d cleared, %d left", len(cleared), len(result))
	}
}
