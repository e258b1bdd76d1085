// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	applyv1 "k8s.io/apiextensions-apiserver/pkg/client/applyconfiguration/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/util/retry"

	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	applyfairlead "github.com/fairlead-dev/fairlead/pkg/client/applyconfiguration/apis/apiextensions"
)

// sourceUnion is the extension on the discriminators "type" of sourceSchema, as the server publishes it.
const sourceUnion = `{"fieldMembers":{"":{},"Git":{"name":"git"},"None":{},"S3":{"name":"s3","optional":true}}}`

// sourceUnionOf returns the extension on .spec.source.type.
func sourceUnionOf(crd *apiextensionsv1.CustomResourceDefinition) *fairlead.Unions {
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	return schema.Properties["spec"].Properties["source"].Properties["type"].XUnions
}

// storedCRD returns what etcd holds of the CRD, which is JSON.
func (s *server) storedCRD(t *testing.T, name string) json.RawMessage {
	t.Helper()
	return s.inEtcd(t, "/registry/apiextensions.k8s.io/customresourcedefinitions/"+name)
}

// rawField returns the bytes at a path of keys in a JSON document, or "" if there are none.
func rawField(t *testing.T, document json.RawMessage, at ...string) string {
	t.Helper()
	for _, key := range at {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(document, &object); err != nil {
			t.Fatalf("%v at %s of %v", err, key, at)
		}
		if document = object[key]; document == nil {
			return ""
		}
	}
	return string(document)
}

// propertyPath returns the path of a property from the root of a schema, as in propertyPath("spec", "source").
func propertyPath(names ...string) []string {
	var path []string
	for _, name := range names {
		if name != "items" && name != "additionalProperties" {
			path = append(path, "properties")
		}
		path = append(path, name)
	}
	return path
}

// publishedSchema returns the schema of the custom resource in OpenAPI v2 or v3, or nothing if it is not published.
func (s *server) publishedSchema(
	ctx context.Context, t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, version string,
) (json.RawMessage, error) {
	t.Helper()
	reversed := strings.Split(crd.Spec.Group, ".")
	slices.Reverse(reversed)
	name := strings.Join(reversed, ".") + ".v1." + crd.Spec.Names.Kind
	path, at := "/openapi/v2", []string{"definitions", name}
	if version == "v3" {
		path, at = "/openapi/v3/apis/"+crd.Spec.Group+"/v1", []string{"components", "schemas", name}
	}
	raw, err := s.getRaw(ctx, path)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return json.RawMessage(rawField(t, raw, at...)), nil
}

// awaitPublished returns the schema of the custom resource in OpenAPI v2 or v3 as soon as it is published.
func (s *server) awaitPublished(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, version string) json.RawMessage {
	t.Helper()
	var schema json.RawMessage
	eventually(t, "OpenAPI "+version+" has the custom resource", func(ctx context.Context) (_ bool, err error) {
		schema, err = s.publishedSchema(ctx, t, crd, version)
		return len(schema) > 0, err
	})
	return schema
}

// TestU1EveryEncodingOfARequest (rules U1, C3) sends and reads the extension.
func TestU1EveryEncodingOfARequest(t *testing.T) {
	t.Parallel()
	wantInEveryEncoding(t, newUnionsCRD, func(crd *apiextensionsv1.CustomResourceDefinition) any { return crd.Spec.Versions[0].Schema })
}

// TestU1StoredForm (rules U1, C3) checks what is in etcd, which is v1beta1 whatever the encoding of the request.
func TestU1StoredForm(t *testing.T) {
	t.Parallel()
	crd := newUnionsCRD(t)
	shared.install(t, crd)
	stored := shared.storedCRD(t, crd.Name)
	if got := rawField(t, stored, "apiVersion"); got != `"apiextensions.k8s.io/v1beta1"` {
		t.Errorf("CRDs are stored as %s: rule C3 and its tests may lack a form", got)
	}
	// In this form, a schema that all versions have is spec.validation.
	at := slices.Concat([]string{"spec", "validation", "openAPIV3Schema"}, propertyPath("spec", "source", "type"))
	if diff := cmp.Diff(sourceUnion, rawField(t, stored, append(at, "x-kubernetes-unions")...)); diff != "" {
		t.Errorf("the union in etcd (-want +got):\n%s", diff)
	}
}

// appliedSchema is an apply configuration of a schema with a union. Two of its values select no member.
func appliedSchema() *applyv1.JSONSchemaPropsApplyConfiguration {
	union := applyfairlead.Unions().WithFieldMembers(map[string]applyfairlead.MemberFieldApplyConfiguration{
		"Git":  *applyfairlead.MemberField().WithName("git"),
		"S3":   *applyfairlead.MemberField().WithName("s3").WithOptional(true),
		"None": *applyfairlead.MemberField(),
		"":     {},
	})
	object := func() *applyv1.JSONSchemaPropsApplyConfiguration {
		return applyv1.JSONSchemaProps().WithType("object")
	}
	source := object().WithProperties(map[string]applyv1.JSONSchemaPropsApplyConfiguration{
		"type": *applyv1.JSONSchemaProps().WithType("string").WithXUnions(union).WithEnum(
			apiextensionsv1.JSON{Raw: []byte(`"Git"`)}, apiextensionsv1.JSON{Raw: []byte(`"S3"`)},
			apiextensionsv1.JSON{Raw: []byte(`"None"`)}),
		"git": *object(),
		"s3":  *object(),
	})
	spec := object().WithProperties(map[string]applyv1.JSONSchemaPropsApplyConfiguration{"source": *source})
	return object().WithProperties(map[string]applyv1.JSONSchemaPropsApplyConfiguration{"spec": *spec})
}

// TestU1ApplyConfigurations (rules U1, C3) applies a CRD with the generated types, as controllers in Go do.
func TestU1ApplyConfigurations(t *testing.T) {
	t.Parallel()
	model := newUnionsCRD(t)
	t.Cleanup(func() { shared.uninstall(t, model.Name) })
	names := model.Spec.Names
	config := applyv1.CustomResourceDefinition(model.Name).WithSpec(applyv1.CustomResourceDefinitionSpec().
		WithGroup(model.Spec.Group).WithScope(model.Spec.Scope).
		WithNames(applyv1.CustomResourceDefinitionNames().
			WithPlural(names.Plural).WithSingular(names.Singular).WithKind(names.Kind).WithListKind(names.ListKind)).
		WithVersions(applyv1.CustomResourceDefinitionVersion().WithName("v1").WithServed(true).WithStorage(true).
			WithSchema(applyv1.CustomResourceValidation().WithOpenAPIV3Schema(appliedSchema()))))
	crds := shared.crdClient()
	if _, err := crds.Apply(t.Context(), config, metav1.ApplyOptions{FieldManager: "author"}); err != nil {
		t.Fatal(err)
	}
	got := shared.getCRD(t, model.Name)
	if diff := cmp.Diff(sourceUnionOf(model), sourceUnionOf(got)); diff != "" {
		t.Errorf("the union (-want +got):\n%s", diff)
	}

	// The fields of the manager can be extracted and applied again, which changes nothing.
	extracted, err := applyv1.ExtractCustomResourceDefinition(got, "author")
	if err != nil {
		t.Fatal(err)
	}
	again, err := crds.Apply(t.Context(), extracted, metav1.ApplyOptions{FieldManager: "author"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sourceUnionOf(model), sourceUnionOf(again)); diff != "" || again.Generation != got.Generation {
		t.Errorf("applied again: generation is %d after %d, the union (-want +got):\n%s", again.Generation, got.Generation, diff)
	}
}

// unionManifest returns the manifest of a CRD with a union. Unlike the Go types, it may have null in fieldMembers. The
// enum has the keys of fieldMembers.
func unionManifest(t *testing.T, group, fieldMembers, description string) string {
	t.Helper()
	values := slices.Sorted(maps.Keys(parse[map[string]any](t, fieldMembers)))
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab, listKind: CronTabList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [type]
            properties:
              type:
                description: %[2]s
                type: string
                enum: [%[3]s]
                x-kubernetes-unions: {fieldMembers: %[4]s}
              git: {type: object}
              s3: {type: object}
`, group, description, strings.Join(values, ", "), fieldMembers)
}

// membersOf returns the fieldMembers of a CRD of unionManifest as the server answers them, and the CRD's generation.
func (s *server) membersOf(t *testing.T, name string) (members string, generation int64) {
	t.Helper()
	raw, err := s.getRaw(t.Context(), "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+name)
	if err != nil {
		t.Fatal(err)
	}
	var crd unstructured.Unstructured
	if err := crd.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	at := append(propertyPath("spec", "type"), "x-kubernetes-unions", "fieldMembers")
	at = append([]string{"schema", "openAPIV3Schema"}, at...)
	found, _, _ := unstructured.NestedFieldNoCopy(versions[0].(map[string]any), at...)
	text, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), crd.GetGeneration()
}

// nullStep writes a CRD of unionManifest with kubectl.
type nullStep struct {
	command              string // of kubectl
	members, description string // of the manifest
	want                 string // fieldMembers afterwards
	unchanged            bool   // the write changes nothing
}

const (
	emptyMember = `{Git: {name: git}, None: {}}`
	nullMember  = `{Git: {name: git}, None: null}`
	gitNone     = `{"Git":{"name":"git"},"None":{}}`
)

// firstStep creates the CRD.
func firstStep(command, members string) nullStep {
	return nullStep{command, members, "a", gitNone, false}
}

// laterSteps write the CRD after it was created. For an apply that creates see TestU1KubectlApplyThatCreatesLosesNull.
func laterSteps(command string) []nullStep {
	return []nullStep{
		{command, nullMember, "b", gitNone, false},
		{command, nullMember, "b", gitNone, true},
		{command, nullMember, "c", gitNone, false},
		{command, `{Git: {name: git}, None: null, New: null}`, "c", `{"Git":{"name":"git"},"New":{},"None":{}}`, false},
		{command, `{Git: {name: git}, None: {}, New: null}`, "c", `{"Git":{"name":"git"},"New":{},"None":{}}`, true},
		{command, `{Git: {name: git}, New: null}`, "c", `{"Git":{"name":"git"},"New":{}}`, false},
		{command, `{Git: null, New: {}}`, "c", `{"Git":{},"New":{}}`, false},
		{command, `{Git: {name: git}, New: {name: s3, optional: true}}`, "c",
			`{"Git":{"name":"git"},"New":{"name":"s3","optional":true}}`, false},
		{command, `{Git: {name: git}, New: {name: null, optional: null}}`, "c",
			`{"Git":{"name":"git"},"New":{}}`, false},
		{command, nullMember, "c", gitNone, false},
	}
}

// TestU1NullIsAValueWithoutAMember (rule U1) writes CRDs in every way that kubectl has: {} and null are both stored and
// published as {}.
func TestU1NullIsAValueWithoutAMember(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]nullStep{
		"create with {}":    {firstStep("create", emptyMember)},
		"create with null":  {firstStep("create", nullMember)},
		"replace":           append([]nullStep{firstStep("create", emptyMember)}, laterSteps("replace")...),
		"apply":             append([]nullStep{firstStep("apply", emptyMember)}, laterSteps("apply")...),
		"server-side apply": append([]nullStep{firstStep("apply --server-side", nullMember)}, laterSteps("apply --server-side")...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group := "g" + rand.String(8) + ".example.com"
			t.Cleanup(func() { shared.uninstall(t, "crontabs."+group) })
			playNullSteps(t, group, steps)
			wantStoredAndPublished(t, "crontabs."+group, `{"fieldMembers":`+gitNone+`}`)
		})
	}
}

// playNullSteps compares fieldMembers after each step, and whether the generation changes.
func playNullSteps(t *testing.T, group string, steps []nullStep) {
	t.Helper()
	crd := "crontabs." + group
	var last int64
	for i, step := range steps {
		file := unionManifest(t, group, step.members, step.description)
		shared.kubectl(t, file, append(strings.Fields(step.command), "-f", "-")...)
		if i == 0 {
			shared.waitEstablished(t, crd) // before that, a replace may conflict with the server's own controllers
		}
		members, generation := shared.membersOf(t, crd)
		if diff := cmp.Diff(step.want, members); diff != "" {
			t.Errorf("step %d, %s of %s: fieldMembers (-want +got):\n%s", i, step.command, step.members, diff)
		}
		if (generation == last) != step.unchanged {
			t.Errorf("step %d, %s of %s: generation is %d after %d", i, step.command, step.members, generation, last)
		}
		last = generation
	}
}

// wantStoredAndPublished compares the union of a CRD of unionManifest in etcd and in OpenAPI.
func wantStoredAndPublished(t *testing.T, crd, want string) {
	t.Helper()
	at := append(propertyPath("spec", "type"), "x-kubernetes-unions")
	stored := json.RawMessage(rawField(t, shared.storedCRD(t, crd), "spec", "validation", "openAPIV3Schema"))
	if diff := cmp.Diff(want, rawField(t, stored, at...)); diff != "" {
		t.Errorf("the union in etcd (-want +got):\n%s", diff)
	}
	published := shared.awaitPublished(t, shared.getCRD(t, crd), "v3")
	if diff := cmp.Diff(want, rawField(t, published, at...)); diff != "" {
		t.Errorf("the union in OpenAPI (-want +got):\n%s", diff)
	}
}

// TestU1KubectlApplyThatCreatesLosesNull (rules U1, U2) shows a known limit of rule U1: a client-side kubectl apply
// that creates an object removes every null before it sends the object. The server refuses such a CRD by rule U2, with
// an error that says to write {}. A later apply keeps null, since it sends the whole list of versions.
func TestU1KubectlApplyThatCreatesLosesNull(t *testing.T) {
	t.Parallel()
	group := "g" + rand.String(8) + ".example.com"
	file := unionManifest(t, group, `{Git: {name: git}, None: null}`, "a")
	t.Cleanup(func() { shared.uninstall(t, "crontabs."+group) })
	_, stderr, err := shared.tryKubectl(file, "apply", "-f", "-")
	want := `spec.validation.openAPIV3Schema.properties[spec].properties[type].x-kubernetes-unions: Required value: ` +
		`must have the value "None" of the enum as a key of fieldMembers: add it, with {} if it selects no member, ` +
		`or remove it from the enum`
	if err == nil || !strings.Contains(stderr, want) {
		t.Errorf("got %v, %s\nwant %s", err, stderr, want)
	}
	shared.kubectl(t, strings.Replace(file, "null", "{}", 1), "apply", "-f", "-")
}

// TestU1NullInAJSONPatch (rule U1): a JSON patch is the only patch that can set null.
func TestU1NullInAJSONPatch(t *testing.T) {
	t.Parallel()
	crd := newUnionsCRD(t)
	shared.install(t, crd)
	const at = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/source/properties/type"
	patch := `[{"op": "add", "path": "` + at + `/enum/-", "value": "New"},` +
		`{"op": "add", "path": "` + at + `/x-kubernetes-unions/fieldMembers/New", "value": null}]`
	got, err := shared.crdClient().
		Patch(t.Context(), crd.Name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := sourceUnionOf(crd).DeepCopy()
	want.FieldMembers["New"] = fairlead.MemberField{}
	if diff := cmp.Diff(want, sourceUnionOf(got)); diff != "" {
		t.Errorf("the union (-want +got):\n%s", diff)
	}
}

// wantPublished compares the extensions in OpenAPI with those of a CRD with sourceSchema, which has unions at any
// depth.
func wantPublished(t *testing.T, s *server, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	const proxyUnion = `{"fieldMembers":{"":{},"HTTP":{"name":"http"},"SOCKS":{"name":"socks"}}}`
	for _, version := range []string{"v2", "v3"} {
		schema := s.awaitPublished(t, crd, version)
		want, got := map[string]string{}, map[string]string{}
		for _, object := range [][]string{
			{"spec", "source"}, {"status", "source"},
			{"spec", "listMap", "items"}, {"spec", "atomic", "items"}, {"spec", "map", "additionalProperties"},
		} {
			for name, union := range map[string]string{"type": sourceUnion, "proxy": proxyUnion, "git": ""} {
				property := append(slices.Clone(object), name)
				path := strings.Join(property, ".")
				want[path] = union
				got[path] = rawField(t, schema, append(propertyPath(property...), "x-kubernetes-unions")...)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("unions in OpenAPI %s (-want +got):\n%s", version, diff)
		}
	}
}

func TestU1OpenAPIPublishesTheUnions(t *testing.T) {
	t.Parallel()
	crd := newUnionsCRD(t)
	shared.install(t, crd)
	wantPublished(t, shared, crd)
}

// TestU1OpenAPIOfNullable (rule U1): upstream's OpenAPI v2 does not have the properties of a nullable object, so the
// unions in it are only published in v3. The union of a nullable discriminator is published in both.
func TestU1OpenAPIOfNullable(t *testing.T) {
	t.Parallel()
	crd := newUnionsCRD(t)
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = parse[*apiextensionsv1.JSONSchemaProps](t, `
type: object
properties:
  a: {type: string, nullable: true, enum: [A, null], x-kubernetes-unions: {fieldMembers: {A: {}, "": {}}}}
  b:
    type: object
    nullable: true
    properties:
      c: {type: string, enum: [A], x-kubernetes-unions: {fieldMembers: {A: {}, "": {}}}}
`)
	shared.install(t, crd)
	const union = `{"fieldMembers":{"":{},"A":{}}}`
	for version, nested := range map[string]string{"v2": "", "v3": union} {
		schema := shared.awaitPublished(t, crd, version)
		got := []string{
			rawField(t, schema, append(propertyPath("a"), "x-kubernetes-unions")...),
			rawField(t, schema, append(propertyPath("b", "c"), "x-kubernetes-unions")...),
		}
		if diff := cmp.Diff([]string{union, nested}, got); diff != "" {
			t.Errorf("unions in OpenAPI %s (-want +got):\n%s", version, diff)
		}
	}
}

// TestU1Explain (rule U1): kubectl explain describes the extension.
func TestU1Explain(t *testing.T) {
	t.Parallel()
	const extension = "crd.spec.versions.schema.openAPIV3Schema.x-kubernetes-unions"
	for path, texts := range map[string][]string{
		extension: {
			"x-kubernetes-unions makes a property of type string the discriminator of a union: its value selects",
			"fieldMembers <map[string]MemberField>",
			"fieldMembers maps each value of the discriminator to the member that it selects.",
			"A value without a member is given as {}.",
		},
		extension + ".fieldMembers": {
			"name <string>", "name of the property that is the member, a sibling of the discriminator.",
			"optional <boolean>", "optional says that the member may be left out when it is selected.",
		},
	} {
		stdout, _ := shared.kubectl(t, "", "explain", path)
		// kubectl wraps lines.
		stdout = strings.Join(strings.Fields(stdout), " ")
		for _, text := range texts {
			if !strings.Contains(stdout, text) {
				t.Errorf("kubectl explain %s does not print %q:\n%s", path, text, stdout)
			}
		}
	}
	stdout, _ := shared.kubectl(t, "", "explain", extension, "--recursive")
	want := "fieldMembers <map[string]MemberField> name <string> optional <boolean>"
	if got := strings.Join(strings.Fields(stdout), " "); !strings.HasSuffix(got, want) {
		t.Errorf("kubectl explain --recursive does not end with %q:\n%s", want, stdout)
	}
}

// Parts of schemas with unions.
const (
	gitUnion = `{type: string, enum: [Git], x-kubernetes-unions: {fieldMembers: {Git: {name: git}}}}`
	bothKeys = `x-kubernetes-unions: {fieldMembers: {Git: {name: git}, S3: {name: s3}}}`

	// atType is the path of the discriminator in most of them; $ is the schema of the custom resource.
	atType = "$.properties[spec].properties[type]"
)

// gitOrS3 returns the schema of a custom resource whose spec has a union with this discriminator.
func gitOrS3(discriminator string) string {
	return inSpec(`required: [type], properties: {type: {` + discriminator + `}, git: {type: object}, s3: {type: object}}`)
}

// inSpec returns the schema of a custom resource with parts of the schema of its spec.
func inSpec(schema string) string {
	return `{type: object, properties: {spec: {type: object, ` + schema + `}}}`
}

// gitAndS3 returns the schema of a custom resource whose union has these fieldMembers.
func gitAndS3(fieldMembers string) string {
	return gitOrS3(`type: string, enum: [Git, S3], x-kubernetes-unions: {fieldMembers: {` + fieldMembers + `}}`)
}

// unionRejections has every kind of error of rule U2, as path and type, and upstream's errors about the same schemas.
var unionRejections = []struct {
	name, schema string
	want         []string
}{
	{"a discriminator of another type", gitOrS3(`type: integer, enum: [Git, S3], ` + bothKeys),
		[]string{atType + ".type: FieldValueInvalid"}},
	{"a discriminator that is int-or-string", gitOrS3(`x-kubernetes-int-or-string: true, enum: [Git, S3], ` + bothKeys),
		[]string{atType + ".type: FieldValueRequired"}},
	{"a discriminator without type that preserves unknown fields", gitOrS3(`x-kubernetes-preserve-unknown-fields: true, enum: [Git, S3], ` + bothKeys),
		[]string{atType + ".type: FieldValueRequired"}},
	{"a discriminator without type", gitOrS3(`enum: [Git, S3], ` + bothKeys), []string{
		atType + ".type: FieldValueRequired", // upstream's, for every property
		atType + ".type: FieldValueRequired",
	}},
	{"a discriminator without enum", gitOrS3(`type: string, ` + bothKeys),
		[]string{atType + ".enum: FieldValueRequired"}},
	{"an enum under anyOf only", gitOrS3(`type: string, anyOf: [{enum: [Git, S3]}], ` + bothKeys),
		[]string{atType + ".enum: FieldValueRequired"}},
	{"null in the enum", gitOrS3(`type: string, enum: [Git, S3, null], ` + bothKeys),
		[]string{atType + ".enum: FieldValueInvalid"}},
	{"a number in the enum", gitOrS3(`type: string, enum: [Git, S3, 1], ` + bothKeys),
		[]string{atType + ".enum: FieldValueInvalid"}},
	{"a key of fieldMembers that the enum lacks", gitOrS3(`type: string, enum: [Git], ` + bothKeys),
		[]string{atType + ".enum: FieldValueInvalid"}},
	{"a key of fieldMembers that one of two enums lacks", gitOrS3(`type: string, enum: [Git, S3], allOf: [{enum: [S3]}], ` + bothKeys),
		[]string{atType + ".enum: FieldValueInvalid"}},
	{"an enum value that fieldMembers lacks", gitOrS3(`type: string, enum: [Git, S3, Svn], ` + bothKeys),
		[]string{atType + ".x-kubernetes-unions: FieldValueRequired"}},
	{"a union without fieldMembers", gitOrS3(`type: string, enum: [Git, S3], x-kubernetes-unions: {}`),
		[]string{atType + ".x-kubernetes-unions: FieldValueRequired"}},
	{"a discriminator that may be absent", inSpec(`properties: {type: ` + gitUnion + `, git: {type: object}}`),
		[]string{atType + ": FieldValueInvalid"}},

	{"a member that is no property", gitAndS3(`Git: {name: git}, S3: {name: bucket}`),
		[]string{atType + ".x-kubernetes-unions.fieldMembers[S3].name: FieldValueInvalid"}},
	{"the discriminator as a member", gitAndS3(`Git: {name: git}, S3: {name: type}`),
		[]string{atType + ".x-kubernetes-unions.fieldMembers[S3].name: FieldValueInvalid"}},
	{"the discriminator of another union as a member", inSpec(`required: [type, kind], properties: {
		type: {type: string, enum: [Git], x-kubernetes-unions: {fieldMembers: {Git: {name: kind}}}},
		kind: {type: string, enum: [A], x-kubernetes-unions: {fieldMembers: {A: {}}}}}`),
		[]string{atType + ".x-kubernetes-unions.fieldMembers[Git].name: FieldValueInvalid"}},
	{"a required member", inSpec(`required: [type, git], properties: {type: ` + gitUnion + `, git: {type: object}}`),
		[]string{atType + ".x-kubernetes-unions.fieldMembers[Git].name: FieldValueInvalid"}},
	{"a member with a default", inSpec(`required: [type], properties: {
		type: ` + gitUnion + `, git: {type: object, default: {}}}`),
		[]string{atType + ".x-kubernetes-unions.fieldMembers[Git].name: FieldValueInvalid"}},
	{"a member named twice", gitAndS3(`Git: {name: git}, S3: {name: git}`),
		[]string{atType + ".x-kubernetes-unions.fieldMembers[S3].name: FieldValueDuplicate"}},
	{"a member of two unions", inSpec(`required: [kind, type], properties: {
		kind: ` + gitUnion + `, type: ` + gitUnion + `, git: {type: object}}`),
		[]string{atType + ".x-kubernetes-unions.fieldMembers[Git].name: FieldValueDuplicate"}},
	{"an optional member without a name", gitAndS3(`Git: {name: git}, S3: {optional: true}`),
		[]string{atType + ".x-kubernetes-unions.fieldMembers[S3].name: FieldValueRequired"}},
	{"apiVersion, kind and metadata as members", `
{type: object, required: [type], properties: {
  type: {type: string, enum: [A, B, C], x-kubernetes-unions: {fieldMembers: {
    A: {name: apiVersion}, B: {name: kind}, C: {name: metadata}}}},
  metadata: {type: object}}}`, []string{
		"$.properties[type].x-kubernetes-unions.fieldMembers[A].name: FieldValueInvalid",
		"$.properties[type].x-kubernetes-unions.fieldMembers[B].name: FieldValueInvalid",
		"$.properties[type].x-kubernetes-unions.fieldMembers[C].name: FieldValueInvalid",
	}},

	{"a union on the root", `{type: object, x-kubernetes-unions: {fieldMembers: {Git: {name: git}}}}`,
		[]string{"$.x-kubernetes-unions: FieldValueForbidden"}},
	{"a union on items", inSpec(`properties: {list: {type: array, items: ` + gitUnion + `}}`),
		[]string{"$.properties[spec].properties[list].items.x-kubernetes-unions: FieldValueForbidden"}},
	{"a union on map values", inSpec(`properties: {map: {type: object, additionalProperties: ` + gitUnion + `}}`),
		[]string{"$.properties[spec].properties[map].additionalProperties.x-kubernetes-unions: FieldValueForbidden"}},
	{"a union on kind", `{type: object, properties: {kind: ` + gitUnion + `}}`,
		[]string{"$.properties[kind].x-kubernetes-unions: FieldValueForbidden"}},
	{"a union in metadata", `{type: object, properties: {metadata: {type: object, properties: {name: ` + gitUnion + `}}}}`,
		[]string{"$.properties[metadata].properties[name].x-kubernetes-unions: FieldValueForbidden"}},
	{"a union in metadata of an embedded resource", inSpec(`properties: {pod: {type: object, x-kubernetes-embedded-resource: true,
		properties: {metadata: {type: object, properties: {name: ` + gitUnion + `}}}}}`), []string{
		"$.properties[spec].properties[pod].properties[metadata].properties[name].x-kubernetes-unions: FieldValueForbidden",
	}},
	{"a union under allOf of the discriminator", gitOrS3(
		`type: string, enum: [Git, S3], allOf: [{x-kubernetes-unions: {fieldMembers: {Git: {}}}}]`),
		fromBothChecks(atType + ".allOf[0].x-kubernetes-unions: FieldValueForbidden")},
	{"a union under anyOf", underJunctor(`anyOf: [{properties: {type: {x-kubernetes-unions: {fieldMembers: {Git: {}}}}}}]`),
		fromBothChecks("$.properties[spec].anyOf[0].properties[type].x-kubernetes-unions: FieldValueForbidden")},
	{"a union under oneOf", underJunctor(`oneOf: [{properties: {type: {x-kubernetes-unions: {fieldMembers: {Git: {}}}}}}]`),
		fromBothChecks("$.properties[spec].oneOf[0].properties[type].x-kubernetes-unions: FieldValueForbidden")},
	{"a union under not", underJunctor(`not: {properties: {type: {x-kubernetes-unions: {fieldMembers: {Git: {}}}}}}`),
		fromBothChecks("$.properties[spec].not.properties[type].x-kubernetes-unions: FieldValueForbidden")},
}

func underJunctor(junctor string) string {
	return inSpec(`properties: {type: {type: string}}, ` + junctor)
}

// fromBothChecks returns an error under a junctor twice. Upstream's check of structural schemas says about every
// extension there that it "must be undefined to be structural"; ours says where the union belongs.
func fromBothChecks(err string) []string {
	return []string{err, err}
}

// TestU2RejectedAtTheirPath (rule U2) creates and updates CRDs of one and of two versions. Validation gets the internal
// form, in which the schema is spec.validation if all versions have the same.
func TestU2RejectedAtTheirPath(t *testing.T) {
	t.Parallel()
	const top, second = "spec.validation.openAPIV3Schema", "spec.versions[1].schema.openAPIV3Schema"
	single, double := newUnionsCRD(t), newUnionsCRD(t)
	serveVersion(t, double, "v2", gitAndS3(`Git: {name: git}, S3: {name: s3}`))
	for _, crd := range []*apiextensionsv1.CustomResourceDefinition{single, double} {
		shared.install(t, crd)
	}
	for _, tc := range unionRejections {
		t.Run("U2: "+tc.name+" is refused", func(t *testing.T) {
			t.Parallel()
			schema := parse[*apiextensionsv1.JSONSchemaProps](t, tc.schema)
			wantCauses(t, "create", top, tc.want, dryCreate(t, schema))
			wantCauses(t, "create of two versions", second, tc.want, dryCreate(t, unionsSchema(t), schema))
			wantCauses(t, "create of two equal versions", top, tc.want, dryCreate(t, schema, schema))
			wantCauses(t, "update", top, tc.want, dryUpdate(t, single.Name, schema))
			wantCauses(t, "update of two versions", second, tc.want, dryUpdate(t, double.Name, schema))
		})
	}
}

// dryCreate sends a dry-run create of a CRD with these schemas in its versions.
func dryCreate(t *testing.T, schemas ...*apiextensionsv1.JSONSchemaProps) error {
	t.Helper()
	crd := newUnionsCRD(t)
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = schemas[0]
	for i, schema := range schemas[1:] {
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: fmt.Sprintf("v%d", i+2), Served: true,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema},
		})
	}
	_, err := shared.crdClient().
		Create(t.Context(), crd, metav1.CreateOptions{DryRun: dryRun})
	return err
}

// dryUpdate sends a dry-run update of a CRD with another schema in its last version.
func dryUpdate(t *testing.T, name string, schema *apiextensionsv1.JSONSchemaProps) error {
	t.Helper()
	// The server's own controllers write the status of a CRD while it is new.
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd := shared.getCRD(t, name)
		crd.Spec.Versions[len(crd.Spec.Versions)-1].Schema.OpenAPIV3Schema = schema
		_, err := shared.crdClient().
			Update(t.Context(), crd, metav1.UpdateOptions{DryRun: dryRun})
		return err
	})
}

// wantCauses compares path and type of all errors about an object. A path that starts with $ is below root.
func wantCauses(t *testing.T, what, root string, want []string, err error) {
	t.Helper()
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		t.Errorf("%s: the request is not refused as invalid: %v", what, err)
		return
	}
	var got []string
	for _, cause := range status.Status().Details.Causes {
		got = append(got, cause.Field+": "+string(cause.Type))
	}
	var expanded []string
	for _, text := range want {
		expanded = append(expanded, root+strings.TrimPrefix(text, "$"))
	}
	if diff := cmp.Diff(expanded, got); diff != "" {
		t.Errorf("%s: errors (-want +got):\n%s\n%v", what, diff, err)
	}
}

// TestU2Warnings (rule U2): a warning is given on the write that introduces its cause, and on no other.
func TestU2Warnings(t *testing.T) {
	t.Parallel()
	const (
		at           = "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[type]"
		byConvention = ": by convention only case differs"
	)
	crd := newUnionsCRD(t)
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = parse[*apiextensionsv1.JSONSchemaProps](t, inSpec(`properties: {
  type: {type: string, enum: [Git, S3], default: Git, x-kubernetes-unions: {fieldMembers: {
    Git: {name: repository}, S3: {name: s3}}}},
  repository: {type: object}, s3: {type: object}, bucket: {type: object}}`))
	user := shared.install(t, crd).user
	wantWarnings(t, "create", []string{
		at + `.default: a client that leaves out the discriminator of a union selects "Git"`,
		at + `.x-kubernetes-unions.fieldMembers[Git].name: member "repository" does not match its value "Git"` + byConvention,
	}, user.warnings.take())

	crds := user.crdClient()
	set := func(path, value string) {
		t.Helper()
		patch := []byte(`[{"op": "add", "path": "` + path + `", "value": ` + value + `}]`)
		if _, err := crds.Patch(t.Context(), crd.Name, types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	const schema = "/spec/versions/0/schema/openAPIV3Schema"
	set("/metadata/labels", `{"a": "b"}`)
	set(schema+"/description", `"d"`)
	wantWarnings(t, "patches of a label and a description", nil, user.warnings.take())
	set(schema+"/properties/spec/properties/type/x-kubernetes-unions/fieldMembers/S3/name", `"bucket"`)
	wantWarnings(t, "a patch of a member's name", []string{
		at + `.x-kubernetes-unions.fieldMembers[S3].name: member "bucket" does not match its value "S3"` + byConvention,
	}, user.warnings.take())
}

// TestU2AVersionWithoutTheUnionWarns (rule U2): with conversion None, a write in a version without the union bypasses
// it.
func TestU2AVersionWithoutTheUnionWarns(t *testing.T) {
	t.Parallel()
	crd := newCRDWithSchema(t, parse[*apiextensionsv1.JSONSchemaProps](t, gitOrS3(`type: string, enum: [Git, S3], `+bothKeys)))
	serveVersion(t, crd, "v2", gitOrS3(`type: string, enum: [Git, S3]`))
	user := shared.install(t, crd).user
	want := []string{`spec.versions[1].schema.openAPIV3Schema.properties[spec].properties[type]: ` +
		`has no x-kubernetes-unions, unlike version "v1": a write in version "v2" goes round the union`}
	wantWarnings(t, "create", want, user.warnings.take())
	patch := []byte(`{"metadata": {"labels": {"a": "b"}}}`)
	if _, err := user.crdClient().
		Patch(t.Context(), crd.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	wantWarnings(t, "a patch of a label", nil, user.warnings.take())
}

// TestF3WithTheGateOffTheExtensionIsKept (rules F2, F3): it is validated and published, and has no effect.
func TestF3WithTheGateOffTheExtensionIsKept(t *testing.T) {
	t.Parallel()
	s := startFor(t, options{})
	crd := newUnionsCRD(t)
	o := object{subject{T: t, crd: crd, client: s.install(t, crd)}, "both"}
	if diff := cmp.Diff(crd.Spec.Versions[0].Schema, s.getCRD(t, crd.Name).Spec.Versions[0].Schema); diff != "" {
		t.Errorf("the schema of the CRD (-want +got):\n%s", diff)
	}
	wantPublished(t, s, crd)

	noEnum := newCRDWithSchema(t, parse[*apiextensionsv1.JSONSchemaProps](t, gitOrS3(`type: string, `+bothKeys)))
	_, err := s.crdClient().Create(t.Context(), noEnum, metav1.CreateOptions{})
	wantCauses(t, "U2: create", "spec.validation.openAPIV3Schema", []string{atType + ".enum: FieldValueRequired"}, err)

	for name, spec := range map[string]string{
		"both":    `{source: {type: Git, git: {url: u}, s3: {bucket: b}}}`,
		"missing": `{source: {type: Git}}`,
		"deep":    `{map: {a: {type: None, git: {url: u}}}, atomic: [{s3: {}}]}`,
	} {
		created, warnings := create(t, o.client, cronTab(t, crd, name, spec), metav1.CreateOptions{})
		wantWarnings(t, "create of "+name, nil, warnings)
		wantSpec(t, name, created, spec)
	}
	if err := o.merge("m", `{source: {type: None}}`); err != nil {
		t.Fatal(err)
	}
	o.wantWarnings()
	o.wantSpec(`{source: {type: None, git: {url: u}, s3: {bucket: b}}}`)
}

// TestC6AGateOnADiscriminatorIsRefused (rule C6), wherever the union is. Members and the object with the union may be
// guarded.
func TestC6AGateOnADiscriminatorIsRefused(t *testing.T) {
	t.Parallel()
	for path, refused := range map[string]bool{
		".spec.source.type":     true,
		".spec.source['proxy']": true,
		".spec.listMap[*].type": true,
		".spec.map[*].type":     true,
		".status.source.type":   true,
		".spec.source.git":      false,
		".spec.source":          false,
		".spec.map":             false,
	} {
		crd := newUnionsCRD(t)
		crd.Spec.CustomFeatureGates = gatesOf(t, `featureGates: [{name: G, preRelease: alpha, fieldPaths: ["`+path+`"]}]`)
		_, err := shared.crdClient().
			Create(t.Context(), crd, metav1.CreateOptions{DryRun: dryRun})
		if !refused {
			if err != nil {
				t.Errorf("%s: refused: %v", path, err)
			}
			continue
		}
		wantCauses(t, path, "spec.customFeatureGates.featureGates[0].fieldPaths[0]", []string{"$: FieldValueInvalid"}, err)
		if want := "which is the discriminator of a union: guard its members"; !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: got %v\nwant %s", path, err, want)
		}
	}
}
