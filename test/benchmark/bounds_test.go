// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"context"
	"encoding/json"
	"fmt"
	goruntime "runtime"
	"testing"

	apiextensionsinternal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"

	"github.com/fairlead-dev/fairlead/internal/testaudit"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/features"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
)

// The most paths that a CRD can guard (rule C4), and the entries of a default for which such a CRD still has room.
const (
	maxPaths   = maxGates * maxGates
	maxEntries = 60_000
)

// boundedSizes are numbers of guarded paths. The entries of defaults, values and items grow with them.
var boundedSizes = []int{256, 1024, 4096, maxPaths}

func entriesFor(paths int) int { return paths * maxEntries / maxPaths }

// manyPaths returns disabled gates that guard n fields of .spec, in reverse order of their names.
func manyPaths(n int) *apiextensions.CustomResourceDefinitionFeatureGates {
	gates := &apiextensions.CustomResourceDefinitionFeatureGates{}
	for i := range n {
		if i%maxGates == 0 {
			gates.FeatureGates = append(gates.FeatureGates, apiextensions.CustomResourceDefinitionFeatureGate{
				Name: fmt.Sprintf("G%d", i/maxGates), PreRelease: apiextensions.PreReleaseAlpha,
			})
		}
		gate := &gates.FeatureGates[i/maxGates]
		gate.FieldPaths = append(gate.FieldPaths, ".spec."+manyName(n-1-i))
	}
	return gates
}

func manyName(i int) string { return fmt.Sprintf("g%05d", i) }

// manyFields returns the schema of an object whose .spec has a number of fields and a map. The default of .spec sets
// all of the fields, and a number of entries in the map.
func manyFields(tb testing.TB, fields, entries int) *apiextensionsinternal.JSONSchemaProps {
	tb.Helper()
	properties := map[string]apiextensionsinternal.JSONSchemaProps{}
	values, value := map[string]any{}, map[string]any{}
	for i := range entries {
		values[fmt.Sprintf("k%05d", i)] = "value"
	}
	for i := range fields {
		properties[manyName(i)], value[manyName(i)] = props("string"), "value"
	}
	text := props("string")
	properties["values"] = apiextensionsinternal.JSONSchemaProps{
		Type: "object", AdditionalProperties: &apiextensionsinternal.JSONSchemaPropsOrBool{Allows: true, Schema: &text},
	}
	value["values"] = values
	spec := objectOf(properties)
	var filled apiextensionsinternal.JSON = value
	spec.Default = &filled
	root := objectOf(map[string]apiextensionsinternal.JSONSchemaProps{"spec": spec})
	return &root
}

// crdOf returns a CRD with one version.
func crdOf(tb testing.TB, schema *apiextensionsinternal.JSONSchemaProps, gates *apiextensions.CustomResourceDefinitionFeatureGates) *apiextensionsv1.CustomResourceDefinition {
	tb.Helper()
	var props apiextensionsv1.JSONSchemaProps
	if err := apiextensionsv1.Convert_apiextensions_JSONSchemaProps_To_v1_JSONSchemaProps(schema, &props, nil); err != nil {
		tb.Fatal(err)
	}
	crd := routeCRD(tb)
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = &props
	crd.Spec.CustomFeatureGates = gates
	return crd
}

// serve does the expensive part of what the server does before it serves a CRD. The server holds a lock meanwhile, for
// which the handlers of all other CRDs wait. serve returns the schemas that default the objects, by version.
func serve(crd *apiextensionsv1.CustomResourceDefinition) (map[string]*structuralschema.Structural, error) {
	internal := &apiextensionsinternal.CustomResourceValidation{}
	version := crd.Spec.Versions[0]
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(version.Schema, internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	schemas := map[string]*structuralschema.Structural{version.Name: structural.DeepCopy()}
	if err := structuraldefaulting.PruneDefaults(schemas[version.Name]); err != nil {
		return nil, err
	}
	spec, err := builder.BuildOpenAPIV3(crd, version.Name, builder.Options{})
	if err != nil {
		return nil, err
	}
	if _, err := managedfields.NewTypeConverter(spec.Components.Schemas, false); err != nil {
		return nil, err
	}
	_, schemas = customresource.NewPlan(crd, schemas, nil)
	_, _, err = validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	return schemas, err
}

func enableGates(tb testing.TB) {
	tb.Helper()
	featuregatetesting.SetFeatureGateDuringTest(tb, utilfeature.DefaultFeatureGate, features.CRDFieldLevelVersioning, true)
}

// BenchmarkServe measures what the server does before it serves a CRD, with and without disabled gates.
func BenchmarkServe(b *testing.B) {
	enableGates(b)
	for _, paths := range boundedSizes {
		schema := manyFields(b, paths, entriesFor(paths))
		for name, gates := range map[string]*apiextensions.CustomResourceDefinitionFeatureGates{"plain": nil, "gates": manyPaths(paths)} {
			crd := crdOf(b, schema, gates)
			b.Run(fmt.Sprintf("%s/paths=%d", name, paths), func(b *testing.B) {
				benchmarkWork(b, func() error { _, err := serve(crd); return err })
			})
		}
	}
}

// BenchmarkManyPaths measures the part of BenchmarkServe that compiles the gates.
func BenchmarkManyPaths(b *testing.B) {
	for _, paths := range boundedSizes {
		schema, gates := structuralOf(b, manyFields(b, paths, 1)), manyPaths(paths)
		b.Run(fmt.Sprintf("compile/paths=%d", paths), func(b *testing.B) {
			benchmarkWork(b, func() error { fieldgate.Compile(gates, schema, fieldgate.Options{}); return nil })
		})
	}
}

// BenchmarkDropDefaults measures the part of BenchmarkServe that drops the defaults of disabled fields, next to a copy
// of the schema.
func BenchmarkDropDefaults(b *testing.B) {
	for _, paths := range boundedSizes {
		schema := structuralOf(b, manyFields(b, paths, entriesFor(paths)))
		plan := fieldgate.Compile(manyPaths(paths), schema, fieldgate.Options{})
		b.Run(fmt.Sprintf("gates/paths=%d", paths), func(b *testing.B) {
			benchmarkWork(b, func() error { plan.WithoutDisabledDefaults(schema); return nil })
		})
		b.Run(fmt.Sprintf("deepcopy/paths=%d", paths), func(b *testing.B) {
			benchmarkWork(b, func() error { schema.DeepCopy(); return nil })
		})
	}
}

// defaultedMap is an endpoint behind a conversion webhook, and an object to create there. The object has a map whose
// values have a disabled field each, which has another value than its default.
type defaultedMap struct {
	endpoint *customresource.Endpoint
	object   *unstructured.Unstructured
}

// newDefaultedMap returns a map with a number of values, each of which has a default with a number of entries.
func newDefaultedMap(tb testing.TB, values, entries int) defaultedMap {
	tb.Helper()
	filled, byName := map[string]any{}, map[string]any{}
	for i := range entries {
		filled[manyName(i)] = int64(i)
	}
	for i := range values {
		byName[manyName(i)] = map[string]any{"size": "another value"}
	}
	value := structuralschema.Structural{Generic: structuralschema.Generic{Type: "object"}}
	value.Default.Object = filled
	schema := structuralschema.Structural{Properties: map[string]structuralschema.Structural{
		"byName": {AdditionalProperties: &structuralschema.StructuralOrBool{Structural: &value}},
	}}
	crd := routeCRD(tb)
	crd.Spec.CustomFeatureGates = disabledGates([]string{".byName[*].size"})
	crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: "v2", Served: true})
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter}
	plan, _ := customresource.NewPlan(crd, map[string]*structuralschema.Structural{"v1": schema.DeepCopy(), "v2": &schema}, copier{})
	return defaultedMap{plan.Resource("v2"), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.example.com/v2", "kind": "HTTPRoute", "metadata": map[string]any{"name": "a"},
		"byName": byName,
	}}}
}

// copier is a conversion webhook that changes nothing but the version.
type copier struct{ runtime.ObjectConvertor }

func (copier) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	out := in.DeepCopyObject().(*unstructured.Unstructured)
	out.SetAPIVersion(to.(fmt.Stringer).String())
	return out, nil
}

// create evaluates the gates as a create does, on a copy of the object. Nothing is stored.
func (m defaultedMap) create(ctx context.Context) error {
	_, request := m.endpoint.Begin(ctx, nil)
	u := m.object.DeepCopy()
	request.Create(u)
	request.Done(ctx, nil)
	if value := u.Object["byName"].(map[string]any)[manyName(0)].(map[string]any); len(value) > 0 {
		return fmt.Errorf("the disabled field was not dropped: %v", value)
	}
	return nil
}

// BenchmarkDefaultsOfVersion measures a request in a version behind a webhook. The defaults of that version must be
// distinguished from the values in the request. There are as many values in a map, and as many fields in their default,
// as the other benchmarks have paths.
func BenchmarkDefaultsOfVersion(b *testing.B) {
	enableGates(b)
	for _, size := range boundedSizes {
		m := newDefaultedMap(b, size, size)
		b.Run(fmt.Sprintf("create/paths=%d", size), func(b *testing.B) {
			benchmarkWork(b, func() error { return m.create(b.Context()) })
		})
		b.Run(fmt.Sprintf("deepcopy/paths=%d", size), func(b *testing.B) {
			benchmarkWork(b, func() error { m.object.DeepCopy(); return nil })
		})
	}
}

// allDropped returns a create, with audit annotations, of an object whose fields are all disabled.
func allDropped(tb testing.TB, paths int) func() error {
	tb.Helper()
	schema := manyFields(tb, paths, 1)
	crd := crdOf(tb, schema, manyPaths(paths))
	schemas := map[string]*structuralschema.Structural{"v1": structuralOf(tb, schema)}
	plan, _ := customresource.NewPlan(crd, schemas, nil)
	endpoint := plan.Resource("v1")
	spec := map[string]any{}
	for i := range paths {
		spec[manyName(i)] = "value"
	}
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "gateway.example.com/v1", "kind": "HTTPRoute", "spec": spec}}
	return func() error {
		annotations := testaudit.Annotations(tb.Context(), func(ctx context.Context) {
			_, request := endpoint.Begin(ctx, nil)
			request.Create(object.DeepCopy())
			request.Done(ctx, nil)
		})
		if n := sizeOf(annotations); n == 0 || n > 16<<10 {
			return fmt.Errorf("V2: %d bytes of audit annotations, want some and at most %d", n, 16<<10)
		}
		return nil
	}
}

// sizeOf returns the size of audit annotations.
func sizeOf(annotations map[string]string) int {
	bytes := 0
	for _, value := range annotations {
		bytes += len(value)
	}
	return bytes
}

// BenchmarkAllDropped measures a request of which every gate of the CRD drops fields.
func BenchmarkAllDropped(b *testing.B) {
	enableGates(b)
	for _, paths := range boundedSizes {
		do := allDropped(b, paths)
		b.Run(fmt.Sprintf("create/paths=%d", paths), func(b *testing.B) { benchmarkWork(b, do) })
	}
}

// growing are the works of TestR3AllocatedBytesGrowWithTheSize, by claim. Each returns what to run for a size.
var growing = map[string]func(t *testing.T, size int) func() error{
	"serving a CRD with disabled gates": func(t *testing.T, size int) func() error {
		crd := crdOf(t, manyFields(t, size, entriesFor(size)), manyPaths(size))
		return func() error { _, err := serve(crd); return err }
	},
	"dropping the defaults of disabled fields": func(t *testing.T, size int) func() error {
		schema := structuralOf(t, manyFields(t, size, entriesFor(size)))
		plan := fieldgate.Compile(manyPaths(size), schema, fieldgate.Options{})
		return func() error { plan.WithoutDisabledDefaults(schema); return nil }
	},
	"distinguishing values from the defaults of a version": func(t *testing.T, size int) func() error {
		m := newDefaultedMap(t, size, size)
		return func() error { return m.create(t.Context()) }
	},
	"dropping all fields": func(t *testing.T, size int) func() error {
		return allDropped(t, size)
	},
}

// TestR3AllocatedBytesGrowWithTheSize (rules R3, V2) checks without a clock that the cost is linear: an input that is
// four times as large takes about four times the memory, and not sixteen times.
func TestR3AllocatedBytesGrowWithTheSize(t *testing.T) {
	enableGates(t)
	const small, factor, atMost = 512, 4, 5.5
	for work, run := range growing {
		t.Run("R3: the memory for "+work+" grows linearly", func(t *testing.T) {
			one, four := allocated(t, run(t, small)), allocated(t, run(t, small*factor))
			if four > atMost*one {
				t.Errorf("%.0f bytes for size %d and %.0f for %d times the size, want at most %.1f times as many",
					one, small, four, factor, atMost)
			}
			t.Logf("%.0f bytes, and %.1f times as many for %d times the size", one, four/one, factor)
		})
	}
}

// allocated returns how many bytes a run allocates, as the mean of several runs.
func allocated(t *testing.T, run func() error) float64 {
	t.Helper()
	const runs = 5
	mustRun := func() {
		if err := run(); err != nil {
			t.Error(err)
		}
	}
	mustRun() // allocates what is allocated only once
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	for range runs {
		mustRun()
	}
	goruntime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / runs
}

// TestInputsOfBounds checks the inputs of these benchmarks: every path guards a field that is in the default, and the
// CRD is small enough for a request.
func TestInputsOfBounds(t *testing.T) {
	enableGates(t)
	const requestLimit = 3 << 20
	schema := manyFields(t, maxPaths, maxEntries)
	crd := crdOf(t, schema, manyPaths(maxPaths))
	text, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > requestLimit {
		t.Errorf("the CRD has %d bytes, want at most %d", len(text), requestLimit)
	}
	schemas, err := serve(crd)
	if err != nil {
		t.Fatal(err)
	}
	left := schemas["v1"].Properties["spec"].Default.Object.(map[string]any)
	if len(left) != 1 || len(left["values"].(map[string]any)) != maxEntries {
		t.Errorf("G8: the default has %d fields, want only the map with %d entries", len(left), maxEntries)
	}
}
