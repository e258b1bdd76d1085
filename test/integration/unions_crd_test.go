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
	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	applyv1 "k8s.io/apiextensions-apiserver/pkg/client/applyconfiguration/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	applyfairlead "github.com/fairlead-dev/fairlead/pkg/client/applyconfiguration/apis/apiextensions"
)

// sourceUnion is the extension on the discriminators of sourceSchema whose name is type, as the server publishes it.
const sourceUnion = `{"fieldMembers":{"":{},"Git":{"name":"git"},"None":{},"S3":{"name":"s3","optional":true}}}`

// sourceUnionOf returns the extension on .spec.source.type.
func sourceUnionOf(crd *apiextensionsv1.CustomResourceDefinition) *fairlead.Unions {
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	return schema.Properties["spec"].Properties["source"].Properties["type"].XUnions
}

// getCRD reads the CRD back.
func (s *server) getCRD(t *testing.T, name string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd, err := s.crds.ApiextensionsV1().CustomResourceDefinitions().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return crd
}

// storedCRD returns the CRD's bytes in etcd, which are JSON.
func (s *server) storedCRD(t *testing.T, name string) json.RawMessage {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.etcd.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	got, err := client.Get(t.Context(), "/registry/apiextensions.k8s.io/customresourcedefinitions/"+name)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) != 1 {
		t.Fatalf("no CRD %s in storage", name)
	}
	return got.Kvs[0].Value
}

// rawField returns what JSON has at a path of keys, byte for byte; nothing if it has nothing there.
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

// below makes the path of a property from the root of a schema, as in propertyPath("spec", "source").
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

// openAPI returns the schema of the custom resource in OpenAPI v2 or v3, as soon as the server publishes it.
func (s *server) openAPI(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, version string) json.RawMessage {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(s.config)
	if err != nil {
		t.Fatal(err)
	}
	reversed := strings.Split(crd.Spec.Group, ".")
	slices.Reverse(reversed)
	name := strings.Join(reversed, ".") + ".v1." + crd.Spec.Names.Kind
	path, at := "/openapi/v2", []string{"definitions", name}
	if version == "v3" {
		path, at = "/openapi/v3/apis/"+crd.Spec.Group+"/v1", []string{"components", "schemas", name}
	}
	var schema string
	eventually(t, "OpenAPI "+version+" has the custom resource", func(ctx context.Context) (bool, error) {
		raw, err := client.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		schema = rawField(t, raw, at...)
		return schema != "", nil
	})
	return json.RawMessage(schema)
}

// TestU1EveryEncodingOfARequest (rules U1, C3) sends and reads the extension; CBOR is not served to clients of CRDs by
// default.
func TestU1EveryEncodingOfARequest(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf, runtime.ContentTypeYAML} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			config := rest.CopyConfig(shared.config)
			config.ContentType, config.AcceptContentTypes = contentType, contentType
			client, err := apiextensionsclient.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			crds := client.ApiextensionsV1().CustomResourceDefinitions()
			crd := newUnionsCRD(t)
			t.Cleanup(func() { shared.uninstall(t, crd.Name) })
			if _, err := crds.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			got, err := crds.Get(t.Context(), crd.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(crd.Spec.Versions[0].Schema, got.Spec.Versions[0].Schema); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestU1StoredForm (rules U1, C3) looks at the bytes in etcd, which are v1beta1 whatever the client speaks.
func TestU1StoredForm(t *testing.T) {
	t.Parallel()
	crd := newUnionsCRD(t)
	shared.install(t, crd)
	stored := shared.storedCRD(t, crd.Name)
	if got := rawField(t, stored, "apiVersion"); got != `"apiextensions.k8s.io/v1beta1"` {
		t.Errorf("CRDs are stored as %s: does C3 still name all forms?", got)
	}
	// A schema that all versions have stands on top.
	at := slices.Concat([]string{"spec", "validation", "openAPIV3Schema"}, propertyPath("spec", "source", "type"))
	if diff := cmp.Diff(sourceUnion, rawField(t, stored, append(at, "x-kubernetes-unions")...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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

// TestU1ApplyConfigurations (rules U1, C3) applies a CRD with the generated types, which a controller in Go does.
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
	crds := shared.crds.ApiextensionsV1().CustomResourceDefinitions()
	if _, err := crds.Apply(t.Context(), config, metav1.ApplyOptions{FieldManager: "author"}); err != nil {
		t.Fatal(err)
	}
	got := shared.getCRD(t, model.Name)
	if diff := cmp.Diff(sourceUnionOf(model), sourceUnionOf(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// What the manager owns can be had back and applied again, which changes nothing.
	extracted, err := applyv1.ExtractCustomResourceDefinition(got, "author")
	if err != nil {
		t.Fatal(err)
	}
	again, err := crds.Apply(t.Context(), extracted, metav1.ApplyOptions{FieldManager: "author"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sourceUnionOf(model), sourceUnionOf(again)); diff != "" || again.Generation != got.Generation {
		t.Errorf("applied again: generation %d (-want +got):\n%s", again.Generation, diff)
	}
}

// unionManifest is a CRD with a union as its author writes it, maybe with null, which the types in Go cannot hold. The
// values of the enum are the keys of fieldMembers.
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

// membersOf returns the fieldMembers of a manifest's CRD as the server answers them, and the CRD's generation.
func (s *server) membersOf(t *testing.T, name string) (members string, generation int64) {
	t.Helper()
	raw, err := s.crds.Discovery().RESTClient().Get().
		AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + name).DoRaw(t.Context())
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

// TestU1NullIsAValueWithoutAMember (rule U1) goes through every way in which kubectl writes a CRD: {} and null are both
// stored and published as {}.
func TestU1NullIsAValueWithoutAMember(t *testing.T) {
	t.Parallel()
	type step struct {
		command, members, description, want string
		unchanged                           bool // the write changes nothing
	}
	const (
		empty   = `{Git: {name: git}, None: {}}`
		null    = `{Git: {name: git}, None: null}`
		gitNone = `{"Git":{"name":"git"},"None":{}}`
	)
	// These come after a first step that creates the CRD; for apply see TestU1KubectlApplyThatCreatesLosesNull.
	later := func(command string) []step {
		return []step{
			{command, null, "b", gitNone, false},
			{command, null, "b", gitNone, true},
			{command, null, "c", gitNone, false},
			{command, `{Git: {name: git}, None: null, New: null}`, "c", `{"Git":{"name":"git"},"New":{},"None":{}}`, false},
			{command, `{Git: {name: git}, None: {}, New: null}`, "c", `{"Git":{"name":"git"},"New":{},"None":{}}`, true},
			{command, `{Git: {name: git}, New: null}`, "c", `{"Git":{"name":"git"},"New":{}}`, false},
			{command, `{Git: null, New: {}}`, "c", `{"Git":{},"New":{}}`, false},
			{command, `{Git: {name: git}, New: {name: s3, optional: true}}`, "c",
				`{"Git":{"name":"git"},"New":{"name":"s3","optional":true}}`, false},
			{command, `{Git: {name: git}, New: {name: null, optional: null}}`, "c",
				`{"Git":{"name":"git"},"New":{}}`, false},
			{command, null, "c", gitNone, false},
		}
	}
	first := func(command, members string) step { return step{command, members, "a", gitNone, false} }
	for name, steps := range map[string][]step{
		"create with {}":    {first("create", empty)},
		"create with null":  {first("create", null)},
		"replace":           append([]step{first("create", empty)}, later("replace")...),
		"apply":             append([]step{first("apply", empty)}, later("apply")...),
		"server-side apply": append([]step{first("apply --server-side", null)}, later("apply --server-side")...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group := "g" + rand.String(8) + ".example.com"
			crd := "crontabs." + group
			t.Cleanup(func() { shared.uninstall(t, crd) })
			var last int64
			for i, step := range steps {
				file := unionManifest(t, group, step.members, step.description)
				shared.kubectl(t, file, append(strings.Fields(step.command), "-f", "-")...)
				if i == 0 {
					// Until then the server's controllers write the CRD too, and a replace may conflict.
					eventually(t, "the CRD is established", func(context.Context) (bool, error) {
						_, _, err := shared.tryKubectl("", "wait", "--for=condition=Established", "crd", crd)
						return err == nil, nil // it fails where the CRD has no conditions yet
					})
				}
				members, generation := shared.membersOf(t, crd)
				if diff := cmp.Diff(step.want, members); diff != "" {
					t.Errorf("step %d, %s of %s (-want +got):\n%s", i, step.command, step.members, diff)
				}
				if (generation == last) != step.unchanged {
					t.Errorf("step %d, %s of %s: generation %d after %d", i, step.command, step.members, generation, last)
				}
				last = generation
			}
			want := `{"fieldMembers":` + gitNone + `}`
			at := append(propertyPath("spec", "type"), "x-kubernetes-unions")
			stored := json.RawMessage(rawField(t, shared.storedCRD(t, crd), "spec", "validation", "openAPIV3Schema"))
			if diff := cmp.Diff(want, rawField(t, stored, at...)); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			published := shared.openAPI(t, shared.getCRD(t, crd), "v3")
			if diff := cmp.Diff(want, rawField(t, published, at...)); diff != "" {
				t.Errorf("published (-want +got):\n%s", diff)
			}
		})
	}
}

// TestU1KubectlApplyThatCreatesLosesNull is a known limit of rule U1: a client-side kubectl apply that creates an
// object removes each null from it before it is sent. The server cannot know; it refuses the CRD by rule U2 and tells
// to write {}. A later apply keeps null, since it sends the whole list of versions.
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

// TestU1NullInAJSONPatch (rule U1) is the one kind of patch that can say null.
func TestU1NullInAJSONPatch(t *testing.T) {
	t.Parallel()
	crd := newUnionsCRD(t)
	shared.install(t, crd)
	const at = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/source/properties/type"
	patch := `[{"op": "add", "path": "` + at + `/enum/-", "value": "New"},` +
		`{"op": "add", "path": "` + at + `/x-kubernetes-unions/fieldMembers/New", "value": null}]`
	got, err := shared.crds.ApiextensionsV1().CustomResourceDefinitions().
		Patch(t.Context(), crd.Name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := sourceUnionOf(crd).DeepCopy()
	want.FieldMembers["New"] = fairlead.MemberField{}
	if diff := cmp.Diff(want, sourceUnionOf(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// wantPublished compares the extensions in OpenAPI of the custom resource with those of the CRD: the schema has a union
// wherever one can be, so that any depth is proven.
func wantPublished(t *testing.T, s *server, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	const proxyUnion = `{"fieldMembers":{"":{},"HTTP":{"name":"http"},"SOCKS":{"name":"socks"}}}`
	for _, version := range []string{"v2", "v3"} {
		schema := s.openAPI(t, crd, version)
		want, got := map[string]string{}, map[string]string{}
		for _, object := range [][]string{
			{"spec", "source"}, {"status", "source"},
			{"spec", "listMap", "items"}, {"spec", "atomic", "items"}, {"spec", "map", "additionalProperties"},
		} {
			for name, union := range map[string]string{"type": sourceUnion, "proxy": proxyUnion, "git": ""} {
				property := append(slices.Clone(object), name)
				place := strings.Join(property, ".")
				want[place] = union
				got[place] = rawField(t, schema, append(propertyPath(property...), "x-kubernetes-unions")...)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("OpenAPI %s (-want +got):\n%s", version, diff)
		}
	}
}

func TestU1OpenAPIPublishesTheUnions(t *testing.T) {
	t.Parallel()
	crd := newUnionsCRD(t)
	shared.install(t, crd)
	wantPublished(t, shared, crd)
}

// TestU1OpenAPIOfNullable (rule U1): upstream's OpenAPI v2 has no properties of an object that may be null, so the
// unions in it are published in v3 only. That of a nullable discriminator is published in both.
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
		schema := shared.openAPI(t, crd, version)
		got := []string{
			rawField(t, schema, append(propertyPath("a"), "x-kubernetes-unions")...),
			rawField(t, schema, append(propertyPath("b", "c"), "x-kubernetes-unions")...),
		}
		if diff := cmp.Diff([]string{union, nested}, got); diff != "" {
			t.Errorf("OpenAPI %s (-want +got):\n%s", version, diff)
		}
	}
}

// TestU1Explain: kubectl tells the author of a CRD what the extension is.
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
		// kubectl breaks lines as it likes.
		stdout = strings.Join(strings.Fields(stdout), " ")
		for _, text := range texts {
			if !strings.Contains(stdout, text) {
				t.Errorf("explain %s lacks %q:\n%s", path, text, stdout)
			}
		}
	}
	stdout, _ := shared.kubectl(t, "", "explain", extension, "--recursive")
	want := "fieldMembers <map[string]MemberField> name <string> optional <boolean>"
	if got := strings.Join(strings.Fields(stdout), " "); !strings.HasSuffix(got, want) {
		t.Errorf("explain --recursive lacks %q:\n%s", want, stdout)
	}
}

// The parts of the schemas that rule U2 judges.
const (
	gitUnion = `{type: string, enum: [Git], x-kubernetes-unions: {fieldMembers: {Git: {name: git}}}}`
	bothKeys = `x-kubernetes-unions: {fieldMembers: {Git: {name: git}, S3: {name: s3}}}`

	// atType is where most of them stand; $ is the schema of the custom resource.
	atType = "$.properties[spec].properties[type]"
)

// gitOrS3 makes the schema of a custom resource whose spec has a union with this discriminator.
func gitOrS3(discriminator string) string {
	return inSpec(`required: [type], properties: {type: {` + discriminator + `}, git: {type: object}, s3: {type: object}}`)
}

func inSpec(schema string) string {
	return `{type: object, properties: {spec: {type: object, ` + schema + `}}}`
}

// gitAndS3 makes the schema of a custom resource whose union has these fieldMembers.
func gitAndS3(fieldMembers string) string {
	return gitOrS3(`type: string, enum: [Git, S3], x-kubernetes-unions: {fieldMembers: {` + fieldMembers + `}}`)
}

// unionRejections has every kind of error of rule U2, as path and type, with the errors of upstream that come along.
var unionRejections = []struct {
	name, schema string
	want         []string
}{
	{"another type", gitOrS3(`type: integer, enum: [Git, S3], ` + bothKeys),
		[]string{atType + ".type: FieldValueInvalid"}},
	{"int or string", gitOrS3(`x-kubernetes-int-or-string: true, enum: [Git, S3], ` + bothKeys),
		[]string{atType + ".type: FieldValueRequired"}},
	{"no type, any value", gitOrS3(`x-kubernetes-preserve-unknown-fields: true, enum: [Git, S3], ` + bothKeys),
		[]string{atType + ".type: FieldValueRequired"}},
	{"no type", gitOrS3(`enum: [Git, S3], ` + bothKeys), []string{
		atType + ".type: FieldValueRequired", // upstream's, of every property
		atType + ".type: FieldValueRequired",
	}},
	{"no enum", gitOrS3(`type: string, ` + bothKeys),
		[]string{atType + ".enum: FieldValueRequired"}},
	{"enum under anyOf only", gitOrS3(`type: string, anyOf: [{enum: [Git, S3]}], ` + bothKeys),
		[]string{atType + ".enum: FieldValueRequired"}},
	{"null in the enum", gitOrS3(`type: string, enum: [Git, S3, null], ` + bothKeys),
		[]string{atType + ".enum: FieldValueInvalid"}},
	{"a number in the enum", gitOrS3(`type: string, enum: [Git, S3, 1], ` + bothKeys),
		[]string{atType + ".enum: FieldValueInvalid"}},
	{"a key that the enum lacks", gitOrS3(`type: string, enum: [Git], ` + bothKeys),
		[]string{atType + ".enum: FieldValueInvalid"}},
	{"a key that one of two enums lacks", gitOrS3(`type: string, enum: [Git, S3], allOf: [{enum: [S3]}], ` + bothKeys),
		[]string{atType + ".enum: FieldValueInvalid"}},
	{"a value that the keys lack", gitOrS3(`type: string, enum: [Git, S3, Svn], ` + bothKeys),
		[]string{atType + ".x-kubernetes-unions: FieldValueRequired"}},
	{"no fieldMembers", gitOrS3(`type: string, enum: [Git, S3], x-kubernetes-unions: {}`),
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

	{"on the root", `{type: object, x-kubernetes-unions: {fieldMembers: {Git: {name: git}}}}`,
		[]string{"$.x-kubernetes-unions: FieldValueForbidden"}},
	{"on items", inSpec(`properties: {list: {type: array, items: ` + gitUnion + `}}`),
		[]string{"$.properties[spec].properties[list].items.x-kubernetes-unions: FieldValueForbidden"}},
	{"on the values of a map", inSpec(`properties: {map: {type: object, additionalProperties: ` + gitUnion + `}}`),
		[]string{"$.properties[spec].properties[map].additionalProperties.x-kubernetes-unions: FieldValueForbidden"}},
	{"on kind", `{type: object, properties: {kind: ` + gitUnion + `}}`,
		[]string{"$.properties[kind].x-kubernetes-unions: FieldValueForbidden"}},
	{"in metadata", `{type: object, properties: {metadata: {type: object, properties: {name: ` + gitUnion + `}}}}`,
		[]string{"$.properties[metadata].properties[name].x-kubernetes-unions: FieldValueForbidden"}},
	{"in metadata of an embedded resource", inSpec(`properties: {pod: {type: object, x-kubernetes-embedded-resource: true,
		properties: {metadata: {type: object, properties: {name: ` + gitUnion + `}}}}}`), []string{
		"$.properties[spec].properties[pod].properties[metadata].properties[name].x-kubernetes-unions: FieldValueForbidden",
	}},
	{"under allOf of the discriminator", gitOrS3(
		`type: string, enum: [Git, S3], allOf: [{x-kubernetes-unions: {fieldMembers: {Git: {}}}}]`),
		fromBothChecks(atType + ".allOf[0].x-kubernetes-unions: FieldValueForbidden")},
	{"under anyOf", underJunctor(`anyOf: [{properties: {type: {x-kubernetes-unions: {fieldMembers: {Git: {}}}}}}]`),
		fromBothChecks("$.properties[spec].anyOf[0].properties[type].x-kubernetes-unions: FieldValueForbidden")},
	{"under oneOf", underJunctor(`oneOf: [{properties: {type: {x-kubernetes-unions: {fieldMembers: {Git: {}}}}}}]`),
		fromBothChecks("$.properties[spec].oneOf[0].properties[type].x-kubernetes-unions: FieldValueForbidden")},
	{"under not", underJunctor(`not: {properties: {type: {x-kubernetes-unions: {fieldMembers: {Git: {}}}}}}`),
		fromBothChecks("$.properties[spec].not.properties[type].x-kubernetes-unions: FieldValueForbidden")},
}

func underJunctor(junctor string) string {
	return inSpec(`properties: {type: {type: string}}, ` + junctor)
}

// fromBothChecks is an error under a junctor: upstream's check of structural schemas says there of every extension that
// it "must be undefined to be structural", ours says where to put it.
func fromBothChecks(err string) []string {
	return []string{err, err}
}

// TestU2RejectedAtTheirPath (rule U2) creates and updates CRDs of one and of two versions. Upstream judges the internal
// form, in which a schema stands on top if there is one for all versions.
func TestU2RejectedAtTheirPath(t *testing.T) {
	t.Parallel()
	const top, second = "spec.validation.openAPIV3Schema", "spec.versions[1].schema.openAPIV3Schema"
	single, double := newUnionsCRD(t), newUnionsCRD(t)
	serve(t, double, "v2", gitAndS3(`Git: {name: git}, S3: {name: s3}`))
	for _, crd := range []*apiextensionsv1.CustomResourceDefinition{single, double} {
		shared.install(t, crd)
	}
	for _, tc := range unionRejections {
		t.Run(tc.name, func(t *testing.T) {
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

// dryCreate tries to create a CRD with these schemas in its versions.
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
	_, err := shared.crds.ApiextensionsV1().CustomResourceDefinitions().
		Create(t.Context(), crd, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// dryUpdate tries to give another schema to the last version of a CRD.
func dryUpdate(t *testing.T, name string, schema *apiextensionsv1.JSONSchemaProps) error {
	t.Helper()
	// The server's own controllers write the status of a CRD while it is new.
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd := shared.getCRD(t, name)
		crd.Spec.Versions[len(crd.Spec.Versions)-1].Schema.OpenAPIV3Schema = schema
		_, err := shared.crds.ApiextensionsV1().CustomResourceDefinitions().
			Update(t.Context(), crd, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})
}

// wantCauses compares path and type of everything that is wrong with a CRD whose schema stands at root.
func wantCauses(t *testing.T, what, root string, want []string, err error) {
	t.Helper()
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		t.Errorf("%s: not refused as invalid: %v", what, err)
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

// TestU2Warnings: what is odd draws a warning on the write that introduces it, and no other.
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
	wantWarnings := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, user.warnings.take()); diff != "" {
			t.Errorf("warnings (-want +got):\n%s", diff)
		}
	}
	wantWarnings(
		at+`.default: a client that leaves out the discriminator of a union selects "Git"`,
		at+`.x-kubernetes-unions.fieldMembers[Git].name: member "repository" does not match its value "Git"`+byConvention,
	)

	crds := user.crds.ApiextensionsV1().CustomResourceDefinitions()
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
	wantWarnings()
	set(schema+"/properties/spec/properties/type/x-kubernetes-unions/fieldMembers/S3/name", `"bucket"`)
	wantWarnings(
		at + `.x-kubernetes-unions.fieldMembers[S3].name: member "bucket" does not match its value "S3"` + byConvention,
	)
}

// TestU2AVersionWithoutTheUnionWarns (rule U2), where nothing is converted and a write in it goes round the union.
func TestU2AVersionWithoutTheUnionWarns(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, `{}`)
	crd.Spec.CustomFeatureGates = nil
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = parse[*apiextensionsv1.JSONSchemaProps](t, gitOrS3(`type: string, enum: [Git, S3], `+bothKeys))
	serve(t, crd, "v2", gitOrS3(`type: string, enum: [Git, S3]`))
	user := shared.install(t, crd).user
	want := []string{`spec.versions[1].schema.openAPIV3Schema.properties[spec].properties[type]: ` +
		`has no x-kubernetes-unions, unlike version "v1": a write in version "v2" goes round the union`}
	if diff := cmp.Diff(want, user.warnings.take()); diff != "" {
		t.Errorf("create: warnings (-want +got):\n%s", diff)
	}
	patch := []byte(`{"metadata": {"labels": {"a": "b"}}}`)
	if _, err := user.crds.ApiextensionsV1().CustomResourceDefinitions().
		Patch(t.Context(), crd.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := user.warnings.take(); got != nil {
		t.Errorf("a label: warnings %q", got)
	}
}

// TestF3WithTheGateOffTheExtensionIsKept (rules F3, F2): it is checked and published, and has no effect.
func TestF3WithTheGateOffTheExtensionIsKept(t *testing.T) {
	t.Parallel()
	s := startFor(t, options{})
	crd := newUnionsCRD(t)
	client := s.install(t, crd)
	if diff := cmp.Diff(crd.Spec.Versions[0].Schema, s.getCRD(t, crd.Name).Spec.Versions[0].Schema); diff != "" {
		t.Errorf("the CRD (-want +got):\n%s", diff)
	}
	wantPublished(t, s, crd)

	broken := newUnionsCRD(t)
	noEnum := parse[*apiextensionsv1.JSONSchemaProps](t, gitOrS3(`type: string, `+bothKeys))
	broken.Spec.Versions[0].Schema.OpenAPIV3Schema = noEnum
	_, err := s.crds.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), broken, metav1.CreateOptions{})
	wantCauses(t, "U2: create", "spec.validation.openAPIV3Schema", []string{atType + ".enum: FieldValueRequired"}, err)

	for name, spec := range map[string]string{
		"both":    `{source: {type: Git, git: {url: u}, s3: {bucket: b}}}`,
		"missing": `{source: {type: Git}}`,
		"deep":    `{map: {a: {type: None, git: {url: u}}}, atomic: [{s3: {}}]}`,
	} {
		created, warnings := create(t, client, cronTab(t, crd, name, spec), metav1.CreateOptions{})
		if diff := cmp.Diff(parse[any](t, spec), parse[any](t, specOf(t, created))); diff != "" || warnings != nil {
			t.Errorf("%s: warnings %q, spec (-want +got):\n%s", name, warnings, diff)
		}
	}
	patch := []byte(`{"spec": {"source": {"type": "None"}}}`)
	switched, err := client.Patch(t.Context(), "both", types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{source: {type: None, git: {url: u}, s3: {bucket: b}}}`
	if diff := cmp.Diff(parse[any](t, want), parse[any](t, specOf(t, switched))); diff != "" {
		t.Errorf("a switch: spec (-want +got):\n%s", diff)
	}
	if warnings := client.warnings.take(); warnings != nil {
		t.Errorf("a switch: warnings %q", warnings)
	}
}

// TestC6AGateOnADiscriminatorIsRefused, wherever the union is; its members and its struct may be guarded.
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
		crd.Spec.CustomFeatureGates = parse[*fairlead.CustomResourceDefinitionFeatureGates](t,
			`featureGates: [{name: G, preRelease: alpha, fieldPaths: ["`+path+`"]}]`)
		_, err := shared.crds.ApiextensionsV1().CustomResourceDefinitions().
			Create(t.Context(), crd, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
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
