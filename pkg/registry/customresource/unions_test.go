// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/warning"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/component-base/metrics/testutil"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/features"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/union"
)

// unionSchema is that of an object with the same union in spec and status, whose members are guarded by the gates of
// tests as replicas is.
func unionSchema() *structuralschema.Structural {
	object := structuralschema.Structural{Properties: map[string]structuralschema.Structural{
		"type": {Extensions: structuralschema.Extensions{XUnions: &apiextensions.Unions{
			FieldMembers: map[string]apiextensions.MemberField{"": {}, "Git": {Name: "git"}, "Replicas": {Name: "replicas"}},
		}}},
		"git":      {Generic: structuralschema.Generic{Type: "string"}},
		"replicas": {Generic: structuralschema.Generic{Type: "integer"}},
	}}
	return &structuralschema.Structural{Properties: map[string]structuralschema.Structural{"spec": object, "status": object}}
}

// unionPlan is the plan of the tests' CRD with unions, and with its gates if wanted.
func unionPlan(t *testing.T, change func(*apiextensionsv1.CustomResourceDefinition)) *Plan {
	t.Helper()
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.APIUnions, true)
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.CRDFieldLevelVersioning, true)
	crd := testCRD(t)
	crd.UID = types.UID(t.Name())
	if change != nil {
		change(crd)
	}
	plan, _ := NewPlan(crd, map[string]*structuralschema.Structural{"v1": unionSchema(), "v1beta1": unionSchema()}, &renamer{})
	return plan
}

func withoutGates(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.CustomFeatureGates = nil }

func persisted(spec map[string]any) *unstructured.Unstructured {
	u := customResource("v1", spec)
	u.SetUID("uid")
	return u
}

// write is what the handlers, the storage and the strategy do with an update, as far as it is ours.
func write(t *testing.T, e *Endpoint, obj, old *unstructured.Unstructured, dryRun ...string) (field.ErrorList, []string) {
	t.Helper()
	seen := &recorder{}
	ctx, request := e.Begin(warning.WithWarningRecorder(t.Context(), seen), dryRun)
	if normalize := e.UnionNormalizer(); normalize != nil {
		if _, err := normalize(ctx, obj, old); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := request.Update(ctx, obj, old); err != nil {
		t.Fatal(err)
	}
	errs := e.ValidateUnions(ctx, obj, old, nil)
	request.Done(ctx, errs.ToAggregate())
	return errs, seen.texts
}

func TestF3NoUnionsWithTheServersGateOff(t *testing.T) {
	crd := testCRD(t)
	withoutGates(crd)
	if plan, _ := NewPlan(crd, map[string]*structuralschema.Structural{"v1": unionSchema()}, nil); plan != nil {
		t.Error("a plan although APIUnions is off")
	}
}

// TestU4EndpointsNormalizeWhatTheyWrite (rules U4, U7): beside a status subresource, the resource does not write the status.
func TestU4EndpointsNormalizeWhatTheyWrite(t *testing.T) {
	plan := unionPlan(t, withoutGates)
	old := persisted(map[string]any{"type": "Git", "git": "u"})
	old.Object["status"] = map[string]any{"type": "Git", "git": "u"}
	for name, tc := range map[string]struct {
		endpoint *Endpoint
		want     []string
	}{
		"beside a status subresource": {plan.Resource("v1"), []string{`spec.git: cleared: spec.type changed from "Git" to ""`}},
		"the status subresource":      {plan.Status("v1"), []string{`status.git: cleared: status.type changed from "Git" to ""`}},
		"no status subresource": {plan.Resource("v1beta1"), []string{
			`spec.git: cleared: spec.type changed from "Git" to ""`, `status.git: cleared: status.type changed from "Git" to ""`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			obj := old.DeepCopy()
			obj.Object["spec"].(map[string]any)["type"] = ""
			obj.Object["status"].(map[string]any)["type"] = ""
			before := old.DeepCopy()
			seen := &recorder{}
			ctx, request := tc.endpoint.Begin(warning.WithWarningRecorder(t.Context(), seen), nil)
			if _, err := tc.endpoint.UnionNormalizer()(ctx, obj, old); err != nil {
				t.Fatal(err)
			}
			request.Done(ctx, nil)
			if diff := cmp.Diff(tc.want, seen.texts); diff != "" {
				t.Errorf("V3: warnings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, old); diff != "" {
				t.Errorf("R4: old was modified:\n%s", diff)
			}
		})
	}
}

// TestU4ACreateByApplyIsNotNormalized (rule U4): what there is to update has no UID then.
func TestU4ACreateByApplyIsNotNormalized(t *testing.T) {
	obj := customResource("v1", map[string]any{"type": "Replicas", "git": "u"})
	errs, warnings := write(t, unionPlan(t, withoutGates).Resource("v1"), obj, customResource("v1", map[string]any{"type": "Git"}))
	if len(errs) != 2 || warnings != nil {
		t.Errorf("errors %v, warnings %q", errs, warnings)
	}
}

// TestU6WhatTheSchemaSaysIsSaidOnce (rule U6): about the discriminator; a forbidden member is ours alone. Where both say
// that a field is required, it is said why.
func TestU6WhatTheSchemaSaysIsSaidOnce(t *testing.T) {
	found := field.ErrorList{
		field.NotSupported(field.NewPath("spec", "type"), "Nope", []string{"Git"}),
		field.Forbidden(field.NewPath("status", "git"), "not selected"),
		field.Required(field.NewPath("status", "type"), "must be given"),
	}
	schema := field.ErrorList{
		field.NotSupported(field.NewPath("spec", "type"), "Nope", []string{"Git"}),
		field.Required(field.NewPath("status", "type"), ""),
		field.Required(field.NewPath("status", "other"), ""),
		field.Invalid(field.NewPath("status", "git"), 5, "must be a string"),
	}
	want := field.ErrorList{schema[0], schema[2], schema[3], found[1], found[2]}
	if diff := cmp.Diff(want, merged(schema, found)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestU6EveryWriteIsJudged (rules U6, U7): also one that began without a Request, by the scope of its endpoint.
func TestU6EveryWriteIsJudged(t *testing.T) {
	plan := unionPlan(t, withoutGates)
	obj := customResource("v1", map[string]any{"type": "Git", "git": "u", "replicas": int64(1)})
	obj.Object["status"] = map[string]any{"type": "Git"}
	for name, tc := range map[string]struct {
		endpoint *Endpoint
		want     []string
	}{
		"beside a status subresource": {plan.Resource("v1"), []string{"spec.replicas"}},
		"the status subresource":      {plan.Status("v1"), []string{"status.git"}},
		"no status subresource":       {plan.Resource("v1beta1"), []string{"spec.replicas", "status.git"}},
		"scale":                       {plan.Resource("v1beta1").ForScale(), []string{"spec.replicas"}},
	} {
		old := persisted(map[string]any{"type": "Git", "git": "u"})
		for operation, persisted := range map[string]*unstructured.Unstructured{"create": nil, "update": old} {
			var got []string
			for _, err := range tc.endpoint.ValidateUnions(t.Context(), obj, persisted, nil) {
				got = append(got, err.Field)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, operation, diff)
			}
		}
	}
}

// TestU43WhatARequestLeavesOut (rules U4.3, U6) is about requests of clients that do not know the discriminator.
func TestU43WhatARequestLeavesOut(t *testing.T) {
	endpoint := unionPlan(t, withoutGates).Resource("v1")
	git := map[string]any{"type": "Git", "git": "u"}
	for _, tc := range []struct {
		claim     string
		old, spec map[string]any
		want      string
	}{
		{"a member is set", git, map[string]any{"git": "u"},
			`spec.type: Required value: must be given when spec.git is set: the persisted value is "Git"`},
		{"null is left out", git, map[string]any{"type": nil, "git": "v"},
			`spec.type: Required value: must be given when spec.git is set: the persisted value is "Git"`},
		{"several members are set", git, map[string]any{"replicas": int64(1), "git": "u"},
			`spec.type: Required value: must be given when spec.git is set: the persisted value is "Git"`},
		{"the empty value was persisted", map[string]any{"type": ""}, map[string]any{"git": "u"},
			`spec.type: Required value: must be given when spec.git is set: the persisted value is ""`},
		{"a number was persisted", map[string]any{"type": int64(5), "git": "u"}, map[string]any{"git": "u"},
			`spec.type: Required value: must be given when spec.git is set: the persisted value is 5`},
		{"no member is set", git, map[string]any{}, ``},
		{"a member is null", git, map[string]any{"git": nil}, ``},
		{"none was persisted", map[string]any{"image": "i"}, map[string]any{"git": "u"},
			`spec.git: Forbidden: must not be set when spec.type is "": a client that changes the members of a union must change the discriminator too`},
		{"null was persisted", map[string]any{"type": nil, "git": "u"}, map[string]any{"git": "v"},
			`spec.git: Forbidden: must not be set when spec.type is "": a client that changes the members of a union must change the discriminator too`},
		{"the empty value is a choice", git, map[string]any{"type": "", "git": "u"}, ``},
	} {
		t.Run("U4.3: "+tc.claim, func(t *testing.T) {
			obj, old := persisted(tc.spec), persisted(tc.old)
			for range 2 { // the same request again
				errs, warnings := write(t, endpoint, obj.DeepCopy(), old)
				got := ""
				if len(errs) > 0 {
					got = errs.ToAggregate().Error()
				}
				if got != tc.want {
					t.Errorf("got  %s\nwant %s", got, tc.want)
				}
				if isChoice := tc.spec["type"] == ""; (warnings != nil) != isChoice {
					t.Errorf("V3: warnings %q", warnings)
				}
			}
		})
	}
}

// TestU43AGateKeepsWhatIsLeftOut (rules G2, U4.3, U9): a kept member needs its discriminator; a member that goes with it does
// not.
func TestU43AGateKeepsWhatIsLeftOut(t *testing.T) {
	endpoint := unionPlan(t, nil).Resource("v1")
	old := persisted(map[string]any{"type": "Replicas", "replicas": int64(3)})
	errs, _ := write(t, endpoint, persisted(map[string]any{"replicas": int64(4)}), old)
	want := `spec.type: Required value: must be given when spec.replicas is set: the persisted value is "Replicas"`
	if len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("a changed member: %v", errs)
	}
	obj := persisted(map[string]any{})
	if errs, warnings := write(t, endpoint, obj, old); len(errs) > 0 || warnings != nil {
		t.Errorf("U9: no member: errors %v, warnings %q", errs, warnings)
	}
	if diff := cmp.Diff(map[string]any{}, obj.Object["spec"]); diff != "" {
		t.Errorf("U9: (-want +got):\n%s", diff)
	}
}

// TestU7ADeletedObjectKeepsItsErrors (rule U7), where the request leaves all unions as they were.
func TestU7ADeletedObjectKeepsItsErrors(t *testing.T) {
	endpoint := unionPlan(t, withoutGates).Resource("v1")
	old := persisted(map[string]any{"git": "u"})
	changed := func(spec map[string]any) *unstructured.Unstructured {
		out := old.DeepCopy()
		out.Object["spec"] = spec
		return out
	}
	if errs, _ := write(t, endpoint, changed(map[string]any{"git": "u", "image": "i"}), old); len(errs) != 1 {
		t.Errorf("an object that is not being deleted: %v", errs)
	}
	now := metav1.Now()
	old.SetDeletionTimestamp(&now)
	if errs, _ := write(t, endpoint, changed(map[string]any{"git": "u", "image": "i"}), old); errs != nil {
		t.Errorf("an object that is being deleted: %v", errs)
	}
	if errs, _ := write(t, endpoint, changed(map[string]any{"git": "v"}), old); len(errs) != 1 {
		t.Errorf("a changed union of an object that is being deleted: %v", errs)
	}
}

// TestU7MetadataIsNeverStuck (rule U7): a write that changes nothing else passes, with ratcheting and without.
func TestU7MetadataIsNeverStuck(t *testing.T) {
	endpoint := unionPlan(t, withoutGates).Resource("v1")
	old := persisted(map[string]any{"type": int64(5), "git": "u", "image": "i"})
	old.Object["status"] = map[string]any{"git": "u"}
	edited := func(edit func(u *unstructured.Unstructured)) *unstructured.Unstructured {
		u := old.DeepCopy()
		u.SetLabels(map[string]string{"a": "b"})
		u.SetFinalizers([]string{"example.com/hold"})
		edit(u)
		return u
	}
	for claim, tc := range map[string]struct {
		obj    *unstructured.Unstructured
		passes bool
	}{
		"labels and finalizers":        {edited(func(*unstructured.Unstructured) {}), true},
		"nothing at all":               {old.DeepCopy(), true},
		"another field":                {edited(func(u *unstructured.Unstructured) { u.Object["spec"].(map[string]any)["image"] = "j" }), false},
		"a field that is new":          {edited(func(u *unstructured.Unstructured) { u.Object["other"] = "o" }), false},
		"a field that is gone":         {edited(func(u *unstructured.Unstructured) { delete(u.Object, "status") }), false},
		"a field in place of another":  {edited(func(u *unstructured.Unstructured) { delete(u.Object, "status"); u.Object["other"] = "o" }), false},
		"the discriminator is removed": {edited(func(u *unstructured.Unstructured) { delete(u.Object["spec"].(map[string]any), "type") }), false},
	} {
		for _, ratchet := range []bool{false, true} {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.APIUnionsRatcheting, ratchet)
			errs, _ := write(t, endpoint, tc.obj.DeepCopy(), old)
			isForgiven := ratchet && claim != "the discriminator is removed"
			if (len(errs) == 0) != (tc.passes || isForgiven) {
				t.Errorf("%s, ratcheting %v: %v", claim, ratchet, errs)
			}
		}
	}
}

// TestU7AForgivenEnumIsStillAnError (rules U6.1, U7, V1): upstream's ratcheting reports nothing of a value that it forgives.
func TestU7AForgivenEnumIsStillAnError(t *testing.T) {
	endpoint := unionPlan(t, withoutGates).Resource("v1")
	for _, value := range []any{"Gone", int64(5), map[string]any{}} {
		old := persisted(map[string]any{"type": value, "git": "u"})
		obj := persisted(map[string]any{"type": value, "git": "u", "replicas": int64(1)})
		errs, _ := write(t, endpoint, obj, old)
		if len(errs) != 1 || errs[0].Type != field.ErrorTypeNotSupported || errs[0].Field != "spec.type" {
			t.Errorf("%v: %v", value, errs)
		}
	}
}

// TestU7ScaleLooksAtNoStatus (rule U7).
func TestU7ScaleLooksAtNoStatus(t *testing.T) {
	endpoint := unionPlan(t, withoutGates).Resource("v1beta1")
	old := persisted(map[string]any{})
	old.Object["status"] = map[string]any{"git": "u"}
	obj := old.DeepCopy()
	obj.Object["spec"] = map[string]any{"scale": int64(2)}
	if errs, _ := write(t, endpoint, obj.DeepCopy(), old); len(errs) != 1 {
		t.Errorf("the resource: %v", errs)
	}
	if errs, _ := write(t, endpoint.ForScale(), obj.DeepCopy(), old); errs != nil {
		t.Errorf("scale: %v", errs)
	}
	if (*Endpoint)(nil).ForScale() != nil {
		t.Error("R2: scale of nothing is something")
	}
}

// TestU9NormalizationAndGatesAgree (rules U6, U9): a union moves off a member whose gate is disabled, and onto one only if
// the gate lets it.
func TestU9NormalizationAndGatesAgree(t *testing.T) {
	endpoint := unionPlan(t, nil).Resource("v1")
	old := persisted(map[string]any{"type": "Replicas", "replicas": int64(3)})
	obj := persisted(map[string]any{"type": "Git", "git": "u", "replicas": int64(3)})
	errs, warnings := write(t, endpoint, obj, old)
	if want := []string{`spec.replicas: cleared: spec.type changed from "Replicas" to "Git"`}; len(errs) != 0 || !cmp.Equal(want, warnings) {
		t.Errorf("off the member: errors %v, warnings %q", errs, warnings)
	}
	if diff := cmp.Diff(map[string]any{"type": "Git", "git": "u"}, obj.Object["spec"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	errs, warnings = write(t, endpoint, old.DeepCopy(), obj)
	want := `spec.replicas: Required value: must be set when spec.type is "Replicas", but is dropped: feature gate "Replicas" is disabled`
	if len(errs) != 1 || errs[0].Error() != want || warnings != nil {
		t.Errorf("onto the member: errors %v, warnings %q", errs, warnings)
	}
}

// TestU9AGateThatRestoresTheUnion (rules U9, V3): what a gate brought back with all around it was not cleared.
func TestU9AGateThatRestoresTheUnion(t *testing.T) {
	endpoint := unionPlan(t, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.CustomFeatureGates.FeatureGates[0].FieldPaths = []string{".spec"}
	}).Resource("v1")
	old := persisted(map[string]any{"type": "Git", "git": "u"})
	_, warnings := write(t, endpoint, persisted(map[string]any{"type": "", "git": "u"}), old)
	if want := []string{`.spec: not updated: feature gate "Replicas" is disabled`}; !cmp.Equal(want, warnings) {
		t.Errorf("warnings %q", warnings)
	}
}

// TestU8ItemsAreFoundByTheirKeys (rule U8): a cleared member stays cleared wherever its item stands now.
func TestU8ItemsAreFoundByTheirKeys(t *testing.T) {
	at := union.Cleared{Members: []string{"git"}, Path: []union.Step{
		{Name: "items"}, {Keys: map[string]any{"name": "b"}, Index: 0},
	}}
	item := func(name string, fields ...string) map[string]any {
		out := map[string]any{"name": name}
		for _, f := range fields {
			out[f] = "set"
		}
		return out
	}
	for name, tc := range map[string]struct {
		items []any
		want  bool
	}{
		"cleared":       {[]any{item("a", "git"), item("b")}, true},
		"restored":      {[]any{item("a"), item("b", "git")}, false},
		"gone":          {[]any{item("a", "git"), "b"}, true},
		"a null is not": {[]any{map[string]any{"name": "b", "git": nil}}, true},
	} {
		if got := isCleared(map[string]any{"items": tc.items}, at); got != tc.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// TestU8VersionsWithTheSameFields (rule U8): all of the CRD's with conversion None.
func TestU8VersionsWithTheSameFields(t *testing.T) {
	none := unionPlan(t, nil)
	webhook := unionPlan(t, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion.Strategy = apiextensionsv1.WebhookConverter
	})
	for version, want := range map[string]bool{"example.com/v1": true, "example.com/v1beta1": true, "example.com/v3": false, "other.com/v1": false, "a/b/c": false} {
		if got := none.haveSameFields("example.com/v1", version); got != want {
			t.Errorf("%s with conversion None: %v", version, got)
		}
		if got := webhook.haveSameFields("example.com/v1", version); got != (version == "example.com/v1") {
			t.Errorf("%s with a webhook: %v", version, got)
		}
	}
}

// TestV1UnionsAreCountedOnce (rule V1): neither dry runs nor writes that fail elsewhere count, nor do earlier tries.
func TestV1UnionsAreCountedOnce(t *testing.T) {
	plan := unionPlan(t, withoutGates)
	endpoint := plan.Resource("v1")
	old := persisted(map[string]any{"type": "Git", "git": "u"})
	moved := func() *unstructured.Unstructured { return persisted(map[string]any{"type": "", "git": "u"}) }
	broken := func() *unstructured.Unstructured { return persisted(map[string]any{"type": "Git"}) }
	leftOut := func() *unstructured.Unstructured { return persisted(map[string]any{"git": "u"}) }
	unsupported := func() *unstructured.Unstructured { return persisted(map[string]any{"type": "Svn"}) }
	write(t, endpoint, moved(), old)
	write(t, endpoint, moved(), old, metav1.DryRunAll)
	write(t, endpoint, broken(), old)
	write(t, endpoint, broken(), old, metav1.DryRunAll)
	write(t, endpoint, leftOut(), old)
	write(t, endpoint, leftOut(), old, metav1.DryRunAll)

	reported := field.ErrorList{field.NotSupported(field.NewPath("spec", "type"), "Svn", []string{"Git"})}
	for _, dryRun := range [][]string{nil, {metav1.DryRunAll}} {
		ctx, request := endpoint.Begin(t.Context(), dryRun)
		request.Done(ctx, endpoint.ValidateUnions(ctx, unsupported(), old, reported).ToAggregate())
	}

	ctx, request := endpoint.Begin(t.Context(), nil)
	if errs := endpoint.ValidateUnions(ctx, broken(), old, nil); len(errs) != 1 {
		t.Fatal(errs)
	}
	if _, err := request.Update(ctx, moved(), old); err != nil { // a retry
		t.Fatal(err)
	}
	request.Done(ctx, errors.New("conflict"))

	crd := testCRD(t)
	crd.UID = plan.crd
	withoutGates(crd)
	c := &crdCollector{counts: collector.counts}
	c.setLister(crdList{crd})
	registry := testutil.NewFakeKubeRegistry("1.37.0")
	registry.CustomMustRegister(c)
	want := `
# HELP apiextensions_apiserver_union_normalizations_total [ALPHA] Unions of which a change of the discriminator cleared members. A request counts once per union of the schema.
# TYPE apiextensions_apiserver_union_normalizations_total counter
apiextensions_apiserver_union_normalizations_total{group="example.com",resource="crontabs"} 1
# HELP apiextensions_apiserver_union_validation_failures_total [ALPHA] Unions that were found invalid, by reason (unsupported, forbidden, required). A request counts once per union of the schema and reason.
# TYPE apiextensions_apiserver_union_validation_failures_total counter
apiextensions_apiserver_union_validation_failures_total{group="example.com",reason="required",resource="crontabs"} 2
apiextensions_apiserver_union_validation_failures_total{group="example.com",reason="unsupported",resource="crontabs"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// TestR2NoUnionsNoWork (rule R2): an endpoint without unions does nothing about them, at no cost.
func TestR2NoUnionsNoWork(t *testing.T) {
	endpoint := planFor(t, testCRD(t), nil).Resource("v1")
	obj, ctx := customResource("v1", map[string]any{"git": "u"}), t.Context()
	for name, e := range map[string]*Endpoint{"no plan": nil, "gates alone": endpoint} {
		if allocs := testing.AllocsPerRun(100, func() {
			if e.UnionNormalizer() != nil || e.ValidateUnions(ctx, obj, nil, nil) != nil {
				t.Errorf("%s: something to do", name)
			}
		}); allocs != 0 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}

// TestV2TheAnnotationIsBounded (rules R1, V2): paths may have keys of any length in them.
func TestV2TheAnnotationIsBounded(t *testing.T) {
	annotated := func(cleared ...union.Cleared) string {
		t.Helper()
		ctx := audit.WithAuditContext(t.Context())
		if err := audit.AuditContextFrom(ctx).Init(audit.RequestAuditConfig{Level: auditinternal.LevelMetadata}, nil); err != nil {
			t.Fatal(err)
		}
		annotateCleared(ctx, cleared)
		return audit.AuditContextFrom(ctx).GetEventAnnotations()[clearedAnnotation]
	}
	at := func(key string, members ...string) union.Cleared {
		return union.Cleared{Members: members, Path: []union.Step{{Name: "map"}, {Name: key}}}
	}
	if got, want := annotated(at("a", "git", "s3"), at("b", "git")), "map.a.git,map.a.s3,map.b.git"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	long := strings.Repeat("k", maxAnnotation)
	if got, want := annotated(at("a", "git"), at(long, "git", "s3"), at("b", "git")), "map.a.git,and 3 more"; got != want {
		t.Errorf("got %.100q, want %q", got, want)
	}
	if got := annotated(at(long, "git")); got != "and 1 more" {
		t.Errorf("got %.100q", got)
	}
}

// defaultedPlan is the plan of a CRD whose discriminator has a default in v1, and the schemas that fill it in.
func defaultedPlan(t *testing.T, gate bool) (*Plan, schemaDefaulter) {
	t.Helper()
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.APIUnions, gate)
	v1 := unionSchema()
	discriminator := v1.Properties["spec"].Properties["type"]
	discriminator.Default.Object = "Git"
	v1.Properties["spec"].Properties["type"] = discriminator
	schemas := schemaDefaulter{"v1": v1, "v1beta1": unionSchema()}
	crd := testCRD(t)
	withoutGates(crd)
	return NewPlan(crd, schemas, nil)
}

// schemaDefaulter fills in the defaults of schemas by version, as upstream does.
type schemaDefaulter map[string]*structuralschema.Structural

func (d schemaDefaulter) Default(obj runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		structuraldefaulting.Default(u.Object, d[u.GroupVersionKind().Version])
	}
}

// TestU43RequestsAreNotSwitchedByADefault (rules F2, U4.3).
func TestU43RequestsAreNotSwitchedByADefault(t *testing.T) {
	plan, schemas := defaultedPlan(t, true)
	endpoint, requests := plan.Resource("v1"), plan.Defaulter(schemas)
	old := persisted(map[string]any{"type": "Replicas", "replicas": int64(3)})
	for _, tc := range []struct {
		claim      string
		spec, want map[string]any
		refused    bool
	}{
		{"its members are carried", map[string]any{"replicas": int64(3)}, map[string]any{"replicas": int64(3)}, true},
		{"the default is written", map[string]any{"type": "Git", "git": "u", "replicas": int64(3)}, map[string]any{"type": "Git", "git": "u"}, false},
		{"only what the default selects is carried", map[string]any{"git": "u"}, map[string]any{"type": "Git", "git": "u"}, false},
		{"nothing is carried", map[string]any{}, map[string]any{"type": "Git"}, true},
	} {
		obj := persisted(tc.spec)
		requests.Default(obj)
		errs, _ := write(t, endpoint, obj, old)
		requests.Default(obj) // as after a webhook
		if diff := cmp.Diff(tc.want, obj.Object["spec"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.claim, diff)
		}
		if (len(errs) > 0) != tc.refused {
			t.Errorf("%s: %v", tc.claim, errs)
		}
	}
	for name, obj := range map[string]runtime.Object{
		"another version": customResource("v1beta1", map[string]any{"replicas": int64(3)}),
		"another group":   &unstructured.Unstructured{Object: map[string]any{"apiVersion": "other.com/v1", "spec": map[string]any{"replicas": int64(3)}}},
		"another type":    &metav1.DeleteOptions{},
	} {
		all := obj.DeepCopyObject()
		requests.Default(obj)
		schemas.Default(all)
		if diff := cmp.Diff(all, obj); diff != "" {
			t.Errorf("%s: not upstream's defaults (-want +got):\n%s", name, diff)
		}
	}
	off, schemas := defaultedPlan(t, false)
	if _, ours := off.Defaulter(schemas).(unionDefaulter); ours {
		t.Error("F2: other defaults with the gate off")
	}
	if _, ours := unionPlan(t, withoutGates).Defaulter(schemas).(unionDefaulter); ours {
		t.Error("R2: work where no discriminator has a default")
	}
}
