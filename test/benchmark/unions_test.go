// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"errors"
	"flag"
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"testing"
	"time"

	apiextensionsinternal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/union"
)

var printRatios = flag.Bool("ratios", false, "measure the unions of an HTTPRoute beside everything else, and print the ratios")

// routeSchema is the schema of testdata/httproute-schema.yaml.
func routeSchema(tb testing.TB) *apiextensionsinternal.JSONSchemaProps {
	tb.Helper()
	text, err := os.ReadFile("testdata/httproute-schema.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	var v1 apiextensionsv1.JSONSchemaProps
	if err := yaml.UnmarshalStrict(text, &v1); err != nil {
		tb.Fatal(err)
	}
	var internal apiextensionsinternal.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, &internal, nil); err != nil {
		tb.Fatal(err)
	}
	return &internal
}

func structuralOf(tb testing.TB, schema *apiextensionsinternal.JSONSchemaProps) *structuralschema.Structural {
	tb.Helper()
	structural, err := structuralschema.NewStructural(schema)
	if err != nil {
		tb.Fatal(err)
	}
	return structural
}

// withRules returns the schema with rules instead of unions, two for each member, as Gateway API writes them.
func withRules(tb testing.TB, schema *structuralschema.Structural) *structuralschema.Structural {
	tb.Helper()
	rules := 0
	visitor := structuralschema.Visitor{Structural: func(s *structuralschema.Structural) bool {
		for name, property := range s.Properties {
			if property.XUnions == nil {
				continue
			}
			for value, m := range property.XUnions.FieldMembers {
				s.XValidations = append(s.XValidations,
					apiextensionsv1.ValidationRule{Rule: fmt.Sprintf("!(has(self.%s) && self.%s != '%s')", m.Name, name, value)},
					apiextensionsv1.ValidationRule{Rule: fmt.Sprintf("!(!has(self.%s) && self.%s == '%s')", m.Name, name, value)},
				)
				rules += 2
			}
		}
		return len(s.XValidations) > 0
	}}
	schema = schema.DeepCopy()
	visitor.Visit(schema)
	if rules != 20 {
		tb.Fatalf("%d rules", rules)
	}
	return schema
}

// route returns an HTTPRoute of 4 rules with 3 filters each: 16 unions, all of them valid.
func route() map[string]any { return routeOf(4) }

func routeOf(rules int) map[string]any {
	list := make([]any, rules)
	for i := range list {
		list[i] = routeRule(i)
	}
	return map[string]any{
		"apiVersion": "gateway.example.com/v1", "kind": "HTTPRoute",
		"metadata": map[string]any{"name": "shop", "namespace": "default", "labels": map[string]any{"app": "shop"}},
		"spec": map[string]any{
			"hostnames": []any{"shop.example.com", "www.shop.example.com"},
			"parentRefs": []any{
				map[string]any{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "public", "namespace": "infra", "sectionName": "https"},
			},
			"rules": list,
		},
	}
}

func routeRule(i int) map[string]any {
	header := func(name, value string) map[string]any { return map[string]any{"name": name, "value": value} }
	backend := func(name string) map[string]any {
		return map[string]any{"group": "", "kind": "Service", "name": name, "port": int64(8080), "weight": int64(1)}
	}
	rule := map[string]any{
		"name": fmt.Sprintf("rule-%06d", i),
		"matches": []any{
			map[string]any{
				"method": "GET", "path": map[string]any{"type": "PathPrefix", "value": fmt.Sprintf("/api/v1/products/%d", i)},
				"headers": []any{header("X-Version", "canary"), header("X-Region", "eu-central-1")},
			},
			map[string]any{
				"method": "POST", "path": map[string]any{"type": "RegularExpression", "value": fmt.Sprintf("/cart/[0-9]+/items/%d", i)},
				"headers": []any{header("X-Tenant", "acme"), header("X-Beta", "true")},
			},
			map[string]any{"path": map[string]any{"type": "Exact", "value": fmt.Sprintf("/checkout/%d", i)}},
		},
		"timeouts": map[string]any{"request": "10s", "backendRequest": "2s"},
	}
	if i%4 == 3 {
		rule["action"], rule["respond"] = "Respond", map[string]any{"statusCode": int64(503), "body": "closed for maintenance"}
	} else {
		rule["action"], rule["forward"] = "Forward", map[string]any{"backendRefs": []any{backend("products-v1"), backend("products-v2")}}
	}
	modifier := map[string]any{
		"set": []any{header("X-Forwarded-Proto", "https"), header("X-Shop", "main")}, "remove": []any{"X-Debug", "X-Internal"},
	}
	filters := [][]any{
		{"RequestHeaderModifier", "requestHeaderModifier", modifier},
		{"URLRewrite", "urlRewrite", map[string]any{"path": map[string]any{"type": "ReplacePrefixMatch", "replacePrefixMatch": "/v1"}}},
		{"RequestMirror", "requestMirror", map[string]any{"backendRef": backend("mirror"), "percent": int64(10)}},
		{"ResponseHeaderModifier", "responseHeaderModifier", modifier},
		{"CORS", "cors", map[string]any{"allowOrigins": []any{"https://shop.example.com"}, "allowMethods": []any{"GET", "POST"}, "maxAge": int64(600)}},
		{"ExtensionRef", "extensionRef", map[string]any{"group": "example.com", "kind": "RateLimit", "name": "default"}},
	}
	var list []any
	for j := range 3 {
		f := filters[(i+j)%len(filters)]
		list = append(list, map[string]any{"name": fmt.Sprintf("filter-%d", j), "type": f[0], f[1].(string): runtime.DeepCopyJSONValue(f[2])})
	}
	rule["filters"] = list
	return rule
}

func filterOf(route map[string]any, rule, filter int) map[string]any {
	r := route["spec"].(map[string]any)["rules"].([]any)[rule].(map[string]any)
	return r["filters"].([]any)[filter].(map[string]any)
}

// switchedRoute changes the type of one filter as a client does that does not know the member it leaves.
func switchedRoute() map[string]any {
	route := route()
	f := filterOf(route, 1, 1)
	f["type"], f["extensionRef"] = "ExtensionRef", map[string]any{"group": "example.com", "kind": "RateLimit", "name": "strict"}
	return route
}

// arm is one way to do some work on an HTTPRoute.
type arm struct {
	name string
	do   func() error
}

// routeArms returns everything that is compared.
func routeArms(tb testing.TB) []arm {
	tb.Helper()
	schema := routeSchema(tb)
	structural := structuralOf(tb, schema)
	plan := union.Compile(structural, nil)
	rules := cel.NewValidator(withRules(tb, structural), true, celconfig.PerCallLimit)
	validator, _, err := validation.NewSchemaValidator(schema)
	if err != nil {
		tb.Fatal(err)
	}
	ctx := tb.Context()
	obj, old := route(), route()
	text, err := utiljson.Marshal(obj)
	if err != nil {
		tb.Fatal(err)
	}
	normalize := func() error {
		if _, cleared := plan.Normalize(obj, old, scope.Everything); len(cleared) > 0 {
			return fmt.Errorf("cleared: %q", union.Warnings(cleared))
		}
		return nil
	}
	validate := func() error {
		errs, _ := plan.Validate(obj, old, union.Options{})
		return errs.ToAggregate()
	}
	switched := switchedRoute()
	return []arm{
		{"union/normalize", normalize},
		{"union/validate", validate},
		{"union/both", func() error {
			if err := normalize(); err != nil {
				return err
			}
			return validate()
		}},
		{"union/normalize-cleared", func() error {
			if _, cleared := plan.Normalize(switched, old, scope.Everything); len(cleared) != 1 {
				return fmt.Errorf("cleared: %q", union.Warnings(cleared))
			}
			return nil
		}},
		{"union/none", func() error {
			if normalizeAndValidate(nil, obj, old) > 0 {
				return errors.New("there is something to do without a plan")
			}
			return nil
		}},
		{"walk/validate", func() error { return walkError(isValidRoute(obj)) }},
		{"walk/both", func() error {
			return walkError(!hasOutdatedFilters(obj, old) && isValidRoute(obj))
		}},
		{"cel", func() error {
			errs, _ := rules.Validate(ctx, nil, structural, obj, nil, celconfig.RuntimeCELCostBudget)
			return errs.ToAggregate()
		}},
		{"schema/create", func() error { return validation.ValidateCustomResource(nil, obj, validator).ToAggregate() }},
		{"schema/update", func() error {
			correlated := common.NewCorrelatedObject(obj, old, &model.Structural{Structural: structural})
			return validation.ValidateCustomResourceUpdate(nil, obj, old, validator, validation.WithRatcheting(correlated)).ToAggregate()
		}},
		{"DeepCopyJSON", func() error { runtime.DeepCopyJSON(obj); return nil }},
		{"DecodeJSON", func() error { var out map[string]any; return utiljson.Unmarshal(text, &out) }},
	}
}

func walkError(ok bool) error {
	if !ok {
		return errors.New("an error in a valid object")
	}
	return nil
}

// The walk: what one would write by hand for this one CRD.

func isValidRoute(route map[string]any) bool {
	spec, _ := route["spec"].(map[string]any)
	rules, _ := spec["rules"].([]any)
	for i := range rules {
		rule, ok := rules[i].(map[string]any)
		if !ok {
			continue
		}
		action, _ := rule["action"].(string)
		if !isMember(rule, "forward", action == "Forward") || !isMember(rule, "respond", action == "Respond") ||
			!isMember(rule, "drop", action == "Drop") || !isAction(action) {
			return false
		}
		filters, _ := rule["filters"].([]any)
		for j := range filters {
			if filter, ok := filters[j].(map[string]any); ok && !isValidFilter(filter) {
				return false
			}
		}
	}
	return true
}

func isAction(action string) bool {
	return action == "Forward" || action == "Respond" || action == "Drop"
}

func isMember(object map[string]any, name string, selected bool) bool {
	return (object[name] != nil) == selected
}

func isValidFilter(filter map[string]any) bool {
	kind, _ := filter["type"].(string)
	switch kind {
	case "RequestHeaderModifier", "ResponseHeaderModifier", "RequestMirror", "RequestRedirect", "URLRewrite", "CORS", "ExtensionRef":
	default:
		return false
	}
	return isMember(filter, "requestHeaderModifier", kind == "RequestHeaderModifier") &&
		isMember(filter, "responseHeaderModifier", kind == "ResponseHeaderModifier") &&
		isMember(filter, "requestMirror", kind == "RequestMirror") &&
		isMember(filter, "requestRedirect", kind == "RequestRedirect") &&
		isMember(filter, "urlRewrite", kind == "URLRewrite") &&
		isMember(filter, "cors", kind == "CORS") &&
		isMember(filter, "extensionRef", kind == "ExtensionRef")
}

// hasOutdatedFilters tells whether there is anything to normalize.
func hasOutdatedFilters(route, old map[string]any) bool {
	spec, _ := route["spec"].(map[string]any)
	oldSpec, _ := old["spec"].(map[string]any)
	rules, _ := spec["rules"].([]any)
	oldRules, _ := oldSpec["rules"].([]any)
	for i := range rules {
		rule, oldRule := named(rules, oldRules, i)
		if oldRule == nil {
			continue
		}
		if action, _ := rule["action"].(string); action != oldRule["action"] && !isValidRoute(route) {
			return true
		}
		filters, _ := rule["filters"].([]any)
		oldFilters, _ := oldRule["filters"].([]any)
		for j := range filters {
			filter, oldFilter := named(filters, oldFilters, j)
			if oldFilter == nil {
				continue
			}
			if kind, _ := filter["type"].(string); kind != oldFilter["type"] && !isValidFilter(filter) {
				return true
			}
		}
	}
	return false
}

// named returns an item and the one of that name in another list. Lists mostly have the same order.
func named(list, old []any, i int) (item, counterpart map[string]any) {
	item, _ = list[i].(map[string]any)
	name, _ := item["name"].(string)
	if i < len(old) {
		if candidate, _ := old[i].(map[string]any); candidate != nil && candidate["name"] == name {
			return item, candidate
		}
	}
	for _, value := range old {
		if candidate, _ := value.(map[string]any); candidate != nil && candidate["name"] == name {
			return item, candidate
		}
	}
	return item, nil
}

// BenchmarkUnion is the cost of the unions of an HTTPRoute, beside other ways to check them and beside what upstream
// does with the same object in the same request.
func BenchmarkUnion(b *testing.B) {
	for _, a := range routeArms(b) {
		b.Run(a.name, func(b *testing.B) { benchmarkWork(b, a.do) })
	}
}

// BenchmarkUnionNone is what a CRD without unions pays.
func BenchmarkUnionNone(b *testing.B) {
	plan := union.Compile(structuralOf(b, crontabSchema()), nil)
	obj, old := crontab(0), crontab(0)
	b.ReportAllocs()
	for b.Loop() {
		normalizeAndValidate(plan, obj, old)
	}
}

func normalizeAndValidate(plan *union.Plan, obj, old map[string]any) int {
	obj, cleared := plan.Normalize(obj, old, scope.Everything)
	errs, _ := plan.Validate(obj, old, union.Options{})
	return len(cleared) + len(errs)
}

// BenchmarkUnionListMap is the cost of an update of that many rules with a union each, and three in their filters.
func BenchmarkUnionListMap(b *testing.B) {
	plan := union.Compile(structuralOf(b, routeSchema(b)), nil)
	for _, n := range []int{10, 100, 1_000, 10_000} {
		obj, old, reversed := routeOf(n), routeOf(n), routeOf(n)
		slices.Reverse(reversed["spec"].(map[string]any)["rules"].([]any))
		for _, order := range []struct {
			name string
			obj  map[string]any
		}{{"same", obj}, {"reversed", reversed}} {
			b.Run(fmt.Sprintf("%s/items=%d", order.name, n), func(b *testing.B) {
				benchmarkWork(b, func() error { return walkError(normalizeAndValidate(plan, order.obj, old) == 0) })
				reportPer(b, n)
			})
		}
	}
}

// BenchmarkUnionCompile is what is done once for every version of a CRD.
func BenchmarkUnionCompile(b *testing.B) {
	schema := structuralOf(b, routeSchema(b))
	b.ReportAllocs()
	for b.Loop() {
		union.Compile(schema, nil)
	}
}

// TestUnionRatios prints how the arms compare, if it is asked to. They take turns, so that drift of the machine cancels.
func TestUnionRatios(t *testing.T) {
	if !*printRatios {
		t.Skip("without -ratios")
	}
	const rounds, slice = 11, 50 * time.Millisecond
	arms := routeArms(t)
	times := map[string][]float64{}
	for range rounds {
		for _, a := range arms {
			times[a.name] = append(times[a.name], nanosecondsOf(t, a, slice))
		}
	}
	median := map[string]float64{}
	for _, a := range arms {
		slices.Sort(times[a.name])
		median[a.name] = times[a.name][rounds/2]
		spread := (times[a.name][rounds*3/4] - times[a.name][rounds/4]) / median[a.name]
		t.Logf("%-24s %12.1f ns  ± %2.0f%%", a.name, median[a.name], 50*spread)
	}
	for _, ratio := range []struct{ of, to, bar string }{
		{"union/both", "walk/both", "at most 2"},
		{"union/validate", "walk/validate", "at most 2"},
		{"cel", "union/both", "at least 200"},
		{"union/both", "schema/create", "at most 0.01"},
		{"union/both", "schema/update", "at most 0.01"},
		{"union/both", "DeepCopyJSON", ""},
		{"cel", "schema/create", ""},
	} {
		t.Logf("%-16s : %-16s %9.4f  %s", ratio.of, ratio.to, median[ratio.of]/median[ratio.to], ratio.bar)
	}
	for _, n := range []int{10, 100, 1_000, 10_000} {
		t.Logf("%5d rules: %7.1f ns each in the same order, %7.1f reversed", n, perRule(t, n, false), perRule(t, n, true))
	}
	t.Logf("a plan takes %d bytes", bytesOfPlan(t))
}

// perRule is what an update costs for each rule of a route.
func perRule(t *testing.T, rules int, isReversed bool) float64 {
	t.Helper()
	plan := union.Compile(structuralOf(t, routeSchema(t)), nil)
	obj, old := routeOf(rules), routeOf(rules)
	if isReversed {
		slices.Reverse(obj["spec"].(map[string]any)["rules"].([]any))
	}
	update := arm{do: func() error { return walkError(normalizeAndValidate(plan, obj, old) == 0) }}
	return nanosecondsOf(t, update, 200*time.Millisecond) / float64(rules)
}

// nanosecondsOf measures the CPU time of an arm. What the garbage collector does on other threads is not in it.
func nanosecondsOf(t *testing.T, a arm, slice time.Duration) float64 {
	t.Helper()
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	// Larger and larger batches, so that reading the clock does not count.
	for n := 1; ; n *= 2 {
		start := threadTime(t)
		for range n {
			if err := a.do(); err != nil {
				t.Fatal(err)
			}
		}
		if took := threadTime(t) - start; took > slice/2 {
			return float64(took.Nanoseconds()) / float64(n)
		}
	}
}

// bytesOfPlan is what stays on the heap for each compiled CRD.
func bytesOfPlan(t *testing.T) uint64 {
	t.Helper()
	const n = 1000
	schema := structuralOf(t, routeSchema(t))
	plans := make([]*union.Plan, n)
	var before, after goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&before)
	for i := range plans {
		plans[i] = union.Compile(schema, nil)
	}
	goruntime.GC()
	goruntime.ReadMemStats(&after)
	goruntime.KeepAlive(plans)
	return (after.HeapAlloc - before.HeapAlloc) / n
}

// TestInputsOfUnionBenchmarks keeps the benchmarks honest: the object is as large as they say, every arm accepts it, and
// each of those that check unions refuses the same mistakes.
func TestInputsOfUnionBenchmarks(t *testing.T) {
	text, err := utiljson.Marshal(route())
	if err != nil {
		t.Fatal(err)
	}
	if len(text) < 4_500 || len(text) > 5_500 {
		t.Errorf("the object has %d bytes", len(text))
	}
	for _, a := range routeArms(t) {
		if err := a.do(); err != nil {
			t.Errorf("%s: %v", a.name, err)
		}
	}
	structural := structuralOf(t, routeSchema(t))
	plan := union.Compile(structural, nil)
	rules := cel.NewValidator(withRules(t, structural), true, celconfig.PerCallLimit)
	for name, spoil := range map[string]func(filter map[string]any){
		"a member that is not selected": func(filter map[string]any) { filter["requestRedirect"] = map[string]any{} },
		"no member":                     func(filter map[string]any) { delete(filter, "urlRewrite") },
		"another type":                  func(filter map[string]any) { filter["type"] = "RequestRedirect" },
	} {
		obj := route()
		spoil(filterOf(obj, 1, 0))
		errs, _ := plan.Validate(obj, nil, union.Options{})
		celErrs, _ := rules.Validate(t.Context(), nil, structural, obj, nil, celconfig.RuntimeCELCostBudget)
		if len(errs) == 0 || len(celErrs) == 0 || isValidRoute(obj) {
			t.Errorf("%s: unions %v, CEL %v, walk %v", name, errs, celErrs, isValidRoute(obj))
		}
	}
	if hasOutdatedFilters(route(), route()) || !hasOutdatedFilters(switchedRoute(), route()) {
		t.Error("the walk does not find what is to be cleared")
	}
}

func TestUnionsOfAValidObjectAllocateNothing(t *testing.T) {
	plan := union.Compile(structuralOf(t, routeSchema(t)), nil)
	obj, old := routeOf(100), routeOf(100)
	for claim, run := range map[string]func(){
		"R2: update":                 func() { normalizeAndValidate(plan, obj, old) },
		"R2: create":                 func() { normalizeAndValidate(plan, obj, nil) },
		"R2: a CRD without unions":   func() { normalizeAndValidate(nil, obj, old) },
		"R2: the question of unions": func() { plan.Unchanged(obj, old, scope.Everything) },
	} {
		t.Run(claim, func(t *testing.T) {
			if allocations := testing.AllocsPerRun(100, run); allocations != 0 {
				t.Errorf("%v allocations", allocations)
			}
		})
	}
}
