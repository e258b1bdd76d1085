// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/client-go/util/retry"

	"github.com/fairlead-dev/fairlead/hack/unions-table/matrix"
	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
)

// skewedSchema is the schema of KEP-1027's test matrix: git and disk were there first, s3 and web came later.
const skewedSchema = `
type: object
properties:
  spec:
    type: object
    properties:
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
`

// lastApplied is where kubectl apply keeps the manifest.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// addedLater are the members that a client or a server may not know, by the value that selects them.
var addedLater = map[string]string{"S3": "s3", "Web": "web"}

// TestU11TheMatrix runs KEP-1027's test matrix, which is in testdata/unions: clients and servers that know all of a
// union or not, with every kind of write. It proves rules U4, U6.1, U6.2, U6.3, U10, U11 and V3.
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

// playMatrix runs the rows about one kind of union and of server. Objects are stored while the server has the whole
// schema, so that some are newer than it afterwards.
func playMatrix(t *testing.T, m *matrix.Matrix, union, server string) {
	s := newSubject(t, skewedCRD(t, union))
	cases := matrixCases(m, union, server)
	for i := range cases {
		cases[i].create(s)
	}
	if server == "some" {
		s.forgetWhatWasAddedLater()
	}
	for _, c := range cases {
		t.Run(c.writer.name+"/"+c.title(), func(t *testing.T) {
			t.Parallel()
			c.run(s.in(t))
		})
	}
}

// skewedCRD returns a CRD that has all members. The union is required or optional.
func skewedCRD(t *testing.T, union string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := newCRD(t, "{}")
	crd.Spec.CustomFeatureGates = nil
	version := &crd.Spec.Versions[0]
	version.Schema.OpenAPIV3Schema = parse[*apiextensionsv1.JSONSchemaProps](t, skewedSchema)
	editSource(crd, func(source, discriminator *apiextensionsv1.JSONSchemaProps) {
		if union == "optional" {
			source.Required = nil
			discriminator.XUnions.FieldMembers[""] = fairlead.MemberField{}
		}
	})
	return crd
}

type sourceEdit func(source, discriminator *apiextensionsv1.JSONSchemaProps)

// editSource edits the schema of spec.source and its discriminator, and lists the values of the union in the enum.
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

// forgetWhatWasAddedLater makes the server one that does not know all members.
func (s subject) forgetWhatWasAddedLater() {
	s.Helper()
	crds := s.client.crds.ApiextensionsV1().CustomResourceDefinitions()
	// The server's own controllers write the status of a CRD while it is new.
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd, err := crds.Get(s.Context(), s.crd.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		editSource(crd, func(source, discriminator *apiextensionsv1.JSONSchemaProps) {
			for value, member := range addedLater {
				delete(discriminator.XUnions.FieldMembers, value)
				delete(source.Properties, member)
			}
		})
		_, err = crds.Update(s.Context(), crd, metav1.UpdateOptions{})
		return err
	}); err != nil {
		s.Fatal(err)
	}
	eventually(s.T, "the server does not know all members", func(ctx context.Context) (bool, error) {
		probe := cronTab(s.T, s.crd, "probe", "{source: {type: Web}}")
		_, err := s.client.Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsInvalid(err) {
			return true, nil
		}
		return false, err
	})
}

// matrixCase is a row of the matrix with one client, and one way to write.
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

// title names the case, with its numbers in KEP-1027.
func (c matrixCase) title() string {
	return fmt.Sprintf("%s: client knows %s, %s, KEP %v", c.object, c.client, c.Name, c.KEP)
}

// create stores the object, with a note of what the client has applied to it before.
func (c matrixCase) create(s subject) {
	s.Helper()
	u := c.as(s, c.Persisted)
	if c.writer.manifest {
		manifest := c.as(s, c.known(c.Persisted))
		manifest.SetNamespace("default")
		u.SetAnnotations(map[string]string{lastApplied: string(asJSON(s.T, manifest))})
	}
	if _, err := s.client.Create(s.Context(), u, metav1.CreateOptions{FieldManager: "creator"}); err != nil {
		s.Fatal(err)
	}
}

// as returns the object with a spec.
func (c matrixCase) as(s subject, spec map[string]any) *unstructured.Unstructured {
	return cronTab(s.T, s.crd, c.object, string(asJSON(s.T, spec)))
}

// known returns what the client sees of a spec: the Go type of one that knows some members drops the others.
func (c matrixCase) known(spec map[string]any) map[string]any {
	spec = runtime.DeepCopyJSON(spec)
	if source, ok := spec["source"].(map[string]any); ok && c.client == "some" {
		for _, member := range addedLater {
			delete(source, member)
		}
	}
	return spec
}

func (c matrixCase) run(s subject) {
	s.client = s.client.server.customResources(s.crd) // warnings of its own
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

// errorsIn returns the fields and reasons in the text of an error: it is all that kubectl shows.
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

// skewedWrite is what a client wants to write.
type skewedWrite struct {
	name string
	// read is the spec as the client knows it, wanted what it makes of that. changes is the merge patch between them.
	read, wanted, changes map[string]any
}

// skewedWriter writes as a client of that kind would, which need not know all that it overwrites.
type skewedWriter struct {
	name  string
	write func(subject, skewedWrite) error
	// manifest: the client applied what it knows before.
	manifest bool
}

var skewedWriters = []skewedWriter{
	{name: "PUT", write: func(s subject, w skewedWrite) error {
		u := s.get(w.name)
		u.Object["spec"] = w.wanted
		_, err := s.client.Update(s.Context(), u, metav1.UpdateOptions{FieldManager: "writer"})
		return err
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

func (s subject) sendPatch(name string, kind types.PatchType, patch any) error {
	s.Helper()
	_, err := s.client.Patch(s.Context(), name, kind, asJSON(s.T, patch), metav1.PatchOptions{FieldManager: "writer"})
	return err
}

// difference returns the merge patch from what was read to what is wanted.
func (w skewedWrite) difference(t *testing.T) map[string]any {
	t.Helper()
	read, wanted := asJSON(t, w.read), asJSON(t, w.wanted)
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(read, wanted, read)
	if err != nil {
		t.Fatal(err)
	}
	return parse[map[string]any](t, string(patch))
}

// asJSONPatch returns a merge patch as a JSON patch of the object at path.
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

// mergePatched returns the object with a merge patch applied. Neither is modified.
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
