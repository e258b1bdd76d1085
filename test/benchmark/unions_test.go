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

var printRatios = flag.Bool("ratios", false, "measure the unions of an HTTPRoute and what they are compared with, and print the ratios")

// routeSchema returns the schema in testdata/httproute-schema.yaml.
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

// withRules returns a copy of the schema with CEL rules for its unions, two for each member, as Gateway API writes
// them.
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
		tb.Fatalf("%d CEL rules, want 20", rules)
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

// routeRule returns rule i of a route. Each fourth rule responds, the others forward; the filters take turns.
func routeRule(i int) map[string]any {
	rule := map[string]any{
		"name":     fmt.Sprintf("rule-%06d", i),
		"matches":  routeMatches(i),
		"timeouts": map[string]any{"request": "10s", "backendRequest": "2s"},
	}
	if i%4 == 3 {
		rule["action"], rule["respond"] = "Respond", map[string]any{"statusCode": int64(503), "body": "closed for maintenance"}
	} else {
		rule["action"], rule["forward"] = "Forward", map[string]any{"backendRefs": []any{backend("products-v1"), backend("products-v2")}}
	}
	var filters []any
	for j := range 3 {
		f := routeFilters()[(i+j)%6]
		filters = append(filters, map[string]any{"name": fmt.Sprintf("filter-%d", j), "type": f.value, f.member: f.content})
	}
	rule["filters"] = filters
	return rule
}

func header(name, value string) map[string]any { return map[string]any{"name": name, "value": value} }

func backend(name string) map[string]any {
	return map[string]any{"group": "", "kind": "Service", "name": name, "port": int64(8080), "weight": int64(1)}
}

func routeMatches(i int) []any {
	return []any{
		map[string]any{
			"method": "GET", "path": map[string]any{"type": "PathPrefix", "value": fmt.Sprintf("/api/v1/products/%d", i)},
			"headers": []any{header("X-Version", "canary"), header("X-Region", "eu-central-1")},
		},
		map[string]any{
			"method": "POST", "path": map[string]any{"type": "RegularExpression", "value": fmt.Sprintf("/cart/[0-9]+/items/%d", i)},
			"headers": []any{header("X-Tenant", "acme"), header("X-Beta", "true")},
		},
		map[string]any{"path": map[string]any{"type": "Exact", "value": fmt.Sprintf("/checkout/%d", i)}},
	}
}

// routeFilter is the union of a filter: the value of its discriminator, and the member that the value selects.
type routeFilter struct {
	value, member string
	content       map[string]any
}

func routeFilters() []routeFilter {
	modifier := func() map[string]any {
		return map[string]any{
			"set": []any{header("X-Forwarded-Proto", "https"), header("X-Shop", "main")}, "remove": []any{"X-Debug", "X-Internal"},
		}
	}
	return []routeFilter{
		{"RequestHeaderModifier", "requestHeaderModifier", modifier()},
		{"URLRewrite", "urlRewrite", map[string]any{"path": map[string]any{"type": "ReplacePrefixMatch", "replacePrefixMatch": "/v1"}}},
		{"RequestMirror", "requestMirror", map[string]any{"backendRef": backend("mirror"), "percent": int64(10)}},
		{"ResponseHeaderModifier", "responseHeaderModifier", modifier()},
		{"CORS", "cors", map[string]any{"allowOrigins": []any{"https://shop.example.com"}, "allowMethods": []any{"GET", "POST"}, "maxAge": int64(600)}},
		{"ExtensionRef", "extensionRef", map[string]any{"group": "example.com", "kind": "RateLimit", "name": "default"}},
	}
}

func filterOf(route map[string]any, rule, filter int) map[string]any {
	r := route["spec"].(map[string]any)["rules"].([]any)[rule].(map[string]any)
	return r["filters"].([]any)[filter].(map[string]any)
}

// switchedRoute returns a route with another type in one filter, and with the member of the old type left in, as a
// client sends it that does not know the old member.
func switchedRoute() map[string]any {
	route := route()
	f := filterOf(route, 1, 1)
	f["type"], f["extensionRef"] = "ExtensionRef", map[string]any{"group": "example.com", "kind": "RateLimit", "name": "strict"}
	return route
}

// workload is a named function to measure.
type workload struct {
	name string
	do   func() error
}

// routeUpdate is a valid update of an HTTPRoute. Its methods are the workloads.
type routeUpdate struct {
	obj, old   map[string]any
	text       []byte // of obj, as JSON
	structural *structuralschema.Structural
	unions     *union.Plan
	validator  validation.SchemaValidator
}

func newRouteUpdate(tb testing.TB, schema *apiextensionsinternal.JSONSchemaProps, obj, old map[string]any) *routeUpdate {
	tb.Helper()
	structural := structuralOf(tb, schema)
	validator, _, err := validation.NewSchemaValidator(schema)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := utiljson.Marshal(obj)
	if err != nil {
		tb.Fatal(err)
	}
	return &routeUpdate{
		obj: obj, old: old, text: text, structural: structural, unions: union.Compile(structural, nil), validator: validator,
	}
}

func (u *routeUpdate) normalize() error {
	if _, cleared := u.unions.Normalize(u.obj, u.old, scope.Everything); len(cleared) > 0 {
		return fmt.Errorf("cleared: %q", union.Warnings(cleared))
	}
	return nil
}

func (u *routeUpdate) validate() error {
	errs, _ := u.unions.Validate(u.obj, u.old, union.Options{})
	return errs.ToAggregate()
}

func (u *routeUpdate) normalizeAndValidate() error {
	if err := u.normalize(); err != nil {
		return err
	}
	return u.validate()
}

// walk makes the checks of normalizeAndValidate by hand.
func (u *routeUpdate) walk() error {
	return errorUnless(!hasOutdatedFilters(u.obj, u.old) && isValidRoute(u.obj))
}

// celRules makes the checks of validate with CEL rules.
func (u *routeUpdate) celRules(tb testing.TB) func() error {
	tb.Helper()
	rules, ctx := cel.NewValidator(withRules(tb, u.structural), true, celconfig.PerCallLimit), tb.Context()
	return func() error {
		errs, _ := rules.Validate(ctx, nil, u.structural, u.obj, nil, celconfig.RuntimeCELCostBudget)
		return errs.ToAggregate()
	}
}

func (u *routeUpdate) validateSchemaOnCreate() error {
	return validation.ValidateCustomResource(nil, u.obj, u.validator).ToAggregate()
}

// validateSchema validates with ratcheting, as the handler does.
func (u *routeUpdate) validateSchema() error {
	correlated := common.NewCorrelatedObject(u.obj, u.old, &model.Structural{Structural: u.structural})
	ratcheting := validation.WithRatcheting(correlated)
	return validation.ValidateCustomResourceUpdate(nil, u.obj, u.old, u.validator, ratcheting).ToAggregate()
}

func (u *routeUpdate) deepCopy() error { runtime.DeepCopyJSON(u.obj); return nil }

func (u *routeUpdate) decode() error { var out map[string]any; return utiljson.Unmarshal(u.text, &out) }

// routeWorkloads returns everything that is compared.
func routeWorkloads(tb testing.TB) []workload {
	tb.Helper()
	update, switched := newRouteUpdate(tb, routeSchema(tb), route(), route()), switchedRoute()
	return []workload{
		{"union/normalize", update.normalize},
		{"union/validate", update.validate},
		{"union/both", update.normalizeAndValidate},
		{"union/normalize-cleared", func() error {
			if _, cleared := update.unions.Normalize(switched, update.old, scope.Everything); len(cleared) != 1 {
				return fmt.Errorf("cleared: %q, want one member", union.Warnings(cleared))
			}
			return nil
		}},
		{"union/none", func() error {
			if normalizeAndValidate(nil, update.obj, update.old) > 0 {
				return errors.New("a nil plan clears members or reports errors")
			}
			return nil
		}},
		{"walk/validate", func() error { return errorUnless(isValidRoute(update.obj)) }},
		{"walk/both", update.walk},
		{"cel", update.celRules(tb)},
		{"schema/create", update.validateSchemaOnCreate},
		{"schema/update", update.validateSchema},
		{"DeepCopyJSON", update.deepCopy},
		{"DecodeJSON", update.decode},
	}
}

func errorUnless(ok bool) error {
	if !ok {
		return errors.New("a valid object is not accepted as it is")
	}
	return nil
}

// The walk: the checks of the unions of this one CRD, written by hand.

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

// hasOutdatedFilters reports whether there is a member to clear.
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

// named returns an item and the item of the same name in old. It is fast if both lists have the same order.
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

// BenchmarkUnion measures the unions of an HTTPRoute, other ways to check them, and what upstream does with the same
// object in the same request.
func BenchmarkUnion(b *testing.B) {
	for _, w := range routeWorkloads(b) {
		b.Run(w.name, func(b *testing.B) { benchmarkWork(b, w.do) })
	}
}

// BenchmarkUnionNone measures a CRD without unions.
func BenchmarkUnionNone(b *testing.B) {
	plan := union.Compile(structuralOf(b, crontabSchema()), nil)
	obj, old := crontab(0), crontab(0)
	b.ReportAllocs()
	for b.Loop() {
		normalizeAndValidate(plan, obj, old)
	}
}

// normalizeAndValidate returns how many members are cleared and how many errors remain.
func normalizeAndValidate(plan *union.Plan, obj, old map[string]any) int {
	obj, cleared := plan.Normalize(obj, old, scope.Everything)
	errs, _ := plan.Validate(obj, old, union.Options{})
	return len(cleared) + len(errs)
}

// BenchmarkUnionListMap measures an update of a list map whose items have a union each, and three more in their
// filters.
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
				benchmarkWork(b, func() error { return errorUnless(normalizeAndValidate(plan, order.obj, old) == 0) })
				reportPer(b, n)
			})
		}
	}
}

// BenchmarkUnionCompile measures what is compiled once for every version of a CRD.
func BenchmarkUnionCompile(b *testing.B) {
	schema := structuralOf(b, routeSchema(b))
	b.ReportAllocs()
	for b.Loop() {
		union.Compile(schema, nil)
	}
}

// TestUnionRatios prints how the workloads compare, if -ratios is set.
func TestUnionRatios(t *testing.T) {
	if !*printRatios {
		t.Skip("without -ratios")
	}
	median := medianTimes(t, routeWorkloads(t))
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

// medianTimes measures and prints workloads. They take turns, so that drift of the machine cancels.
func medianTimes(t *testing.T, workloads []workload) map[string]float64 {
	t.Helper()
	const rounds, slice = 11, 50 * time.Millisecond
	times := map[string][]float64{}
	for range rounds {
		for _, w := range workloads {
			times[w.name] = append(times[w.name], nanosecondsOf(t, w, slice))
		}
	}
	median := map[string]float64{}
	for _, w := range workloads {
		slices.Sort(times[w.name])
		median[w.name] = times[w.name][rounds/2]
		spread := (times[w.name][rounds*3/4] - times[w.name][rounds/4]) / median[w.name]
		t.Logf("%-24s %12.1f ns  ± %2.0f%%", w.name, median[w.name], 50*spread)
	}
	return median
}

// perRule returns the time of an update for each rule of a route.
func perRule(t *testing.T, rules int, isReversed bool) float64 {
	t.Helper()
	plan := union.Compile(structuralOf(t, routeSchema(t)), nil)
	obj, old := routeOf(rules), routeOf(rules)
	if isReversed {
		slices.Reverse(obj["spec"].(map[string]any)["rules"].([]any))
	}
	update := workload{do: func() error { return errorUnless(normalizeAndValidate(plan, obj, old) == 0) }}
	return nanosecondsOf(t, update, 200*time.Millisecond) / float64(rules)
}

// nanosecondsOf returns the CPU time of a workload, without that of the garbage collector on other threads.
func nanosecondsOf(t *testing.T, w workload, slice time.Duration) float64 {
	t.Helper()
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	// The batches grow until reading the clock does not matter.
	for n := 1; ; n *= 2 {
		start := threadTime(t)
		for range n {
			if err := w.do(); err != nil {
				t.Fatal(err)
			}
		}
		if took := threadTime(t) - start; took > slice/2 {
			return float64(took.Nanoseconds()) / float64(n)
		}
	}
}

// bytesOfPlan returns how much heap a plan takes.
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

// TestInputsOfUnionBenchmarks checks that the object has the documented size, that every workload accepts it, and that
// unions, CEL rules and the walk refuse the same mistakes.
func TestInputsOfUnionBenchmarks(t *testing.T) {
	text, err := utiljson.Marshal(route())
	if err != nil {
		t.Fatal(err)
	}
	if len(text) < 4_500 || len(text) > 5_500 {
		t.Errorf("the object has %d bytes, want about 5,000", len(text))
	}
	for _, w := range routeWorkloads(t) {
		if err := w.do(); err != nil {
			t.Errorf("%s: %v", w.name, err)
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
			t.Errorf("%s is accepted by one of them: unions %v, CEL rules %v, the walk accepts it: %v",
				name, errs, celErrs, isValidRoute(obj))
		}
	}
	if hasOutdatedFilters(route(), route()) || !hasOutdatedFilters(switchedRoute(), route()) {
		t.Error("the walk does not find the member to clear")
	}
}

func TestUnionsOfAValidObjectAllocateNothing(t *testing.T) {
	plan := union.Compile(structuralOf(t, routeSchema(t)), nil)
	obj, old := routeOf(100), routeOf(100)
	for claim, run := range map[string]func(){
		"R2: an update allocates nothing":                           func() { normalizeAndValidate(plan, obj, old) },
		"R2: a create allocates nothing":                            func() { normalizeAndValidate(plan, obj, nil) },
		"R2: an update without unions allocates nothing":            func() { normalizeAndValidate(nil, obj, old) },
		"R2: comparing the unions of two objects allocates nothing": func() { plan.Unchanged(obj, old, scope.Everything) },
	} {
		t.Run(claim, func(t *testing.T) { wantNoAllocations(t, run) })
	}
}
