// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/warning"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/line"
	"github.com/fairlead-dev/fairlead/pkg/features"
)

const crdYAML = `
spec:
  group: example.com
  names: {plural: crontabs, kind: CronTab}
  conversion: {strategy: None}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}}}
  - {name: v1beta1, served: true}
  customFeatureGates:
    featureGates:
    - {name: Replicas, preRelease: alpha, fieldPaths: [.spec.replicas]}
    - {name: Ready, preRelease: alpha, fieldPaths: [.status.ready]}
`

func testCRD(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(crdYAML), crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

func testSchemas() map[string]*structuralschema.Structural {
	schemas := map[string]*structuralschema.Structural{}
	for _, version := range []string{"v1", "v1beta1"} {
		replicas := structuralschema.Structural{Generic: structuralschema.Generic{Type: "integer", Default: structuralschema.JSON{Object: int64(1)}}}
		spec := structuralschema.Structural{Properties: map[string]structuralschema.Structural{"replicas": replicas}}
		schemas[version] = &structuralschema.Structural{Properties: map[string]structuralschema.Structural{"spec": spec}}
	}
	return schemas
}

// renamer is a conversion webhook. The field replicas of v1 has the name count in v1beta1. It counts its calls.
type renamer struct {
	runtime.ObjectConvertor
	calls int
	err   error
}

func (r *renamer) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	r.calls++
	if r.err != nil {
		return nil, r.err
	}
	out := in.DeepCopyObject().(*unstructured.Unstructured)
	spec := out.Object["spec"].(map[string]any)
	for from, to := range map[string]string{"replicas": "count", "count": "replicas"} {
		if v, ok := spec[from]; ok {
			delete(spec, from)
			spec[to] = v
			break
		}
	}
	out.SetAPIVersion(to.(interface{ String() string }).String())
	out.SetLabels(map[string]string{"changed-by": "webhook"})
	return out, nil
}

func planFor(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, convertor runtime.ObjectConvertor) *Plan {
	t.Helper()
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.CRDFieldLevelVersioning, true)
	plan, _ := NewPlan(crd, testSchemas(), convertor)
	return plan
}

func withWebhook(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := testCRD(t)
	crd.Spec.Conversion.Strategy = apiextensionsv1.WebhookConverter
	return crd
}

func customResource(version string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/" + version, "kind": "CronTab", "spec": spec}}
	u.SetName("a")
	return u
}

func TestF2NoPlanWithTheServersGateOff(t *testing.T) {
	if plan, _ := NewPlan(testCRD(t), testSchemas(), nil); plan != nil {
		t.Error("got a plan although CRDFieldLevelVersioning is off")
	}
}

func TestR2WithoutGatesThePlanIsNil(t *testing.T) {
	crd := testCRD(t)
	crd.Spec.CustomFeatureGates = nil
	plan := planFor(t, crd, nil)
	if plan != nil {
		t.Fatal("got a plan")
	}
	if plan.Resource("v1") != nil || plan.Status("v1") != nil {
		t.Error("got an endpoint without a plan")
	}
}

func TestG9EndpointsHaveThePathsThatTheyWrite(t *testing.T) {
	plan := planFor(t, testCRD(t), nil)
	for name, tc := range map[string]struct {
		endpoint *Endpoint
		want     []string
	}{
		"G9: beside a status subresource":   {plan.Resource("v1"), []string{".spec.replicas"}},
		"G9: without a status subresource":  {plan.Resource("v1beta1"), []string{".spec.replicas", ".status.ready"}},
		"G9: the status subresource itself": {plan.Status("v1"), []string{".status.ready"}},
	} {
		t.Run(name, func(t *testing.T) {
			root, _ := tc.endpoint.gates.DisabledFields(tc.endpoint.scope)
			var got []string
			if root.Field("spec").Field("replicas").IsDisabled() {
				got = append(got, ".spec.replicas")
			}
			if root.Field("status").Field("ready").IsDisabled() {
				got = append(got, ".status.ready")
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestG1VersionsInWhichPathsApply(t *testing.T) {
	none, webhook := planFor(t, testCRD(t), nil), planFor(t, withWebhook(t), &renamer{})
	for _, tc := range []struct {
		name      string
		plan      *Plan
		version   string
		wantPaths bool
	}{
		{"with conversion None in the storage version", none, "v1", true},
		{"with conversion None in another version", none, "v1beta1", true},
		{"with a webhook in the storage version", webhook, "v1", true},
		{"with a webhook in another version", webhook, "v1beta1", false},
	} {
		if got := tc.plan.pathsApply(tc.version); got != tc.wantPaths {
			t.Errorf("G1: %s: %v", tc.name, got)
		}
	}
	const v1, v1beta1 = "example.com/v1", "example.com/v1beta1"
	if !none.haveSameFields(v1, v1beta1) || webhook.haveSameFields(v1, v1beta1) || !webhook.haveSameFields(v1, v1) {
		t.Error("U8: versions have the same fields with conversion None only")
	}
	for _, unknown := range []string{"example.com/v2", "other.com/v1", "v1", "a/b/c", ""} {
		if none.serves(unknown) || none.haveSameFields(v1, unknown) {
			t.Errorf("G7: unknown version %q", unknown)
		}
	}
}

func TestG8DefaultsAreRemovedFromVersionsInWhichPathsApply(t *testing.T) {
	hasDefault := func(s *structuralschema.Structural) bool {
		return s.Properties["spec"].Properties["replicas"].Default.Object != nil
	}
	for name, tc := range map[string]struct {
		crd         *apiextensionsv1.CustomResourceDefinition
		wantV1beta1 bool
	}{
		"G8: conversion None": {testCRD(t), false},
		"G8: webhook":         {withWebhook(t), true},
	} {
		t.Run(name, func(t *testing.T) {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.CRDFieldLevelVersioning, true)
			schemas := testSchemas()
			_, served := NewPlan(tc.crd, schemas, &renamer{})
			if hasDefault(served["v1"]) || hasDefault(served["v1beta1"]) != tc.wantV1beta1 {
				t.Errorf("defaults: v1 %v, v1beta1 %v", hasDefault(served["v1"]), hasDefault(served["v1beta1"]))
			}
			if diff := cmp.Diff(testSchemas(), schemas); diff != "" {
				t.Errorf("R4: the argument was modified (-want +got):\n%s", diff)
			}
		})
	}
	if _, served := NewPlan(testCRD(t), testSchemas(), nil); !hasDefault(served["v1"]) {
		t.Error("F2: a default was removed although CRDFieldLevelVersioning is off")
	}
}

func TestG1OtherVersionsAreConverted(t *testing.T) {
	webhook := &renamer{}
	plan := planFor(t, withWebhook(t), webhook)
	_, request := plan.Resource("v1beta1").Begin(t.Context(), nil)
	u := customResource("v1beta1", map[string]any{"image": "i", "count": int64(3)})
	if request.Create(u); request.failure != nil {
		t.Fatal(request.failure)
	}
	want := customResource("v1beta1", map[string]any{"image": "i"})
	want.SetLabels(map[string]string{"changed-by": "webhook"})
	if diff := cmp.Diff(want, u); diff != "" {
		t.Errorf("the converted field must be dropped, and metadata be taken from the webhook (-want +got):\n%s", diff)
	}

	webhook.calls = 0
	u = customResource("v1beta1", map[string]any{"image": "i"})
	if request.Create(u); request.failure != nil {
		t.Fatal(request.failure)
	}
	if webhook.calls != 1 {
		t.Errorf("%d conversions of an object that the gates do not change, want 1", webhook.calls)
	}

	webhook.calls = 0
	_, request = plan.Resource("v1").Begin(t.Context(), nil)
	request.Create(customResource("v1", map[string]any{"replicas": int64(3)}))
	if webhook.calls != 0 {
		t.Errorf("%d conversions of an object in the storage version", webhook.calls)
	}
}

// TestG7AConvertedWriteKeepsOwnersOfKeptFields (rules G7.1, G7.2): the gate keeps .spec.count as 1, or drops it.
func TestG7AConvertedWriteKeepsOwnersOfKeptFields(t *testing.T) {
	endpoint := planFor(t, withWebhook(t), &renamer{}).Resource("v1beta1")
	const mine, other = "writer", "other"
	for _, tc := range []struct {
		name          string
		old           map[string]any
		before, after map[string]string // fields by manager
		want          map[string]string
	}{
		{"G7.1: a field that is dropped on create has no owner", nil, nil,
			map[string]string{mine: `{"f:spec":{".":{},"f:count":{},"f:image":{}}}`}, map[string]string{mine: `{"f:spec":{".":{},"f:image":{}}}`}},
		{"G7.1: the requesting manager does not own a kept field", map[string]any{"count": int64(1)}, map[string]string{},
			map[string]string{mine: `{"f:spec":{"f:count":{},"f:image":{}}}`}, map[string]string{mine: `{"f:spec":{"f:image":{}}}`}},
		{"G7.1: an entry without fields is removed", map[string]any{"count": int64(1)}, map[string]string{},
			map[string]string{mine: `{"f:spec":{"f:count":{}}}`}, map[string]string{}},
		{"G7.2: another manager stays owner of a kept field", map[string]any{"count": int64(1)}, map[string]string{other: `{"f:spec":{"f:count":{}}}`},
			map[string]string{mine: `{"f:spec":{"f:count":{},"f:image":{}}}`}, map[string]string{mine: `{"f:spec":{"f:image":{}}}`, other: `{"f:spec":{"f:count":{}}}`}},
		{"G7.2: the requesting manager stays owner of a kept field", map[string]any{"count": int64(1)}, map[string]string{mine: `{"f:spec":{"f:count":{}}}`},
			map[string]string{mine: `{"f:spec":{"f:count":{},"f:image":{}}}`}, map[string]string{mine: `{"f:spec":{"f:count":{},"f:image":{}}}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, request := endpoint.Begin(t.Context(), nil)
			u := customResource("v1beta1", map[string]any{"image": "i", "count": int64(3)})
			if tc.old == nil {
				u.SetManagedFields(entriesFor(tc.after))
				request.Create(u)
			} else {
				old := customResource("v1beta1", tc.old)
				old.SetUID("uid")
				old.SetManagedFields(entriesFor(tc.before))
				request.BeforeUpdate(old, u)
				u.SetManagedFields(entriesFor(tc.after))
				request.AfterUpdate(u, nil)
				if _, err := request.Update(t.Context(), u, old); err != nil {
					t.Fatal(err)
				}
			}
			if request.failure != nil {
				t.Fatal(request.failure)
			}
			got := map[string]string{}
			for _, entry := range u.GetManagedFields() {
				got[entry.Manager] = line.FieldsText(entry.FieldsV1)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func entriesFor(fields map[string]string) []metav1.ManagedFieldsEntry {
	var entries []metav1.ManagedFieldsEntry
	for _, manager := range slices.Sorted(maps.Keys(fields)) {
		entries = append(entries, updated(manager, fields[manager]))
	}
	return entries
}

func TestG1AFailingConversionFailsTheRequest(t *testing.T) {
	endpoint := planFor(t, withWebhook(t), &renamer{err: errors.New("webhook is down")}).Resource("v1beta1")
	_, request := endpoint.Begin(t.Context(), nil)
	u := customResource("v1beta1", map[string]any{"count": int64(3)})
	request.Create(u)
	// It fails after schema validation, which may find the object invalid, and before validating admission.
	validate := request.CreateValidation(func(context.Context, runtime.Object) error { return errors.New("admission") })
	if err := validate(t.Context(), u); !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "webhook is down") {
		t.Errorf("got error %v", err)
	}
}

// recorder records the warnings of a request.
type recorder struct{ texts []string }

func (r *recorder) AddWarning(_, text string) { r.texts = append(r.texts, text) }

// beginRecorded begins a Request whose warnings are recorded.
func beginRecorded(t *testing.T, e *Endpoint, dryRun ...string) (context.Context, *Request, *recorder) {
	t.Helper()
	seen := &recorder{}
	ctx, request := e.Begin(warning.WithWarningRecorder(t.Context(), seen), dryRun)
	return ctx, request, seen
}

func TestG10WarningsWaitForSuccess(t *testing.T) {
	endpoint := planFor(t, testCRD(t), nil).Resource("v1")
	for name, tc := range map[string]struct {
		err  error
		want []string
	}{
		"G10: a write that succeeds gets its warning": {nil, []string{`.spec.replicas: dropped: feature gate "Replicas" is disabled`}},
		"G10: a write that fails gets none":           {errors.New("refused"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, request, seen := beginRecorded(t, endpoint, metav1.DryRunAll)
			request.Create(customResource("v1", map[string]any{"replicas": int64(3)}))
			request.Done(ctx, tc.err)
			if diff := cmp.Diff(tc.want, seen.texts); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestG10TheLastAttemptOfARetriedWriteCounts(t *testing.T) {
	endpoint := planFor(t, testCRD(t), nil).Resource("v1")
	ctx, request, seen := beginRecorded(t, endpoint, metav1.DryRunAll)
	old := customResource("v1", map[string]any{"replicas": int64(1)})
	old.SetUID("uid")
	if _, err := request.Update(t.Context(), customResource("v1", map[string]any{"replicas": int64(3)}), old); err != nil {
		t.Fatal(err)
	}
	// Meanwhile another client has set the value in this request.
	old.Object["spec"].(map[string]any)["replicas"] = int64(3)
	if _, err := request.Update(t.Context(), customResource("v1", map[string]any{"replicas": int64(3)}), old); err != nil {
		t.Fatal(err)
	}
	request.Done(ctx, nil)
	if seen.texts != nil {
		t.Errorf("warnings of the first attempt: %q", seen.texts)
	}
}

// crdList implements CRDLister.
type crdList []*apiextensionsv1.CustomResourceDefinition

func (l crdList) List(labels.Selector) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	return l, nil
}

// registryOf returns a registry with the counts of the process, and the collector, which lists the CRDs.
func registryOf(crds ...*apiextensionsv1.CustomResourceDefinition) (metrics.KubeRegistry, *crdCollector) {
	c := &crdCollector{counts: collector.counts}
	c.setLister(crdList(crds))
	registry := testutil.NewFakeKubeRegistry("1.37.0")
	registry.CustomMustRegister(c)
	return registry, c
}

func TestV1MetricsOfTheCRDsThatExist(t *testing.T) {
	crd := testCRD(t)
	plan := planFor(t, crd, nil)
	registry, c := registryOf(crd)
	ctx, request := plan.Resource("v1").Begin(t.Context(), nil)
	request.Create(customResource("v1", map[string]any{"replicas": int64(3)}))
	request.Done(ctx, nil)
	want := `
# HELP apiextensions_apiserver_custom_feature_gate_enabled [ALPHA] Whether a feature gate of a CustomResourceDefinition is enabled: 1 if any of its fields is.
# TYPE apiextensions_apiserver_custom_feature_gate_enabled gauge
apiextensions_apiserver_custom_feature_gate_enabled{component="",group="example.com",name="Ready",pre_release="alpha",resource="crontabs"} 0
apiextensions_apiserver_custom_feature_gate_enabled{component="",group="example.com",name="Replicas",pre_release="alpha",resource="crontabs"} 0
# HELP apiextensions_apiserver_gated_field_writes_total [ALPHA] Writes of custom resources in which a feature gate dropped or kept a field, a disabled field was removed with its parent, or a deprecated field was used, by gate and action (dropped, kept, removed, deprecated). A request counts once per path of a gate.
# TYPE apiextensions_apiserver_gated_field_writes_total counter
apiextensions_apiserver_gated_field_writes_total{action="dropped",group="example.com",name="Replicas",resource="crontabs"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}

	// A CRD that is created again with the same name has another UID, and no counts.
	again := crd.DeepCopy()
	again.UID = "another"
	c.setLister(crdList{again})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "apiextensions_apiserver_gated_field_writes_total" {
			t.Errorf("the new CRD has the counts of the deleted one: %v", family)
		}
	}

	c.setLister(crdList{})
	if err := testutil.GatherAndCompare(registry, strings.NewReader("")); err != nil {
		t.Errorf("series of a deleted CRD: %v", err)
	}
	if len(c.counts) != 0 {
		t.Error("the counts of a deleted CRD remain")
	}
}
