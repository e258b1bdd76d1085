// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	openapiv2 "k8s.io/apiextensions-apiserver/pkg/controller/openapi/v2"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
)

const openapiSchemaYAML = `
type: object
properties:
  spec:
    type: object
    properties:
      replicas: {type: integer}
      my.field: {type: string}
      either: {x-kubernetes-int-or-string: true}
      foo:
        type: object
        properties:
          baz: {type: integer}
          qux: {type: object, properties: {quux: {type: integer}}}
      containers:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items: {type: object, required: [name], properties: {name: {type: string}, size: {type: integer}}}
      pools:
        type: object
        additionalProperties: {type: object, properties: {size: {type: integer}}}
      nested:
        type: object
        additionalProperties:
          type: object
          additionalProperties: {type: object, properties: {size: {type: integer}}}
      open: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: integer}}}
      nullable: {type: object, nullable: true, properties: {known: {type: integer}}}
      free: {type: object, additionalProperties: true}
`

// openAPISchema converts openapiSchemaYAML to OpenAPI v2 or v3, as upstream's builder does.
func openAPISchema(t testing.TB, v2 bool) *spec.Schema {
	t.Helper()
	structural := testyaml.Structural(t, openapiSchemaYAML).Unfold()
	if v2 {
		structural = openapiv2.ToStructuralOpenAPIV2(structural)
	}
	schema := structural.ToKubeOpenAPI()
	schema.SetProperty("metadata", *spec.RefSchema("#/definitions/ObjectMeta").WithDescription("Standard object's metadata."))
	return schema
}

// published calls Publish and returns the schema.
func published(schema *spec.Schema, gates *apiextensions.CustomResourceDefinitionFeatureGates) *spec.Schema {
	Publish(schema, gates)
	return schema
}

// marks returns the JSON of OpenAPIExtension of each field in a schema, by the path of the field.
func marks(t testing.TB, schema *spec.Schema) map[string]string {
	t.Helper()
	found := map[string]string{}
	var visit func(path string, s *spec.Schema)
	visit = func(path string, s *spec.Schema) {
		if value, ok := s.Extensions[OpenAPIExtension]; ok {
			text, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			found[path] = string(text)
		}
		for name := range s.Properties {
			property := s.Properties[name]
			visit(path+"."+name, &property)
		}
		if s.Items != nil && s.Items.Schema != nil {
			visit(path+"[*]", s.Items.Schema)
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			visit(path+"[*]", s.AdditionalProperties.Schema)
		}
	}
	visit("", schema)
	return found
}

// unmark removes OpenAPIExtension from all fields in a schema.
func unmark(schema *spec.Schema) {
	if delete(schema.Extensions, OpenAPIExtension); len(schema.Extensions) == 0 {
		schema.Extensions = nil
	}
	for name, property := range schema.Properties {
		unmark(&property)
		schema.Properties[name] = property
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		unmark(schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		unmark(schema.AdditionalProperties.Schema)
	}
}

// deepCopy encodes a schema and decodes it.
func deepCopy(t testing.TB, schema *spec.Schema) *spec.Schema {
	t.Helper()
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	out := &spec.Schema{}
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func asJSON(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPublish(t *testing.T) {
	const replicas = `{featureGates: [{name: G, fieldPaths: [.spec.replicas], `
	for _, tc := range []struct {
		claim  string
		gates  string
		want   map[string]string
		wantV2 map[string]string // nil: as want
	}{
		{
			claim: "G12: an alpha gate is published as disabled, without a component if the CRD has none",
			gates: replicas + `preRelease: alpha}]}`,
			want:  map[string]string{".spec.replicas": `{"enabled":false,"name":"G","preRelease":"alpha"}`},
		},
		{
			claim: "G12: the component is published",
			gates: `{component: istio, featureGates: [{name: G, fieldPaths: [.spec.replicas], preRelease: beta}]}`,
			want:  map[string]string{".spec.replicas": `{"component":"istio","enabled":true,"name":"G","preRelease":"beta"}`},
		},
		{
			claim: "G12: an empty component is left out",
			gates: `{component: "", featureGates: [{name: G, fieldPaths: [.spec.replicas], preRelease: stable}]}`,
			want:  map[string]string{".spec.replicas": `{"enabled":true,"name":"G","preRelease":"stable"}`},
		},
		{
			claim: "C1: enabled takes precedence over default",
			gates: replicas + `preRelease: deprecated, default: true, enabled: false}]}`,
			want:  map[string]string{".spec.replicas": `{"enabled":false,"name":"G","preRelease":"deprecated"}`},
		},
		{
			claim: "C1: a stable gate with enabled: false is published as enabled",
			gates: replicas + `preRelease: stable, enabled: false}]}`,
			want:  map[string]string{".spec.replicas": `{"enabled":true,"name":"G","preRelease":"stable"}`},
		},
		{
			claim: "C8: an enabled gate below a disabled one is published as disabled, at any depth and in any order",
			gates: `{featureGates: [
				{name: Quux, fieldPaths: [.spec.foo.qux.quux], preRelease: stable},
				{name: Qux, fieldPaths: [.spec.foo.qux], preRelease: beta},
				{name: Foo, fieldPaths: [.spec.foo], preRelease: alpha}]}`,
			want: map[string]string{
				".spec.foo":          `{"enabled":false,"name":"Foo","preRelease":"alpha"}`,
				".spec.foo.qux":      `{"enabled":false,"name":"Qux","preRelease":"beta"}`,
				".spec.foo.qux.quux": `{"enabled":false,"name":"Quux","preRelease":"stable"}`,
			},
		},
		{
			claim: "C8: a gate below an enabled one has its own state",
			gates: `{featureGates: [
				{name: Foo, fieldPaths: [.spec.foo], preRelease: beta},
				{name: Baz, fieldPaths: [.spec.foo.baz], preRelease: beta},
				{name: Qux, fieldPaths: [.spec.foo.qux], preRelease: alpha}]}`,
			want: map[string]string{
				".spec.foo":     `{"enabled":true,"name":"Foo","preRelease":"beta"}`,
				".spec.foo.baz": `{"enabled":true,"name":"Baz","preRelease":"beta"}`,
				".spec.foo.qux": `{"enabled":false,"name":"Qux","preRelease":"alpha"}`,
			},
		},
		{
			claim: "C8: a gate of several paths may be enabled at one and disabled at another",
			gates: `{featureGates: [
				{name: Foo, fieldPaths: [.spec.foo], preRelease: alpha},
				{name: G, fieldPaths: [.spec.foo.qux, .spec.replicas], preRelease: beta}]}`,
			want: map[string]string{
				".spec.foo":      `{"enabled":false,"name":"Foo","preRelease":"alpha"}`,
				".spec.foo.qux":  `{"enabled":false,"name":"G","preRelease":"beta"}`,
				".spec.replicas": `{"enabled":true,"name":"G","preRelease":"beta"}`,
			},
		},
		{
			claim: "C8: a disabled gate of a list disables the gates in its items",
			gates: `{featureGates: [
				{name: List, fieldPaths: [.spec.containers], preRelease: alpha},
				{name: Size, fieldPaths: ['.spec.containers[*].size'], preRelease: beta}]}`,
			want: map[string]string{
				".spec.containers":         `{"enabled":false,"name":"List","preRelease":"alpha"}`,
				".spec.containers[*].size": `{"enabled":false,"name":"Size","preRelease":"beta"}`,
			},
		},
		{
			claim: "G12: [*] leads into the items of lists and the values of maps",
			gates: `{featureGates: [{name: G, preRelease: alpha,
				fieldPaths: ['.spec.containers[*].size', '.spec.pools[*].size', '.spec.nested[*][*].size']}]}`,
			want: map[string]string{
				".spec.containers[*].size": `{"enabled":false,"name":"G","preRelease":"alpha"}`,
				".spec.pools[*].size":      `{"enabled":false,"name":"G","preRelease":"alpha"}`,
				".spec.nested[*][*].size":  `{"enabled":false,"name":"G","preRelease":"alpha"}`,
			},
		},
		{
			claim: "C5: a quoted name is published at its property, .name is the same as ['name']",
			gates: `{featureGates: [{name: G, preRelease: alpha, fieldPaths: [".spec['my.field']", ".spec['replicas']"]}]}`,
			want: map[string]string{
				".spec.my.field": `{"enabled":false,"name":"G","preRelease":"alpha"}`,
				".spec.replicas": `{"enabled":false,"name":"G","preRelease":"alpha"}`,
			},
		},
		{
			claim: "G12: a field without a type is published",
			gates: `{featureGates: [{name: G, preRelease: alpha, fieldPaths: [.spec.either, .spec.open, .spec.nullable]}]}`,
			want: map[string]string{
				".spec.either":   `{"enabled":false,"name":"G","preRelease":"alpha"}`,
				".spec.open":     `{"enabled":false,"name":"G","preRelease":"alpha"}`,
				".spec.nullable": `{"enabled":false,"name":"G","preRelease":"alpha"}`,
			},
		},
		{
			claim: "G12: fields that OpenAPI v2 does not have are left out there",
			gates: `{featureGates: [{name: G, preRelease: alpha, fieldPaths: [.spec.open.known, .spec.nullable.known, .spec.replicas]}]}`,
			want: map[string]string{
				".spec.open.known":     `{"enabled":false,"name":"G","preRelease":"alpha"}`,
				".spec.nullable.known": `{"enabled":false,"name":"G","preRelease":"alpha"}`,
				".spec.replicas":       `{"enabled":false,"name":"G","preRelease":"alpha"}`,
			},
			wantV2: map[string]string{".spec.replicas": `{"enabled":false,"name":"G","preRelease":"alpha"}`},
		},
		{
			claim: "G12: paths that the schema does not have are left out",
			gates: `{featureGates: [{name: G, preRelease: alpha, fieldPaths: [
				.spec.absent, .spec.absent.a, .spec.replicas.a, '.spec.replicas[*].a', '.spec[*].a', .spec.containers.size,
				'.spec.foo[*].baz', '.spec.free[*].a', .spec.free.a, '.spec.open[*].a', .spec.open.a, .absent]}]}`,
			want: map[string]string{},
		},
		{
			claim: "G12: a field that refers to another schema is left out, with all fields inside",
			gates: `{featureGates: [{name: G, preRelease: alpha, fieldPaths: [.metadata, .metadata.labels]}]}`,
			want:  map[string]string{},
		},
		{
			claim: "F5: paths that do not parse are left out",
			gates: `{featureGates: [{name: G, preRelease: alpha, fieldPaths: ["", ".", "$", "[*]", "spec", ".spec[0]", .spec.replicas]}]}`,
			want:  map[string]string{".spec.replicas": `{"enabled":false,"name":"G","preRelease":"alpha"}`},
		},
		{
			claim: "G12: if two gates guard a field the first one counts, as in a Plan",
			gates: `{featureGates: [{name: A, preRelease: alpha, fieldPaths: [.spec.foo]}, {name: B, preRelease: beta, fieldPaths: [.spec.foo]}]}`,
			want:  map[string]string{".spec.foo": `{"enabled":false,"name":"A","preRelease":"alpha"}`},
		},
		{
			claim: "C4: a gate without definition guards nothing",
			gates: `{featureGates: [{name: G, enabled: true}]}`,
			want:  map[string]string{},
		},
		{claim: "G12: without gates nothing is published", gates: `{component: istio}`, want: map[string]string{}},
	} {
		for version, want := range map[string]map[string]string{"v2": tc.wantV2, "v3": tc.want} {
			if want == nil {
				want = tc.want
			}
			t.Run(tc.claim+", "+version, func(t *testing.T) {
				gates := parseGates(t, strings.ReplaceAll(tc.gates, "\t", " "))
				schema := published(openAPISchema(t, version == "v2"), gates)
				checkEqual(t, "published", want, marks(t, schema))
				unmark(schema)
				if diff := cmp.Diff(asJSON(t, openAPISchema(t, version == "v2")), asJSON(t, schema)); diff != "" {
					t.Errorf("G12: another part of the schema was changed (-before +after):\n%s", diff)
				}
				once := published(openAPISchema(t, version == "v2"), gates)
				if twice := published(published(openAPISchema(t, version == "v2"), gates), gates); !reflect.DeepEqual(twice, once) {
					t.Errorf("R4: published twice: %s, once: %s", asJSON(t, twice), asJSON(t, once))
				}
			})
		}
	}
}

func TestPublishTolerates(t *testing.T) {
	gates := parseGates(t, `{featureGates: [{name: G, preRelease: alpha,
 fieldPaths: [.a, .a.b, '.a[*].b', '.a[*][*].b', .a.b.c]}]}`)
	cyclic := &spec.Schema{}
	cyclic.Items = &spec.SchemaOrArray{Schema: cyclic}
	cyclic.AdditionalProperties = &spec.SchemaOrBool{Schema: cyclic}
	cyclic.SetProperty("a", spec.Schema{SchemaProps: spec.SchemaProps{Items: cyclic.Items, AdditionalProperties: cyclic.AdditionalProperties}})
	property := func(a spec.Schema) *spec.Schema { return new(spec.Schema).SetProperty("a", a) }
	for _, tc := range []struct {
		claim  string
		schema *spec.Schema
		gates  *apiextensions.CustomResourceDefinitionFeatureGates
	}{
		{"R1: no schema", nil, gates},
		{"R1: neither schema nor gates", nil, nil},
		{"R1: an empty schema", &spec.Schema{}, gates},
		{"R1: no gates", property(spec.Schema{}), &apiextensions.CustomResourceDefinitionFeatureGates{}},
		{"R1: gates without fields", property(spec.Schema{}), &apiextensions.CustomResourceDefinitionFeatureGates{FeatureGates: make([]apiextensions.CustomResourceDefinitionFeatureGate, 2)}},
		{"R1: a property with an empty schema", property(spec.Schema{}), gates},
		{"R1: items without a schema", property(spec.Schema{SchemaProps: spec.SchemaProps{Items: &spec.SchemaOrArray{}}}), gates},
		{"R1: items of several schemas", property(spec.Schema{SchemaProps: spec.SchemaProps{Items: &spec.SchemaOrArray{Schemas: []spec.Schema{{}, {}}}}}), gates},
		{"R1: additionalProperties: true", property(spec.Schema{SchemaProps: spec.SchemaProps{AdditionalProperties: &spec.SchemaOrBool{Allows: true}}}), gates},
		{"R1: additionalProperties: false", property(spec.Schema{SchemaProps: spec.SchemaProps{AdditionalProperties: &spec.SchemaOrBool{}}}), gates},
		{"R1: a schema that contains itself", cyclic, gates},
	} {
		t.Run(tc.claim, func(*testing.T) {
			Publish(tc.schema, tc.gates) // must not panic or hang
		})
	}
}

func TestR2PublishWithoutGatesChangesNothing(t *testing.T) {
	if schema := published(openAPISchema(t, false), nil); !reflect.DeepEqual(schema, openAPISchema(t, false)) {
		t.Error("the schema was changed")
	}
}

// TestPublishCopiesSharedExtensions: upstream's builder shares extensions between schemas (rule R4).
func TestPublishCopiesSharedExtensions(t *testing.T) {
	gates := parseGates(t, `{featureGates: [{name: G, preRelease: alpha, fieldPaths: [.spec.shared]}]}`)
	shared := spec.Schema{VendorExtensible: spec.VendorExtensible{Extensions: spec.Extensions{"x-other": "value"}}}
	schema := new(spec.Schema).SetProperty("spec", *new(spec.Schema).SetProperty("shared", shared))

	Publish(schema, gates)
	if got := schema.Properties["spec"].Properties["shared"].Extensions; got["x-other"] != "value" || got[OpenAPIExtension] == nil {
		t.Errorf("extensions: %v", got)
	}
	if len(shared.Extensions) != 1 {
		t.Errorf("R4: the shared extensions were modified: %v", shared.Extensions)
	}
}

// TestPublishShowsAFlip: the OpenAPI v3 controller compares specs to find out whether one changed (rules G11, G12).
func TestPublishShowsAFlip(t *testing.T) {
	schema := func(enabled bool) *spec.Schema {
		gates := alphaGate(".spec.foo")
		gates.FeatureGates[0].Enabled = &enabled
		return published(openAPISchema(t, false), gates)
	}
	if reflect.DeepEqual(schema(true), schema(false)) {
		t.Error("G11: flipping the gate does not change the schema")
	}
	if !reflect.DeepEqual(schema(true), schema(true)) {
		t.Error("G12: publishing twice gives different schemas")
	}
}

func TestG12PublishedSchemaInEveryEncoding(t *testing.T) {
	gates := parseGates(t, `{component: istio, featureGates: [{name: G, preRelease: alpha, fieldPaths: [.spec.foo]}]}`)
	schema := published(openAPISchema(t, false), gates)
	if diff := cmp.Diff(marks(t, schema), marks(t, deepCopy(t, schema))); diff != "" {
		t.Errorf("JSON (-in +out):\n%s", diff)
	}

	v3, err := handler3.ToV3ProtoBinary([]byte(asJSON(t, &spec3.OpenAPI{
		Version:    "3.0.0",
		Info:       &spec.Info{InfoProps: spec.InfoProps{Title: "t", Version: "v"}},
		Paths:      &spec3.Paths{},
		Components: &spec3.Components{Schemas: map[string]*spec.Schema{"Kind": schema}},
	})))
	if err != nil || !strings.Contains(string(v3), OpenAPIExtension) {
		t.Errorf("protobuf of v3: %v, has the extension: %t", err, strings.Contains(string(v3), OpenAPIExtension))
	}

	v2, err := handler.ToProtoBinary([]byte(asJSON(t, &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger:     "2.0",
		Info:        &spec.Info{InfoProps: spec.InfoProps{Title: "t", Version: "v"}},
		Paths:       &spec.Paths{},
		Definitions: spec.Definitions{"Kind": *published(openAPISchema(t, true), gates)},
	}})))
	if err != nil || !strings.Contains(string(v2), OpenAPIExtension) {
		t.Errorf("protobuf of v2: %v, has the extension: %t", err, strings.Contains(string(v2), OpenAPIExtension))
	}
}

// TestPublishDoesNotChangeTheTypesOfServerSideApply: field management derives its types from OpenAPI (rules C2, G7).
func TestPublishDoesNotChangeTheTypesOfServerSideApply(t *testing.T) {
	gates := parseGates(t, `{component: istio, featureGates: [{name: G, preRelease: alpha,
 fieldPaths: [.spec.foo, .spec.replicas, .spec.open, .spec.either, .spec.pools, .spec.containers, '.spec.containers[*].size', '.spec.pools[*].size']}]}`)
	schema := openAPISchema(t, false)
	plain := applyTypes(t, schema)
	if diff := cmp.Diff(plain, applyTypes(t, published(schema, gates))); diff != "" {
		t.Errorf("G7: types (-without gates +with gates):\n%s", diff)
	}
}

// applyTypes returns the types that server-side apply derives from a schema, as JSON values. All lists are sorted,
// since upstream derives the fields in the order of a Go map.
func applyTypes(t testing.TB, schema *spec.Schema) any {
	t.Helper()
	types, err := schemaconv.ToSchemaFromOpenAPI(map[string]*spec.Schema{"Kind": schema}, false)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal([]byte(asJSON(t, types.Types)), &out); err != nil {
		t.Fatal(err)
	}
	sortLists(t, out)
	return out
}

func sortLists(t testing.TB, value any) {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		for key := range value {
			sortLists(t, value[key])
		}
	case []any:
		for i := range value {
			sortLists(t, value[i])
		}
		slices.SortFunc(value, func(a, b any) int { return strings.Compare(asJSON(t, a), asJSON(t, b)) })
	}
}

func TestEffectiveStates(t *testing.T) {
	for _, tc := range []struct {
		claim string
		gates string
		want  []bool
	}{
		{"C1: a gate that is not nested has its own state", `[{name: A, preRelease: alpha, fieldPaths: [.a]}, {name: B, preRelease: beta, fieldPaths: [.b]}]`, []bool{false, true}},
		{"C8: a gate inside a disabled field is disabled", `[{name: A, preRelease: beta, fieldPaths: [.a.b]}, {name: B, preRelease: alpha, fieldPaths: [.a]}]`, []bool{false, false}},
		{"C8: a gate inside an enabled field has its own state", `[{name: A, preRelease: beta, fieldPaths: [.a.b]}, {name: B, preRelease: stable, fieldPaths: [.a]}]`, []bool{true, true}},
		{"C8: a disabled gate inside an enabled field is disabled", `[{name: A, preRelease: alpha, fieldPaths: [.a.b]}, {name: B, preRelease: beta, fieldPaths: [.a]}]`, []bool{false, true}},
		{"C8: every gate around a field counts, not only the nearest", `[{name: A, preRelease: beta, fieldPaths: [.a.b.c]}, {name: B, preRelease: beta, fieldPaths: [.a.b]}, {name: C, preRelease: alpha, fieldPaths: [.a]}]`, []bool{false, false, false}},
		{"C8: a gate is enabled if one of its paths is not inside a disabled field", `[{name: A, preRelease: beta, fieldPaths: [.a.b, .c]}, {name: B, preRelease: alpha, fieldPaths: [.a]}]`, []bool{true, false}},
		{"C8: a disabled gate of a list disables the gates in its items", `[{name: A, preRelease: beta, fieldPaths: ['.l[*].a']}, {name: B, preRelease: alpha, fieldPaths: [.l]}]`, []bool{false, false}},
		{"C8: a gate of a field whose name is a prefix has no effect", `[{name: A, preRelease: beta, fieldPaths: [.ab.c]}, {name: B, preRelease: alpha, fieldPaths: [.a]}]`, []bool{true, false}},
		{"C8: a gate of a field and of a field inside it has its own state", `[{name: A, preRelease: beta, fieldPaths: [.a, .a.b]}]`, []bool{true}},
		{"C4: a gate without definition is not enabled", `[{name: A, enabled: true}]`, []bool{false}},
		{"F5: a gate whose paths do not parse is not enabled", `[{name: A, preRelease: beta, fieldPaths: [a, ""]}]`, []bool{false}},
		{"C4: the second gate of a path is disabled if the first is", `[{name: A, preRelease: alpha, fieldPaths: [.a]}, {name: B, preRelease: beta, fieldPaths: [.a]}]`, []bool{false, false}},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			gates := parseGates(t, "featureGates: "+tc.gates)
			checkEqual(t, "states", tc.want, EffectiveStates(gates))
		})
	}
	if got := EffectiveStates(nil); got != nil {
		t.Errorf("EffectiveStates(nil) = %v", got)
	}
}
