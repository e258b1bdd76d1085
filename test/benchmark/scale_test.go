// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsinternal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/union"
)

// maxGates is how many gates a CRD may have (rule C4).
const maxGates = 128

// gatedPaths returns ten paths of fields that a route may have, but the one of these benchmarks does not: almost every
// request is like that. The fields are below list maps, where guards cost most.
func gatedPaths() []string {
	const filters = ".spec.rules[*].filters[*]"
	return []string{
		".spec.rules[*].drop.reason",
		filters + ".requestHeaderModifier.add", filters + ".responseHeaderModifier.add",
		filters + ".requestMirror.backendRef.namespace",
		filters + ".requestRedirect.scheme", filters + ".requestRedirect.hostname",
		filters + ".requestRedirect.port", filters + ".requestRedirect.statusCode",
		filters + ".urlRewrite.hostname", filters + ".urlRewrite.path.replaceFullPath",
	}
}

// disabledGates returns alpha gates with one path each.
func disabledGates(paths []string) *apiextensions.CustomResourceDefinitionFeatureGates {
	gates := &apiextensions.CustomResourceDefinitionFeatureGates{}
	for i, path := range paths {
		gates.FeatureGates = append(gates.FeatureGates, apiextensions.CustomResourceDefinitionFeatureGate{
			Name: fmt.Sprintf("G%d", i), PreRelease: apiextensions.PreReleaseAlpha, FieldPaths: []string{path},
		})
	}
	return gates
}

func topLevelPaths(n int) []string {
	paths := make([]string, n)
	for i := range paths {
		paths[i] = fmt.Sprintf(".spec.g%03d", i)
	}
	return paths
}

// longRouteSchema returns routeSchema without the limit on the number of rules.
func longRouteSchema(tb testing.TB) *apiextensionsinternal.JSONSchemaProps {
	tb.Helper()
	schema := routeSchema(tb)
	spec := schema.Properties["spec"]
	rules := spec.Properties["rules"]
	rules.MaxItems = nil
	spec.Properties["rules"] = rules
	return schema
}

// scaleWorkloads returns what is compared in an update of a route with the given number of rules.
func scaleWorkloads(tb testing.TB, rules int) []workload {
	tb.Helper()
	schema := longRouteSchema(tb)
	gates := fieldgate.Compile(disabledGates(gatedPaths()), structuralOf(tb, schema), fieldgate.Options{})
	update := newRouteUpdate(tb, schema, routeOf(rules), routeOf(rules))
	return []workload{
		{"union", update.normalizeAndValidate},
		{"walk", update.walk},
		{"gates", func() error { return errorUnless(evaluate(gates, update.obj, update.old) == nil) }},
		{"cel", update.celRules(tb)},
		{"schema", update.validateSchema},
		{"managedfields", managedFieldsUpdate(tb, rules)},
		{"deepcopy", update.deepCopy},
		{"decode", update.decode},
	}
}

// managedFieldsUpdate returns what the request handlers do about managedFields on every update.
func managedFieldsUpdate(tb testing.TB, rules int) func() error {
	tb.Helper()
	manager := fieldManager(tb)
	live := &unstructured.Unstructured{Object: routeOf(rules)}
	object, err := manager.Update(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": live.GetAPIVersion(), "kind": live.GetKind(), "metadata": map[string]any{},
	}}, live, "client")
	if err != nil {
		tb.Fatal(err)
	}
	if len(live.GetManagedFields()) != 1 {
		tb.Fatalf("%d managedFields entries, want 1", len(live.GetManagedFields()))
	}
	changed := object.DeepCopyObject()
	changed.(*unstructured.Unstructured).SetLabels(map[string]string{"app": "shop", "changed": "true"})
	return func() error {
		_, err := manager.Update(live, changed, "client")
		return err
	}
}

// fieldManager returns a field manager like the one in the handler of a CRD.
func fieldManager(tb testing.TB) *managedfields.FieldManager {
	tb.Helper()
	spec, err := builder.BuildOpenAPIV3(routeCRD(tb), "v1", builder.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	converter, err := managedfields.NewTypeConverter(spec.Components.Schemas, false)
	if err != nil {
		tb.Fatal(err)
	}
	kind := schema.GroupVersionKind{Group: "gateway.example.com", Version: "v1", Kind: "HTTPRoute"}
	manager, err := managedfields.NewDefaultCRDFieldManager(converter, noConversion{},
		unstructuredscheme.NewUnstructuredDefaulter(), unstructuredscheme.NewUnstructuredCreator(),
		kind, kind.GroupVersion(), "", nil)
	if err != nil {
		tb.Fatal(err)
	}
	return manager
}

// noConversion is the converter of a CRD with one version.
type noConversion struct{ runtime.ObjectConvertor }

func (noConversion) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func routeCRD(tb testing.TB) *apiextensionsv1.CustomResourceDefinition {
	tb.Helper()
	var props apiextensionsv1.JSONSchemaProps
	err := apiextensionsv1.Convert_apiextensions_JSONSchemaProps_To_v1_JSONSchemaProps(longRouteSchema(tb), &props, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "httproutes.gateway.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "gateway.example.com",
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "httproutes", Kind: "HTTPRoute", ListKind: "HTTPRouteList",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &props},
			}},
		},
	}
}

// BenchmarkScale measures an update of an HTTPRoute of 5 KB and of multiples of that.
func BenchmarkScale(b *testing.B) {
	for _, size := range []int{1, 4, 16, 64} {
		for _, w := range scaleWorkloads(b, 4*size) {
			b.Run(fmt.Sprintf("%s/size=%d", w.name, size), func(b *testing.B) { benchmarkWork(b, w.do) })
		}
	}
}

// BenchmarkDepth measures nested objects that all have a union.
func BenchmarkDepth(b *testing.B) {
	for _, depth := range []int{1, 4, 16, 64} {
		plan := union.Compile(structuralOf(b, nestedSchema(depth)), nil)
		obj, old := nested(depth), nested(depth)
		b.Run(fmt.Sprintf("union/depth=%d", depth), func(b *testing.B) {
			benchmarkWork(b, func() error { return errorUnless(normalizeAndValidate(plan, obj, old) == 0) })
		})
		b.Run(fmt.Sprintf("deepcopy/depth=%d", depth), func(b *testing.B) {
			benchmarkWork(b, func() error { runtime.DeepCopyJSON(obj); return nil })
		})
	}
}

// nestedSchema returns a schema with a union of two members at each level. One of the members is the next level.
func nestedSchema(depth int) *apiextensionsinternal.JSONSchemaProps {
	level := objectOf(nil)
	for range depth {
		discriminator := props("string")
		discriminator.XUnions = &apiextensions.Unions{FieldMembers: map[string]apiextensions.MemberField{
			"Inner": {Name: "inner"}, "Other": {Name: "other"},
		}}
		level = objectOf(map[string]apiextensionsinternal.JSONSchemaProps{
			"type": discriminator, "inner": level, "other": objectOf(nil),
		})
		level.Required = []string{"type"}
	}
	return &level
}

func nested(depth int) map[string]any {
	level := map[string]any{}
	for range depth {
		level = map[string]any{"type": "Inner", "inner": level}
	}
	return level
}

// sourcesSchema returns a schema with a list map whose items have a union and little else, so that an object with
// 10,000 of them is small enough for etcd.
func sourcesSchema() *apiextensionsinternal.JSONSchemaProps {
	discriminator := props("string")
	discriminator.XUnions = &apiextensions.Unions{FieldMembers: map[string]apiextensions.MemberField{
		"Git": {Name: "git"}, "S3": {Name: "s3"},
	}}
	items := listMapOf(map[string]apiextensionsinternal.JSONSchemaProps{
		"name": props("string"), "type": discriminator, "git": props("string"), "s3": props("string"),
	}, "name", "type")
	root := objectOf(map[string]apiextensionsinternal.JSONSchemaProps{"items": items})
	return &root
}

func sources(n int) []any {
	items := make([]any, n)
	for i := range items {
		items[i] = map[string]any{"name": fmt.Sprintf("item-%06d", i), "type": "Git", "git": "https://example.com"}
	}
	return items
}

// BenchmarkListMap measures an update of a list map with a union in each item.
func BenchmarkListMap(b *testing.B) {
	plan := union.Compile(structuralOf(b, sourcesSchema()), nil)
	for _, n := range []int{10, 100, 1_000, 10_000} {
		old := map[string]any{"items": sources(n)}
		same, reversed := map[string]any{"items": sources(n)}, map[string]any{"items": sources(n)}
		slices.Reverse(reversed["items"].([]any))
		for _, work := range []workload{
			{"union", func() error { return errorUnless(normalizeAndValidate(plan, same, old) == 0) }},
			{"union-reversed", func() error { return errorUnless(normalizeAndValidate(plan, reversed, old) == 0) }},
			{"deepcopy", func() error { runtime.DeepCopyJSON(same); return nil }},
		} {
			b.Run(fmt.Sprintf("%s/items=%d", work.name, n), func(b *testing.B) { benchmarkWork(b, work.do) })
		}
	}
}

// BenchmarkGates measures an update of an object that has none of the guarded fields.
func BenchmarkGates(b *testing.B) {
	structural := structuralOf(b, routeSchema(b))
	obj, old := route(), route()
	for n := 1; n <= maxGates; n *= 2 {
		plan := fieldgate.Compile(disabledGates(topLevelPaths(n)), structural, fieldgate.Options{})
		b.Run(fmt.Sprintf("gates=%d", n), func(b *testing.B) { benchmarkUnchanged(b, plan, obj, old) })
	}
}

// compiled returns what is compiled once for a CRD.
func compiled(tb testing.TB) []struct {
	name    string
	compile func() any
} {
	tb.Helper()
	internal := routeSchema(tb)
	structural := structuralOf(tb, internal)
	rules := withRules(tb, structural)
	gates := disabledGates(gatedPaths())
	return []struct {
		name    string
		compile func() any
	}{
		{"unions", func() any { return union.Compile(structural, nil) }},
		{"gates", func() any { return fieldgate.Compile(gates, structural, fieldgate.Options{}) }},
		{"unions+gates", func() any {
			plan := fieldgate.Compile(gates, structural, fieldgate.Options{Unions: true})
			return [2]any{plan, union.Compile(structural, plan.DisabledGate)}
		}},
		{"cel", func() any { return cel.NewValidator(rules, true, celconfig.PerCallLimit) }},
		{"structural", func() any { s, _ := structuralschema.NewStructural(internal); return s }},
		{"schema", func() any { v, _, _ := validation.NewSchemaValidator(internal); return v }},
	}
}

// BenchmarkCompile measures what is compiled once for every version of a CRD.
func BenchmarkCompile(b *testing.B) {
	for _, c := range compiled(b) {
		b.Run(c.name, func(b *testing.B) { benchmarkWork(b, func() error { c.compile(); return nil }) })
	}
}

// BenchmarkHeld reports, as the metric held-B, how many bytes of heap are held by what is compiled for a CRD. Its times
// mean nothing.
func BenchmarkHeld(b *testing.B) {
	for _, c := range compiled(b) {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				b.ReportMetric(held(c.compile), "held-B")
			}
		})
	}
}

// held returns the bytes of heap that the result of compile holds, as the mean of several.
func held(compile func() any) float64 {
	const n = 20
	compile() // allocates what all CRDs share
	all := make([]any, n)
	before := liveHeap()
	for i := range all {
		all[i] = compile()
	}
	after := liveHeap()
	goruntime.KeepAlive(all)
	return float64(after-before) / n
}

func liveHeap() int64 {
	var stats goruntime.MemStats
	goruntime.GC()
	goruntime.GC() // the second one frees what pools and finalizers held
	goruntime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestInputsOfScaleBenchmarks checks that every workload succeeds, that every path guards a field, and that the
// innermost union is validated.
func TestInputsOfScaleBenchmarks(t *testing.T) {
	for _, rules := range []int{4, 16} {
		for _, w := range scaleWorkloads(t, rules) {
			if err := w.do(); err != nil {
				t.Errorf("%s, %d rules: %v", w.name, rules, err)
			}
		}
	}
	schema := routeSchema(t)
	structural := structuralOf(t, schema)
	for _, paths := range [][]string{gatedPaths(), topLevelPaths(maxGates)} {
		plan := fieldgate.Compile(disabledGates(paths), structural, fieldgate.Options{})
		for _, written := range paths {
			path, err := fieldpath.Parse(written)
			if err != nil || plan.DisabledGate(path) == "" {
				t.Errorf("%s guards nothing: %v", written, err)
			}
		}
	}
	deep := nested(16)
	deepest := deep
	for deepest["inner"].(map[string]any)["type"] != nil {
		deepest = deepest["inner"].(map[string]any)
	}
	deepest["other"] = map[string]any{}
	errs, _ := union.Compile(structuralOf(t, nestedSchema(16)), nil).Validate(deep, nil, union.Options{})
	if len(errs) != 1 {
		t.Errorf("errors of the innermost union: %v, want 1", errs)
	}
}

// TestObjectOfMakeBench checks that hack/bench sends the object that is measured here to its servers.
func TestObjectOfMakeBench(t *testing.T) {
	text, err := os.ReadFile("../../hack/bench/httproute.json")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := utiljson.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(route(), got); diff != "" {
		t.Errorf("(-route +file):\n%s", diff)
	}
}
