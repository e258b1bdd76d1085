// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
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
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/validation"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// fuzzSchemaYAML has fields of every kind that a path can lead to or through.
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
      tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
      whole:
        type: object
        x-kubernetes-map-type: atomic
        properties:
          x: {type: integer}
          foo: {type: object, properties: {x: {type: integer}, image: {type: string}}}
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
	".spec.atomic", ".spec.tags", ".spec.whole", ".spec.whole.x", ".spec.whole.foo.x", ".status.ready", ".status.conditions", ".status.conditions[*].size", ".status.conditions[*].image",
}

// fuzzListKeys has the keys of the list maps of fuzzSchemaYAML. The reference uses it instead of the schema.
var fuzzListKeys = map[string][]string{
	".spec.items": {"name"}, ".spec.items[*].ports": {"port", "protocol"}, ".spec.freeItems": {"name"}, ".status.conditions": {"type"},
}

// fuzzKeyDefaults has the defaults of these keys.
var fuzzKeyDefaults = map[string]any{"protocol": "TCP"}

// fuzzNames are names of fields that the schema does not have at the position. Some exist at other positions.
var fuzzNames = []string{"x", "name", "port", "protocol", "type", "size", "image", "foo", "bar", "items", "", "unknown"}

// TestFuzzedPathsAreValid checks that validation accepts fuzzPaths. The reference is only right for such gates.
func TestFuzzedPathsAreValid(t *testing.T) {
	spec := &apiextensionsinternal.CustomResourceDefinitionSpec{
		Versions:           []apiextensionsinternal.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}},
		Validation:         &apiextensionsinternal.CustomResourceValidation{OpenAPIV3Schema: testyaml.Schema(t, fuzzSchemaYAML)},
		CustomFeatureGates: alphaGate(fuzzPaths...),
	}
	if errs := validation.ValidateCustomFeatureGates(spec, field.NewPath("spec")); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
}

// FuzzEvaluate compares Plan.Evaluate with the reference, on gates and objects that are generated from bytes. The seeds
// of both fuzz tests are in testdata/fuzz.
func FuzzEvaluate(f *testing.F) {
	schema := testyaml.Structural(f, fuzzSchemaYAML)
	f.Fuzz(func(t *testing.T, gateBytes, objectBytes, oldBytes []byte) {
		gates, wild := fuzzGates(&source{data: gateBytes})
		w := fuzzWrite(&source{data: objectBytes}, &source{data: oldBytes}, Compile(gates, schema, Options{}), schema)
		checkEvaluation(t, gates, wild, w)
	})
}

// FuzzEvaluateJSON does the same with objects in JSON, so that the input of a failure is readable.
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
		checkEvaluation(t, gates, wild, Write{Object: obj, Old: old, Applied: applied, Schema: schema})
	})
}

// fuzzJSON decodes an object as the server does. It returns nil for an empty text.
func fuzzJSON(text string) (map[string]any, bool) {
	if text == "" {
		return nil, true
	}
	obj, ok := decodeJSON(text).(map[string]any)
	return obj, ok
}

// TestEvaluateIsTheReference compares Plan.Evaluate with the reference on random gates and objects.
func TestEvaluateIsTheReference(t *testing.T) {
	schema := testyaml.Structural(t, fuzzSchemaYAML)
	kepts, drops, removals, deprecations := 0, 0, 0, 0
	for _, data := range randomBytes(3000) {
		gates, wild := fuzzGates(&source{data: data})
		third := len(data) / 3
		w := fuzzWrite(&source{data: data[third:]}, &source{data: data[2*third:]}, Compile(gates, schema, Options{}), schema)
		warnings := strings.Join(checkEvaluation(t, gates, wild, w), "\n")
		kepts += count(strings.Contains(warnings, "not updated"))
		drops += count(strings.Contains(warnings, "dropped"))
		removals += count(strings.Contains(warnings, "removed with"))
		deprecations += count(strings.Contains(warnings, "deprecated field"))
		if t.Failed() {
			return
		}
	}
	t.Logf("%d objects with kept, %d with dropped, %d with removed and %d with deprecated fields", kepts, drops, removals, deprecations)
	if min(kepts, drops, removals, deprecations) < 100 {
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

func copyWrite(w Write) Write {
	w.Object, w.Old, w.Applied = runtime.DeepCopyJSON(w.Object), runtime.DeepCopyJSON(w.Old), runtime.DeepCopyJSON(w.Applied)
	return w
}

// checkEvaluation evaluates a write and returns the warnings. It checks all properties of an evaluation, and overwrites
// the object. wild is whether validation rejects some of the gates: then the result need not be that of the reference.
func checkEvaluation(t *testing.T, gates *apiextensions.CustomResourceDefinitionFeatureGates, wild bool, w Write) []string {
	t.Helper()
	request := copyWrite(w)
	fail := func(claim, diff string) {
		t.Helper()
		t.Errorf("%s:\n%s\ngates: %s\nobject: %s\nold: %s\napplied: %s\nscope: %v", claim, diff,
			encodeJSON(gates), encodeJSON(request.Object), encodeJSON(request.Old), encodeJSON(request.Applied), request.Scope)
	}
	plan := Compile(gates, w.Schema, Options{})
	result := plan.Evaluate(w)
	warnings := Warnings(result.Outcomes())
	changed := !cmp.Equal(request.Object, w.Object)
	if requested := result.Requested(); changed != (requested != nil) || (changed && !cmp.Equal(request.Object, requested)) {
		fail("G7: Requested is not the object before it was changed", cmp.Diff(request.Object, requested))
	}

	if !wild {
		checkAgainstReference(fail, plan, gates, request, w, warnings)
	}
	if again := copyWrite(w); (*Plan)(nil).Evaluate(again) != nil || !cmp.Equal(w, again) {
		fail("R2: the nil plan has an effect", cmp.Diff(w, again))
	}
	if !cmp.Equal(request.Old, w.Old) || !cmp.Equal(request.Applied, w.Applied) {
		fail("R4: the persisted object or the applied configuration was modified", cmp.Diff(request, w))
	}
	overwriteAll(w.Object)
	if !cmp.Equal(request.Old, w.Old) || !cmp.Equal(request.Applied, w.Applied) {
		fail("R4: the object shares values with the persisted object or the applied configuration", cmp.Diff(request, w))
	}
	return warnings
}

// checkAgainstReference compares the evaluated write w and the warnings with those of the reference for the request, and
// evaluates w a second time.
func checkAgainstReference(fail func(claim, diff string), plan *Plan, gates *apiextensions.CustomResourceDefinitionFeatureGates, request, w Write, warnings []string) {
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

// diffSecond evaluates a write that was evaluated before, and describes the effects, or returns "" if there are none.
// The request is the same, so warnings about removed fields and about the applied configuration are repeated.
func diffSecond(plan *Plan, w Write) string {
	again := copyWrite(w)
	result := plan.Evaluate(again)
	for _, warning := range Warnings(result.Outcomes()) {
		if w.Applied == nil && (strings.Contains(warning, ": dropped: ") || strings.Contains(warning, ": not updated: ")) {
			return warning
		}
	}
	if result.Requested() != nil {
		return "changed"
	}
	return cmp.Diff(w.Object, again.Object)
}

// diffObjects distinguishes 1 from 1.0: a kept value is exactly the persisted one, or the generation would change (G6).
func diffObjects(want, got map[string]any) string {
	return cmp.Diff(want, got)
}

// overwriteAll changes every object and list in a value.
func overwriteAll(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, v := range value {
			overwriteAll(v)
		}
		value["overwritten"] = true
	case []any:
		for i, v := range value {
			overwriteAll(v)
			value[i] = "overwritten"
		}
	}
}

// source returns the bytes of the fuzzer, and zeros after them.
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

// fuzzGates generates up to 12 gates, and reports whether validation rejects some of them.
func fuzzGates(s *source) (gates *apiextensions.CustomResourceDefinitionFeatureGates, wild bool) {
	gates = &apiextensions.CustomResourceDefinitionFeatureGates{}
	if s.next(2) == 1 {
		component := pick(s, []string{"istio", ""})
		gates.Component = &component
	}
	unused := slices.Clone(fuzzPaths)
	makeWild := s.next(8) == 1
	for i := range 1 + s.next(12) {
		gate := fuzzGate(s)
		gate.Name = fmt.Sprintf("G%d", i)
		for range 1 + s.next(3) {
			at := s.next(len(unused))
			gate.FieldPaths = append(gate.FieldPaths, writePath(s, unused[at]))
			unused = append(unused[:at], unused[at+1:]...)
			if len(unused) == 0 {
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

// writePath writes a path in one of the two notations of rule C5.
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

// wildPath generates a path that validation may reject: it may not parse, not resolve, guard a key of a list map or end
// in [*].
func wildPath(s *source) string {
	var b strings.Builder
	for range 1 + s.next(6) {
		b.WriteString(pick(s, []string{
			".spec", ".items", ".pools", ".foo", ".x", ".name", ".port", "[*]", "['name']", ".", "[", "['", "[0]", "\x00", ".status", ".atomic", ".conditions", ".type",
		}))
	}
	return b.String()
}

// fuzzWrite generates a write. Two in five are server-side apply requests. Of these, half have the object that field
// management returns if it removes nothing, and half have any object.
func fuzzWrite(objectBytes, oldBytes *source, plan *Plan, schema *structuralschema.Structural) Write {
	w := Write{
		Schema: schema,
		Scope:  pick(oldBytes, []scope.Scope{scope.Everything, scope.Everything, scope.ExceptStatus, scope.OnlyStatus}),
	}
	kind := oldBytes.next(5)
	w.Object, w.Old = fuzzObjects(objectBytes, oldBytes, schema)
	if kind > 1 {
		return w
	}
	from := pick(oldBytes, []map[string]any{w.Object, w.Old})
	if from == nil {
		from = w.Object
	}
	w.Applied, _ = edit(objectBytes, runtime.DeepCopyJSON(from)).(map[string]any)
	if kind == 1 && w.Applied != nil {
		w.Object = fuzzMerge(w, plan)
	}
	return w
}

// fuzzMerge returns the object that field management returns for the adjusted configuration, if it removes nothing.
func fuzzMerge(w Write, plan *Plan) map[string]any {
	old := w.Old
	if old == nil {
		old = map[string]any{}
	}
	adjusted, _ := plan.AdjustConfiguration(w.Applied, old, w.Schema, w.Scope)
	merged, _ := refMerge(w.Schema, "", runtime.DeepCopyJSON(old), runtime.DeepCopyJSON(adjusted)).(map[string]any)
	return merged
}

// fuzzObjects generates an object and a persisted object. The latter is nil, independent, or the former before some
// edits.
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

// fuzzValue generates a value of the type of the schema, or sometimes of any type.
func fuzzValue(s *source, schema *structuralschema.Structural, depth int) any {
	if s.next(16) == 1 || schema == nil {
		return anyValue(s, depth)
	}
	switch {
	case len(schema.Properties) > 0:
		return fuzzFields(s, schema, depth)
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

// fuzzFields generates an object with some of the fields of the schema.
func fuzzFields(s *source, schema *structuralschema.Structural, depth int) map[string]any {
	out := map[string]any{}
	for name, property := range sorted(schema.Properties) {
		if s.next(4) != 0 {
			out[name] = fuzzValue(s, property, depth+1)
		}
	}
	return out
}

// anyValue generates a JSON value of any type.
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

// edit changes some parts of a value in place, as a client would, and returns it.
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

// asOtherNumber returns the same number in its other type, such as 1.0 for 1.
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

// sorted ranges over a map in the order of its keys, so that the same bytes always generate the same objects.
func sorted[V any](m map[string]V) iter.Seq2[string, *V] {
	return func(yield func(string, *V) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if v := m[name]; !yield(name, &v) {
				return
			}
		}
	}
}
