// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
)

// servedSpec returns a spec in which all versions are served except for the named ones.
func servedSpec(t *testing.T, versions []warnedVersion, unserved ...string) *apiextensions.CustomResourceDefinitionSpec {
	t.Helper()
	spec := warnedSpec(t, versions)
	for i := range spec.Versions {
		spec.Versions[i].Served = true
		for _, name := range unserved {
			spec.Versions[i].Served = spec.Versions[i].Served && spec.Versions[i].Name != name
		}
	}
	return spec
}

func TestU2AServedVersionWithoutTheUnionWarns(t *testing.T) {
	union := gitOrS3(values(`type: string, enum: [Git, S3]`))
	plain := gitOrS3(`type: string, enum: [Git, S3]`)
	number := gitOrS3(`type: integer`)
	without := inSpec(`properties: {git: {type: object}, s3: {type: object}}`)
	preserving := inSpec(`x-kubernetes-preserve-unknown-fields: true`)
	deep := func(discriminator string) string {
		object := `{type: object, properties: {t: {type: string, enum: [A]` + discriminator + `}}}`
		return inSpec(`properties: {list: {type: array, items: ` + object + `}, map: {type: object, additionalProperties: ` + object + `}}`)
	}
	const deepUnion = `, x-kubernetes-unions: {fieldMembers: {A: {}, "": {}}}`
	warning := func(i int, path, with, version string) string {
		return fmt.Sprintf(`spec.versions[%d].schema.openAPIV3Schema.properties[spec]%s: has no x-kubernetes-unions, unlike version %q: `+
			`a write in version %q goes round the union`, i, path, with, version)
	}
	const atType = ".properties[type]"
	two := func(first, second string) []warnedVersion { return []warnedVersion{{"v1", first}, {"v2", second}} }

	for _, tc := range []struct {
		claim       string
		old, new    []warnedVersion // old is nil on create
		unserved    []string
		oldUnserved []string
		want        []string
	}{
		{claim: "U2: a version that has the property without the union warns", new: two(union, plain), want: []string{warning(1, atType, "v1", "v2")}},
		{claim: "U2: a version before the version with the union warns", new: two(plain, union), want: []string{warning(0, atType, "v2", "v1")}},
		{claim: "U2: a version with another type of the property warns", new: two(union, number), want: []string{warning(1, atType, "v1", "v2")}},
		{claim: "U2: every such version warns, once", new: []warnedVersion{{"v1", union}, {"v2", plain}, {"v3", union}, {"v4", plain}},
			want: []string{warning(1, atType, "v1", "v2"), warning(3, atType, "v1", "v4")}},
		{claim: "U2: properties in items and in values of maps warn", new: two(deep(deepUnion), deep("")), want: []string{
			warning(1, ".properties[list].items.properties[t]", "v1", "v2"),
			warning(1, ".properties[map].additionalProperties.properties[t]", "v1", "v2"),
		}},
		{claim: "U2: a version without the unions of two others warns about both", new: []warnedVersion{
			{"v1", deep(deepUnion)}, {"v2", union},
			{"v3", inSpec(`properties: {type: {type: string}, map: {type: object, additionalProperties: {type: object, properties: {t: {type: string}}}}}`)},
		}, want: []string{
			warning(2, ".properties[map].additionalProperties.properties[t]", "v1", "v3"), warning(2, atType, "v2", "v3"),
		}},

		{claim: "U2: the union in both versions draws no warning", new: two(union, gitOrS3(members(`Git: {name: git}, S3: {}`)))},
		{claim: "U2: a version without the property draws no warning", new: two(union, without)},
		{claim: "U2: a version that preserves the property as an unknown field draws no warning", new: two(union, preserving)},
		{claim: "U2: the property at another position draws no warning", new: two(union, strings.Replace(plain, "spec:", "status:", 1))},
		{claim: "U2: a version that is not served draws no warning", new: two(union, plain), unserved: []string{"v2"}},
		{claim: "U2: a version warns even if the version with the union is not served", new: two(union, plain), unserved: []string{"v1"}, want: []string{warning(1, atType, "v1", "v2")}},
		{claim: "U2: no union in any version draws no warning", new: two(plain, number)},

		{claim: "U2: a version that already lacked the union draws no warning again", old: two(union, plain), new: two(union, plain)},
		{claim: "U2: a version that already lacked the union draws no warning if its schema changes", old: two(union, plain), new: two(union, number)},
		{claim: "U2: versions are matched by name", old: two(union, plain), new: []warnedVersion{{"v2", plain}, {"v1", union}}},
		{claim: "U2: renaming the version with the union draws no warning again", old: two(union, plain), new: []warnedVersion{{"v3", union}, {"v2", plain}}},
		{claim: "U2: adding a union to one version warns about the other", old: two(plain, plain), new: two(union, plain), want: []string{warning(1, atType, "v1", "v2")}},
		{claim: "U2: removing the union from one version warns about that version", old: two(union, union), new: two(union, plain), want: []string{warning(1, atType, "v1", "v2")}},
		{claim: "U2: adding the property without the union warns", old: two(union, without), new: two(union, plain), want: []string{warning(1, atType, "v1", "v2")}},
		{claim: "U2: adding a version without the union warns", old: []warnedVersion{{"v1", union}}, new: two(union, plain), want: []string{warning(1, atType, "v1", "v2")}},
		{claim: "U2: serving a version without the union warns", old: two(union, plain), oldUnserved: []string{"v2"}, new: two(union, plain), want: []string{warning(1, atType, "v1", "v2")}},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			var old *apiextensions.CustomResourceDefinitionSpec
			if tc.old != nil {
				old = servedSpec(t, tc.old, tc.oldUnserved...)
			}
			got := WarningsForUnions(servedSpec(t, tc.new, tc.unserved...), old, specPath)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestU2OnlyConversionNoneWarns(t *testing.T) {
	versions := []warnedVersion{
		{"v1", gitOrS3(values(`type: string, enum: [Git, S3]`))}, {"v2", gitOrS3(`type: string, enum: [Git, S3]`)},
	}
	with := func(strategy apiextensions.ConversionStrategyType) *apiextensions.CustomResourceDefinitionSpec {
		spec := servedSpec(t, versions)
		spec.Conversion = &apiextensions.CustomResourceConversion{Strategy: strategy}
		return spec
	}
	none, webhook := with(apiextensions.NoneConverter), with(apiextensions.WebhookConverter)
	for _, tc := range []struct {
		claim    string
		new, old *apiextensions.CustomResourceDefinitionSpec
		want     int
	}{
		{"U2: conversion None warns", none, nil, 1},
		{"U2: conversion by a webhook draws no warning", webhook, nil, 0},
		{"U2: a change from a webhook to None warns", none, webhook, 1},
		{"U2: a change from None to a webhook draws no warning", webhook, none, 0},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			if got := WarningsForUnions(tc.new, tc.old, specPath); len(got) != tc.want {
				t.Errorf("warnings: %q", got)
			}
		})
	}
}

// TestR1ManyVersionsWithUnions checks that the cost does not grow with the number of versions times the number of
// unions (rule R1).
func TestR1ManyVersionsWithUnions(t *testing.T) {
	spec := &apiextensions.CustomResourceDefinitionSpec{}
	for i := range 2000 {
		schema := gitOrS3(values(`type: string, enum: [Git, S3]`))
		if i%2 == 0 {
			schema = gitOrS3(`type: string`)
		}
		schema = strings.Replace(schema, "spec:", fmt.Sprintf("s%d:", i/2), 1)
		version := warnedSpec(t, []warnedVersion{{fmt.Sprintf("v%d", i), schema}})
		spec.Versions = append(spec.Versions, apiextensions.CustomResourceDefinitionVersion{
			Name: version.Versions[0].Name, Served: true, Schema: version.Validation,
		})
	}
	start := time.Now()
	got := WarningsForUnions(spec, spec, specPath)
	if len(got) != 0 {
		t.Errorf("a write without a change introduces %d warnings", len(got))
	}
	if got = WarningsForUnions(spec, nil, specPath); len(got) != maxUnionWarnings+1 {
		t.Errorf("%d warnings, want %d", len(got), maxUnionWarnings+1)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}
