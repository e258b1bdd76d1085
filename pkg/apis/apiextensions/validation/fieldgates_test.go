// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
)

// expectation is the type and the field of an error.
type expectation struct {
	kind field.ErrorType
	// path is relative to spec.customFeatureGates.
	path string
}

func expect(kind field.ErrorType, path string) expectation {
	return expectation{kind, path}
}

// testErrors compares types, fields and order of errors, and checks that details say what a value must be.
func testErrors(t *testing.T, want []expectation, got field.ErrorList) {
	t.Helper()
	var errs field.ErrorList
	for _, w := range want {
		errs = append(errs, &field.Error{Type: w.kind, Field: strings.TrimSuffix("spec.customFeatureGates."+w.path, ".")})
	}
	field.ErrorMatcher{}.ByType().ByField().Test(t, errs, got)
	for i := range min(len(errs), len(got)) {
		if errs[i].Field != got[i].Field {
			t.Errorf("error %d is at %s, want %s, in the order of the table of rule C4", i, got[i].Field, errs[i].Field)
		}
	}
	for _, err := range got {
		if err.Type == field.ErrorTypeInvalid && !strings.HasPrefix(err.Detail, "must ") {
			t.Errorf("the detail does not begin with must: %v", err)
		}
	}
}

func TestValidateCustomFeatureGates(t *testing.T) {
	schema := testyaml.Schema(t, richSchema)
	const (
		name63 = "a23456789012345678901234567890123456789012345678901234567890123"
		text50 = "12345678901234567890123456789012345678901234567890"
	)
	for _, tc := range []struct {
		claim string
		gates string
		want  []expectation
	}{
		{claim: "C4: no gates at all are accepted", gates: `{}`},
		{claim: "C4: an empty list is accepted", gates: `featureGates: []`},
		{claim: "C4: the example of docs/field-gates.md is accepted", gates: `
component: istio
featureGates:
- {name: ReplicasFeatureGate, enabled: true, default: false, preRelease: alpha, fieldPaths: [.spec.replicas]}
`},
		{claim: "C4: every preRelease is accepted", gates: `
featureGates:
- {name: A, preRelease: alpha, fieldPaths: [.spec.replicas]}
- {name: B, preRelease: beta, fieldPaths: [.spec.foo]}
- {name: C, preRelease: stable, fieldPaths: [.spec.map]}
- {name: D, preRelease: deprecated, default: true, fieldPaths: [.spec.containers]}
- {name: E, preRelease: deprecated, default: false, fieldDeprecationWarning: use foo, fieldPaths: [.spec.size]}
`},

		// component
		{claim: "C4: an empty component is accepted", gates: `component: ""`},
		{claim: "C4: a component with a domain is accepted", gates: `component: networking.istio.io/pilot`},
		{claim: "C4: a component that is not printable is rejected", gates: `component: "a\nb"`,
			want: []expectation{expect(field.ErrorTypeInvalid, "component")}},
		{claim: "C4: a component of 253 bytes is accepted", gates: "component: abc" + strings.Repeat(text50, 5)},
		{claim: "C4: a component of 254 bytes is rejected", gates: "component: abcd" + strings.Repeat(text50, 5),
			want: []expectation{expect(field.ErrorTypeInvalid, "component")}},

		// name
		{claim: "C4: a gate without a name is rejected as Required", gates: `featureGates: [{name: "", preRelease: alpha, fieldPaths: [.spec.foo]}]`,
			want: []expectation{expect(field.ErrorTypeRequired, "featureGates[0].name")}},
		{claim: "C4: two gates without a name are no duplicates", gates: `
featureGates:
- {name: "", preRelease: alpha, fieldPaths: [.spec.foo]}
- {name: "", preRelease: alpha, fieldPaths: [.spec.map]}
`, want: []expectation{expect(field.ErrorTypeRequired, "featureGates[0].name"), expect(field.ErrorTypeRequired, "featureGates[1].name")}},
		{claim: "C4: a name of one letter is accepted", gates: `featureGates: [{name: x, preRelease: alpha, fieldPaths: [.spec.foo]}]`},
		{claim: "C4: a name of 63 characters is accepted", gates: `featureGates: [{name: ` + name63 + `, preRelease: alpha, fieldPaths: [.spec.foo]}]`},
		{claim: "C4: a name of 64 characters is rejected", gates: `featureGates: [{name: ` + name63 + `4, preRelease: alpha, fieldPaths: [.spec.foo]}]`,
			want: []expectation{expect(field.ErrorTypeInvalid, "featureGates[0].name")}},
		{claim: "C4: names with other characters are rejected", gates: `
featureGates:
- {name: 1a, preRelease: alpha, fieldPaths: [.spec.foo]}
- {name: a-b, preRelease: alpha, fieldPaths: [.spec.map]}
- {name: a.b, preRelease: alpha, fieldPaths: [.spec.maps]}
- {name: ä, preRelease: alpha, fieldPaths: [.spec.set]}
- {name: "a\n", preRelease: alpha, fieldPaths: [.spec.size]}
- {name: " a", preRelease: alpha, fieldPaths: [.spec.label]}
`, want: []expectation{
			expect(field.ErrorTypeInvalid, "featureGates[0].name"), expect(field.ErrorTypeInvalid, "featureGates[1].name"),
			expect(field.ErrorTypeInvalid, "featureGates[2].name"), expect(field.ErrorTypeInvalid, "featureGates[3].name"),
			expect(field.ErrorTypeInvalid, "featureGates[4].name"), expect(field.ErrorTypeInvalid, "featureGates[5].name"),
		}},
		{claim: "C4: a second and a third gate with the same name are duplicates", gates: `
featureGates:
- {name: A, preRelease: alpha, fieldPaths: [.spec.foo]}
- {name: A, preRelease: alpha, fieldPaths: [.spec.map]}
- {name: A, enabled: true}
`, want: []expectation{expect(field.ErrorTypeDuplicate, "featureGates[1].name"), expect(field.ErrorTypeDuplicate, "featureGates[2].name")}},
		{claim: "C4: names that only differ in case are no duplicates", gates: `
featureGates:
- {name: A, preRelease: alpha, fieldPaths: [.spec.foo]}
- {name: a, preRelease: alpha, fieldPaths: [.spec.map]}
`},

		// preRelease
		{claim: "C4: a gate without preRelease is rejected as Required", gates: `featureGates: [{name: A, fieldPaths: [.spec.foo]}]`,
			want: []expectation{expect(field.ErrorTypeRequired, "featureGates[0].preRelease")}},
		{claim: "C4: an unknown preRelease is rejected as NotSupported", gates: `
featureGates:
- {name: A, preRelease: gamma, fieldPaths: [.spec.foo]}
- {name: B, preRelease: Alpha, default: true, fieldPaths: [.spec.map]}
`, want: []expectation{expect(field.ErrorTypeNotSupported, "featureGates[0].preRelease"), expect(field.ErrorTypeNotSupported, "featureGates[1].preRelease")}},

		// the gate without definition
		{claim: "C4: a gate with name and enabled alone is accepted", gates: `featureGates: [{name: A, enabled: true}, {name: B, enabled: false}]`},
		{claim: "C4: a gate with enabled alone is rejected, since it has no name", gates: `featureGates: [{name: "", enabled: true}]`,
			want: []expectation{expect(field.ErrorTypeRequired, "featureGates[0].name")}},
		{claim: "C4: a gate with a name alone needs a definition", gates: `featureGates: [{name: A}]`,
			want: []expectation{expect(field.ErrorTypeRequired, "featureGates[0].preRelease"), expect(field.ErrorTypeRequired, "featureGates[0].fieldPaths")}},
		{claim: "C4: a gate with name, enabled and default needs a definition", gates: `featureGates: [{name: A, enabled: true, default: true}]`,
			want: []expectation{expect(field.ErrorTypeRequired, "featureGates[0].preRelease"), expect(field.ErrorTypeRequired, "featureGates[0].fieldPaths")}},

		// fieldPaths
		{claim: "C4: a gate without fieldPaths is rejected as Required", gates: `featureGates: [{name: A, preRelease: alpha}, {name: B, preRelease: beta, enabled: true, fieldPaths: []}]`,
			want: []expectation{expect(field.ErrorTypeRequired, "featureGates[0].fieldPaths"), expect(field.ErrorTypeRequired, "featureGates[1].fieldPaths")}},
		{claim: "C4: the error of an invalid path has its index", gates: `featureGates: [{name: A, preRelease: alpha, fieldPaths: [.spec.foo, spec, .spec.x, .spec.type]}]`,
			want: []expectation{
				expect(field.ErrorTypeInvalid, "featureGates[0].fieldPaths[1]"), expect(field.ErrorTypeInvalid, "featureGates[0].fieldPaths[2]"),
				expect(field.ErrorTypeInvalid, "featureGates[0].fieldPaths[3]"),
			}},
		{claim: "C4: the same path twice in a gate is a duplicate, however it is written", gates: `featureGates: [{name: A, preRelease: alpha, fieldPaths: [.spec.foo, .spec.foo, ".spec['foo']"]}]`,
			want: []expectation{expect(field.ErrorTypeDuplicate, "featureGates[0].fieldPaths[1]"), expect(field.ErrorTypeDuplicate, "featureGates[0].fieldPaths[2]")}},
		{claim: "C4: the same path in two gates is a duplicate, however it is written", gates: `
featureGates:
- {name: A, preRelease: alpha, fieldPaths: [".spec['foo']['bar']"]}
- {name: B, preRelease: alpha, fieldPaths: [.spec.map, .spec.foo.bar]}
`, want: []expectation{expect(field.ErrorTypeDuplicate, "featureGates[1].fieldPaths[1]")}},
		{claim: "C4: an invalid path is reported as invalid once, then as a duplicate", gates: `
featureGates:
- {name: A, preRelease: alpha, fieldPaths: [.spec.x]}
- {name: B, preRelease: alpha, fieldPaths: [.spec.x]}
`, want: []expectation{expect(field.ErrorTypeInvalid, "featureGates[0].fieldPaths[0]"), expect(field.ErrorTypeDuplicate, "featureGates[1].fieldPaths[0]")}},
		{claim: "C5: a path may be a prefix of a path of an earlier or a later gate", gates: `
featureGates:
- {name: A, preRelease: alpha, fieldPaths: [.spec.foo.bar]}
- {name: B, preRelease: beta, fieldPaths: [.spec]}
- {name: C, preRelease: alpha, fieldPaths: [.spec.foo]}
- {name: D, preRelease: alpha, fieldPaths: [.spec.containers, ".spec.containers[*].debug"]}
`},

		// fieldDeprecationWarning
		{claim: "C4: a fieldDeprecationWarning is forbidden unless preRelease is deprecated", gates: `
featureGates:
- {name: A, preRelease: alpha, fieldDeprecationWarning: no, fieldPaths: [.spec.foo]}
- {name: B, preRelease: beta, fieldDeprecationWarning: no, fieldPaths: [.spec.map]}
- {name: C, preRelease: stable, fieldDeprecationWarning: "", fieldPaths: [.spec.set]}
- {name: D, preRelease: gone, fieldDeprecationWarning: no, fieldPaths: [.spec.size]}
- {name: E, enabled: true, fieldDeprecationWarning: no}
`, want: []expectation{
			expect(field.ErrorTypeForbidden, "featureGates[0].fieldDeprecationWarning"), expect(field.ErrorTypeForbidden, "featureGates[1].fieldDeprecationWarning"),
			expect(field.ErrorTypeForbidden, "featureGates[2].fieldDeprecationWarning"),
			expect(field.ErrorTypeNotSupported, "featureGates[3].preRelease"), expect(field.ErrorTypeForbidden, "featureGates[3].fieldDeprecationWarning"),
			expect(field.ErrorTypeRequired, "featureGates[4].preRelease"), expect(field.ErrorTypeRequired, "featureGates[4].fieldPaths"),
			expect(field.ErrorTypeForbidden, "featureGates[4].fieldDeprecationWarning"),
		}},
		{claim: "C4: an empty fieldDeprecationWarning is invalid", gates: `featureGates: [{name: A, preRelease: deprecated, default: true, fieldDeprecationWarning: "", fieldPaths: [.spec.foo]}]`,
			want: []expectation{expect(field.ErrorTypeInvalid, "featureGates[0].fieldDeprecationWarning")}},
		{claim: "C4: a fieldDeprecationWarning of 256 bytes is accepted", gates: `featureGates: [{name: A, preRelease: deprecated, default: true, fieldDeprecationWarning: "ab cde` + strings.Repeat(text50, 5) + `", fieldPaths: [.spec.foo]}]`},
		{claim: "C4: a fieldDeprecationWarning of 257 bytes is invalid", gates: `featureGates: [{name: A, preRelease: deprecated, default: true, fieldDeprecationWarning: "ab cdeü` + strings.Repeat(text50, 5) + `", fieldPaths: [.spec.foo]}]`,
			want: []expectation{expect(field.ErrorTypeInvalid, "featureGates[0].fieldDeprecationWarning")}},
		{claim: "C4: a fieldDeprecationWarning that is not printable is invalid", gates: `
featureGates:
- {name: A, preRelease: deprecated, default: true, fieldDeprecationWarning: "a\nb", fieldPaths: [.spec.foo]}
- {name: B, preRelease: deprecated, default: true, fieldDeprecationWarning: "a\u200bb", fieldPaths: [.spec.map]}
`, want: []expectation{expect(field.ErrorTypeInvalid, "featureGates[0].fieldDeprecationWarning"), expect(field.ErrorTypeInvalid, "featureGates[1].fieldDeprecationWarning")}},
		{claim: "C4: a fieldDeprecationWarning in any script is accepted", gates: `featureGates: [{name: A, preRelease: deprecated, default: true, fieldDeprecationWarning: "nicht länger 使用", fieldPaths: [.spec.foo]}]`},

		// default
		{claim: "C4: a default that agrees with preRelease is accepted", gates: `
featureGates:
- {name: A, preRelease: alpha, default: false, fieldPaths: [.spec.foo]}
- {name: B, preRelease: beta, default: false, fieldPaths: [.spec.map]}
- {name: C, preRelease: stable, default: true, fieldPaths: [.spec.set]}
`},
		{claim: "C4: a default that contradicts preRelease is invalid", gates: `
featureGates:
- {name: A, preRelease: alpha, default: true, fieldPaths: [.spec.foo]}
- {name: B, preRelease: beta, default: true, fieldPaths: [.spec.map]}
- {name: C, preRelease: stable, default: false, fieldPaths: [.spec.set]}
`, want: []expectation{
			expect(field.ErrorTypeInvalid, "featureGates[0].default"), expect(field.ErrorTypeInvalid, "featureGates[1].default"),
			expect(field.ErrorTypeInvalid, "featureGates[2].default"),
		}},
		{claim: "C4: a deprecated gate without default is rejected as Required, with or without enabled", gates: `
featureGates:
- {name: A, preRelease: deprecated, fieldPaths: [.spec.foo]}
- {name: B, preRelease: deprecated, enabled: true, fieldPaths: [.spec.map]}
`, want: []expectation{expect(field.ErrorTypeRequired, "featureGates[0].default"), expect(field.ErrorTypeRequired, "featureGates[1].default")}},
		{claim: "C7: stable with enabled: false is accepted", gates: `featureGates: [{name: A, preRelease: stable, enabled: false, fieldPaths: [.spec.foo]}]`},

		{claim: "C4: errors have the order of the table", gates: `
component: "\u0000"
featureGates:
- {name: "-", preRelease: stable, default: false, fieldDeprecationWarning: x, fieldPaths: [x, .spec.foo, .spec.foo]}
- {name: "-", default: true, fieldDeprecationWarning: x}
`, want: []expectation{
			expect(field.ErrorTypeInvalid, "component"),
			expect(field.ErrorTypeInvalid, "featureGates[0].name"),
			expect(field.ErrorTypeInvalid, "featureGates[0].fieldPaths[0]"), expect(field.ErrorTypeDuplicate, "featureGates[0].fieldPaths[2]"),
			expect(field.ErrorTypeForbidden, "featureGates[0].fieldDeprecationWarning"), expect(field.ErrorTypeInvalid, "featureGates[0].default"),
			expect(field.ErrorTypeInvalid, "featureGates[1].name"), expect(field.ErrorTypeDuplicate, "featureGates[1].name"),
			expect(field.ErrorTypeRequired, "featureGates[1].preRelease"), expect(field.ErrorTypeRequired, "featureGates[1].fieldPaths"),
			expect(field.ErrorTypeForbidden, "featureGates[1].fieldDeprecationWarning"),
		}},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			testErrors(t, tc.want, ValidateCustomFeatureGates(specOf(schema, gatesOf(t, tc.gates)), specPath))
		})
	}
}

func TestValidateCustomFeatureGatesTexts(t *testing.T) {
	schema := testyaml.Schema(t, richSchema)
	for _, tc := range []struct {
		claim, gates, want string
	}{
		{"C4: an invalid name", `featureGates: [{name: a-b, preRelease: alpha, fieldPaths: [.spec.foo]}]`,
			`spec.customFeatureGates.featureGates[0].name: Invalid value: "a-b": must start with a letter, consist of letters and digits, and have at most 63 characters`},
		{"C4: an unknown preRelease", `featureGates: [{name: A, preRelease: GA, fieldPaths: [.spec.foo]}]`,
			`spec.customFeatureGates.featureGates[0].preRelease: Unsupported value: "GA": supported values: "alpha", "beta", "stable", "deprecated"`},
		{"C4: a path guarded twice", `featureGates: [{name: A, preRelease: alpha, fieldPaths: [.spec.foo]}, {name: B, preRelease: alpha, fieldPaths: [".spec['foo']"]}]`,
			`spec.customFeatureGates.featureGates[1].fieldPaths[0]: Duplicate value: ".spec['foo']": must not be guarded twice: spec.customFeatureGates.featureGates[0].fieldPaths[0] guards it already`},
		{"C4: a default that contradicts preRelease", `featureGates: [{name: A, preRelease: beta, default: true, fieldPaths: [.spec.foo]}]`,
			`spec.customFeatureGates.featureGates[0].default: Invalid value: true: must be false or left out when preRelease is beta`},
		{"C4: a warning that is not printable", `featureGates: [{name: A, preRelease: deprecated, default: true, fieldDeprecationWarning: "a\tb", fieldPaths: [.spec.foo]}]`,
			`spec.customFeatureGates.featureGates[0].fieldDeprecationWarning: Invalid value: "a\tb": must only contain printable characters, unlike the one at byte 1`},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			errs := ValidateCustomFeatureGates(specOf(schema, gatesOf(t, tc.gates)), specPath)
			if len(errs) != 1 || errs[0].Error() != tc.want {
				t.Errorf("got  %v\nwant %s", errs, tc.want)
			}
		})
	}
}

// TestValidateInvalidUTF8 uses Go values, because YAML cannot contain invalid UTF-8.
func TestValidateInvalidUTF8(t *testing.T) {
	gates := &fairlead.CustomResourceDefinitionFeatureGates{
		Component: new("a\xff"),
		FeatureGates: []fairlead.CustomResourceDefinitionFeatureGate{{
			Name: "A\xff", PreRelease: fairlead.PreReleaseDeprecated, Default: new(true),
			FieldDeprecationWarning: new("\xff"), FieldPaths: []string{".spec\xff"},
		}},
	}
	testErrors(t, []expectation{
		expect(field.ErrorTypeInvalid, "component"),
		expect(field.ErrorTypeInvalid, "featureGates[0].name"),
		expect(field.ErrorTypeInvalid, "featureGates[0].fieldPaths[0]"),
		expect(field.ErrorTypeInvalid, "featureGates[0].fieldDeprecationWarning"),
	}, ValidateCustomFeatureGates(specOf(testyaml.Schema(t, richSchema), gates), specPath))
}

func TestValidateWithoutGates(t *testing.T) {
	spec := specOf(testyaml.Schema(t, richSchema), nil)
	if errs := ValidateCustomFeatureGates(spec, specPath); errs != nil {
		t.Errorf("R2: %v without customFeatureGates", errs)
	}
	if errs := ValidateCustomFeatureGates(nil, specPath); errs != nil {
		t.Errorf("R1: %v without a spec", errs)
	}
	if n := testing.AllocsPerRun(10, func() {
		ValidateCustomFeatureGates(spec, specPath)
		WarningsForCustomFeatureGates(spec, spec, specPath)
	}); n != 0 {
		t.Errorf("R2: %v allocations without customFeatureGates", n)
	}
}

func TestStorageSchema(t *testing.T) {
	const withFoo = `{type: object, properties: {spec: {type: object, properties: {foo: {type: string}}}}}`
	v1 := func(schema string) apiextensions.CustomResourceDefinitionVersion { return versionOf(t, "v1", schema) }
	storedV2 := func(schema string) apiextensions.CustomResourceDefinitionVersion {
		return storageVersionOf(t, "v2", schema)
	}
	perVersion := func(versions ...apiextensions.CustomResourceDefinitionVersion) *apiextensions.CustomResourceDefinitionSpec {
		return &apiextensions.CustomResourceDefinitionSpec{Versions: versions}
	}
	shared := func(schema string) *apiextensions.CustomResourceDefinitionSpec {
		return specOf(testyaml.Schema(t, schema), nil)
	}
	with := func(spec *apiextensions.CustomResourceDefinitionSpec, change func(*apiextensions.CustomResourceDefinitionSpec)) *apiextensions.CustomResourceDefinitionSpec {
		change(spec)
		return spec
	}
	for _, tc := range []struct {
		claim       string
		spec        *apiextensions.CustomResourceDefinitionSpec
		detail      string // of the Forbidden error; empty if there is none
		invalidPath bool   // whether .spec.foo does not resolve
	}{
		{claim: "C5: a schema that all versions share is used", spec: shared(withFoo)},
		{claim: "C5: the schema of the storage version is used", spec: perVersion(v1(`{type: object}`), storedV2(withFoo))},
		{claim: "C5: the schema of another version is not used", spec: perVersion(v1(withFoo), storedV2(`{type: object}`)), invalidPath: true},
		{claim: "C4: preserveUnknownFields: false is accepted", spec: with(shared(withFoo), func(s *apiextensions.CustomResourceDefinitionSpec) { s.PreserveUnknownFields = new(false) })},
		{claim: "C4: preserveUnknownFields: true is forbidden",
			spec:   with(shared(withFoo), func(s *apiextensions.CustomResourceDefinitionSpec) { s.PreserveUnknownFields = new(true) }),
			detail: "must not be given with preserveUnknownFields: true: set it to false and give the storage version a structural schema"},
		{claim: "C4: x-kubernetes-preserve-unknown-fields at the root is forbidden",
			spec:   shared(`{type: object, x-kubernetes-preserve-unknown-fields: true}`),
			detail: `must not be given with x-kubernetes-preserve-unknown-fields at the root: in the schema of storage version "v1" set it on fields only`},
		{claim: "C4: a CRD without a schema is forbidden", spec: with(shared(`{}`), func(s *apiextensions.CustomResourceDefinitionSpec) { s.Validation = nil }),
			detail: `must not be given without a schema: give storage version "v1" a structural schema`},
		{claim: "C4: an empty validation is forbidden", spec: with(shared(`{}`), func(s *apiextensions.CustomResourceDefinitionSpec) { s.Validation.OpenAPIV3Schema = nil }),
			detail: `must not be given without a schema: give storage version "v1" a structural schema`},
		{claim: "C4: a storage version without a schema is forbidden", spec: perVersion(v1(withFoo), storedV2("")),
			detail: `must not be given without a schema: give storage version "v2" a structural schema`},
		{claim: "C4: a CRD without a storage version is forbidden", spec: perVersion(v1(withFoo)),
			detail: "must not be given without a storage version: mark one version with storage: true"},
		{claim: "C4: a schema without types is forbidden, since it is not structural", spec: shared(`{properties: {spec: {type: object}}}`),
			detail: `must not be given without a structural schema: that of storage version "v1" is not structural: openAPIV3Schema.type: Required value: must not be empty at the root`},
		{claim: "C4: a field that is only declared under anyOf is forbidden, since it is not structural", spec: shared(`{type: object, anyOf: [{properties: {x: {}}}]}`),
			detail: `must not be given without a structural schema: that of storage version "v1" is not structural: openAPIV3Schema.properties[x]: Required value: because it is defined in openAPIV3Schema.anyOf[0].properties[x]`},
		{claim: "R1: a schema with $ref is forbidden, since it is not structural", spec: shared(`{type: object, properties: {spec: {$ref: '#'}}}`),
			detail: `must not be given without a structural schema: that of storage version "v1" is not structural: OpenAPIV3Schema '$ref' is not supported`},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			tc.spec.CustomFeatureGates = alphaGate(".spec.foo")
			var want []expectation
			if tc.invalidPath {
				want = append(want, expect(field.ErrorTypeInvalid, "featureGates[0].fieldPaths[0]"))
			}
			if tc.detail != "" {
				want = append(want, expect(field.ErrorTypeForbidden, ""))
			}
			errs := ValidateCustomFeatureGates(tc.spec, specPath)
			testErrors(t, want, errs)
			if tc.detail != "" && len(errs) == 1 && errs[0].Detail != tc.detail {
				t.Errorf("detail is %q, want %q", errs[0].Detail, tc.detail)
			}
		})
	}
}

func TestStorageVersionWithoutSchema(t *testing.T) {
	for _, tc := range []struct {
		claim string
		gates string
		want  []expectation
	}{
		{claim: "C4: without a schema everything else is validated, and Forbidden is the last error", gates: `
featureGates:
- {name: A, preRelease: alpha, fieldPaths: [.spec.foo, .spec.any, ".spec['foo']", .metadata, ".spec.list[*]", x]}
- {name: A, preRelease: beta, default: true}
`, want: []expectation{
			expect(field.ErrorTypeDuplicate, "featureGates[0].fieldPaths[2]"), expect(field.ErrorTypeInvalid, "featureGates[0].fieldPaths[3]"),
			expect(field.ErrorTypeInvalid, "featureGates[0].fieldPaths[4]"), expect(field.ErrorTypeInvalid, "featureGates[0].fieldPaths[5]"),
			expect(field.ErrorTypeDuplicate, "featureGates[1].name"), expect(field.ErrorTypeRequired, "featureGates[1].fieldPaths"),
			expect(field.ErrorTypeInvalid, "featureGates[1].default"), expect(field.ErrorTypeForbidden, ""),
		}},
		{claim: "C4: a gate without definition needs no schema", gates: `featureGates: [{name: A, enabled: true}]`},
		{claim: "C4: an empty list of gates needs no schema", gates: `{component: istio, featureGates: []}`},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			spec := &apiextensions.CustomResourceDefinitionSpec{
				Versions:           []apiextensions.CustomResourceDefinitionVersion{storageVersionOf(t, "v1", "")},
				CustomFeatureGates: gatesOf(t, tc.gates),
			}
			testErrors(t, tc.want, ValidateCustomFeatureGates(spec, specPath))
		})
	}
}

// manyGates returns gates with paths below .spec.free, where any name resolves.
func manyGates(gates, paths int) *fairlead.CustomResourceDefinitionFeatureGates {
	list := &fairlead.CustomResourceDefinitionFeatureGates{}
	for i := range gates {
		gate := fairlead.CustomResourceDefinitionFeatureGate{Name: fmt.Sprintf("G%d", i), PreRelease: fairlead.PreReleaseAlpha}
		for j := range paths {
			gate.FieldPaths = append(gate.FieldPaths, fmt.Sprintf(".spec.free.g%d.p%d", i, j))
		}
		list.FeatureGates = append(list.FeatureGates, gate)
	}
	return list
}

// hostileSpec returns a CRD with as many invalid paths as possible, and very long names and types.
func hostileSpec() *apiextensions.CustomResourceDefinitionSpec {
	huge := strings.Repeat("x", 1<<20)
	required := apiextensions.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	for i := range 200_000 {
		required.Required = append(required.Required, fmt.Sprint("r", i))
	}
	list := apiextensions.JSONSchemaProps{Type: "array", XListType: &huge, Items: &apiextensions.JSONSchemaPropsOrArray{
		Schema: &apiextensions.JSONSchemaProps{Type: "object"},
	}}
	schema := &apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{
		"spec": required, "s": {Type: huge}, "l": list,
	}}

	gates := manyGates(128, 0)
	for i := range gates.FeatureGates {
		gate := &gates.FeatureGates[i]
		for j := range 128 {
			paths := []string{fmt.Sprintf(".s.p%d.%d", i, j), fmt.Sprintf(".l[*].p%d.%d", i, j), fmt.Sprintf(".spec.r%d", i*128+j), ".dup"}
			gate.FieldPaths = append(gate.FieldPaths, paths[j%len(paths)])
		}
	}
	gates.FeatureGates[0].Name = huge
	spec := specOf(schema, gates)
	spec.Versions[0].Name = huge
	return spec
}

func TestValidateLimits(t *testing.T) {
	schema := testyaml.Schema(t, richSchema)
	pathOf := func(n int) string { return ".spec.free." + strings.Repeat("x", n-len(".spec.free.")) }
	deep := &apiextensions.JSONSchemaProps{Type: "object"}
	for range 5000 {
		deep = &apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{"a": *deep}}
	}

	for _, tc := range []struct {
		claim string
		spec  *apiextensions.CustomResourceDefinitionSpec
		want  []expectation
		count int // the number of errors, instead of want
	}{
		{claim: "C4: 128 gates of 128 paths are accepted", spec: specOf(schema, manyGates(128, 128))},
		{claim: "C4: 129 gates are too many", spec: specOf(schema, manyGates(129, 1)), want: []expectation{expect(field.ErrorTypeTooMany, "featureGates")}},
		{claim: "R1: 10000 gates are too many, and none of them is validated", spec: specOf(schema, manyGates(10_000, 0)), want: []expectation{expect(field.ErrorTypeTooMany, "featureGates")}},
		{claim: "C4: 129 paths in a gate are too many", spec: specOf(schema, manyGates(1, 129)), want: []expectation{expect(field.ErrorTypeTooMany, "featureGates[0].fieldPaths")}},
		{claim: "R1: 100000 paths in a gate are too many", spec: specOf(schema, manyGates(1, 100_000)), want: []expectation{expect(field.ErrorTypeTooMany, "featureGates[0].fieldPaths")}},
		{claim: "C4: a path of 512 bytes is accepted", spec: specOf(schema, alphaGate(pathOf(512)))},
		{claim: "C4: a path of 513 bytes is too long", spec: specOf(schema, alphaGate(pathOf(513), pathOf(513))),
			want: []expectation{expect(field.ErrorTypeTooLong, "featureGates[0].fieldPaths[0]"), expect(field.ErrorTypeTooLong, "featureGates[0].fieldPaths[1]")}},
		{claim: "R1: a path of a megabyte is too long", spec: specOf(schema, alphaGate(strings.Repeat("[", 1<<20))),
			want: []expectation{expect(field.ErrorTypeTooLong, "featureGates[0].fieldPaths[0]")}},
		{claim: "R1: a path through a deep schema is accepted", spec: specOf(deep, alphaGate(strings.Repeat(".a", 256)))},
		{claim: "R1: errors do not quote the long names and types of a hostile CRD", spec: hostileSpec(), count: 128*128 + 1},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			start := time.Now()
			errs := ValidateCustomFeatureGates(tc.spec, specPath)
			took := time.Since(start)
			if tc.count == 0 {
				testErrors(t, tc.want, errs)
			} else if len(errs) != tc.count {
				t.Errorf("%d errors, want %d", len(errs), tc.count)
			}
			size := 0
			for _, err := range errs {
				size += len(err.Detail)
			}
			if size > 8<<20 {
				t.Errorf("the details of the errors have %d bytes in total", size)
			}
			if took > 10*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}
