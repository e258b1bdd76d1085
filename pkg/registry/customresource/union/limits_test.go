// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/internal/testcost"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// The tests in this file bound the work for large requests, see package testcost.

// items returns a function that makes n items of a list map. prefix starts their names, kind is their discriminator.
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

// reversed returns a function that makes the same list in reverse order.
func reversed(list func(n int) []any) func(n int) []any {
	return func(n int) []any {
		out := list(n)
		slices.Reverse(out)
		return out
	}
}

// copies returns a function that makes n copies of an item.
func copies(item map[string]any) func(n int) []any {
	return func(n int) []any {
		list := make([]any, n)
		for i := range list {
			list[i] = apiruntime.DeepCopyJSON(item)
		}
		return list
	}
}

// inItems returns an object with the list at .spec.items.
func inItems(list []any) map[string]any {
	return map[string]any{"spec": map[string]any{"items": list}}
}

// TestR3LongListMapsTakeLinearTime (rules R3, U4).
func TestR3LongListMapsTakeLinearTime(t *testing.T) {
	plan := planOf(t, positionsSchemaYAML(), nil)
	git, s3, stale := items("a", "Git", "git"), items("a", "S3", "s3"), items("a", "S3", "s3", "git")
	for _, tc := range []struct {
		name        string
		object, old func(n int) []any
		cleared     bool // whether members of every item are cleared
		free        bool // whether normalization allocates almost nothing
	}{
		{name: "that are unchanged", object: git, old: git, free: true},
		{name: "whose unions a client switched properly", object: s3, old: git, free: true},
		{name: "whose unions were switched", object: stale, old: git, cleared: true},
		{name: "in reverse order", object: reversed(git), old: git},
		{name: "in reverse order whose unions were switched", object: reversed(stale), old: git, cleared: true},
		{name: "that are all new", object: items("b", "S3", "s3", "git"), old: git},
		{
			name:   "that have the same key",
			object: copies(map[string]any{"name": "a", "type": "S3", "git": "x"}),
			old:    copies(map[string]any{"name": "a", "type": "Git"}), cleared: true,
		},
		{name: "that have the same key in the request", object: copies(map[string]any{"name": "a000000", "type": "S3"}), old: git},
		{name: "without keys", object: copies(map[string]any{"type": "S3"}), old: copies(map[string]any{"type": "Git"}), free: true},
		{name: "without discriminator", object: copies(map[string]any{"name": "a"}), old: copies(map[string]any{"name": "a"}), free: true},
		{name: "that are empty", object: copies(nil), old: copies(nil), free: true},
		{name: "that are all removed", object: func(int) []any { return nil }, old: git, free: true},
	} {
		t.Run("R3: 50,000 items "+tc.name, func(t *testing.T) {
			normalized, validated, compared := map[int]testcost.Cost{}, map[int]testcost.Cost{}, map[int]testcost.Cost{}
			for _, n := range []int{5_000, 50_000} {
				object, old := inItems(tc.object(n)), inItems(tc.old(n))
				var result map[string]any
				var cleared []Cleared
				normalized[n] = testcost.Of(func() { result, cleared = plan.Normalize(object, old, scope.Everything) })
				if (len(cleared) == n) != tc.cleared {
					t.Errorf("U4: %d of %d unions were cleared", len(cleared), n)
				}
				validated[n] = testcost.Of(func() {
					plan.Validate(result, old, Options{})
					plan.Validate(result, old, Options{Ratchet: true})
				})
				compared[n] = testcost.Of(func() { plan.Unchanged(object, old, scope.Everything) })
			}
			testcost.AssertLinear(t, normalized[5_000], normalized[50_000])
			testcost.AssertLinear(t, validated[5_000], validated[50_000])
			testcost.AssertLinear(t, compared[5_000], compared[50_000])
			if tc.free && normalized[50_000].Mallocs > 50 {
				t.Errorf("R3: %+v", normalized[50_000])
			}
		})
	}
}

// TestR1TheNumberOfErrorsIsLimited (rule R1).
func TestR1TheNumberOfErrorsIsLimited(t *testing.T) {
	plan := planOf(t, positionsSchemaYAML(), nil)
	object := inItems(items("a", "FTP")(50_000))
	object["spec"].(map[string]any)["atomic"] = items("a", "S3", "git")(50_000)
	errs, failures := plan.Validate(object, nil, Options{})
	if len(errs) != maxErrors || len(failures) == 0 {
		t.Errorf("R1: %d errors, failures %v", len(errs), failures)
	}
}

// TestR1LongPathsAreNotStoredForEachUnion (rules R1, V3): a request of a megabyte must not take gigabytes of memory.
func TestR1LongPathsAreNotStoredForEachUnion(t *testing.T) {
	const mapOfMaps = "\n  type: object\n  additionalProperties:\n    type: object\n    additionalProperties:"
	plan := planOf(t, inSpec("maps", mapOfMaps+sourceIndented), nil)
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
	if c := testcost.Of(func() { _, cleared = plan.Normalize(object, old, scope.Everything) }); c.Bytes > 100<<20 {
		t.Errorf("R1: normalization: %+v", c)
	}
	if len(cleared) != n {
		t.Fatalf("U4: %d unions were cleared", len(cleared))
	}
	if c := testcost.Of(func() { Warnings(cleared) }); c.Bytes > 1<<30 {
		t.Errorf("R1, V3: warnings: %+v", c)
	}
	if c := testcost.Of(func() { plan.Validate(object, nil, Options{}) }); c.Bytes > 2<<30 {
		t.Errorf("R1: validation: %+v", c)
	}
}

// nestedSchema returns a schema of nested objects, each with a union. wrap returns the schema of the field that holds the
// next object.
func nestedSchema(depth int, wrap func(*structuralschema.Structural) structuralschema.Structural) *structuralschema.Structural {
	discriminator := discriminatorOf(fieldMembers{"": {}, "A": {Name: "a"}, "B": {Name: "b"}})
	schema := &structuralschema.Structural{}
	for range depth {
		schema = objectOf(map[string]structuralschema.Structural{"type": discriminator, "a": wrap(schema), "b": {}})
	}
	return schema
}

// nesting is a way to nest objects: the schema of a field that holds an object, and its value.
type nesting struct {
	schema func(*structuralschema.Structural) structuralschema.Structural
	value  func(map[string]any) any
}

// object returns an object with the given number of levels around the innermost one.
func (n nesting) object(levels int, innermost map[string]any) map[string]any {
	value := innermost
	for range levels {
		value = map[string]any{"type": "A", "name": "n", "a": n.value(value)}
	}
	return value
}

// TestR1DeepObjects (rule R1).
func TestR1DeepObjects(t *testing.T) {
	const depth = 500
	listMap := "map"
	for name, nested := range map[string]nesting{
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
		t.Run(fmt.Sprintf("R1: %d nested %s", depth, name), func(t *testing.T) {
			plan := Compile(nestedSchema(depth, nested.schema), nil)
			checkInnermostUnion(t, plan, nested, depth)
			checkObjectDeeperThanSchema(t, plan, nested)
		})
	}
}

// innermost has a union with a member that must be cleared.
var innermost = map[string]any{"type": "B", "name": "n", "a": 1.5, "b": 1.5}

func checkInnermostUnion(t *testing.T, plan *Plan, nested nesting, depth int) {
	t.Helper()
	object, old := nested.object(depth-1, innermost), nested.object(depth-1, map[string]any{"name": "n"})
	result, cleared := plan.Normalize(object, old, scope.Everything)
	if len(cleared) != 1 || !strings.HasSuffix(cleared[0].MemberPath("a"), ".a") {
		t.Errorf("U4: %d unions were cleared, want the innermost", len(cleared))
	}
	if errs, _ := plan.Validate(result, old, Options{Ratchet: true}); len(errs) > 0 {
		t.Error("U6: the innermost union is invalid after normalization")
	}
	if errs, _ := plan.Validate(object, old, Options{Ratchet: true}); len(errs) != 1 {
		t.Errorf("U6: %d errors before normalization, want 1", len(errs))
	}
}

func checkObjectDeeperThanSchema(t *testing.T, plan *Plan, nested nesting) {
	t.Helper()
	object, old := nested.object(10_000, innermost), nested.object(10_000, nil)
	if same, cleared := plan.Normalize(object, old, scope.Everything); len(cleared) > 0 || !isSame(object, same) {
		t.Error("R1: a member below the levels of the schema was cleared")
	}
	plan.Validate(object, old, Options{})
	plan.Unchanged(object, old, scope.Everything)
}

// TestU62ObjectsWithFewAndManyFields (rule U6.2) has objects with fewer and more fields than the limit of isSmall.
func TestU62ObjectsWithFewAndManyFields(t *testing.T) {
	members := fieldMembers{}
	for i := range 100 {
		members[fmt.Sprintf("V%02d", i)] = apiextensions.MemberField{Name: fmt.Sprintf("m%02d", i)}
	}
	plan := Compile(objectOf(map[string]structuralschema.Structural{"type": discriminatorOf(members)}), nil)
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

// TestR1ManyUnionsInOneObject (rule R1) has as many unions as fit into a CRD.
func TestR1ManyUnionsInOneObject(t *testing.T) {
	const n = 2_000
	properties := map[string]structuralschema.Structural{}
	object, old := map[string]any{}, map[string]any{}
	for i := range n {
		name, member := fmt.Sprintf("d%06d", i), fmt.Sprintf("m%06d", i)
		properties[name] = discriminatorOf(fieldMembers{"A": {Name: member}, "B": {}})
		object[name], old[name], object[member] = "B", "A", "x"
	}
	plan := Compile(objectOf(properties), nil)
	result, cleared := plan.Normalize(object, old, scope.Everything)
	if len(cleared) != n || len(result) != n {
		t.Errorf("%d cleared, %d left", len(cleared), len(result))
	}
}
