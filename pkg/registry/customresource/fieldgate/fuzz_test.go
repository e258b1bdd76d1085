// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsinternal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/validation"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// fuzzSchemaYAML has every kind of place that a path can lead to or through.
const fuzzSchemaYAML = `
type: object
properties:
  data: {type: object, additionalProperties: {type: string}}
  spec:
    type: object
    properties:
      image: {type: string}
      replicas: {type: integer, nullable: true}
      ratio: {type: number}
      foo:
        type: object
        nullable: true
        properties:
          x: {type: integer}
          bar:
            type: object
            properties:
              x: {type: integer}
              baz: {type: object, properties: {x: {type: integer}, image: {type: string}}}
      items:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items:
          type: object
          required: [name]
          properties:
            name: {type: string}
            size: {type: integer}
            extra: {type: object, properties: {x: {type: integer}, image: {type: string}}}
            ports:
              type: array
              x-kubernetes-list-type: map
              x-kubernetes-list-map-keys: [port, protocol]
              items:
                type: object
                required: [port]
                properties:
                  port: {type: integer}
                  protocol: {type: string, default: TCP}
                  host: {type: string}
      pools:
        type: object
        additionalProperties:
          type: object
          properties:
            size: {type: integer}
            nested: {type: object, additionalProperties: {type: object, properties: {x: {type: integer}}}}
      matrix:
        type: object
        additionalProperties: {type: object, additionalProperties: {type: object, properties: {x: {type: integer}}}}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true}
      freeItems:
        type: array
        x-kubernetes-preserve-unknown-fields: true
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items: {type: object, required: [name], properties: {name: {type: string}}}
      atomic: {type: array, x-kubernetes-list-type: atomic, items: {type: object, properties: {x: {type: integer}}}}
  status:
    type: object
    properties:
      ready: {type: integer}
      conditions:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [type]
        items:
          type: object
          required: [type]
          properties: {type: {type: string}, size: {type: integer}, image: {type: string}}
`

// fuzzPaths are valid in fuzzSchemaYAML (TestFuzzedPathsAreValid).
var fuzzPaths = []string{
	".data", ".spec", ".status", ".spec.image", ".spec.replicas", ".spec.ratio",
	".spec.foo", ".spec.foo.x", ".spec.foo.bar", ".spec.foo.bar.x", ".spec.foo.bar.baz", ".spec.foo.bar.baz.x",
	".spec.items", ".spec.items[*].size", ".spec.items[*].extra", ".spec.items[*].extra.x", ".spec.items[*].extra.image",
	".spec.items[*].ports", ".spec.items[*].ports[*].host",
	".spec.pools", ".spec.pools[*].size", ".spec.pools[*].nested", ".spec.pools[*].nested[*].x", ".spec.matrix[*][*].x",
	".spec.free.x", ".spec.free.foo.bar.x", ".spec.freeItems[*].size", ".spec.freeItems[*].extra.x",
	".spec.atomic", ".status.ready", ".status.conditions", ".status.conditions[*].size", ".status.conditions[*].image",
}

// fuzzListKeys are the list maps of fuzzSchemaYAML, told once more for the reference.
var fuzzListKeys = map[string][]string{
	".spec.items": {"name"}, ".spec.items[*].ports": {"port", "protocol"}, ".spec.freeItems": {"name"}, ".status.conditions": {"type"},
}

// fuzzNames are what objects are made of beside the names that the schema has; some are the schema's elsewhere.
var fuzzNames = []string{"x", "name", "port", "protocol", "type", "size", "image", "foo", "bar", "items", "", "unknown"}

// TestFuzzedPathsAreValid keeps the properties meaningful: they are claimed for gates that validation accepts.
func TestFuzzedPathsAreValid(t *testing.T) {
	gate := apiextensions.CustomResourceDefinitionFeatureGate{Name: "A", PreRelease: apiextensions.PreReleaseAlpha, FieldPaths: fuzzPaths}
	spec := &apiextensionsinternal.CustomResourceDefinitionSpec{
		Versions:           []apiextensionsinternal.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}},
		Validation:         &apiextensionsinternal.CustomResourceValidation{OpenAPIV3Schema: testyaml.Schema(t, fuzzSchemaYAML)},
		CustomFeatureGates: &apiextensions.CustomResourceDefinitionFeatureGates{FeatureGates: []apiextensions.CustomResourceDefinitionFeatureGate{gate}},
	}
	if errs := validation.ValidateCustomFeatureGates(spec, field.NewPath("spec")); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
}

// FuzzEvaluate compares the evaluator with a slow reference on gates and objects that are made from bytes. The seeds of
// both fuzz tests are in testdata/fuzz.
func FuzzEvaluate(f *testing.F) {
	schema := testyaml.Structural(f, fuzzSchemaYAML)
	f.Fuzz(func(t *testing.T, gateBytes, objectBytes, oldBytes []byte) {
		gates, wild := fuzzGates(&source{data: gateBytes})
		w := fuzzWrite(&source{data: objectBytes}, &source{data: oldBytes}, schema)
		checkEvaluation(t, gates, wild, schema, w)
	})
}

// FuzzEvaluateJSON does the same with objects as clients write them, so that a failure can be read.
func FuzzEvaluateJSON(f *testing.F) {
	schema := testyaml.Structural(f, fuzzSchemaYAML)
	f.Fuzz(func(t *testing.T, gateBytes []byte, objText, oldText, appliedText string) {
		obj, objOK := fuzzJSON(objText)
		old, oldOK := fuzzJSON(oldText)
		applied, appliedOK := fuzzJSON(appliedText)
		if !objOK || obj == nil || !oldOK || !appliedOK {
			return
		}
		gates, wild := fuzzGates(&source{data: gateBytes})
		checkEvaluation(t, gates, wild, schema, Write{Object: obj, Old: old, Applied: applied})
	})
}

// fuzzJSON decodes an object the way the server does; no text is no object.
func fuzzJSON(text string) (map[string]any, bool) {
	if text == "" {
		return nil, true
	}
	obj, ok := decodeJSON(text).(map[string]any)
	return obj, ok
}

// TestEvaluateIsTheReference proves the properties on as many random objects as a normal test run can bear.
func TestEvaluateIsTheReference(t *testing.T) {
	schema := testyaml.Structural(t, fuzzSchemaYAML)
	kepts, drops, deprecations := 0, 0, 0
	for _, data := range randomBytes(3000) {
		gates, wild := fuzzGates(&source{data: data})
		third := len(data) / 3
		w := fuzzWrite(&source{data: data[third:]}, &source{data: data[2*third:]}, schema)
		warnings := strings.Join(checkEvaluation(t, gates, wild, schema, w), "\n")
		kepts += count(strings.Contains(warnings, "not updated"))
		drops += count(strings.Contains(warnings, "dropped"))
		deprecations += count(strings.Contains(warnings, "deprecated field"))
		if t.Failed() {
			return
		}
	}
	t.Logf("%d objects with kept, %d with dropped and %d with deprecated fields", kepts, drops, deprecations)
	if min(kepts, drops, deprecations) < 100 {
		t.Error("the random objects prove too little")
	}
}

func count(what bool) int {
	if what {
		return 1
	}
	return 0
}

func randomBytes(n int) [][]byte {
	random := rand.New(rand.NewPCG(1, 2))
	out := make([][]byte, n)
	for i := range out {
		out[i] = make([]byte, 100+random.IntN(900))
		for j := range out[i] {
			out[i][j] = byte(random.Uint32())
		}
	}
	return out
}

// evaluate is the one place that knows the signature of Plan.Evaluate.
func evaluate(p *Plan, w Write) *Result { return p.Evaluate(w) }

func copyWrite(w Write) Write {
	w.Object, w.Old, w.Applied = runtime.DeepCopyJSON(w.Object), runtime.DeepCopyJSON(w.Old), runtime.DeepCopyJSON(w.Applied)
	return w
}

// checkEvaluation evaluates a write and proves every property; it returns the warnings, and leaves the object defaced.
// Wild gates are some that validation rejects: for them it is only claimed that nothing breaks.
func checkEvaluation(t *testing.T, gates *apiextensions.CustomResourceDefinitionFeatureGates, wild bool, schema *structuralschema.Structural, w Write) []string {
	t.Helper()
	request := copyWrite(w)
	fail := func(claim, diff string) {
		t.Helper()
		t.Errorf("%s:\n%s\ngates: %s\nwrite: %s", claim, diff, encodeJSON(gates), encodeJSON(request))
	}
	plan := Compile(gates, schema)
	result := evaluate(plan, w)
	warnings := result.Warnings()
	if result.ChangedObject() == cmp.Equal(request.Object, w.Object) {
		fail(fmt.Sprintf("G1: ChangedObject says %v", result.ChangedObject()), cmp.Diff(request.Object, w.Object))
	}

	if !wild {
		want, wantWarnings := reference(gates, request)
		if diff := diffObjects(want, w.Object); diff != "" {
			fail("G2-G5: not the object of the reference (-want +got)", diff)
		}
		if !cmp.Equal(wantWarnings, warnings) {
			fail("G10: not the warnings of the reference (-want +got)", cmp.Diff(wantWarnings, warnings))
		}
		if diff := diffSecond(plan, w); diff != "" {
			fail("R4: the second evaluation has an effect", diff)
		}
	}
	if again := copyWrite(w); evaluate(nil, again) != nil || !cmp.Equal(w, again) {
		fail("R2: the nil plan has an effect", cmp.Diff(w, again))
	}
	if !cmp.Equal(request.Old, w.Old) || !cmp.Equal(request.Applied, w.Applied) {
		fail("R4: the old object or the applied configuration was modified", cmp.Diff(request, w))
	}
	defaceAll(w.Object)
	if !cmp.Equal(request.Old, w.Old) || !cmp.Equal(request.Applied, w.Applied) {
		fail("R4: the object shares with the old one or the applied configuration", cmp.Diff(request, w))
	}
	return warnings
}

// diffSecond evaluates a write that was evaluated before.
func diffSecond(plan *Plan, w Write) string {
	again := copyWrite(w)
	for _, warning := range evaluate(plan, again).Warnings() {
		if strings.Contains(warning, "dropped: ") || strings.Contains(warning, "not updated: ") {
			return warning
		}
	}
	return cmp.Diff(w.Object, again.Object)
}

// diffObjects tells 1 from 1.0: what is kept must be the persisted value to the byte, or generation would change (G6).
func diffObjects(want, got map[string]any) string {
	return cmp.Diff(want, got)
}

// defaceAll writes into every object and list.
func defaceAll(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, v := range value {
			defaceAll(v)
		}
		value["defaced"] = true
	case []any:
		for i, v := range value {
			defaceAll(v)
			value[i] = "defaced"
		}
	}
}

func encodeJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// source hands out the bytes of the fuzzer, then zeros.
type source struct{ data []byte }

func (s *source) next(n int) int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b) % n
}

func pick[T any](s *source, from []T) T { return from[s.next(len(from))] }

// fuzzGates makes up to 12 gates; wild tells that validation would reject some of them.
func fuzzGates(s *source) (gates *apiextensions.CustomResourceDefinitionFeatureGates, wild bool) {
	gates = &apiextensions.CustomResourceDefinitionFeatureGates{}
	if s.next(2) == 1 {
		component := pick(s, []string{"istio", ""})
		gates.Component = &component
	}
	untaken := append([]string(nil), fuzzPaths...)
	makeWild := s.next(8) == 1
	for i := range 1 + s.next(12) {
		gate := fuzzGate(s)
		gate.Name = fmt.Sprintf("G%d", i)
		for range 1 + s.next(3) {
			at := s.next(len(untaken))
			gate.FieldPaths = append(gate.FieldPaths, writePath(s, untaken[at]))
			untaken = append(untaken[:at], untaken[at+1:]...)
			if len(untaken) == 0 {
				return gates, makeWild
			}
		}
		if makeWild {
			gate.FieldPaths = append(gate.FieldPaths, wildPath(s))
		}
		gates.FeatureGates = append(gates.FeatureGates, gate)
	}
	return gates, makeWild
}

func fuzzGate(s *source) apiextensions.CustomResourceDefinitionFeatureGate {
	yes, no, warning := true, false, "use something else"
	optional := func() *bool { return pick(s, []*bool{nil, &yes, &no}) }
	switch s.next(6) {
	case 0, 1, 2:
		return apiextensions.CustomResourceDefinitionFeatureGate{PreRelease: apiextensions.PreReleaseAlpha, Enabled: optional()}
	case 3:
		return apiextensions.CustomResourceDefinitionFeatureGate{PreRelease: apiextensions.PreReleaseBeta, Enabled: optional(), Default: pick(s, []*bool{nil, &no})}
	case 4:
		return apiextensions.CustomResourceDefinitionFeatureGate{PreRelease: apiextensions.PreReleaseStable, Enabled: optional()}
	default:
		return apiextensions.CustomResourceDefinitionFeatureGate{
			PreRelease: apiextensions.PreReleaseDeprecated, Enabled: optional(), Default: pick(s, []*bool{&yes, &no}),
			FieldDeprecationWarning: pick(s, []*string{nil, &warning}),
		}
	}
}

// writePath writes a path in one of the two ways of rule C5.
func writePath(s *source, path string) string {
	if s.next(4) != 1 {
		return path
	}
	steps := strings.Split(strings.ReplaceAll(path[1:], "[*]", ".[*]"), ".")
	for i, step := range steps {
		if step != "[*]" {
			steps[i] = "['" + step + "']"
		}
	}
	return strings.Join(steps, "")
}

// wildPath makes a path that may not parse, not resolve, guard a list map's key or end in [*].
func wildPath(s *source) string {
	var b strings.Builder
	for range 1 + s.next(6) {
		b.WriteString(pick(s, []string{
			".spec", ".items", ".pools", ".foo", ".x", ".name", ".port", "[*]", "['name']", ".", "[", "['", "[0]", "\x00", ".status", ".atomic", ".conditions", ".type",
		}))
	}
	return b.String()
}

// fuzzWrite makes a write, one in four of them a server-side apply.
func fuzzWrite(objectBytes, oldBytes *source, schema *structuralschema.Structural) Write {
	w := Write{Scope: pick(oldBytes, []scope.Scope{scope.Everything, scope.Everything, scope.ExceptStatus, scope.OnlyStatus})}
	isApply := oldBytes.next(4) == 1
	w.Object, w.Old = fuzzObjects(objectBytes, oldBytes, schema)
	if isApply {
		from := pick(oldBytes, []map[string]any{w.Object, w.Old})
		if from == nil {
			from = w.Object
		}
		w.Applied, _ = edit(objectBytes, runtime.DeepCopyJSON(from)).(map[string]any)
	}
	return w
}

// fuzzObjects makes an object and the persisted one: none, another, or that from which the object was edited.
func fuzzObjects(objectBytes, oldBytes *source, schema *structuralschema.Structural) (obj, old map[string]any) {
	switch oldBytes.next(4) {
	case 0:
		return fuzzObject(objectBytes, schema), nil
	case 1:
		return fuzzObject(objectBytes, schema), fuzzObject(oldBytes, schema)
	default:
		old = fuzzObject(oldBytes, schema)
		obj, _ = edit(objectBytes, runtime.DeepCopyJSON(old)).(map[string]any)
		if obj == nil {
			obj = map[string]any{}
		}
		return obj, old
	}
}

func fuzzObject(s *source, schema *structuralschema.Structural) map[string]any {
	out := map[string]any{}
	for name, property := range sorted(schema.Properties) {
		if s.next(8) != 0 {
			out[name] = fuzzValue(s, property, 0)
		}
	}
	return out
}

// fuzzValue makes a value of the type of the schema, or now and then of another.
func fuzzValue(s *source, schema *structuralschema.Structural, depth int) any {
	if s.next(16) == 1 || schema == nil {
		return anyValue(s, depth)
	}
	switch {
	case len(schema.Properties) > 0:
		out := map[string]any{}
		for name, property := range sorted(schema.Properties) {
			if s.next(4) != 0 {
				out[name] = fuzzValue(s, property, depth+1)
			}
		}
		return out
	case schema.Items != nil:
		out := []any{}
		for range s.next(5) {
			out = append(out, fuzzValue(s, schema.Items, depth+1))
		}
		return out
	case schema.AdditionalProperties != nil:
		out := map[string]any{}
		for range s.next(4) {
			out[pick(s, fuzzNames)] = fuzzValue(s, schema.AdditionalProperties.Structural, depth+1)
		}
		return out
	case schema.Type == "string":
		return pick(s, []any{"a", "b", "c", "", "TCP", "UDP"})
	case schema.Type == "integer":
		return int64(s.next(3))
	case schema.Type == "number":
		return pick(s, []any{int64(1), float64(1), 1.5, -1.5})
	default:
		return anyValue(s, depth)
	}
}

// anyValue makes any value of JSON.
func anyValue(s *source, depth int) any {
	kinds := 12
	if depth > 12 {
		kinds = 10 // scalars only
	}
	switch s.next(kinds) {
	case 10:
		out := map[string]any{}
		for range s.next(4) {
			out[pick(s, fuzzNames)] = anyValue(s, depth+1)
		}
		return out
	case 11:
		out := []any{}
		for range s.next(4) {
			out = append(out, anyValue(s, depth+1))
		}
		return out
	default:
		return pick(s, []any{nil, true, false, "", "a", int64(0), int64(1), float64(1), 1.5, int64(math.MaxInt64), float64(1 << 63), 1e300})
	}
}

// edit changes a value in place here and there, as a client would, and returns it.
func edit(s *source, value any) any {
	switch s.next(24) {
	case 1:
		return nil
	case 2:
		return anyValue(s, 8)
	case 3:
		return asOtherNumber(value)
	}
	switch value := value.(type) {
	case map[string]any:
		editObject(s, value)
	case []any:
		return editList(s, value)
	default:
		if s.next(4) == 1 {
			return pick(s, []any{nil, "a", "b", int64(0), int64(1), int64(2), float64(2)})
		}
	}
	return value
}

// asOtherNumber writes the same number another way, as in 1.0 for 1.
func asOtherNumber(value any) any {
	switch value := value.(type) {
	case int64:
		if f := float64(value); f < 1<<52 {
			return f
		}
	case float64:
		if value == 1 {
			return int64(1)
		}
	}
	return value
}

func editObject(s *source, obj map[string]any) {
	for name, value := range sorted(obj) {
		if s.next(8) == 1 {
			delete(obj, name)
		} else {
			obj[name] = edit(s, *value)
		}
	}
	if s.next(4) == 1 {
		obj[pick(s, fuzzNames)] = anyValue(s, 8)
	}
}

// editList removes, repeats, edits, swaps and adds items.
func editList(s *source, list []any) []any {
	out := []any{}
	for _, item := range list {
		switch s.next(8) {
		case 1:
		case 2:
			out = append(out, runtime.DeepCopyJSONValue(item), edit(s, item))
		case 3:
			out = append([]any{edit(s, item)}, out...)
		default:
			out = append(out, edit(s, item))
		}
	}
	if s.next(8) == 1 {
		out = append(out, map[string]any{"name": pick(s, []string{"a", "b"}), "size": int64(s.next(3))})
	}
	return out
}

// sorted ranges over a map in the order of its keys, so that the same bytes always make the same objects.
func sorted[V any](m map[string]V) iter.Seq2[string, *V] {
	return func(yield func(string, *V) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if v := m[name]; !yield(name, &v) {
				return
			}
		}
	}
}

func decodeJSON(text string) any {
	var out any
	if err := utiljson.Unmarshal([]byte(text), &out); err != nil {
		return nil
	}
	return out
}

// The reference implementation: the words of rules C1, C8, G2-G5 and G10, gate by gate, path by path and place by
// place, without a thought to speed. It shares nothing with the evaluator but the parser of paths.

type refGuard struct {
	gate *apiextensions.CustomResourceDefinitionFeatureGate
	text string
	path fieldpath.Path
}

// reference returns what becomes of the request, and the warnings in the order of the paths in the CRD.
func reference(gates *apiextensions.CustomResourceDefinitionFeatureGates, request Write) (map[string]any, []string) {
	guards := refGuards(gates)
	result := runtime.DeepCopyJSON(request.Object)
	effects := make([]string, len(guards))
	// Whether a deprecated field was used is judged once all disabled ones are settled.
	for _, enabled := range []bool{false, true} {
		for i, guard := range guards {
			if refIsEnabled(guard.gate) == enabled && !refIsBelowDisabled(guard, guards) && refIsInScope(guard, request.Scope) {
				effects[i] = refApply(guard, request, result)
			}
		}
	}
	return result, refWarnings(gates, guards, effects)
}

func refWarnings(gates *apiextensions.CustomResourceDefinitionFeatureGates, guards []refGuard, effects []string) []string {
	var warnings []string
	told := map[string]bool{}
	for i, guard := range guards {
		warning := refWarning(gates, guard, effects[i])
		if own := guard.gate.FieldDeprecationWarning; effects[i] == "deprecated" && own != nil {
			if told[guard.gate.Name] {
				continue // once per gate
			}
			warning, told[guard.gate.Name] = *own, true
		}
		if warning != "" {
			warnings = append(warnings, warning)
		}
	}
	return warnings
}

func refGuards(gates *apiextensions.CustomResourceDefinitionFeatureGates) []refGuard {
	var guards []refGuard
	for i := range gates.FeatureGates {
		for _, text := range gates.FeatureGates[i].FieldPaths {
			if path, err := fieldpath.Parse(text); err == nil {
				guards = append(guards, refGuard{gate: &gates.FeatureGates[i], text: text, path: path})
			}
		}
	}
	return guards
}

// refIsEnabled is rule C1.
func refIsEnabled(gate *apiextensions.CustomResourceDefinitionFeatureGate) bool {
	if gate.PreRelease == "stable" {
		return true
	}
	if gate.Enabled != nil {
		return *gate.Enabled
	}
	if gate.Default != nil {
		return *gate.Default
	}
	return gate.PreRelease == "beta"
}

// refIsBelowDisabled is rule C8: the gate is not looked at.
func refIsBelowDisabled(guard refGuard, guards []refGuard) bool {
	for _, other := range guards {
		if len(other.path) < len(guard.path) && guard.path.HasPrefix(other.path) && !refIsEnabled(other.gate) {
			return true
		}
	}
	return false
}

// refIsInScope is rule G9.
func refIsInScope(guard refGuard, written scope.Scope) bool {
	isStatus := guard.path[0].Name == "status"
	return written == scope.Everything || isStatus == (written == scope.OnlyStatus)
}

func refWarning(gates *apiextensions.CustomResourceDefinitionFeatureGates, guard refGuard, effect string) string {
	name := guard.gate.Name
	if gates.Component != nil && *gates.Component != "" {
		name = *gates.Component + "/" + name
	}
	switch effect {
	case "kept":
		return fmt.Sprintf(`%s: not updated: feature gate "%s" is disabled`, guard.text, name)
	case "dropped":
		return fmt.Sprintf(`%s: dropped: feature gate "%s" is disabled`, guard.text, name)
	case "deprecated":
		return guard.text + ": deprecated field"
	}
	return ""
}

// refPlace is an object that may hold the guarded field: where it stands in the request, and its counterparts in old
// and in what was applied, nil if there are none.
type refPlace struct {
	address      []any // names and indexes
	old, applied map[string]any
}

// refApply settles one guard in result and returns the strongest effect that it had in the request.
func refApply(guard refGuard, request Write, result map[string]any) string {
	parent, name := guard.path[:len(guard.path)-1], guard.path[len(guard.path)-1].Name
	effects := map[string]bool{}
	for _, place := range refPlaces(parent, request) {
		asked := request.Object
		if refIsEnabled(guard.gate) {
			asked = result
		}
		effects[refEffect(guard, name, place, refAt(asked, place.address), request.Applied != nil)] = true
		if refIsEnabled(guard.gate) {
			continue
		}
		target := refAt(result, place.address)
		delete(target, name)
		if value, present := place.old[name]; present {
			target[name] = runtime.DeepCopyJSONValue(value) // exactly as persisted, be it null
		}
	}
	for _, effect := range []string{"kept", "dropped", "deprecated"} {
		if effects[effect] {
			return effect
		}
	}
	return ""
}

// refEffect is rule G10 for one place.
func refEffect(guard refGuard, name string, place refPlace, parent map[string]any, isApply bool) string {
	value, old := parent[name], place.old[name]
	applied, isApplied := place.applied[name]
	switch {
	case refIsEnabled(guard.gate):
		if guard.gate.PreRelease == "deprecated" && value != nil && !refEqual(value, old) {
			return "deprecated"
		}
	case old != nil:
		isConfirmed := isApply && isApplied && refContains(old, applied)
		if !refEqual(value, old) && !isConfirmed {
			return "kept"
		}
	case value != nil:
		return "dropped"
	}
	return ""
}

// refContains tells whether an applied value asks for nothing that is not persisted.
func refContains(value, part any) bool {
	switch part := part.(type) {
	case map[string]any:
		value, ok := value.(map[string]any)
		for key := range part {
			held, present := value[key]
			ok = ok && present && refContains(held, part[key])
		}
		return ok
	case []any:
		value, ok := value.([]any)
		for ; ok && len(part) > 0 && len(value) > 0; value = value[1:] {
			if refContains(value[0], part[0]) {
				part = part[1:]
			}
		}
		return ok && len(part) == 0
	}
	return refEqual(value, part)
}

// refEqual compares as JSON text does, where 1.0 is written 1.
func refEqual(a, b any) bool {
	return encodeJSON(a) == encodeJSON(b)
}

func refAt(root map[string]any, address []any) map[string]any {
	var value any = root
	for _, step := range address {
		switch step := step.(type) {
		case string:
			value = value.(map[string]any)[step]
		case int:
			value = value.([]any)[step]
		}
	}
	return value.(map[string]any)
}

// refTrio is one value in the request, with its counterparts.
type refTrio struct {
	address             []any
	value, old, applied any
}

// refPlaces follows the path to the parent of a field.
func refPlaces(parent fieldpath.Path, request Write) []refPlace {
	trios := []refTrio{{value: request.Object, old: request.Old, applied: request.Applied}}
	for i, step := range parent {
		var next []refTrio
		for _, trio := range trios {
			next = append(next, trio.follow(step, fuzzListKeys[parent[:i].String()])...)
		}
		trios = next
	}
	var places []refPlace
	for _, trio := range trios {
		if _, ok := trio.value.(map[string]any); ok {
			old, _ := trio.old.(map[string]any)
			applied, _ := trio.applied.(map[string]any)
			places = append(places, refPlace{trio.address, old, applied})
		}
	}
	return places
}

// follow takes one step. What is neither an object nor a list of the expected kind leads nowhere (R1).
func (trio refTrio) follow(step fieldpath.Step, keys []string) []refTrio {
	var out []refTrio
	add := func(at, value, old, applied any) {
		out = append(out, refTrio{append(slices.Clone(trio.address), at), value, old, applied})
	}
	switch value := trio.value.(type) {
	case map[string]any:
		old, _ := trio.old.(map[string]any)
		applied, _ := trio.applied.(map[string]any)
		for key := range value {
			if step.Each || key == step.Name {
				add(key, value[key], old[key], applied[key])
			}
		}
	case []any:
		if !step.Each || keys == nil {
			break
		}
		old, _ := trio.old.([]any)
		applied, _ := trio.applied.([]any)
		olds, applieds := refCounterparts(value, old, keys), refCounterparts(value, applied, keys)
		for i := range value {
			add(i, value[i], olds[i], applieds[i])
		}
	}
	return out
}

// refCounterparts is rule G5: the items of another list with the keys of each item. Of several with the same keys,
// which no valid list has, it is the one at the same position, or else the first.
func refCounterparts(list, other []any, keys []string) []any {
	out, used := make([]any, len(list)), map[int]bool{}
	for i, item := range list {
		candidates := []int{i}
		for j := range other {
			candidates = append(candidates, j)
		}
		for _, j := range candidates {
			if out[i] == nil && j < len(other) && !used[j] && refSameKeys(item, other[j], keys) {
				out[i], used[j] = other[j], true
			}
		}
	}
	return out
}

func refSameKeys(a, b any, keys []string) bool {
	aObject, aOK := a.(map[string]any)
	bObject, bOK := b.(map[string]any)
	if !aOK || !bOK {
		return false
	}
	for _, key := range keys {
		switch aObject[key].(type) {
		case map[string]any, []any:
			return false
		}
		if !refEqual(aObject[key], bObject[key]) {
			return false
		}
	}
	return true
}
