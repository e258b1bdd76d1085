// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/line"
)

func managed(manager, operation, version, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), APIVersion: "example.com/" + version,
		FieldsType: "FieldsV1", FieldsV1: line.NewFields(fields),
	}
}

// updated returns an entry for updates in v1beta1.
func updated(manager, fields string) metav1.ManagedFieldsEntry {
	return managed(manager, "Update", "v1beta1", fields)
}

// applied returns the entry of alice for server-side apply in v1beta1.
func applied(fields string) metav1.ManagedFieldsEntry {
	return managed("alice", "Apply", "v1beta1", fields)
}

// fieldsByManager returns the fields of the entries of an object, by manager and operation.
func fieldsByManager(u *unstructured.Unstructured) map[string]string {
	got := map[string]string{}
	for _, entry := range u.GetManagedFields() {
		got[entry.Manager+" "+string(entry.Operation)] = line.FieldsText(entry.FieldsV1)
	}
	return got
}

// managedResource returns a persisted object with entries.
func managedResource(version string, spec map[string]any, entries ...metav1.ManagedFieldsEntry) *unstructured.Unstructured {
	u := customResource(version, spec)
	u.SetUID("uid")
	if entries != nil {
		u.SetManagedFields(entries)
	}
	return u
}

func specOf(t *testing.T, text string) map[string]any {
	t.Helper()
	spec := testyaml.Object(t, text)
	if spec == nil {
		spec = map[string]any{}
	}
	return spec
}

const (
	replicasOnly = `{"f:spec":{"f:replicas":{}}}`
	countOnly    = `{"f:spec":{"f:count":{}}}`
	imageOnly    = `{"f:spec":{"f:image":{}}}`
	countImage   = `{"f:spec":{"f:count":{},"f:image":{}}}`
)

// convertedWrites are the cases of TestG7ManagedFieldsOfAConvertedWrite.
var convertedWrites = []struct {
	name             string
	old              string // empty on create
	before, after    []metav1.ManagedFieldsEntry
	applied          string // by alice; empty for an update
	requested, final string
	want             map[string]string
	conversions      int
}{
	{
		name:  "G7.1: a field that is dropped on create has no owner",
		after: []metav1.ManagedFieldsEntry{updated("alice", countImage)}, requested: `{image: i, count: 3}`, final: `{image: i}`,
		want: map[string]string{"alice Update": imageOnly}, conversions: 2,
	},
	{
		name: "G7.1, G7.2: a field that an update changes and a gate keeps keeps its owner", old: `{image: i, count: 3}`,
		before: []metav1.ManagedFieldsEntry{updated("alice", countImage)}, after: []metav1.ManagedFieldsEntry{updated("bob", countImage)},
		requested: `{image: j, count: 5}`, final: `{image: j, count: 3}`,
		want: map[string]string{"alice Update": countOnly, "bob Update": imageOnly}, conversions: 3,
	},
	{
		name: "G7.2: a field that an update leaves out and a gate keeps keeps its owner", old: `{image: i, count: 3}`,
		before: []metav1.ManagedFieldsEntry{applied(countOnly), updated("carol", imageOnly)}, after: []metav1.ManagedFieldsEntry{updated("bob", imageOnly)},
		requested: `{image: j}`, final: `{image: j, count: 3}`,
		want: map[string]string{"alice Apply": countOnly, "bob Update": imageOnly}, conversions: 3,
	},
	{
		name: "G7.2: an owner in the storage version stays owner", old: `{image: i, count: 3}`,
		before: []metav1.ManagedFieldsEntry{managed("alice", "Update", "v1", replicasOnly)}, after: []metav1.ManagedFieldsEntry{updated("bob", countImage)},
		requested: `{image: j, count: 5}`, final: `{image: j, count: 3}`,
		want: map[string]string{"alice Update": replicasOnly, "bob Update": imageOnly}, conversions: 3,
	},
	{
		name: "U8: an entry of a version that the CRD does not have is not corrected", old: `{count: 3}`,
		before:    []metav1.ManagedFieldsEntry{managed("alice", "Update", "v0", countImage)},
		after:     []metav1.ManagedFieldsEntry{managed("alice", "Update", "v0", imageOnly), updated("bob", countOnly)},
		requested: `{count: 5}`, final: `{count: 3}`,
		want: map[string]string{"alice Update": imageOnly}, conversions: 3,
	},
	{
		name: "G7: entries are not corrected for metadata that the webhook changed", old: `{count: 3}`,
		before:    []metav1.ManagedFieldsEntry{updated("alice", countOnly)},
		after:     []metav1.ManagedFieldsEntry{updated("bob", `{"f:metadata":{"f:labels":{"f:changed-by":{}}},"f:spec":{"f:count":{}}}`)},
		requested: `{count: 5}`, final: `{count: 3}`,
		want: map[string]string{"alice Update": countOnly, "bob Update": `{"f:metadata":{"f:labels":{"f:changed-by":{}}}}`}, conversions: 3,
	},
	{
		name: "G4, G7: the same configuration applied again changes nothing", old: `{image: i, count: 3}`,
		before: []metav1.ManagedFieldsEntry{applied(countImage)}, after: []metav1.ManagedFieldsEntry{applied(countImage)},
		applied: `{image: i, count: 3}`, requested: `{image: i, count: 3}`, final: `{image: i, count: 3}`,
		want: map[string]string{"alice Apply": countImage}, conversions: 2,
	},
	{
		name: "G7.1: an applier of the persisted value shares the field", old: `{image: i, count: 3}`,
		before: []metav1.ManagedFieldsEntry{updated("bob", countImage)}, after: []metav1.ManagedFieldsEntry{applied(countOnly), updated("bob", countImage)},
		applied: `{count: 3}`, requested: `{image: i, count: 3}`, final: `{image: i, count: 3}`,
		want: map[string]string{"alice Apply": countOnly, "bob Update": countImage}, conversions: 2,
	},
	{
		name: "G7.1: a forced apply of another value does not make an owner", old: `{image: i, count: 3}`,
		before: []metav1.ManagedFieldsEntry{updated("bob", countImage)}, after: []metav1.ManagedFieldsEntry{applied(countImage)},
		applied: `{image: j, count: 5}`, requested: `{image: j, count: 5}`, final: `{image: j, count: 3}`,
		want: map[string]string{"alice Apply": imageOnly, "bob Update": countOnly}, conversions: 3,
	},
	{
		name: "G7.2: an applier that leaves the field out gives it up", old: `{image: i, count: 3}`,
		before: []metav1.ManagedFieldsEntry{applied(countImage)}, after: []metav1.ManagedFieldsEntry{applied(imageOnly)},
		applied: `{image: i}`, requested: `{image: i}`, final: `{image: i, count: 3}`,
		want: map[string]string{"alice Apply": imageOnly}, conversions: 3,
	},
	{
		name: "G7.2: an owner that applies another value stays owner", old: `{image: i, count: 3}`,
		before: []metav1.ManagedFieldsEntry{applied(countImage)}, after: []metav1.ManagedFieldsEntry{applied(countImage)},
		applied: `{image: i, count: 5}`, requested: `{image: i, count: 5}`, final: `{image: i, count: 3}`,
		want: map[string]string{"alice Apply": countImage}, conversions: 3,
	},
	{
		name: "G1: managedFields need no conversion if the gates change nothing", old: `{image: i}`,
		after: []metav1.ManagedFieldsEntry{updated("alice", imageOnly)}, requested: `{image: j}`, final: `{image: j}`,
		want: map[string]string{"alice Update": imageOnly}, conversions: 2,
	},
}

// TestG7ManagedFieldsOfAConvertedWrite (rules G1, G7, U8) has writes in v1beta1 of a CRD with a webhook: the disabled
// field replicas has the name count there.
func TestG7ManagedFieldsOfAConvertedWrite(t *testing.T) {
	for _, tc := range convertedWrites {
		t.Run(tc.name, func(t *testing.T) {
			webhook := &renamer{}
			_, request := planFor(t, withWebhook(t), webhook).Resource("v1beta1").Begin(t.Context(), nil)
			var old *unstructured.Unstructured
			if tc.old != "" {
				old = managedResource("v1beta1", specOf(t, tc.old), tc.before...)
			}
			u := customResource("v1beta1", specOf(t, tc.requested))
			if tc.applied != "" {
				request.BeforeApply(old, customResource("v1beta1", specOf(t, tc.applied)), "alice")
			} else {
				request.BeforeUpdate(old, u)
			}
			u.SetManagedFields(tc.after)
			request.AfterUpdate(u, nil)
			webhook.calls = 0
			if err := request.evaluateAndCorrect(u, old); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, fieldsByManager(u)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(specOf(t, tc.final), u.Object["spec"]); diff != "" {
				t.Errorf("G2: final object (-want +got):\n%s", diff)
			}
			if webhook.calls != tc.conversions {
				t.Errorf("G1: %d conversions, want %d", webhook.calls, tc.conversions)
			}
		})
	}
}

// TestG7ManagedFieldsThatAClientSends (rule G7): corrections start from the managedFields that the client sends, and do
// not add any that were removed after field management.
func TestG7ManagedFieldsThatAClientSends(t *testing.T) {
	alice := managed("alice", "Update", "v1", replicasOnly)
	bob := managed("bob", "Update", "v1", imageOnly)
	for _, tc := range []struct {
		name  string
		sent  []metav1.ManagedFieldsEntry
		after []metav1.ManagedFieldsEntry // the result of field management
		final []metav1.ManagedFieldsEntry // the entries when the gates are evaluated
		skip  bool                        // field management does not run
		want  map[string]string
	}{
		{
			name: "G7.2: if the client sends none, the owner stays", after: []metav1.ManagedFieldsEntry{bob}, final: []metav1.ManagedFieldsEntry{bob},
			want: map[string]string{"alice Update": replicasOnly, "bob Update": imageOnly},
		},
		{
			name: "G7.2: the owner stays, even if it has the only entry", want: map[string]string{"alice Update": replicasOnly},
		},
		{
			name: "G7: if the client resets them, they stay reset", sent: []metav1.ManagedFieldsEntry{},
			after: []metav1.ManagedFieldsEntry{bob}, final: []metav1.ManagedFieldsEntry{bob}, want: map[string]string{"bob Update": imageOnly},
		},
		{
			name: "G7: an empty entry resets them, too", sent: []metav1.ManagedFieldsEntry{{}},
			after: []metav1.ManagedFieldsEntry{bob}, final: []metav1.ManagedFieldsEntry{bob}, want: map[string]string{"bob Update": imageOnly},
		},
		{
			name: "G7: if the client resets them and field management adds none, there are none",
			sent: []metav1.ManagedFieldsEntry{{}}, want: map[string]string{},
		},
		{
			name: "G7: if the client sends others, these are corrected", sent: []metav1.ManagedFieldsEntry{managed("carol", "Apply", "v1", replicasOnly)},
			after: []metav1.ManagedFieldsEntry{bob}, final: []metav1.ManagedFieldsEntry{bob},
			want: map[string]string{"carol Apply": replicasOnly, "bob Update": imageOnly},
		},
		{
			name: "G7: if they were removed because the object is too large, they stay removed", after: []metav1.ManagedFieldsEntry{bob},
			want: map[string]string{},
		},
		{
			name: "G7: if field management does not run, there are none to correct", skip: true, want: map[string]string{},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, request := planFor(t, testCRD(t), nil).Resource("v1").Begin(t.Context(), nil)
			old := managedResource("v1", specOf(t, `{image: i, replicas: 3}`), alice)
			u := customResource("v1", specOf(t, `{image: j, replicas: 5}`))
			if tc.sent != nil {
				u.SetManagedFields(tc.sent)
			}
			if !tc.skip {
				request.BeforeUpdate(old, u)
				u.SetManagedFields(tc.after)
				request.AfterUpdate(u, nil)
			}
			u.SetManagedFields(tc.final)
			if _, err := request.Update(t.Context(), u, old); err != nil || request.failure != nil {
				t.Fatal(err, request.failure)
			}
			if diff := cmp.Diff(tc.want, fieldsByManager(u)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, found, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields"); found != (len(tc.want) > 0) {
				t.Errorf("G6: the object has managedFields: %v", found)
			}
			if diff := cmp.Diff(specOf(t, `{image: j, replicas: 3}`), u.Object["spec"]); diff != "" {
				t.Errorf("G2: (-want +got):\n%s", diff)
			}
		})
	}
}

// TestG7ManagedFieldsOfACreatedObject (rules G3, G7).
func TestG7ManagedFieldsOfACreatedObject(t *testing.T) {
	_, request := planFor(t, testCRD(t), nil).Resource("v1").Begin(t.Context(), nil)
	for _, tc := range []struct {
		name         string
		fields, want []metav1.ManagedFieldsEntry
	}{
		{
			"G7.1: a dropped field has no owner",
			[]metav1.ManagedFieldsEntry{managed("alice", "Update", "v1", `{"f:kind":{},"f:spec":{".":{},"f:replicas":{}}}`)},
			[]metav1.ManagedFieldsEntry{managed("alice", "Update", "v1", `{"f:kind":{},"f:spec":{}}`)},
		},
		{
			"G3: an object whose only field is dropped keeps its owner",
			[]metav1.ManagedFieldsEntry{managed("alice", "Update", "v1", replicasOnly)},
			[]metav1.ManagedFieldsEntry{managed("alice", "Update", "v1", `{"f:spec":{}}`)},
		},
		{"G7: an object without managedFields gets no empty list", nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u, want := customResource("v1", specOf(t, `{replicas: 3}`)), customResource("v1", map[string]any{})
			u.SetManagedFields(tc.fields)
			want.SetManagedFields(tc.want)
			if request.Create(u); request.failure != nil {
				t.Fatal(request.failure)
			}
			if diff := cmp.Diff(want, u); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestG7BeforeApplyAdjustsTheConfiguration (rule G7.3) in versions in which the paths of the gates apply.
func TestG7BeforeApplyAdjustsTheConfiguration(t *testing.T) {
	for name, tc := range map[string]struct {
		plan                    *Plan
		version                 string
		live, sent, want        string
		wantAdjusted, isGuarded bool
	}{
		"G7.3: in the storage version the persisted value is applied": {
			planFor(t, withWebhook(t), &renamer{}), "v1", `{replicas: 3}`, `{image: i, replicas: 5}`, `{image: i, replicas: 3}`, true, true,
		},
		"G7.3: with conversion None the persisted value is applied in every version": {
			planFor(t, testCRD(t), nil), "v1beta1", `{replicas: 3}`, `{image: i, replicas: 5}`, `{image: i, replicas: 3}`, true, true,
		},
		"G7.1: a field that is not persisted is not applied": {
			planFor(t, testCRD(t), nil), "v1", `{image: i}`, `{image: i, replicas: 5}`, `{image: i}`, true, true,
		},
		"G4: the persisted value is applied without adjustment": {
			planFor(t, testCRD(t), nil), "v1", `{replicas: 3}`, `{replicas: 3}`, `{replicas: 3}`, false, true,
		},
		"G1: in another version behind a webhook nothing is adjusted": {
			planFor(t, withWebhook(t), &renamer{}), "v1beta1", `{count: 3}`, `{count: 5}`, `{count: 5}`, false, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			webhook, _ := tc.plan.convertor.(*renamer)
			_, request := tc.plan.Resource(tc.version).Begin(t.Context(), nil)
			live, sent := managedResource(tc.version, specOf(t, tc.live)), customResource(tc.version, specOf(t, tc.sent))
			got, ok := request.BeforeApply(live, sent, "alice").(*unstructured.Unstructured)
			if !ok {
				t.Fatal("got no object")
			}
			if diff := cmp.Diff(specOf(t, tc.want), got.Object["spec"]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]any{specOf(t, tc.live), specOf(t, tc.sent)}, []any{live.Object["spec"], sent.Object["spec"]}); diff != "" {
				t.Errorf("R4: an argument was modified:\n%s", diff)
			}
			if applier := request.managed.applier; request.managed.adjusted != tc.wantAdjusted || (applier.DisabledFields != nil) != tc.isGuarded || applier.Manager != "alice" {
				t.Errorf("adjusted %v, applier %+v", request.managed.adjusted, applier)
			}
			if webhook != nil && webhook.calls != 0 {
				t.Errorf("G1: %d conversions", webhook.calls)
			}
		})
	}
}

// TestG7ValuesOfTheWrongType (rules G7, U8): field management cannot read a value of the wrong type. AfterUpdateError
// returns the object without the value if a gate or normalization removes it.
func TestG7ValuesOfTheWrongType(t *testing.T) {
	for name, tc := range map[string]struct{ live, sent, want string }{
		"G7: a disabled field that is persisted is kept": {
			`{type: Replicas, replicas: 3}`, `{type: Replicas, replicas: x, image: i}`, `{type: Replicas, replicas: 3, image: i}`,
		},
		"G7: a disabled field that is not persisted is dropped": {`{type: ""}`, `{type: "", replicas: x}`, `{type: ""}`},
		"U8: a member that is cleared":                          {`{type: Git, git: u}`, `{type: Replicas, git: 5}`, `{type: Replicas}`},
		"another value stays, and the request will be refused":  {`{type: Git, git: u}`, `{type: Git, git: 5}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, request := unionPlan(t, nil).Resource("v1").Begin(t.Context(), nil)
			sentEntries := []metav1.ManagedFieldsEntry{managed("alice", "Apply", "v1", `{"f:spec":{"f:type":{}}}`)}
			sent := managedResource("v1", specOf(t, tc.sent), sentEntries...)
			request.BeforeUpdate(nil, sent)
			sent.SetManagedFields(nil) // field management removes them
			got, _ := request.AfterUpdateError(persisted(specOf(t, tc.live)), sent).(*unstructured.Unstructured)
			if tc.want == "" {
				if got != nil {
					t.Errorf("got %v, want nil", got)
				}
				return
			}
			if got == nil {
				t.Fatal("got nil")
			}
			if diff := cmp.Diff(specOf(t, tc.want), got.Object["spec"]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(specOf(t, tc.sent), sent.Object["spec"]); diff != "" {
				t.Errorf("R4: the argument was modified (-want +got):\n%s", diff)
			}
			if len(got.GetManagedFields()) != 1 {
				t.Errorf("managedFields are %v, want those of the request", got.GetManagedFields())
			}
		})
	}
	_, request := unionPlan(t, nil).Resource("v1").Begin(t.Context(), nil)
	if got := request.AfterUpdateError(nil, &runtime.Unknown{}); got != nil {
		t.Errorf("R1: got %v for an object of another type", got)
	}
}

// TestG7StatusAndScaleHaveTheirOwnEntries (rule G7): a manager has an entry for each subresource.
func TestG7StatusAndScaleHaveTheirOwnEntries(t *testing.T) {
	plan := planFor(t, testCRD(t), nil)
	for want, endpoint := range map[string]*Endpoint{"": plan.Resource("v1"), "status": plan.Status("v1"), "scale": plan.Resource("v1").ForScale()} {
		if got := endpoint.subresource(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestG7AScaleWriteDoesNotOwnADisabledField (rule G7.1): field management of scale does not see the custom resource.
func TestG7AScaleWriteDoesNotOwnADisabledField(t *testing.T) {
	_, request := planFor(t, testCRD(t), nil).Resource("v1").ForScale().Begin(t.Context(), nil)
	scaled := managed("hpa", "Update", "v1", replicasOnly)
	scaled.Subresource = "scale"
	old := managedResource("v1", specOf(t, `{replicas: 3}`), managed("alice", "Apply", "v1", replicasOnly))
	u := managedResource("v1", specOf(t, `{replicas: 5}`), scaled)
	if err := request.evaluateAndCorrect(u, old); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"alice Apply": replicasOnly}, fieldsByManager(u)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// forcedTo returns a forced apply whose result has a spec.
func forcedTo(text string) func(*testing.T) (runtime.Object, error) {
	return func(t *testing.T) (runtime.Object, error) { return managedResource("v1beta1", specOf(t, text)), nil }
}

// convertedConflicts are the cases of TestG7ConflictsOfAConvertedApply.
var convertedConflicts = []struct {
	name       string
	crd        func(*testing.T) *Plan
	version    string
	live, sent string
	forced     func(*testing.T) (runtime.Object, error)
	want       string // empty: the conflict stands
}{
	{
		name: "G7.3: a kept field is applied as it is persisted", version: "v1beta1",
		live: `{image: i, count: 3}`, sent: `{image: j, count: 5}`, forced: forcedTo(`{image: j, count: 5}`), want: `{image: j, count: 3}`,
	},
	{
		name: "G7.3: a dropped field is not applied", version: "v1beta1",
		live: `{image: i}`, sent: `{image: j, count: 5}`, forced: forcedTo(`{image: j, count: 5}`), want: `{image: j}`,
	},
	{
		name: "a conflict about other fields stands", version: "v1beta1",
		live: `{image: i, count: 3}`, sent: `{image: j, count: 3}`, forced: forcedTo(`{image: j, count: 3}`),
	},
	{
		name: "in a version in which the paths apply, the configuration was adjusted before", version: "v1",
		live: `{image: i, replicas: 3}`, sent: `{image: j, replicas: 5}`, forced: forcedTo(`{image: j, replicas: 5}`),
	},
	{
		name: "if the forced apply fails, the conflict stands", version: "v1beta1", live: `{count: 3}`, sent: `{count: 5}`,
		forced: func(*testing.T) (runtime.Object, error) { return nil, errors.New("refused") },
	},
	{
		name: "if the webhook fails, the conflict stands", version: "v1beta1", live: `{count: 3}`, sent: `{count: 5}`, forced: forcedTo(`{count: 5}`),
		crd: func(t *testing.T) *Plan {
			return planFor(t, withWebhook(t), &renamer{err: errors.New("webhook is down")})
		},
	},
}

// TestG7ConflictsOfAConvertedApply (rule G7.3): a conflict about fields that the gates keep or drop is resolved.
func TestG7ConflictsOfAConvertedApply(t *testing.T) {
	for _, tc := range convertedConflicts {
		t.Run(tc.name, func(t *testing.T) {
			plan := planFor(t, withWebhook(t), &renamer{})
			if tc.crd != nil {
				plan = tc.crd(t)
			}
			_, request := plan.Resource(tc.version).Begin(t.Context(), nil)
			live, sent := managedResource(tc.version, specOf(t, tc.live)), customResource(tc.version, specOf(t, tc.sent))
			request.BeforeApply(live, sent, "alice")
			got := request.AfterConflict(live, sent, func() (runtime.Object, error) { return tc.forced(t) })
			if (got == nil) != (tc.want == "") {
				t.Fatalf("got %v", got)
			}
			if got != nil {
				if diff := cmp.Diff(specOf(t, tc.want), got.(*unstructured.Unstructured).Object["spec"]); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			if diff := cmp.Diff(specOf(t, tc.sent), sent.Object["spec"]); diff != "" {
				t.Errorf("R4: the configuration was modified:\n%s", diff)
			}
		})
	}
}

func TestG7AdjustedBy(t *testing.T) {
	for _, tc := range []struct {
		name                                  string
		configuration, requested, final, want string // an empty want is the configuration
	}{
		{name: "a field that the gates do not change stays", configuration: `{a: 1}`, requested: `{a: 1, b: 2}`, final: `{a: 1, b: 2}`},
		{name: "a kept field has its persisted value", configuration: `{a: 1, b: 2}`, requested: `{a: 1, b: 2}`, final: `{a: 0, b: 2}`, want: `{a: 0, b: 2}`},
		{name: "a dropped field is removed", configuration: `{a: 1, b: 2}`, requested: `{a: 1, b: 2}`, final: `{b: 2}`, want: `{b: 2}`},
		{name: "a kept field of an object has its persisted value", configuration: `{o: {a: 1, b: 2}}`, requested: `{o: {a: 1, b: 2, c: 3}}`, final: `{o: {a: 0, b: 2, c: 3}}`, want: `{o: {a: 0, b: 2}}`},
		{name: "an object whose only field is dropped stays", configuration: `{o: {a: 1}}`, requested: `{o: {a: 1}}`, final: `{o: {}}`, want: `{o: {}}`},
		{name: "a field that is not in the configuration is not added", configuration: `{a: 1}`, requested: `{a: 1, b: 2}`, final: `{a: 1}`},
		{name: "an object may become a list", configuration: `{o: {a: 1}}`, requested: `{o: {a: 1}}`, final: `{o: [1]}`, want: `{o: [1]}`},
		{name: "metadata is not adjusted", configuration: `{metadata: {labels: {a: b}}}`, requested: `{metadata: {labels: {a: b}}}`, final: `{metadata: {}}`},
		{name: "an empty configuration stays empty", configuration: `{}`, requested: `{a: 1}`, final: `{}`},
	} {
		t.Run("G7.3: "+tc.name, func(t *testing.T) {
			configuration, final := testyaml.Object(t, tc.configuration), testyaml.Object(t, tc.final)
			want, isChanged := testyaml.Object(t, tc.want), tc.want != ""
			if !isChanged {
				want = configuration
			}
			got, changed := adjustedBy(configuration, testyaml.Object(t, tc.requested), final)
			if diff := cmp.Diff(want, got); diff != "" || changed != isChanged {
				t.Errorf("changed %v (-want +got):\n%s", changed, diff)
			}
			if diff := cmp.Diff(testyaml.Object(t, tc.configuration), configuration); diff != "" {
				t.Errorf("R4: the configuration was modified:\n%s", diff)
			}
		})
	}
}
