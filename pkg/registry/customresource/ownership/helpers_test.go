// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/line"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// entries are managedFields in the notation of tests.
type entries []string

// parse parses entries such as `alice Update v1: {f:spec: {f:image: {}}}`. A subresource may follow the version.
func (e entries) parse(t testing.TB) []metav1.ManagedFieldsEntry {
	t.Helper()
	if e == nil {
		return nil
	}
	out := []metav1.ManagedFieldsEntry{}
	for _, text := range e {
		head, fields, ok := strings.Cut(text, ": ")
		words := strings.Fields(head)
		if !ok || len(words) < 3 {
			t.Fatalf("not an entry: %s", text)
		}
		entry := metav1.ManagedFieldsEntry{
			Manager: words[0], Operation: metav1.ManagedFieldsOperationType(words[1]), APIVersion: "example.com/" + words[2],
			FieldsType: "FieldsV1", FieldsV1: line.NewFields(asJSON(t, testyaml.Object(t, fields))),
		}
		if len(words) > 3 {
			entry.Subresource = words[3]
		}
		out = append(out, entry)
	}
	return out
}

func asJSON(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// described returns entries as text, with their fields in canonical form, to compare them.
func described(t testing.TB, from []metav1.ManagedFieldsEntry) []string {
	t.Helper()
	out := []string{}
	for _, entry := range from {
		text := entry.Manager + " " + string(entry.Operation) + " " + strings.TrimPrefix(entry.APIVersion, "example.com/")
		if entry.Subresource != "" {
			text += " " + entry.Subresource
		}
		out = append(out, text+": "+canonical(t, entry))
	}
	return out
}

func canonical(t testing.TB, entry metav1.ManagedFieldsEntry) string {
	t.Helper()
	fields := &line.Set{}
	if err := fields.FromJSON(line.FieldsReader(entry.FieldsV1)); err != nil {
		return "no fields: " + line.FieldsText(entry.FieldsV1)
	}
	text, err := fields.ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// timed sets the times of entries, in seconds.
func timed(entries []metav1.ManagedFieldsEntry, seconds ...int64) []metav1.ManagedFieldsEntry {
	for i, s := range seconds {
		entries[i].Time = &metav1.Time{Time: time.Unix(s, 0)}
	}
	return entries
}

// planOf returns the plan of one alpha gate, which is disabled, with paths.
func planOf(t testing.TB, schemaYAML string, paths ...string) *fieldgate.Plan {
	t.Helper()
	gate := apiextensions.CustomResourceDefinitionFeatureGate{Name: "A", PreRelease: apiextensions.PreReleaseAlpha, FieldPaths: paths}
	gates := &apiextensions.CustomResourceDefinitionFeatureGates{FeatureGates: []apiextensions.CustomResourceDefinitionFeatureGate{gate}}
	return fieldgate.Compile(gates, testyaml.Structural(t, schemaYAML), fieldgate.Options{})
}

func disabledFields(plan *fieldgate.Plan) *fieldgate.Cursor {
	root, _ := plan.DisabledFields(scope.Everything)
	return &root
}

// inAllVersions returns the same objects for every version.
func inAllVersions(objects *Objects) func(string, bool) (*Objects, error) {
	return func(string, bool) (*Objects, error) { return objects, nil }
}

func sameFields(string, string) bool { return true }

// parseObjects parses the states of an object. An empty text stands for nil.
func parseObjects(t testing.TB, old, requested, final string) *Objects {
	t.Helper()
	return &Objects{Old: testyaml.Object(t, old), Requested: testyaml.Object(t, requested), Final: testyaml.Object(t, final)}
}

// mustCorrect returns the corrected entries of a write. All versions have the same fields, unless the write says
// otherwise.
func mustCorrect(t testing.TB, w Write) []metav1.ManagedFieldsEntry {
	t.Helper()
	if w.SameFields == nil {
		w.SameFields = sameFields
	}
	got, err := Correct(w)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func assertEntries(t testing.TB, want entries, got []metav1.ManagedFieldsEntry) {
	t.Helper()
	if diff := cmp.Diff(described(t, want.parse(t)), described(t, got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
