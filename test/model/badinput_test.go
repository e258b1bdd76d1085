// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
)

// badManagedFields are values that a damaged backup, an old client or a manual edit may leave in managedFields. The
// keys complete the name of a case.
var badManagedFields = map[string]string{
	"that are an empty list":             `[]`,
	"that are one empty entry":           `[{}]`,
	"that are null":                      `null`,
	"with truncated fields":              entryWith("v1", `{"f:spec":{"f:ima`),
	"with keys that are not JSON":        entryWith("v1", `{"f:spec":{"f:items":{"k:{no json":{"f:port":{}}}}}`),
	"with an unknown path element":       entryWith("v1", `{"spec":{"replicas":{}}}`),
	"with an unknown version":            entryWith("v0", `{"f:spec":{"f:replicas":{}}}`),
	"with a field that is absent":        entryWith("v1", `{"f:spec":{"f:foo":{"f:qux":{}}}}`),
	"with a number in place of fields":   entryWith("v1", `{"f:spec":7}`),
	"with null in place of inner fields": entryWith("v1", `{"f:spec":null}`),
	"with null fields":                   entryWith("v1", `null`),
	"with the same entry twice": `[{"manager":"a","operation":"Apply","apiVersion":"model.example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}},` +
		`{"manager":"a","operation":"Apply","apiVersion":"model.example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}}]`,
}

// entryWith returns managedFields with one entry of an applier. Fields that are not JSON become a string.
func entryWith(version, fields string) string {
	if !isJSON(fields) {
		fields = encode(fields)
	}
	return `[{"manager":"a","operation":"Apply","apiVersion":"model.example.com/` + version +
		`","fieldsType":"FieldsV1","fieldsV1":` + fields + `}]`
}

func isJSON(text string) (ok bool) {
	defer func() { ok = recover() == nil }()
	decode[any](text)
	return true
}

// TestR1BadManagedFieldsAreTreatedAsUpstream sends requests that leave the guarded field alone to objects with damaged
// managedFields. The answers and the owners must be those of a CRD without gates (rules R1, F2).
func TestR1BadManagedFieldsAreTreatedAsUpstream(t *testing.T) {
	d := testyaml.Parse[declaration](t, replicasCRD)
	d.Gates = map[string][]string{"Replicas": {".spec.replicas"}}
	gated, plain := mustResource(t, d), mustResource(t, d.withoutFeatures())
	s := newServer(t)
	requests := map[string]string{
		"an apply by another manager":  `{do: apply, by: b, body: {spec: {image: j}}, force: true}`,
		"an apply by the same manager": `{do: apply, by: a, body: {spec: {image: i, replicas: 3}}, force: true}`,
		"an update":                    `{do: update, by: b, body: {spec: {image: j, replicas: 3}}}`,
		"a merge patch":                `{do: merge, by: b, body: {spec: {image: j}}}`,
	}
	for damage, managedFields := range badManagedFields {
		for name, request := range requests {
			t.Run("R1: "+name+" to managedFields "+damage+" is answered as upstream", func(t *testing.T) {
				send := testyaml.Parse[step](t, request)
				s.serve(plain.with(nil))
				want := sendToDamaged(t, s, managedFields, send)
				s.serve(gated.with(nil))
				got := sendToDamaged(t, s, managedFields, send)
				if want.code != got.code {
					t.Fatalf("the answer is %s, without gates %s", got.message(), want.message())
				}
				if diff := cmp.Diff(withoutVolatile(want.object), withoutVolatile(got.object)); diff != "" && want.ok() {
					t.Errorf("object (-without gates +with gates):\n%s", diff)
				}
			})
		}
	}
}

// sendToDamaged stores an object with the managedFields, without going through the server, and sends it a request.
func sendToDamaged(t *testing.T, s *server, managedFields string, request step) answer {
	t.Helper()
	m := &run{server: s, name: newName()}
	object := map[string]any{
		"apiVersion": group + "/" + storageVersion, "kind": kind, "spec": map[string]any{"image": "i", "replicas": int64(3)},
		"metadata": map[string]any{"name": m.name, "uid": m.name, "generation": int64(1), "creationTimestamp": "2026-01-01T00:00:00Z"},
	}
	if err := unstructured.SetNestedField(object, decode[any](managedFields), "metadata", "managedFields"); err != nil {
		t.Fatal(err)
	}
	if _, err := etcdClient.Put(t.Context(), "/model/objects/"+m.name, encode(object)); err != nil {
		t.Fatal(err)
	}
	if err := m.read(); err != nil {
		return s.send(request.call(m.name, nil, false)) // upstream cannot read the object either
	}
	return s.send(request.call(m.name, m.object, false))
}
