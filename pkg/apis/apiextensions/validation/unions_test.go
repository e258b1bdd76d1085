// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
)

// The paths of most errors in these tests.
const (
	atRoot    = "spec.validation.openAPIV3Schema"
	atSpec    = atRoot + ".properties[spec]"
	atType    = atSpec + ".properties[type]"
	atUnion   = atType + ".x-kubernetes-unions"
	atMembers = atUnion + ".fieldMembers"
)

// The texts of errors. Tests add the path and, where a text lacks them, the type and the value.
const (
	mustBeString   = "must be string, as for every discriminator of a union"
	mustHaveEnum   = "Required value: must list the values of the discriminator, which are the keys of x-kubernetes-unions.fieldMembers"
	mustHaveValues = "Required value: must have fieldMembers, which map each value of the enum to the member that it selects, as in Git: {name: git}"
	mustSelect     = ` must select something also when it is left out: add "type" to required of its object, or give it a default, or add the key "" to x-kubernetes-unions.fieldMembers`
	mustNotBeMeta  = "must not be apiVersion, kind or metadata of a resource: name another property"
	mustNotBeSelf  = "must not be the discriminator itself: name a property beside it"
	mustNotSelect  = "must not be the discriminator of another union: name another property"
	notInMeta      = "Forbidden: must not stand in apiVersion, kind or metadata of a resource: set it on a property beside them"
	notAProperty   = "Forbidden: must stand on a property of an object, the discriminator: set it there, on a property of type string"
)

func keyMissing(value string) string {
	return `Required value: must have the value "` + value + `" of the enum as a key of fieldMembers: add it, with {} if it selects no member, or remove it from the enum`
}

func enumMissing(key string) string {
	return `Invalid value: "` + key + `": must have the key "` + key + `" of x-kubernetes-unions.fieldMembers: add it to the enum, or remove the key`
}

func notDeclared(name string) string {
	return `Invalid value: "` + name + `": must be a property of the object that has the discriminator: declare it beside "type", or correct the name`
}

func notUnder(junctor string) string {
	return "Forbidden: must not stand under " + junctor + ": set it on the property itself"
}

func isRequired(name string) string {
	return `Invalid value: "` + name + `": must not be required, as it is absent unless selected: remove "` + name + `" from required of the object`
}

func withDefault(name string) string {
	return `Invalid value: "` + name + `": must not have a default, which would set it when it is not selected: remove default from property "` + name + `"`
}

func gitNamedTwice(first string) string {
	return `Duplicate value: "git": must not be named twice: ` + first + " names it already"
}

// inSpec returns the schema of a custom resource with the given schema of .spec.
func inSpec(schema string) string {
	return `{type: object, properties: {spec: {type: object, ` + schema + `}}}`
}

// gitOrS3 returns the schema of a custom resource with the discriminator .spec.type, and git and s3 for members.
func gitOrS3(discriminator string) string {
	return inSpec(`required: [type], properties: {type: {` + discriminator + `}, git: {type: object}, s3: {type: object}}`)
}

// members returns a discriminator with the values Git and S3 and the given fieldMembers.
func members(fieldMembers string) string {
	return `type: string, enum: [Git, S3], x-kubernetes-unions: {fieldMembers: {` + fieldMembers + `}}`
}

// values returns a discriminator with the given schema, whose keys Git and S3 select git and s3.
func values(schema string) string {
	return schema + `, x-kubernetes-unions: {fieldMembers: {Git: {name: git}, S3: {name: s3}}}`
}

// testUnions compares the texts and the order of errors.
func testUnions(t *testing.T, spec *apiextensions.CustomResourceDefinitionSpec, want []string) {
	t.Helper()
	var got []string
	for _, err := range ValidateUnions(spec, specPath) {
		got = append(got, err.Error())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

// TestUnionsAccepted also checks that the schemas are structural.
func TestUnionsAccepted(t *testing.T) {
	const (
		discriminator = `{type: string, enum: [Git, S3], x-kubernetes-unions: {fieldMembers: {Git: {name: git}, S3: {name: s3}}}}`
		union         = `type: object, required: [type], properties: {type: ` + discriminator + `, git: {type: object}, s3: {type: string}}`
	)
	for _, tc := range []struct{ claim, schema string }{
		{"U1: the union of docs/unions.md", inSpec(`
required: [type], properties: {
  type: {type: string, enum: [Git, S3, None], x-kubernetes-unions: {fieldMembers: {Git: {name: git}, S3: {name: s3, optional: true}, None: {}}}},
  git: {type: object},
  s3: {type: object}}`)},
		{"U1: null for a value without a member", gitOrS3(members(`Git: {name: git}, S3: null`))},
		{"U1: several unions in an object", inSpec(`
required: [type, other], properties: {
  type: {type: string, enum: [Git, S3], x-kubernetes-unions: {fieldMembers: {Git: {name: git}, S3: {name: s3}}}},
  git: {type: object},
  s3: {type: object},
  other: {type: string, enum: [A, B], x-kubernetes-unions: {fieldMembers: {A: {name: a}, B: {name: b}}}},
  a: {type: string},
  b: {type: integer}}`)},
		{"U1: a union at the root", `{` + union + `}`},
		{"U1: a union in list items", inSpec(`properties: {list: {type: array, items: {` + union + `}}}`)},
		{"U1: a union in list map items, with the key as discriminator", inSpec(
			`properties: {list: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [type], items: {` + union + `}}}`)},
		{"U1: a union in map values", inSpec(`properties: {map: {type: object, additionalProperties: {` + union + `}}}`)},
		{"U1: a union in a map of lists of maps", inSpec(
			`properties: {deep: {type: object, additionalProperties: {type: array, items: {type: object, additionalProperties: {` + union + `}}}}}`)},
		{"U1: a union in a member of a union", inSpec(`
required: [type], properties: {
  type: {type: string, enum: [Git], x-kubernetes-unions: {fieldMembers: {Git: {name: git}}}},
  git: {` + union + `}}`)},
		{"U2: a member with the name of a discriminator in another object", inSpec(`
required: [type], properties: {
  type: {type: string, enum: [Git], x-kubernetes-unions: {fieldMembers: {Git: {name: kind}}}},
  kind: {type: object, required: [kind], properties: {
    kind: {type: string, enum: [A], x-kubernetes-unions: {fieldMembers: {A: {}}}}}}}`)},
		{"U1: unions with the same names in different objects", inSpec(`properties: {a: {` + union + `}, b: {` + union + `}}`)},
		{"U1: a union in status", `{type: object, properties: {status: {` + union + `}}}`},
		{"U1: a union in an embedded resource", inSpec(
			`properties: {template: {x-kubernetes-embedded-resource: true, ` + union + `}}`)},
		{"U1: a union below an embedded resource", inSpec(
			`properties: {template: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {` + union + `}}}}`)},
		{"U1: a union in an object that preserves unknown fields", inSpec(`properties: {free: {x-kubernetes-preserve-unknown-fields: true, ` + union + `}}`)},

		{"U2: an enum under allOf", gitOrS3(values(`type: string, allOf: [{enum: [Git, S3]}]`))},
		{"U2: an enum under an allOf of an allOf", gitOrS3(values(`type: string, allOf: [{}, {allOf: [{enum: [Git, S3]}]}]`))},
		{"U2: an enum and one under allOf, which are intersected", gitOrS3(values(`type: string, enum: [Git, S3, Svn], allOf: [{enum: [Oci, Git, S3]}]`))},
		{"U2: several enums under allOf, which are intersected", gitOrS3(values(`type: string, allOf: [{enum: [Git, S3, Svn]}, {enum: [S3, Git], allOf: [{enum: [Oci, Git, S3]}]}]`))},
		{"U2: an empty enum beside one under allOf", gitOrS3(values(`type: string, enum: [], allOf: [{enum: [Git, S3]}]`))},
		{"U2: an enum with a value twice", gitOrS3(values(`type: string, enum: [S3, Git, S3]`))},
		{"U2: null in the enum of a nullable discriminator", gitOrS3(values(`type: string, nullable: true, enum: [Git, S3, null]`))},
		{"U2: values of other types that not all enums have", gitOrS3(values(`type: string, enum: [Git, S3, 1, null, {a: b}], allOf: [{enum: [Git, S3, 2]}]`))},

		{`U2: "" as a key and in the enum`, inSpec(`
properties: {
  type: {type: string, enum: [Git, ""], x-kubernetes-unions: {fieldMembers: {Git: {name: git}, "": {}}}},
  git: {type: object}}`)},
		{`U2: "" as a key that is not in the enum`, inSpec(`
properties: {
  type: {type: string, enum: [Git], x-kubernetes-unions: {fieldMembers: {Git: {name: git}, "": {}}}},
  git: {type: object}}`)},
		{`U2: "" as a key that selects a member`, inSpec(`
properties: {
  type: {type: string, enum: [Git], x-kubernetes-unions: {fieldMembers: {Git: {name: git}, "": {name: none}}}},
  git: {type: object},
  none: {type: object}}`)},
		{`U2: "" as a key of a required discriminator`, gitOrS3(
			`type: string, enum: [Git, S3, ""], x-kubernetes-unions: {fieldMembers: {Git: {name: git}, S3: {name: s3}, "": {}}}`)},
		{"U2: an optional discriminator with a default", inSpec(`
properties: {
  type: {type: string, default: Git, enum: [Git, S3], x-kubernetes-unions: {fieldMembers: {Git: {name: git}, S3: {name: s3}}}},
  git: {type: object},
  s3: {type: object}}`)},
		{"U2: a required discriminator with a default", gitOrS3(values(`type: string, default: S3, enum: [Git, S3]`))},
		{"U2: a union without any members", gitOrS3(members(`Git: {}, S3: {}`))},
		{"U2: a default below a member", inSpec(`
required: [type], properties: {
  type: {type: string, enum: [Git], x-kubernetes-unions: {fieldMembers: {Git: {name: git}}}},
  git: {type: object, required: [url], properties: {url: {type: string, default: "https://example.com"}}}}`)},
		{"U2: a member whose default is null, which has no effect", inSpec(`
required: [type], properties: {
  type: {type: string, enum: [Git], x-kubernetes-unions: {fieldMembers: {Git: {name: git}}}},
  git: {type: object, nullable: true, default: null}}`)},
		{"U2: a member that is required under allOf of the object only", inSpec(`
required: [type], allOf: [{required: [git]}], properties: {
  type: {type: string, enum: [Git], x-kubernetes-unions: {fieldMembers: {Git: {name: git}}}},
  git: {type: object}}`)},
		{"U2: members with the names kind and metadata of an object that is not a resource", inSpec(`
required: [type], properties: {
  type: {type: string, enum: [kind, metadata], x-kubernetes-unions: {fieldMembers: {kind: {name: kind}, metadata: {name: metadata}}}},
  kind: {type: string},
  metadata: {type: object}}`)},
		{"U2: a discriminator with the name kind of an object that is not a resource", inSpec(`
required: [kind], properties: {
  kind: {type: string, enum: [Git], x-kubernetes-unions: {fieldMembers: {Git: {name: git}}}},
  git: {type: object}}`)},
		{"U2: an enum under anyOf beside the enum", gitOrS3(values(`type: string, enum: [Git, S3], anyOf: [{enum: [Git]}, {pattern: S}]`))},
		{"U2: a schema without a union", inSpec(`properties: {type: {type: string}}`)},
	} {
		t.Run(tc.claim+" is accepted", func(t *testing.T) {
			schema := testyaml.Schema(t, tc.schema)
			testUnions(t, specOf(schema, nil), nil)
			structural, err := structuralschema.NewStructural(schema)
			if err != nil {
				t.Fatal(err)
			}
			if errs := structuralschema.ValidateStructural(field.NewPath("schema"), structural); len(errs) != 0 {
				t.Errorf("the schema is not structural: %v", errs)
			}
		})
	}
}

func TestUnionsRejected(t *testing.T) {
	const (
		git   = `{type: string, enum: [Git], x-kubernetes-unions: {fieldMembers: {Git: {name: git}}}}`
		union = `type: object, required: [type], properties: {type: ` + git + `, git: {type: object}}`
	)
	for _, tc := range []struct {
		claim  string
		schema string
		want   []string
	}{
		// The discriminator.
		{"U2: a discriminator with another type", gitOrS3(values(`type: integer, enum: [Git, S3]`)),
			[]string{atType + `.type: Invalid value: "integer": ` + mustBeString}},
		{"U2: a discriminator without a type", gitOrS3(values(`x-kubernetes-preserve-unknown-fields: true, enum: [Git, S3]`)),
			[]string{atType + ".type: Required value: " + mustBeString}},
		{"U2: an int-or-string discriminator", gitOrS3(values(`x-kubernetes-int-or-string: true, enum: [Git, S3]`)),
			[]string{atType + ".type: Required value: " + mustBeString}},
		{"U2: a discriminator without an enum", gitOrS3(values(`type: string`)),
			[]string{atType + ".enum: " + mustHaveEnum}},
		{"U2: an empty enum", gitOrS3(values(`type: string, enum: []`)),
			[]string{atType + ".enum: " + mustHaveEnum}},
		{"U2: an enum under anyOf and oneOf only", gitOrS3(values(`type: string, anyOf: [{enum: [Git, S3]}], oneOf: [{enum: [Git, S3]}], not: {enum: [Git]}`)),
			[]string{atType + ".enum: " + mustHaveEnum}},
		{"U2: an enum under anyOf of allOf only", gitOrS3(values(`type: string, allOf: [{anyOf: [{enum: [Git, S3]}]}]`)),
			[]string{atType + ".enum: " + mustHaveEnum}},
		{"U2: null in the enum of a discriminator that is not nullable", gitOrS3(values(`type: string, enum: [Git, S3, null]`)),
			[]string{atType + `.enum: Invalid value: "null": must only have strings: remove null, or set nullable: true`}},
		{"U2: values of other types in the enum", gitOrS3(values(`type: string, enum: [{a: 1}, Git, 1, S3, yes]`)), []string{
			atType + `.enum: Invalid value: "1": must only have strings: quote or remove 1`,
			atType + `.enum: Invalid value: "true": must only have strings: quote or remove true`,
			atType + `.enum: Invalid value: "{\"a\":1}": must only have strings: quote or remove {"a":1}`,
		}},
		{"U2: an optional discriminator without a default or the key \"\"", inSpec(`properties: {type: ` + git + `, git: {type: object}}`),
			[]string{atType + `: Invalid value: "type":` + mustSelect}},
		{"U2: an optional discriminator whose default is null", inSpec(`
properties: {
  type: {type: string, nullable: true, default: null, enum: [Git], x-kubernetes-unions: {fieldMembers: {Git: {name: git}}}},
  git: {type: object}}`),
			[]string{atType + `: Invalid value: "type":` + mustSelect}},
		{"U2: a discriminator that is required under allOf and anyOf of the object only", inSpec(`allOf: [{required: [type]}], anyOf: [{required: [type]}], properties: {type: ` + git + `, git: {type: object}}`),
			[]string{atType + `: Invalid value: "type":` + mustSelect}},
		{`U2: an optional discriminator with "" in the enum only`, inSpec(`
properties: {
  type: {type: string, enum: [Git, ""], x-kubernetes-unions: {fieldMembers: {Git: {name: git}}}},
  git: {type: object}}`),
			[]string{atUnion + ": " + keyMissing(""), atType + `: Invalid value: "type":` + mustSelect}},

		// The values.
		{"U2: no fieldMembers", gitOrS3(`type: string, enum: [Git, S3], x-kubernetes-unions: {}`),
			[]string{atUnion + ": " + mustHaveValues}},
		{"U2: empty fieldMembers", gitOrS3(members(``)),
			[]string{atUnion + ": " + mustHaveValues}},
		{"U2: fieldMembers of null", gitOrS3(`type: string, enum: [Git, S3], x-kubernetes-unions: {fieldMembers: null}`),
			[]string{atUnion + ": " + mustHaveValues}},
		{"U2: keys that the enum does not have", gitOrS3(values(`type: string, enum: [git]`)), []string{
			atType + ".enum: " + enumMissing("Git"), atType + ".enum: " + enumMissing("S3"), atUnion + ": " + keyMissing("git"),
		}},
		{"U2: values of the enum without a key", gitOrS3(values(`type: string, enum: [Svn, S3, Git, Oci]`)),
			[]string{atUnion + ": " + keyMissing("Oci"), atUnion + ": " + keyMissing("Svn")}},
		{"U2: keys that the enum under allOf does not have", gitOrS3(values(`type: string, allOf: [{enum: [Git]}]`)),
			[]string{atType + ".enum: " + enumMissing("S3")}},
		{"U2: a key that only one of two enums has", gitOrS3(values(`type: string, enum: [Git, S3], allOf: [{enum: [Git]}]`)),
			[]string{atType + ".enum: " + enumMissing("S3")}},
		{"U2: enums without a common value", gitOrS3(values(`type: string, enum: [Git], allOf: [{enum: [S3]}]`)),
			[]string{atType + ".enum: " + enumMissing("Git"), atType + ".enum: " + enumMissing("S3")}},

		// The members.
		{"U2: a member that is not declared", gitOrS3(members(`Git: {name: git}, S3: {name: s4}`)),
			[]string{atMembers + "[S3].name: " + notDeclared("s4")}},
		{"U2: a member that is declared in another object", inSpec(`
required: [type], properties: {
  type: ` + git + `,
  inner: {type: object, properties: {git: {type: object}}}}`),
			[]string{atMembers + "[Git].name: " + notDeclared("git")}},
		{"U2: a member that is declared under allOf only", inSpec(`required: [type], allOf: [{properties: {git: {}}}], properties: {type: ` + git + `}`),
			[]string{atMembers + "[Git].name: " + notDeclared("git")}},
		{"U2: a member that is not declared in an object that preserves unknown fields", inSpec(`x-kubernetes-preserve-unknown-fields: true, required: [type], properties: {type: ` + git + `}`),
			[]string{atMembers + "[Git].name: " + notDeclared("git")}},
		{"U2: the discriminator as a member", gitOrS3(members(`Git: {name: git}, S3: {name: type}`)),
			[]string{atMembers + `[S3].name: Invalid value: "type": ` + mustNotBeSelf}},
		{"U2: a required discriminator of another union as a member", inSpec(`
required: [type, other], properties: {
  type: {type: string, enum: [Git], x-kubernetes-unions: {fieldMembers: {Git: {name: other}}}},
  other: {type: string, enum: [A], x-kubernetes-unions: {fieldMembers: {A: {}}}}}`),
			[]string{atMembers + `[Git].name: Invalid value: "other": ` + mustNotSelect}},
		{"U2: two discriminators as members of each other", inSpec(`
properties: {
  type: {type: string, enum: [A], x-kubernetes-unions: {fieldMembers: {A: {name: other}, "": {}}}},
  other: {type: string, enum: [A], x-kubernetes-unions: {fieldMembers: {A: {name: type}, "": {}}}}}`), []string{
			atSpec + `.properties[other].x-kubernetes-unions.fieldMembers[A].name: Invalid value: "type": ` + mustNotSelect,
			atMembers + `[A].name: Invalid value: "other": ` + mustNotSelect,
		}},
		{"U2: the discriminator of another union as two members", inSpec(`
required: [type], properties: {
  type: {type: string, enum: [A, B], x-kubernetes-unions: {fieldMembers: {A: {name: other}, B: {name: other, optional: true}}}},
  other: {type: string, default: A, enum: [A], x-kubernetes-unions: {fieldMembers: {A: {}}}}}`), []string{
			atMembers + `[A].name: Invalid value: "other": ` + mustNotSelect,
			atMembers + `[B].name: Invalid value: "other": ` + mustNotSelect,
		}},
		{"U2: a required member", inSpec(`required: [git, type], properties: {type: ` + git + `, git: {type: object}}`),
			[]string{atMembers + "[Git].name: " + isRequired("git")}},
		{"U2: a member with a default", inSpec(`required: [type], properties: {type: ` + git + `, git: {type: object, default: {}}}`),
			[]string{atMembers + "[Git].name: " + withDefault("git")}},
		{"U2: a member that is required and has a default", inSpec(`required: [type, git], properties: {type: ` + git + `, git: {type: string, default: ""}}`),
			[]string{atMembers + "[Git].name: " + isRequired("git"), atMembers + "[Git].name: " + withDefault("git")}},
		{"U2: a member named twice in a union", gitOrS3(members(`S3: {name: git}, Git: {name: git}`)),
			[]string{atMembers + "[S3].name: " + gitNamedTwice(atMembers+"[Git].name")}},
		{"U2: a member named three times in a union", gitOrS3(
			`type: string, enum: [A, B, C], x-kubernetes-unions: {fieldMembers: {A: {name: git}, B: {name: git}, C: {name: git}}}`), []string{
			atMembers + "[B].name: " + gitNamedTwice(atMembers+"[A].name"), atMembers + "[C].name: " + gitNamedTwice(atMembers+"[A].name"),
		}},
		{"U2: a member named in two unions of an object", inSpec(`
required: [kind, type], properties: {
  type: ` + git + `,
  kind: {type: string, enum: [A], x-kubernetes-unions: {fieldMembers: {A: {name: git}}}},
  git: {type: object}}`),
			[]string{atMembers + "[Git].name: " + gitNamedTwice(atSpec+".properties[kind].x-kubernetes-unions.fieldMembers[A].name")}},
		{"U2: an optional member without a name", gitOrS3(members(`Git: {name: git}, S3: {optional: true}`)),
			[]string{atMembers + "[S3].name: Required value: must be given with optional: true: name the member, or remove optional"}},

		// The position.
		{"U2: a union on the root", `{type: object, x-kubernetes-unions: {fieldMembers: {Git: {name: git}}}}`,
			[]string{atRoot + ".x-kubernetes-unions: " + notAProperty}},
		{"U2: a union on items", inSpec(`properties: {list: {type: array, items: ` + git + `}}`),
			[]string{atSpec + ".properties[list].items.x-kubernetes-unions: " + notAProperty}},
		{"U2: a union on map values", inSpec(`properties: {map: {type: object, additionalProperties: ` + git + `}}`),
			[]string{atSpec + ".properties[map].additionalProperties.x-kubernetes-unions: " + notAProperty}},
		{"U2: unions under allOf, anyOf, oneOf and not", inSpec(`
allOf: [{}, {properties: {type: ` + git + `}}], anyOf: [{properties: {type: ` + git + `}}], oneOf: [` + git + `], not: {properties: {type: ` + git + `}}`), []string{
			atSpec + ".not.properties[type].x-kubernetes-unions: " + notUnder("not"),
			atSpec + ".allOf[1].properties[type].x-kubernetes-unions: " + notUnder("allOf"),
			atSpec + ".anyOf[0].properties[type].x-kubernetes-unions: " + notUnder("anyOf"),
			atSpec + ".oneOf[0].x-kubernetes-unions: " + notUnder("oneOf"),
		}},
		{"U2: a union under allOf of the discriminator", gitOrS3(`type: string, enum: [Git], allOf: [` + git + `]`),
			[]string{atType + ".allOf[0].x-kubernetes-unions: " + notUnder("allOf")}},
		{"U2: unions deep under not", inSpec(`not: {properties: {a: {items: {` + union + `, allOf: [` + git + `]}}, b: {additionalProperties: {` + union + `}}}}`), []string{
			atSpec + ".not.properties[a].items.properties[type].x-kubernetes-unions: " + notUnder("not"),
			atSpec + ".not.properties[a].items.allOf[0].x-kubernetes-unions: " + notUnder("not"),
			atSpec + ".not.properties[b].additionalProperties.properties[type].x-kubernetes-unions: " + notUnder("not"),
		}},
		{"U2: a union in metadata", `{type: object, properties: {metadata: {type: object, properties: {name: ` + git + `}}}}`,
			[]string{atRoot + ".properties[metadata].properties[name].x-kubernetes-unions: " + notInMeta}},
		{"U2: a union deep in metadata", `{type: object, properties: {metadata: {type: object, properties: {labels: {type: object, additionalProperties: {` + union + `}}}}}}`,
			[]string{atRoot + ".properties[metadata].properties[labels].additionalProperties.properties[type].x-kubernetes-unions: " + notInMeta}},
		{"U2: a union in metadata of an embedded resource", inSpec(`
properties: {list: {type: array, items: {type: object, x-kubernetes-embedded-resource: true, properties: {metadata: {` + union + `}}}}}`),
			[]string{atSpec + ".properties[list].items.properties[metadata].properties[type].x-kubernetes-unions: " + notInMeta}},
		{"U2: apiVersion, kind and metadata as discriminators", `{type: object, properties: {apiVersion: ` + git + `, kind: ` + git + `, metadata: ` + git + `}}`, []string{
			atRoot + ".properties[apiVersion].x-kubernetes-unions: " + notInMeta, atRoot + ".properties[kind].x-kubernetes-unions: " + notInMeta,
			atRoot + ".properties[metadata].x-kubernetes-unions: " + notInMeta,
		}},
		{"U2: kind of an embedded resource as the discriminator", inSpec(`x-kubernetes-embedded-resource: true, properties: {kind: ` + git + `}`),
			[]string{atSpec + ".properties[kind].x-kubernetes-unions: " + notInMeta}},
		{"U2: apiVersion, kind and metadata as members", `
{type: object, required: [type], properties: {
  type: {type: string, enum: [A, B, C], x-kubernetes-unions: {fieldMembers: {A: {name: apiVersion}, B: {name: kind}, C: {name: metadata}}}},
  metadata: {type: object}}}`, []string{
			atRoot + `.properties[type].x-kubernetes-unions.fieldMembers[A].name: Invalid value: "apiVersion": ` + mustNotBeMeta,
			atRoot + `.properties[type].x-kubernetes-unions.fieldMembers[B].name: Invalid value: "kind": ` + mustNotBeMeta,
			atRoot + `.properties[type].x-kubernetes-unions.fieldMembers[C].name: Invalid value: "metadata": ` + mustNotBeMeta,
		}},
		{"U2: kind of an embedded resource as a member", inSpec(`
x-kubernetes-embedded-resource: true, required: [type], properties: {
  type: {type: string, enum: [A], x-kubernetes-unions: {fieldMembers: {A: {name: kind}}}},
  kind: {type: string}}`),
			[]string{atMembers + `[A].name: Invalid value: "kind": ` + mustNotBeMeta}},

		{"U2: a schema with several errors, which are sorted by property", inSpec(`
required: [b], properties: {
  z: {type: array, items: {type: object, properties: {t: {type: string, x-kubernetes-unions: {}}}}},
  a: {type: boolean, enum: [X, W], x-kubernetes-unions: {fieldMembers: {Z: {name: b}, X: {name: a}}}},
  b: {type: string}}`), []string{
			atSpec + `.properties[a].type: Invalid value: "boolean": ` + mustBeString,
			atSpec + ".properties[a].enum: " + enumMissing("Z"),
			atSpec + ".properties[a].x-kubernetes-unions: " + keyMissing("W"),
			atSpec + `.properties[a].x-kubernetes-unions.fieldMembers[X].name: Invalid value: "a": ` + mustNotBeSelf,
			atSpec + ".properties[a].x-kubernetes-unions.fieldMembers[Z].name: " + isRequired("b"),
			atSpec + `.properties[a]: Invalid value: "a": must select something also when it is left out: add "a" to required of its object, or give it a default, or add the key "" to x-kubernetes-unions.fieldMembers`,
			atSpec + ".properties[z].items.properties[t].x-kubernetes-unions: " + mustHaveValues,
			atSpec + ".properties[z].items.properties[t].enum: " + mustHaveEnum,
			atSpec + `.properties[z].items.properties[t]: Invalid value: "t": must select something also when it is left out: add "t" to required of its object, or give it a default, or add the key "" to x-kubernetes-unions.fieldMembers`,
		}},
	} {
		t.Run(tc.claim+" is rejected", func(t *testing.T) {
			for range 3 { // the order of errors must not depend on the order of maps
				testUnions(t, specOf(testyaml.Schema(t, tc.schema), nil), tc.want)
			}
		})
	}
}

// TestUnionsInVersions tests versions with different schemas. The other tests use spec.validation, which is where the
// internal form of a CRD has a schema that all versions share.
func TestUnionsInVersions(t *testing.T) {
	invalid, valid := gitOrS3(values(`type: string`)), gitOrS3(values(`type: string, enum: [Git, S3]`))
	const noEnum = ".schema.openAPIV3Schema.properties[spec].properties[type].enum: " + mustHaveEnum
	type versions = []apiextensions.CustomResourceDefinitionVersion
	for _, tc := range []struct {
		claim    string
		versions versions
		want     []string
	}{
		{"U2: every version is validated, in order", versions{versionOf(t, "v3", invalid), versionOf(t, "v2", valid), versionOf(t, "v1", invalid)},
			[]string{"spec.versions[0]" + noEnum, "spec.versions[2]" + noEnum}},
		{"U2: versions that are neither served nor stored are validated", versions{versionOf(t, "v1", valid), versionOf(t, "v2", invalid)},
			[]string{"spec.versions[1]" + noEnum}},
		{"R1: versions without schemas are accepted", versions{versionOf(t, "v1", ""), {Name: "v2", Schema: &apiextensions.CustomResourceValidation{}}}, nil},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			testUnions(t, &apiextensions.CustomResourceDefinitionSpec{Versions: tc.versions}, tc.want)
		})
	}
	t.Run("R1: no spec is accepted", func(t *testing.T) {
		testUnions(t, nil, nil)
	})
}
