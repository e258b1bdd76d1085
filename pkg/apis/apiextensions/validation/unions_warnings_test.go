// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
)

// warnedVersion is a version of a CRD with its schema in YAML.
type warnedVersion struct{ name, schema string }

// warnedSpec returns a spec as upstream's conversion creates it: a schema that all versions share is in
// spec.validation.
func warnedSpec(t *testing.T, versions []warnedVersion) *apiextensions.CustomResourceDefinitionSpec {
	t.Helper()
	spec := &apiextensions.CustomResourceDefinitionSpec{}
	same := true
	for _, v := range versions {
		spec.Versions = append(spec.Versions, versionOf(t, v.name, v.schema))
		same = same && v.schema == versions[0].schema
	}
	if same {
		spec.Validation = spec.Versions[0].Schema
		for i := range spec.Versions {
			spec.Versions[i].Schema = nil
		}
	}
	return spec
}

func TestWarningsForUnions(t *testing.T) {
	valid := gitOrS3(values(`type: string, enum: [Git, S3]`))
	mismatch := gitOrS3(members(`Git: {name: s3}, S3: {name: git}`))
	gitOnly := gitOrS3(members(`Git: {name: s3}, S3: {}`))
	byDefault := gitOrS3(values(`type: string, default: Git, enum: [Git, S3]`))
	otherDefault := gitOrS3(values(`type: string, default: S3, enum: [Git, S3]`))
	plainDefault := gitOrS3(`type: string, default: Git, enum: [Git, S3]`)

	at := func(version int) string {
		return fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema.properties[spec].properties[type]", version)
	}
	nameOf := func(version int, value, name string) string {
		return fmt.Sprintf(`%s.x-kubernetes-unions.fieldMembers[%s].name: member %q does not match its value %q: by convention only case differs`,
			at(version), value, name, value)
	}
	selects := func(version int, value string) string {
		return fmt.Sprintf(`%s.default: a client that leaves out the discriminator of a union selects %q`, at(version), value)
	}
	v1 := func(schema string) []warnedVersion { return []warnedVersion{{"v1", schema}} }

	for _, tc := range []struct {
		claim    string
		old, new []warnedVersion // old is nil on create
		want     []string
	}{
		{claim: "U2: an ordinary union draws no warning", new: v1(valid)},
		{claim: "U2: a value without a member draws no warning", new: v1(gitOrS3(members(`Git: {name: git}, S3: {}`)))},
		{claim: "U2: names that differ in case draw no warning", new: v1(inSpec(`required: [type], properties: {
type: {type: string, enum: [ROLLINGUPDATE], x-kubernetes-unions: {fieldMembers: {ROLLINGUPDATE: {name: rollingUpdate}}}}, rollingUpdate: {type: object}}`))},
		{claim: "U2: names that do not match their values warn", new: v1(mismatch), want: []string{nameOf(0, "Git", "s3"), nameOf(0, "S3", "git")}},
		{claim: `U2: a member of the value "" warns`,
			new:  v1(gitOrS3(`type: string, enum: [Git], x-kubernetes-unions: {fieldMembers: {Git: {name: git}, "": {name: s3}}}`)),
			want: []string{nameOf(0, "", "s3")}},
		{claim: "U2: a discriminator with a default warns", new: v1(byDefault), want: []string{selects(0, "Git")}},
		{claim: "U2: a default of null draws no warning", new: v1(gitOrS3(values(`type: string, nullable: true, default: null, enum: [Git, S3]`)))},
		{claim: "U2: a default of another property draws no warning", new: v1(plainDefault)},
		{claim: "U2: unions in items and map values warn", new: v1(inSpec(`properties: {
list: {type: array, items: {type: object, properties: {t: {type: string, default: A, enum: [A], x-kubernetes-unions: {fieldMembers: {A: {}}}}}}},
map: {type: object, additionalProperties: {type: object, properties: {t: {type: string, default: A, enum: [A], x-kubernetes-unions: {fieldMembers: {A: {}}}}}}}}`)), want: []string{
			`spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[list].items.properties[t].default: a client that leaves out the discriminator of a union selects "A"`,
			`spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[map].additionalProperties.properties[t].default: a client that leaves out the discriminator of a union selects "A"`,
		}},

		{claim: "U2: each of several versions with the same schema warns", new: []warnedVersion{{"v1", byDefault}, {"v2", byDefault}},
			want: []string{selects(0, "Git"), selects(1, "Git")}},
		{claim: "U2: versions with different schemas have their own warnings", new: []warnedVersion{{"v1", valid}, {"v2", byDefault}, {"v3", gitOnly}},
			want: []string{selects(1, "Git"), nameOf(2, "Git", "s3")}},

		{claim: "U2: a persisted mismatch draws no warning again", old: v1(mismatch), new: v1(mismatch)},
		{claim: "U2: a persisted default draws no warning again", old: v1(byDefault), new: v1(byDefault)},
		{claim: "U2: changing the default warns", old: v1(byDefault), new: v1(otherDefault), want: []string{selects(0, "S3")}},
		{claim: "U2: adding a default warns", old: v1(valid), new: v1(byDefault), want: []string{selects(0, "Git")}},
		{claim: "U2: adding a union to a property with a default warns", old: v1(plainDefault), new: v1(byDefault), want: []string{selects(0, "Git")}},
		{claim: "U2: only a value with a new member warns", old: v1(gitOnly), new: v1(mismatch), want: []string{nameOf(0, "S3", "git")}},
		{claim: "U2: changing one mismatch to another warns", old: v1(gitOnly), new: v1(gitOrS3(members(`Git: {name: repo}, S3: {}`))), want: []string{nameOf(0, "Git", "repo")}},
		{claim: "U2: moving a union warns", old: v1(byDefault), new: v1(strings.Replace(byDefault, "spec:", "status:", 1)),
			want: []string{strings.Replace(selects(0, "Git"), "[spec]", "[status]", 1)}},
		{claim: "U2: versions are matched by name, not by index", old: []warnedVersion{{"v1", byDefault}, {"v2", valid}}, new: []warnedVersion{{"v2", valid}, {"v1", byDefault}}},
		{claim: "U2: adding a version warns", old: v1(byDefault), new: []warnedVersion{{"v1", byDefault}, {"v2", byDefault}}, want: []string{selects(1, "Git")}},
		{claim: "U2: a persisted default draws no warning again if versions stop sharing their schema", old: []warnedVersion{{"v1", byDefault}, {"v2", byDefault}}, new: []warnedVersion{{"v1", byDefault}, {"v2", valid}}},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			var old *apiextensions.CustomResourceDefinitionSpec
			if tc.old != nil {
				old = warnedSpec(t, tc.old)
			}
			if diff := cmp.Diff(tc.want, WarningsForUnions(warnedSpec(t, tc.new), old, specPath)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWarningsForManyUnions(t *testing.T) {
	schemaWith := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("v%d: {name: m%d}", i, i))
		}
		return gitOrS3(`x-kubernetes-unions: {fieldMembers: {` + strings.Join(list, ", ") + `}}`)
	}
	for _, tc := range []struct {
		claim     string
		unions, n int
		last      string
	}{
		{"R1: 20 warnings are given in full", 20, 20, "spec.versions[0]"},
		{"R1: the last of 21 warnings is counted", 21, 21, "spec: further warnings on x-kubernetes-unions: 1"},
		{"R1: most of 1000 warnings are counted", 1000, 21, "spec: further warnings on x-kubernetes-unions: 980"},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			got := WarningsForUnions(warnedSpec(t, []warnedVersion{{"v1", schemaWith(tc.unions)}}), nil, specPath)
			if len(got) != tc.n || !strings.HasPrefix(got[len(got)-1], tc.last) {
				t.Errorf("%d warnings: %q", len(got), got)
			}
		})
	}
}

func TestWarningsWithoutUnions(t *testing.T) {
	empty := &apiextensions.CustomResourceDefinitionSpec{Versions: []apiextensions.CustomResourceDefinitionVersion{
		{Name: "v1"}, {Name: "v2", Schema: &apiextensions.CustomResourceValidation{}},
	}}
	byDefault := warnedSpec(t, []warnedVersion{{"v1", gitOrS3(values(`type: string, default: Git, enum: [Git, S3]`))}})
	for _, tc := range []struct {
		claim    string
		new, old *apiextensions.CustomResourceDefinitionSpec
		want     int
	}{
		{"R1: no spec draws no warning", nil, byDefault, 0},
		{"R1: versions without schemas draw no warning", empty, byDefault, 0},
		{"R1: adding a schema warns", byDefault, empty, 1},
		{"R1: adding a version warns", byDefault, &apiextensions.CustomResourceDefinitionSpec{}, 1},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			if got := WarningsForUnions(tc.new, tc.old, specPath); len(got) != tc.want {
				t.Errorf("warnings: %q", got)
			}
		})
	}
}
