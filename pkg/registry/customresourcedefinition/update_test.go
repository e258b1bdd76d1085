// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresourcedefinition

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/endpoints/fieldmanager"
)

const gates = `{component: c, featureGates: [{name: G, enabled: false, preRelease: alpha, fieldPaths: [.spec.git]}]}`

// crdOf returns a CRD as the server decodes it, with versions in YAML, and customFeatureGates if not empty.
func crdOf(t *testing.T, versions, customFeatureGates string) *apiextensions.CustomResourceDefinition {
	t.Helper()
	text := `spec: {group: example.com, versions: ` + versions
	if customFeatureGates != "" {
		text += `, customFeatureGates: ` + customFeatureGates
	}
	external := testyaml.Parse[*apiextensionsv1.CustomResourceDefinition](t, text+`}`)
	internal := &apiextensions.CustomResourceDefinition{}
	err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(external, internal, nil)
	if err != nil {
		t.Fatal(err)
	}
	return internal
}

// warnings collects the warnings of a request.
type warnings struct {
	mu    sync.Mutex
	texts []string
	// done ends the update.
	done func()
}

// sent ends the update and returns the warnings that the client gets.
func (w *warnings) sent() []string {
	w.done()
	return w.texts
}

// AddWarning implements warning.Recorder.
func (w *warnings) AddWarning(_, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// requestOf returns the context with which the storage handles a request, and the recorder of its warnings.
func requestOf(t *testing.T, verb, subresource string) (context.Context, *warnings) {
	t.Helper()
	recorder := &warnings{}
	ctx := warning.WithWarningRecorder(t.Context(), recorder)
	info := &request.RequestInfo{IsResourceRequest: true, Verb: verb, Subresource: subresource}
	ctx, recorder.done = WithUpdate(request.WithRequestInfo(ctx, info))
	return ctx, recorder
}

// versionsOf returns a list with one version, v1, with the given discriminator.
func versionsOf(discriminator string) string {
	return `[` + version("v1", discriminator) + `]`
}

// version returns a version with the given discriminator.
func version(name, discriminator string) string {
	return `{name: ` + name + `, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {
type: object, required: [type], properties: {type: {` + discriminator + `}, git: {type: object}}}}}}}`
}

const (
	plain = `type: string, enum: [Git]`
	union = plain + `, x-kubernetes-unions: {fieldMembers: {Git: {name: git}}}`
)

// testKeepLeftOut checks that keepLeftOut turns newCRD into want, is idempotent, and does not modify oldCRD. It returns
// the warnings.
func testKeepLeftOut(
	t *testing.T, verb, subresource string, oldCRD, newCRD, want *apiextensions.CustomResourceDefinition,
) []string {
	t.Helper()
	ctx, recorder := requestOf(t, verb, subresource)
	persisted := oldCRD.DeepCopy()
	for range 2 { // as for field management and in the strategy
		keepLeftOut(ctx, newCRD, oldCRD)
	}
	if diff := cmp.Diff(want, newCRD); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(persisted, oldCRD); diff != "" {
		t.Errorf("R4: the persisted object changed (-want +got):\n%s", diff)
	}
	return recorder.sent()
}

func TestC9AFullUpdateKeepsTheGatesThatItLeavesOut(t *testing.T) {
	for _, tc := range []struct {
		claim           string
		verb            string // update if empty
		subresource     string
		old, gates      string // empty for none
		want            string
		wantKeptWarning bool
	}{
		{claim: "C9: a full update that leaves out gates keeps them", old: gates, want: gates, wantKeptWarning: true},
		{claim: "C9: a full update with null keeps gates", old: gates, gates: `null`, want: gates, wantKeptWarning: true},
		{claim: "C9: a full update that leaves out a component keeps it", old: `{component: c}`, want: `{component: c}`, wantKeptWarning: true},
		{claim: "C9: {} removes gates", old: gates, gates: `{}`},
		{claim: "C9: an empty list removes gates", old: gates, gates: `{featureGates: []}`},
		{claim: "C9: {} is not persisted", gates: `{}`},
		{claim: "C9: a component alone removes the gates", old: gates, gates: `{component: c}`, want: `{component: c}`},
		{claim: "C9: other gates replace the persisted ones", old: gates, gates: `{featureGates: [{name: H, enabled: true}]}`, want: `{featureGates: [{name: H, enabled: true}]}`},
		{claim: "C9: the same gates stay without a warning", old: gates, gates: gates, want: gates},
		{claim: "C9: a full update may add gates", gates: gates, want: gates},
		{claim: "C9: a CRD without gates gets none"},
		{claim: "C9: a patch may remove gates", verb: "patch", old: gates},
		{claim: "C9: a patch may set {}", verb: "patch", old: gates, gates: `{}`, want: `{}`},
		{claim: "C9: a status update keeps nothing", subresource: "status", old: gates},
		{claim: "C9: a create keeps nothing", verb: "create", old: gates},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			if tc.verb == "" {
				tc.verb = "update"
			}
			crd := func(gates string) *apiextensions.CustomResourceDefinition { return crdOf(t, versionsOf(plain), gates) }
			warnings := testKeepLeftOut(t, tc.verb, tc.subresource, crd(tc.old), crd(tc.gates), crd(tc.want))
			if got := len(warnings) == 1 && warnings[0] == gatesKept; got != tc.wantKeptWarning {
				t.Errorf("warnings: %q", warnings)
			}
		})
	}
}

// TestC9TheLastAttemptWarns updates a CRD whose gates somebody else removed in the meantime: the storage first tries an
// object of the watch cache that still has them.
func TestC9TheLastAttemptWarns(t *testing.T) {
	ctx, recorder := requestOf(t, "update", "")
	for _, attempt := range []struct{ resourceVersion, gates, versions string }{
		{"1", gates, versionsOf(union)}, {"2", "", versionsOf(plain)},
	} {
		oldCRD, newCRD := crdOf(t, attempt.versions, attempt.gates), crdOf(t, versionsOf(plain), "")
		oldCRD.ResourceVersion = attempt.resourceVersion
		keepLeftOut(ctx, newCRD, oldCRD)
	}
	if sent := recorder.sent(); len(sent) > 0 {
		t.Errorf("C9: the last attempt kept nothing, but there are warnings: %q", sent)
	}
}

// TestC9KeptFieldsAreCopies checks that later changes of the new object do not modify the persisted object (rule R4).
func TestC9KeptFieldsAreCopies(t *testing.T) {
	ctx, _ := requestOf(t, "update", "")
	oldCRD, newCRD := crdOf(t, versionsOf(union), gates), crdOf(t, versionsOf(plain), "")
	persisted := oldCRD.DeepCopy()
	keepLeftOut(ctx, newCRD, oldCRD)
	newCRD.Spec.CustomFeatureGates.FeatureGates[0].FieldPaths[0] = ".spec.changed"
	newCRD.Spec.Validation.OpenAPIV3Schema.Properties["changed"] = apiextensions.JSONSchemaProps{}
	if diff := cmp.Diff(persisted, oldCRD); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// fieldManager records the object that field management gets.
type fieldManager struct{ got runtime.Object }

func (*fieldManager) Apply(_, configuration runtime.Object, _ string, _ bool) (runtime.Object, error) {
	return configuration, nil
}

func (m *fieldManager) Update(_, newObj runtime.Object, _ string) (runtime.Object, error) {
	m.got = newObj.DeepCopyObject()
	return newObj, nil
}

func (m *fieldManager) UpdateNoErrors(live, newObj runtime.Object, manager string) runtime.Object {
	newObj, _ = m.Update(live, newObj, manager)
	return newObj
}

// TestC9FieldManagementGetsKeptFields checks the object for which field management computes owners, so that the owners
// of kept fields do not change (rules C9, C2).
func TestC9FieldManagementGetsKeptFields(t *testing.T) {
	for _, tc := range []struct{ claim, verb, gates, versions, wantGates, wantVersions string }{
		{"C9: field management gets fields that a full update leaves out", "update", "", versionsOf(plain), gates, versionsOf(union)},
		{"C9: field management does not get gates that {} removes", "update", `{}`, versionsOf(union), "", versionsOf(union)},
		{"C9: field management does not get fields that a patch removes", "patch", "", versionsOf(plain), "", versionsOf(plain)},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			ctx, _ := requestOf(t, tc.verb, "")
			manager := &fieldManager{}
			live, newCRD := crdOf(t, versionsOf(union), gates), crdOf(t, tc.versions, tc.gates)
			got := fieldmanager.UpdateNoErrors(ctx, manager, live, newCRD, "client")
			want := crdOf(t, tc.wantVersions, tc.wantGates)
			if diff := cmp.Diff(runtime.Object(want), manager.got); diff != "" {
				t.Errorf("field management (-want +got):\n%s", diff)
			}
			keepLeftOut(ctx, got.(*apiextensions.CustomResourceDefinition), live)
			if diff := cmp.Diff(runtime.Object(want), got); diff != "" {
				t.Errorf("the strategy (-want +got):\n%s", diff)
			}
		})
	}
}

// TestC9UnusualCalls checks a call without a request, and one with objects of another type (rule R1).
func TestC9UnusualCalls(t *testing.T) {
	ctx, done := WithUpdate(t.Context())
	defer done()
	oldCRD, newCRD := crdOf(t, versionsOf(union), gates), crdOf(t, versionsOf(plain), "")
	keepLeftOut(ctx, newCRD, oldCRD)
	if newCRD.Spec.CustomFeatureGates != nil {
		t.Error("keepLeftOut has an effect without a request")
	}

	put, _ := requestOf(t, "update", "")
	m := &fieldManager{}
	fieldmanager.UpdateNoErrors(put, m, &apiextensions.CustomResourceDefinitionList{}, &apiextensions.CustomResourceDefinitionList{}, "client")
	if m.got == nil {
		t.Error("field management is skipped for objects of another type")
	}
}

func TestC9IsEmpty(t *testing.T) {
	component := ""
	for want, list := range map[bool][]*fairlead.CustomResourceDefinitionFeatureGates{
		true:  {{}, {FeatureGates: []fairlead.CustomResourceDefinitionFeatureGate{}}},
		false: {nil, {Component: &component}, {FeatureGates: make([]fairlead.CustomResourceDefinitionFeatureGate, 1)}},
	} {
		for _, gates := range list {
			if isEmpty(gates) != want {
				t.Errorf("C9: isEmpty(%v) = %v", gates, !want)
			}
		}
	}
}
