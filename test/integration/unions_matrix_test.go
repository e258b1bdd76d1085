// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"

	"github.com/fairlead-dev/fairlead/hack/unions-table/matrix"
	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
)

// skewedSchema is the schema of KEP-1027's test matrix. The members git and disk are older than s3 and web.
var skewedSchema = specSchema(`
note: {type: string}
source:
  type: object
  required: [type]
  properties:
    type:
      type: string
      x-kubernetes-unions:
        fieldMembers:
          Git: {name: git}
          Disk: {name: disk}
          S3: {name: s3}
          Web: {name: web, optional: true}
    git: {type: object, properties: {url: {type: string}}}
    disk: {type: object, properties: {path: {type: string}}}
    s3: {type: object, properties: {bucket: {type: string}}}
    web: {type: object, properties: {path: {type: string}}}
`)

// lastApplied is the annotation in which kubectl apply stores the manifest.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// newMembers are the members that a client or a server may not know, by the value that selects them.
var newMembers = map[string]string{"S3": "s3", "Web": "web"}

// TestU11TheMatrix plays KEP-1027's test matrix, which is in testdata/unions: clients and servers that know all or some
// members of a union, with every way to write (rules U4, U6.1, U6.2, U6.3, U10, U11 and V3).
func TestU11TheMatrix(t *testing.T) {
	t.Parallel()
	m, err := matrix.Read(filepath.Join("testdata", "unions", "matrix.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, union := range matrix.Unions {
		for _, server := range matrix.Servers {
			t.Run(fmt.Sprintf("union %s, server knows %s", union, server), func(t *testing.T) {
				t.Parallel()
				playMatrix(t, m, union, server)
			})
		}
	}
}

// playMatrix plays the rows about one kind of union and of server. Objects are created while the server has the whole
// schema, so that some of them have members that the server does not know when the rows are played.
func playMatrix(t *testing.T, m *matrix.Matrix, union, server string) {
	t.Helper()
	s := newSubject(t, skewedCRD(t, union))
	cases := matrixCases(m, union, server)
	for i := range cases {
		cases[i].create(s)
	}
	if server == "some" {
		s.removeNewMembers()
	}
	for _, c := range cases {
		t.Run(c.writer.name+"/"+c.title(), func(t *testing.T) {
			t.Parallel()
			c.run(s.forSubtest(t))
		})
	}
}

// skewedCRD returns a CRD with skewedSchema. The discriminator is required or optional.
func skewedCRD(t *testing.T, union string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := newCRDWithSchema(t, parse[*apiextensionsv1.JSONSchemaProps](t, skewedSchema))
	editSource(crd, func(source, discriminator *apiextensionsv1.JSONSchemaProps) {
		if union == "optional" {
			source.Required = nil
			discriminator.XUnions.FieldMembers[""] = fairlead.MemberField{}
		}
	})
	return crd
}

type sourceEdit func(source, discriminator *apiextensionsv1.JSONSchemaProps)

// editSource edits the schema of spec.source and its discriminator, and sets the enum to the keys of fieldMembers.
func editSource(crd *apiextensionsv1.CustomResourceDefinition, edit sourceEdit) {
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	source := spec.Properties["source"]
	discriminator := source.Properties["type"]
	edit(&source, &discriminator)
	discriminator.Enum = nil
	for _, value := range slices.Sorted(maps.Keys(discriminator.XUnions.FieldMembers)) {
		discriminator.Enum = append(discriminator.Enum, apiextensionsv1.JSON{Raw: fmt.Appendf(nil, "%q", value)})
	}
	source.Properties["type"] = discriminator
	spec.Properties["source"] = source
}

// removeNewMembers removes the new members from the schema on the server.
func (s subject) removeNewMembers() {
	s.Helper()
	s.editCRD(func(crd *apiextensionsv1.CustomResourceDefinition) {
		editSource(crd, func(source, discriminator *apiextensionsv1.JSONSchemaProps) {
			for value, member := range newMembers {
				delete(discriminator.XUnions.FieldMembers, value)
				delete(source.Properties, member)
			}
		})
	})
	s.awaitInvalid("the server does not know the new members", "{source: {type: Web}}")
}

// matrixCase is a row of the matrix with one client and one way to write.
type matrixCase struct {
	matrix.Row
	client string
	writer skewedWriter
	object string
}

func matrixCases(m *matrix.Matrix, union, server string) []matrixCase {
	var cases []matrixCase
	for i, row := range m.Rows {
		for _, cell := range row.Cells() {
			if cell.Union != union || cell.Server != server {
				continue
			}
			for j, w := range skewedWriters {
				object := fmt.Sprintf("row-%d-%s-%d", i, cell.Client, j)
				cases = append(cases, matrixCase{Row: row, client: cell.Client, writer: w, object: object})
			}
		}
	}
	return cases
}

// title returns the name of the case, with its numbers in KEP-1027.
func (c matrixCase) title() string {
	return fmt.Sprintf("%s: client knows %s, %s, KEP %v", c.object, c.client, c.Name, c.KEP)
}

// create creates the object. If the client uses kubectl apply, it has the manifest that the client applied before.
func (c matrixCase) create(s subject) {
	s.Helper()
	u := c.withSpec(s, c.Persisted)
	if c.writer.manifest {
		manifest := c.withSpec(s, c.known(c.Persisted))
		manifest.SetNamespace("default")
		u.SetAnnotations(map[string]string{lastApplied: string(asJSON(s.T, manifest))})
	}
	if _, err := s.client.Create(s.Context(), u, metav1.CreateOptions{FieldManager: "creator"}); err != nil {
		s.Fatal(err)
	}
}

// withSpec returns the object with a spec.
func (c matrixCase) withSpec(s subject, spec map[string]any) *unstructured.Unstructured {
	return cronTab(s.T, s.crd, c.object, string(asJSON(s.T, spec)))
}

// known returns the part of a spec that the client knows. The Go type of a client that knows some members drops the
// others.
func (c matrixCase) known(spec map[string]any) map[string]any {
	spec = runtime.DeepCopyJSON(spec)
	if source, ok := spec["source"].(map[string]any); ok && c.client == "some" {
		for _, member := range newMembers {
			delete(source, member)
		}
	}
	return spec
}

// run writes the object and compares the outcome.
func (c matrixCase) run(s subject) {
	s.Helper()
	s.client = s.client.server.customResources(s.crd) // a user with its own warnings
	stored := specIn(s.get(c.object))
	read := c.known(stored)
	err := c.writer.write(s, skewedWrite{
		name:    c.object,
		read:    read,
		wanted:  mergePatched(read, c.Changes),
		changes: c.Changes,
	})
	want := c.WantOf(c.writer.name)
	if diff := cmp.Diff(want.Errors, errorsIn(err)); diff != "" {
		s.Errorf("errors (-want +got):\n%s%v", diff, err)
	}
	if diff := cmp.Diff(want.Warnings, s.takeWarnings()); diff != "" {
		s.Errorf("warnings (-want +got):\n%s", diff)
	}
	if want.Errors != nil {
		want.Spec = stored
	}
	if diff := cmp.Diff(want.Spec, specIn(s.get(c.object))); diff != "" {
		s.Errorf("spec (-want +got):\n%s", diff)
	}
}

func specIn(u *unstructured.Unstructured) map[string]any {
	spec, _ := u.Object["spec"].(map[string]any)
	return spec
}

var errorPattern = regexp.MustCompile(
	`spec[\w.]*: (Required value|Forbidden|Unsupported value|field not declared in schema)|unknown field "[^"]+"`)

// errorsIn returns the fields and reasons in the text of an error, which is all that kubectl prints.
func errorsIn(err error) []string {
	if err == nil {
		return nil
	}
	found := errorPattern.FindAllString(err.Error(), -1)
	if len(found) == 0 {
		return []string{err.Error()}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// skewedWrite is a change of an object by a client.
type skewedWrite struct {
	name string // of the object
	// read is the part of the spec that the client knows, wanted is the same after the change. changes is the merge patch
	// between them.
	read, wanted, changes map[string]any
}

// skewedWriter is a way to write. Unlike a writer, it does not send what the client does not know.
type skewedWriter struct {
	name  string
	write func(subject, skewedWrite) error
	// manifest says that the client applied what it knows before.
	manifest bool
}

var skewedWriters = []skewedWriter{
	{name: "PUT", write: func(s subject, w skewedWrite) error {
		return s.put(w.name, w.wanted)
	}},
	{name: "JSON patch", write: func(s subject, w skewedWrite) error {
		return s.sendPatch(w.name, types.JSONPatchType, asJSONPatch("/spec", w.read, w.difference(s.T)))
	}},
	{name: "merge patch", write: func(s subject, w skewedWrite) error {
		return s.sendPatch(w.name, types.MergePatchType, map[string]any{"spec": w.difference(s.T)})
	}},
	{name: "server-side apply", write: func(s subject, w skewedWrite) error {
		u := cronTab(s.T, s.crd, w.name, string(asJSON(s.T, mergePatched(nil, w.changes))))
		_, err := s.client.Apply(s.Context(), w.name, u, metav1.ApplyOptions{FieldManager: "writer", Force: true})
		return err
	}},
	{name: "kubectl apply", manifest: true, write: func(s subject, w skewedWrite) error {
		return s.kubectlWith(w.name, string(asJSON(s.T, w.wanted)), "apply")
	}},
}

// difference returns the merge patch from the read spec to the wanted one.
func (w skewedWrite) difference(t *testing.T) map[string]any {
	t.Helper()
	read, wanted := asJSON(t, w.read), asJSON(t, w.wanted)
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(read, wanted, read)
	if err != nil {
		t.Fatal(err)
	}
	return parse[map[string]any](t, string(patch))
}

// asJSONPatch returns the JSON patch with the same effect as a merge patch of the object at path.
func asJSONPatch(path string, object, patch map[string]any) []map[string]any {
	operations := []map[string]any{}
	for _, field := range slices.Sorted(maps.Keys(patch)) {
		at := path + "/" + field
		old, wasObject := object[field].(map[string]any)
		changes, isObject := patch[field].(map[string]any)
		switch {
		case patch[field] == nil:
			operations = append(operations, map[string]any{"op": "remove", "path": at})
		case wasObject && isObject:
			operations = append(operations, asJSONPatch(at, old, changes)...)
		default:
			operations = append(operations, map[string]any{"op": "add", "path": at, "value": patch[field]})
		}
	}
	return operations
}

// mergePatched returns a copy of the object with a merge patch applied.
func mergePatched(object, patch map[string]any) map[string]any {
	result := maps.Clone(object)
	if result == nil {
		result = map[string]any{}
	}
	for field, value := range patch {
		inner, isPatch := value.(map[string]any)
		switch {
		case value == nil:
			delete(result, field)
		case isPatch:
			old, _ := result[field].(map[string]any)
			result[field] = mergePatched(old, inner)
		default:
			result[field] = value
		}
	}
	return result
}

func asJSON(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
