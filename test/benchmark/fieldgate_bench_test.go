// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"fmt"
	"slices"
	"testing"

	apiextensionsinternal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
)

// optionalFields is how many fields .spec.f000… the CronTab has in addition to those of KEP-2608.
const optionalFields = 100

func props(kind string) apiextensionsinternal.JSONSchemaProps {
	return apiextensionsinternal.JSONSchemaProps{Type: kind}
}

func objectOf(properties map[string]apiextensionsinternal.JSONSchemaProps) apiextensionsinternal.JSONSchemaProps {
	return apiextensionsinternal.JSONSchemaProps{Type: "object", Properties: properties}
}

// listMapOf returns the schema of a list map whose items are identified by name and have required fields.
func listMapOf(
	properties map[string]apiextensionsinternal.JSONSchemaProps, required ...string,
) apiextensionsinternal.JSONSchemaProps {
	item, listType := objectOf(properties), "map"
	item.Required = required
	list := props("array")
	list.XListType, list.XListMapKeys = &listType, []string{"name"}
	list.Items = &apiextensionsinternal.JSONSchemaPropsOrArray{Schema: &item}
	return list
}

func fieldName(i int) string { return fmt.Sprintf("f%03d", i) }

// crontabSchema returns the schema of KEP-2608's CronTab with optional fields and a list map.
func crontabSchema() *apiextensionsinternal.JSONSchemaProps {
	spec := map[string]apiextensionsinternal.JSONSchemaProps{
		"cronSpec": props("string"), "image": props("string"), "replicas": props("integer"),
	}
	for i := range optionalFields {
		spec[fieldName(i)] = props("string")
	}
	spec["items"] = listMapOf(map[string]apiextensionsinternal.JSONSchemaProps{
		"name": props("string"), "image": props("string"), "size": props("integer"),
	}, "name")
	root := objectOf(map[string]apiextensionsinternal.JSONSchemaProps{
		"apiVersion": props("string"), "kind": props("string"), "metadata": props("object"), "spec": objectOf(spec),
	})
	return &root
}

// plan returns the plan of alpha gates with one path each.
func plan(tb testing.TB, enabled bool, paths ...string) *fieldgate.Plan {
	tb.Helper()
	schema, err := structuralschema.NewStructural(crontabSchema())
	if err != nil {
		tb.Fatal(err)
	}
	gates := &apiextensions.CustomResourceDefinitionFeatureGates{}
	for i, path := range paths {
		gates.FeatureGates = append(gates.FeatureGates, apiextensions.CustomResourceDefinitionFeatureGate{
			Name: fmt.Sprintf("G%d", i), PreRelease: apiextensions.PreReleaseAlpha, Enabled: &enabled, FieldPaths: []string{path},
		})
	}
	return fieldgate.Compile(gates, schema, fieldgate.Options{})
}

func optionalPaths(n int) []string {
	paths := make([]string, n)
	for i := range paths {
		paths[i] = ".spec." + fieldName(i)
	}
	return paths
}

// evaluate calls Plan.Evaluate for all benchmarks.
func evaluate(p *fieldgate.Plan, obj, old map[string]any) *fieldgate.Result {
	return p.Evaluate(fieldgate.Write{Object: obj, Old: old})
}

// crontab returns a CronTab with the given number of optional fields.
func crontab(fields int) map[string]any {
	spec := map[string]any{"cronSpec": "* * * * */5", "image": "my-awesome-cron-image", "replicas": int64(3)}
	for i := range fields {
		spec[fieldName(i)] = "a value of some length"
	}
	return map[string]any{
		"apiVersion": "stable.example.com/v1", "kind": "CronTab",
		"metadata": map[string]any{"name": "my-new-cron-object", "namespace": "default", "labels": map[string]any{"app": "cron"}},
		"spec":     spec,
	}
}

// crontabWithItems returns a CronTab whose list map has n items, each with the field size.
func crontabWithItems(n int) map[string]any {
	items := make([]any, n)
	for i := range items {
		items[i] = map[string]any{"name": fmt.Sprintf("item-%06d", i), "image": "my-image", "size": int64(i)}
	}
	obj := crontab(0)
	obj["spec"].(map[string]any)["items"] = items
	return obj
}

func reverseItems(obj map[string]any) map[string]any {
	slices.Reverse(obj["spec"].(map[string]any)["items"].([]any))
	return obj
}

// BenchmarkFieldGate measures the feature gates of a CronTab. Lines with gates=N are what fairlead adds to a request;
// the others are what upstream does with the same object in the same request.
func BenchmarkFieldGate(b *testing.B) {
	for _, n := range []int{1, 10, optionalFields} {
		b.Run(fmt.Sprintf("create/absent/gates=%d", n), func(b *testing.B) {
			benchmarkUnchanged(b, plan(b, false, optionalPaths(n)...), crontab(0), nil)
		})
		b.Run(fmt.Sprintf("create/dropped/gates=%d", n), func(b *testing.B) {
			benchmarkDropped(b, plan(b, false, optionalPaths(n)...), n)
		})
		b.Run(fmt.Sprintf("create/enabled/gates=%d", n), func(b *testing.B) {
			benchmarkUnchanged(b, plan(b, true, optionalPaths(n)...), crontab(n), nil)
		})
		b.Run(fmt.Sprintf("update/absent/gates=%d", n), func(b *testing.B) {
			benchmarkUnchanged(b, plan(b, false, optionalPaths(n)...), crontab(0), crontab(0))
		})
		b.Run(fmt.Sprintf("update/kept/gates=%d", n), func(b *testing.B) {
			benchmarkUnchanged(b, plan(b, false, optionalPaths(n)...), crontab(n), crontab(n))
		})
	}
	for _, n := range []int{0, 1, 10, optionalFields} {
		benchmarkUpstream(b, fmt.Sprintf("fields=%d", n), crontab(n))
	}
}

// BenchmarkFieldGateListMap measures an update of a list map with a guarded field in every item.
func BenchmarkFieldGateListMap(b *testing.B) {
	p := plan(b, false, ".spec.items[*].size")
	for _, n := range []int{10, 100, 1_000, 10_000} {
		obj, old := crontabWithItems(n), crontabWithItems(n)
		b.Run(fmt.Sprintf("update/kept/items=%d", n), func(b *testing.B) {
			benchmarkUnchanged(b, p, obj, old)
			reportPer(b, n)
		})
		b.Run(fmt.Sprintf("update/kept-reversed/items=%d", n), func(b *testing.B) {
			benchmarkUnchanged(b, p, reverseItems(runtime.DeepCopyJSON(obj)), old)
			reportPer(b, n)
		})
		benchmarkUpstream(b, fmt.Sprintf("items=%d", n), obj)
	}
}

// reportPer reports the time per item, which stays the same if the time grows linearly.
func reportPer(b *testing.B, items int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(items), "ns/item")
}

// benchmarkUnchanged evaluates the same object in each iteration. Evaluation must not change it.
func benchmarkUnchanged(b *testing.B, p *fieldgate.Plan, obj, old map[string]any) {
	b.Helper()
	if result := evaluate(p, obj, old); result != nil {
		b.Fatalf("evaluation changes the object: %q", fieldgate.Warnings(result.Outcomes()))
	}
	b.ReportAllocs()
	for b.Loop() {
		evaluate(p, obj, old)
	}
}

// benchmarkDropped evaluates a new object in each iteration, since evaluation drops the fields. Objects are made in
// batches while the timer is stopped.
func benchmarkDropped(b *testing.B, p *fieldgate.Plan, fields int) {
	b.Helper()
	batch := make([]map[string]any, 1000)
	b.ReportAllocs()
	for i := range b.N {
		if i%len(batch) == 0 {
			b.StopTimer()
			for j := range batch {
				batch[j] = crontab(fields)
			}
			b.StartTimer()
		}
		evaluate(p, batch[i%len(batch)], nil)
	}
}

// benchmarkUpstream measures what upstream does with the object in every request.
func benchmarkUpstream(b *testing.B, name string, obj map[string]any) {
	b.Helper()
	validator, _, err := validation.NewSchemaValidator(crontabSchema())
	if err != nil {
		b.Fatal(err)
	}
	text, err := utiljson.Marshal(obj)
	if err != nil {
		b.Fatal(err)
	}
	for _, work := range []struct {
		name string
		do   func() error
	}{
		{"DeepCopyJSON", func() error { runtime.DeepCopyJSON(obj); return nil }},
		{"DecodeJSON", func() error { var out map[string]any; return utiljson.Unmarshal(text, &out) }},
		{"ValidateSchema", func() error { return validation.ValidateCustomResource(nil, obj, validator).ToAggregate() }},
		{"ValidateSchemaUpdate", func() error { return validation.ValidateCustomResourceUpdate(nil, obj, obj, validator).ToAggregate() }},
	} {
		b.Run(work.name+"/"+name, func(b *testing.B) { benchmarkWork(b, work.do) })
	}
}

func benchmarkWork(b *testing.B, do func() error) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		if err := do(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestEvaluationWithoutGuardedFieldsAllocatesNothing(t *testing.T) {
	for _, n := range []int{1, 10, optionalFields} {
		p := plan(t, false, append(optionalPaths(n), ".spec.items[*].absent")...)
		obj, old := crontabWithItems(100), crontabWithItems(100)
		for claim, run := range map[string]func(){
			"R2: a create allocates nothing":                 func() { evaluate(p, obj, nil) },
			"R2: an update allocates nothing":                func() { evaluate(p, obj, old) },
			"R2: an update without a plan allocates nothing": func() { evaluate(nil, obj, old) },
		} {
			t.Run(fmt.Sprintf("%s, %d gates", claim, n), func(t *testing.T) { wantNoAllocations(t, run) })
		}
	}
}

func wantNoAllocations(t *testing.T, run func()) {
	t.Helper()
	if allocations := testing.AllocsPerRun(100, run); allocations != 0 {
		t.Errorf("%v allocations, want none", allocations)
	}
}

// TestInputsOfBenchmarks checks that the objects of the benchmarks are valid, and that evaluation does with them what
// the names of the benchmarks say.
func TestInputsOfBenchmarks(t *testing.T) {
	validator, _, err := validation.NewSchemaValidator(crontabSchema())
	if err != nil {
		t.Fatal(err)
	}
	for name, obj := range map[string]map[string]any{"fields": crontab(optionalFields), "items": crontabWithItems(10)} {
		if errs := validation.ValidateCustomResource(nil, obj, validator); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs.ToAggregate())
		}
	}
	obj := crontab(optionalFields)
	if n := len(fieldgate.Warnings(evaluate(plan(t, false, optionalPaths(optionalFields)...), obj, nil).Outcomes())); n != optionalFields {
		t.Errorf("%d fields are dropped, want %d", n, optionalFields)
	}
	if plan(t, true, optionalPaths(optionalFields)...) != nil {
		t.Error("R2: enabled gates have a plan")
	}
}
