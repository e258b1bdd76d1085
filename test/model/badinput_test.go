// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
)

// badManagedFields are what a damaged backup, an old client or a hand may leave in managedFields.
var badManagedFields = map[string]string{
	"wiped":             `[]`,
	"reset":             `[{}]`,
	"null":              `null`,
	"truncated":         entryWith("v1", `{"f:spec":{"f:ima`),
	"no JSON keys":      entryWith("v1", `{"f:spec":{"f:items":{"k:{no json":{"f:port":{}}}}}`),
	"unknown element":   entryWith("v1", `{"spec":{"replicas":{}}}`),
	"unknown version":   entryWith("v0", `{"f:spec":{"f:replicas":{}}}`),
	"no such field":     entryWith("v1", `{"f:spec":{"f:foo":{"f:qux":{}}}}`),
	"scalars in fields": entryWith("v1", `{"f:spec":7}`),
	"null in fields":    entryWith("v1", `{"f:spec":null}`),
	"null fields":       entryWith("v1", `null`),
	"twice": `[{"manager":"a","operation":"Apply","apiVersion":"model.example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}},` +
		`{"manager":"a","operation":"Apply","apiVersion":"model.example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}}]`,
}

// entryWith returns managedFields with one entry of an applier. What is no JSON becomes a string.
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
// managedFields: the answers and the owners are those of a CRD without gates (rules R1, F2).
func TestR1BadManagedFieldsAreTreatedAsUpstream(t *testing.T) {
	d := testyaml.Parse[declaration](t, replicasCRD)
	d.Gates = map[string][]string{"Replicas": {".spec.replicas"}}
	r := mustResource(t, d)
	s := newServer(t)
	requests := map[string]string{
		"apply":       `{do: apply, by: b, body: {spec: {image: j}}, force: true}`,
		"apply again": `{do: apply, by: a, body: {spec: {image: i, replicas: 3}}, force: true}`,
		"update":      `{do: update, by: b, body: {spec: {image: j, replicas: 3}}}`,
		"merge patch": `{do: merge, by: b, body: {spec: {image: j}}}`,
	}
	for damage, managedFields := range badManagedFields {
		for name, request := range requests {
			t.Run(name+" to "+damage, func(t *testing.T) {
				send := testyaml.Parse[step](t, request)
				s.serve(r.plain())
				plain := sendToDamaged(t, s, managedFields, send)
				s.serve(r.with(nil))
				gated := sendToDamaged(t, s, managedFields, send)
				if plain.code != gated.code {
					t.Fatalf("%s, without gates %s", gated.message(), plain.message())
				}
				if diff := cmp.Diff(settled(plain.object), settled(gated.object)); diff != "" && plain.ok() {
					t.Errorf("the object (-without gates +with gates):\n%s", diff)
				}
			})
		}
	}
}

// sendToDamaged stores an object with such managedFields and sends it a request.
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
		return s.send(request.call(m.name, nil, false)) // upstream cannot read it either
	}
	return s.send(request.call(m.name, m.object, false))
}
