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
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/features"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
)

// The most paths that a CRD can guard (rule C4), and the entries of a default that it has room for beside them.
const (
	maxPaths   = maxGates * maxGates
	maxEntries = 60_000
)

// boundedSizes are numbers of guarded paths. Entries of defaults, values and items grow with them.
var boundedSizes = []int{256, 1024, 4096, maxPaths}

func entriesFor(paths int) int { return paths * maxEntries / maxPaths }

// manyPaths returns as many disabled gates as it takes to guard that many fields of .spec, in another order than that of
// their names.
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

// manyFields returns the schema of an object with that many fields and a map, and with a default of .spec that has all of
// them, and that many entries in the map.
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

// serve does what the server does when it begins to serve a CRD and what takes it long: while it holds a lock that all
// other CRDs wait for. The schemas are those by which objects are then defaulted.
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

// BenchmarkServe is what it takes to begin to serve a CRD, with disabled gates and without.
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

// BenchmarkManyPaths is the part of it that compiles the gates.
func BenchmarkManyPaths(b *testing.B) {
	for _, paths := range boundedSizes {
		schema, gates := structuralOf(b, manyFields(b, paths, 1)), manyPaths(paths)
		b.Run(fmt.Sprintf("compile/paths=%d", paths), func(b *testing.B) {
			benchmarkWork(b, func() error { fieldgate.Compile(gates, schema); return nil })
		})
	}
}

// BenchmarkDropDefaults is the part of it that concerns the defaults of disabled fields, beside a copy of all defaults.
func BenchmarkDropDefaults(b *testing.B) {
	for _, paths := range boundedSizes {
		schema := structuralOf(b, manyFields(b, paths, entriesFor(paths)))
		plan := fieldgate.Compile(manyPaths(paths), schema)
		b.Run(fmt.Sprintf("gates/paths=%d", paths), func(b *testing.B) {
			benchmarkWork(b, func() error { plan.WithoutDisabledDefaults(schema); return nil })
		})
		b.Run(fmt.Sprintf("deepcopy/paths=%d", paths), func(b *testing.B) {
			benchmarkWork(b, func() error { schema.DeepCopy(); return nil })
		})
	}
}

// defaultedMap is an endpoint behind a conversion webhook, and an object to create there: a map whose values have a
// disabled field each, and are not what the schema defaults.
type defaultedMap struct {
	endpoint *customresource.Endpoint
	object   *unstructured.Unstructured
}

// newDefaultedMap makes a map with that many values, each of which has a default with that many entries.
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

// copier is a conversion webhook that changes the version alone.
type copier struct{ runtime.ObjectConvertor }

func (copier) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	out := in.DeepCopyObject().(*unstructured.Unstructured)
	out.SetAPIVersion(to.(fmt.Stringer).String())
	return out, nil
}

// create has the gates evaluated on a copy of the object, which is not stored.
func (m defaultedMap) create(ctx context.Context) error {
	_, request := m.endpoint.Begin(ctx, nil)
	u := m.object.DeepCopy()
	request.Create(u)
	request.Done(ctx, nil)
	if value := u.Object["byName"].(map[string]any)[manyName(0)].(map[string]any); len(value) > 0 {
		return fmt.Errorf("the disabled field is not dropped: %v", value)
	}
	return nil
}

// BenchmarkDefaultsOfVersion is the cost of a request in a version behind a webhook, whose defaults must be told from what
// the client sent: as many values of a map as there are paths elsewhere, with a default of as many fields.
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

// allDropped returns a request for an object all of whose fields are disabled, with a context that is audited.
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
		ctx := audit.WithAuditContext(tb.Context())
		if err := audit.AuditContextFrom(ctx).Init(audit.RequestAuditConfig{Level: auditinternal.LevelMetadata}, nil); err != nil {
			return err
		}
		_, request := endpoint.Begin(ctx, nil)
		request.Create(object.DeepCopy())
		request.Done(ctx, nil)
		if n := auditBytes(ctx); n == 0 || n > 16<<10 {
			return fmt.Errorf("V2: %d bytes of annotations", n)
		}
		return nil
	}
}

// auditBytes returns how much longer the annotations make an entry of the audit log.
func auditBytes(ctx context.Context) int {
	bytes := 0
	for _, value := range audit.AuditContextFrom(ctx).GetEventAnnotations() {
		bytes += len(value)
	}
	return bytes
}

// BenchmarkAllDropped is the cost of a request that all gates of a CRD have something to say of.
func BenchmarkAllDropped(b *testing.B) {
	enableGates(b)
	for _, paths := range boundedSizes {
		do := allDropped(b, paths)
		b.Run(fmt.Sprintf("create/paths=%d", paths), func(b *testing.B) { benchmarkWork(b, do) })
	}
}

// TestR3AllocatedBytesGrowWithTheSize (rules R3, V2) holds without a clock that what is four times as large takes about
// four times the memory, and not sixteen times.
func TestR3AllocatedBytesGrowWithTheSize(t *testing.T) {
	enableGates(t)
	const small, factor, atMost = 512, 4, 5.5
	for claim, work := range map[string]func(size int) func(){
		"a CRD with disabled gates is served": func(size int) func() {
			crd := crdOf(t, manyFields(t, size, entriesFor(size)), manyPaths(size))
			return func() {
				if _, err := serve(crd); err != nil {
					t.Error(err)
				}
			}
		},
		"defaults of disabled fields are dropped": func(size int) func() {
			schema := structuralOf(t, manyFields(t, size, entriesFor(size)))
			plan := fieldgate.Compile(manyPaths(size), schema)
			return func() { plan.WithoutDisabledDefaults(schema) }
		},
		"defaults of a version are told from values": func(size int) func() {
			m := newDefaultedMap(t, size, size)
			return func() {
				if err := m.create(t.Context()); err != nil {
					t.Error(err)
				}
			}
		},
		"all fields are dropped": func(size int) func() {
			do := allDropped(t, size)
			return func() {
				if err := do(); err != nil {
					t.Error(err)
				}
			}
		},
	} {
		t.Run("R3: "+claim, func(t *testing.T) {
			one, four := allocated(work(small)), allocated(work(small*factor))
			if four > atMost*one {
				t.Errorf("%.0f bytes, and %.0f for %d times the size", one, four, factor)
			}
			t.Logf("%.0f bytes, and %.1f times as much for %d times the size", one, four/one, factor)
		})
	}
}

// allocated returns how many bytes a run allocates, the mean of a few.
func allocated(run func()) float64 {
	const runs = 5
	run() // what is made once
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	for range runs {
		run()
	}
	goruntime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / runs
}

// TestInputsOfBounds keeps the benchmarks honest: every path guards something that is in the default, and the CRD fits into
// a request.
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
		t.Errorf("a CRD of %d bytes", len(text))
	}
	schemas, err := serve(crd)
	if err != nil {
		t.Fatal(err)
	}
	left := schemas["v1"].Properties["spec"].Default.Object.(map[string]any)
	if len(left) != 1 || len(left["values"].(map[string]any)) != maxEntries {
		t.Errorf("G8: the default has %d fields", len(left))
	}
}
