// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"context"
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
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/component-base/metrics/testutil"

	"github.com/fairlead-dev/fairlead/internal/testaudit"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/features"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/union"
)

// unionSchema returns the schema of an object with the same union in spec and status. testCRD has a gate for the member
// .spec.replicas.
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

// unionPlan returns the plan of testCRD with unions. change may change the CRD before.
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

func persisted(spec map[string]any) *unstructured.Unstructured { return managedResource("v1", spec) }

// write calls the functions for an update in the order in which the handlers, the storage and the strategy call them.
// It returns the errors of validation, and the warnings.
func write(t *testing.T, e *Endpoint, obj, old *unstructured.Unstructured, dryRun ...string) (field.ErrorList, []string) {
	t.Helper()
	ctx, request, seen := beginRecorded(t, e, dryRun...)
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
		t.Error("got a plan although APIUnions is off")
	}
}

// TestU4EndpointsNormalizeWhatTheyWrite (rules U4, U7): beside a status subresource, the resource does not write the
// status.
func TestU4EndpointsNormalizeWhatTheyWrite(t *testing.T) {
	plan := unionPlan(t, withoutGates)
	old := persisted(map[string]any{"type": "Git", "git": "u"})
	old.Object["status"] = map[string]any{"type": "Git", "git": "u"}
	for name, tc := range map[string]struct {
		endpoint *Endpoint
		want     []string
	}{
		"U4: beside a status subresource": {plan.Resource("v1"), []string{`spec.git: cleared: spec.type changed from "Git" to ""`}},
		"U4: the status subresource":      {plan.Status("v1"), []string{`status.git: cleared: status.type changed from "Git" to ""`}},
		"U4: without a status subresource": {plan.Resource("v1beta1"), []string{
			`spec.git: cleared: spec.type changed from "Git" to ""`, `status.git: cleared: status.type changed from "Git" to ""`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			obj := old.DeepCopy()
			obj.Object["spec"].(map[string]any)["type"] = ""
			obj.Object["status"].(map[string]any)["type"] = ""
			before := old.DeepCopy()
			ctx, request, seen := beginRecorded(t, tc.endpoint)
			if _, err := tc.endpoint.UnionNormalizer()(ctx, obj, old); err != nil {
				t.Fatal(err)
			}
			request.Done(ctx, nil)
			if diff := cmp.Diff(tc.want, seen.texts); diff != "" {
				t.Errorf("V3: warnings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, old); diff != "" {
				t.Errorf("R4: the persisted object was modified:\n%s", diff)
			}
		})
	}
}

// TestU4ACreateByApplyIsNotNormalized (rule U4): the object to update has no UID then.
func TestU4ACreateByApplyIsNotNormalized(t *testing.T) {
	obj := customResource("v1", map[string]any{"type": "Replicas", "git": "u"})
	errs, warnings := write(t, unionPlan(t, withoutGates).Resource("v1"), obj, customResource("v1", map[string]any{"type": "Git"}))
	if len(errs) != 2 || warnings != nil {
		t.Errorf("errors %v, warnings %q", errs, warnings)
	}
}

// TestU6AnErrorIsReportedOnce (rules U6.1, U6.2): if the schema and the union report an error about a discriminator,
// the client gets one of them, and of two Required errors that of the union. A forbidden member is always reported.
func TestU6AnErrorIsReportedOnce(t *testing.T) {
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
	if diff := cmp.Diff(want, mergeErrors(schema, found)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestU6WritesWithoutARequestAreValidated (rules U6, U7) in the scope of their endpoint.
func TestU6WritesWithoutARequestAreValidated(t *testing.T) {
	plan := unionPlan(t, withoutGates)
	obj := customResource("v1", map[string]any{"type": "Git", "git": "u", "replicas": int64(1)})
	obj.Object["status"] = map[string]any{"type": "Git"}
	for name, tc := range map[string]struct {
		endpoint *Endpoint
		want     []string
	}{
		"beside a status subresource": {plan.Resource("v1"), []string{"spec.replicas"}},
		"the status subresource":      {plan.Status("v1"), []string{"status.git"}},
		"without status subresource":  {plan.Resource("v1beta1"), []string{"spec.replicas", "status.git"}},
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

// TestU43RequestsWithoutDiscriminator (rules U4.3, U6) are those of clients that do not know the discriminator.
func TestU43RequestsWithoutDiscriminator(t *testing.T) {
	endpoint := unionPlan(t, withoutGates).Resource("v1")
	git := map[string]any{"type": "Git", "git": "u"}
	for _, tc := range []struct {
		name      string
		old, spec map[string]any
		want      string
	}{
		{"a request that sets a member is refused", git, map[string]any{"git": "u"},
			`spec.type: Required value: must be given when spec.git is set: the persisted value is "Git"`},
		{"a null discriminator counts as left out", git, map[string]any{"type": nil, "git": "v"},
			`spec.type: Required value: must be given when spec.git is set: the persisted value is "Git"`},
		{"a request that sets several members is refused once", git, map[string]any{"replicas": int64(1), "git": "u"},
			`spec.type: Required value: must be given when spec.git is set: the persisted value is "Git"`},
		{"the error names the empty persisted value", map[string]any{"type": ""}, map[string]any{"git": "u"},
			`spec.type: Required value: must be given when spec.git is set: the persisted value is ""`},
		{"the error names a persisted number", map[string]any{"type": int64(5), "git": "u"}, map[string]any{"git": "u"},
			`spec.type: Required value: must be given when spec.git is set: the persisted value is 5`},
		{"a request that sets no member is accepted", git, map[string]any{}, ``},
		{"a null member is not set", git, map[string]any{"git": nil}, ``},
		{"if no discriminator is persisted, the member is forbidden", map[string]any{"image": "i"}, map[string]any{"git": "u"},
			`spec.git: Forbidden: must not be set when spec.type is "": a client that changes the members of a union must change the discriminator too`},
		{"a persisted null counts as absent", map[string]any{"type": nil, "git": "u"}, map[string]any{"git": "v"},
			`spec.git: Forbidden: must not be set when spec.type is "": a client that changes the members of a union must change the discriminator too`},
		{"the empty value is a choice that clears the members", git, map[string]any{"type": "", "git": "u"}, ``},
	} {
		t.Run("U4.3: "+tc.name, func(t *testing.T) {
			obj, old := persisted(tc.spec), persisted(tc.old)
			for range 2 { // the same request again has the same result
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

// TestU43AKeptMemberNeedsItsDiscriminator (rules G2, U4.3, U9): a request that leaves out both removes both.
func TestU43AKeptMemberNeedsItsDiscriminator(t *testing.T) {
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

// TestU7ADeletedObjectMayStayInvalid (rule U7) if the request does not change its unions.
func TestU7ADeletedObjectMayStayInvalid(t *testing.T) {
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

// TestU7MetadataCanAlwaysBeChanged (rule U7), also of an object with invalid unions, and without ratcheting.
func TestU7MetadataCanAlwaysBeChanged(t *testing.T) {
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
	for name, tc := range map[string]struct {
		obj    *unstructured.Unstructured
		passes bool
	}{
		"labels and finalizers":        {edited(func(*unstructured.Unstructured) {}), true},
		"nothing":                      {old.DeepCopy(), true},
		"another field":                {edited(func(u *unstructured.Unstructured) { u.Object["spec"].(map[string]any)["image"] = "j" }), false},
		"a new field":                  {edited(func(u *unstructured.Unstructured) { u.Object["other"] = "o" }), false},
		"a removed field":              {edited(func(u *unstructured.Unstructured) { delete(u.Object, "status") }), false},
		"a field instead of another":   {edited(func(u *unstructured.Unstructured) { delete(u.Object, "status"); u.Object["other"] = "o" }), false},
		"the discriminator is removed": {edited(func(u *unstructured.Unstructured) { delete(u.Object["spec"].(map[string]any), "type") }), false},
	} {
		for _, ratchet := range []bool{false, true} {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.APIUnionsRatcheting, ratchet)
			errs, _ := write(t, endpoint, tc.obj.DeepCopy(), old)
			isForgiven := ratchet && name != "the discriminator is removed"
			if (len(errs) == 0) != (tc.passes || isForgiven) {
				t.Errorf("%s, ratcheting %v: %v", name, ratchet, errs)
			}
		}
	}
}

// TestU7AnUnchangedUnsupportedValueIsAnError (rules U6.1, U7): upstream's ratcheting of the enum does not report it.
func TestU7AnUnchangedUnsupportedValueIsAnError(t *testing.T) {
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

// TestU7ScaleDoesNotValidateTheStatus (rule U7).
func TestU7ScaleDoesNotValidateTheStatus(t *testing.T) {
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
		t.Error("R2: the scale endpoint of a nil Endpoint is not nil")
	}
}

// TestU9NormalizationAndGatesAgree (rules U6.3, U9): a discriminator may deselect a member whose gate is disabled, but
// not select it.
func TestU9NormalizationAndGatesAgree(t *testing.T) {
	endpoint := unionPlan(t, nil).Resource("v1")
	old := persisted(map[string]any{"type": "Replicas", "replicas": int64(3)})
	obj := persisted(map[string]any{"type": "Git", "git": "u", "replicas": int64(3)})
	errs, warnings := write(t, endpoint, obj, old)
	if want := []string{`spec.replicas: cleared: spec.type changed from "Replicas" to "Git"`}; len(errs) != 0 || !cmp.Equal(want, warnings) {
		t.Errorf("deselected: errors %v, warnings %q", errs, warnings)
	}
	if diff := cmp.Diff(map[string]any{"type": "Git", "git": "u"}, obj.Object["spec"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	errs, warnings = write(t, endpoint, old.DeepCopy(), obj)
	want := `spec.replicas: Required value: must be set when spec.type is "Replicas", but is dropped: feature gate "Replicas" is disabled`
	if len(errs) != 1 || errs[0].Error() != want || warnings != nil {
		t.Errorf("selected: errors %v, warnings %q", errs, warnings)
	}
}

// TestU9ARestoredUnionIsNotReportedAsCleared (rules U9, V3): the gate keeps the object with the union.
func TestU9ARestoredUnionIsNotReportedAsCleared(t *testing.T) {
	endpoint := unionPlan(t, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.CustomFeatureGates.FeatureGates[0].FieldPaths = []string{".spec"}
	}).Resource("v1")
	old := persisted(map[string]any{"type": "Git", "git": "u"})
	_, warnings := write(t, endpoint, persisted(map[string]any{"type": "", "git": "u"}), old)
	if want := []string{`.spec: not updated: feature gate "Replicas" is disabled`}; !cmp.Equal(want, warnings) {
		t.Errorf("warnings %q", warnings)
	}
}

// TestU8ItemsAreFoundByTheirKeys (rule U8): isCleared finds an item at any index.
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
		"cleared":      {[]any{item("a", "git"), item("b")}, true},
		"restored":     {[]any{item("a"), item("b", "git")}, false},
		"item removed": {[]any{item("a", "git"), "b"}, true},
		"null":         {[]any{map[string]any{"name": "b", "git": nil}}, true},
	} {
		if got := isCleared(map[string]any{"items": tc.items}, at); got != tc.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// TestU8VersionsWithTheSameFields (rule U8): with conversion None all versions of the CRD.
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

// TestV1UnionsAreCountedOnce (rule V1): dry runs, other failures and earlier attempts are not counted.
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
	registry, _ := registryOf(crd)
	want := `
# HELP apiextensions_apiserver_union_normalizations_total [ALPHA] Unions in which a change of the discriminator cleared members. A request counts once per union of the schema.
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

// TestR2WithoutUnionsNothingIsAllocated (rule R2).
func TestR2WithoutUnionsNothingIsAllocated(t *testing.T) {
	endpoint := planFor(t, testCRD(t), nil).Resource("v1")
	obj, ctx := customResource("v1", map[string]any{"git": "u"}), t.Context()
	for name, e := range map[string]*Endpoint{"no plan": nil, "gates alone": endpoint} {
		if allocs := testing.AllocsPerRun(100, func() {
			if e.UnionNormalizer() != nil || e.ValidateUnions(ctx, obj, nil, nil) != nil {
				t.Errorf("%s: a normalizer or an error", name)
			}
		}); allocs != 0 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}

// TestV2ClearedMembersAreAnnotated (rules R1, V2): paths may contain keys of any length.
func TestV2ClearedMembersAreAnnotated(t *testing.T) {
	annotated := func(cleared ...union.Cleared) string {
		t.Helper()
		return testaudit.Annotations(t.Context(), func(ctx context.Context) { annotateCleared(ctx, cleared) })[clearedAnnotation]
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

// defaultedPlan returns the plan of a CRD whose discriminator has a default in v1, and its schemas as a defaulter.
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

// TestU43ADefaultDoesNotSwitchAUnion (rules F2, U4.3).
func TestU43ADefaultDoesNotSwitchAUnion(t *testing.T) {
	plan, schemas := defaultedPlan(t, true)
	endpoint, requests := plan.Resource("v1"), plan.Defaulter(schemas)
	old := persisted(map[string]any{"type": "Replicas", "replicas": int64(3)})
	for _, tc := range []struct {
		name       string
		spec, want map[string]any
		refused    bool
	}{
		{"with a member that the default does not select it is not filled in", map[string]any{"replicas": int64(3)}, map[string]any{"replicas": int64(3)}, true},
		{"a client may set it", map[string]any{"type": "Git", "git": "u", "replicas": int64(3)}, map[string]any{"type": "Git", "git": "u"}, false},
		{"with the member that the default selects it is filled in", map[string]any{"git": "u"}, map[string]any{"type": "Git", "git": "u"}, false},
		{"without members it is filled in", map[string]any{}, map[string]any{"type": "Git"}, true},
	} {
		obj := persisted(tc.spec)
		requests.Default(obj)
		errs, _ := write(t, endpoint, obj, old)
		requests.Default(obj) // upstream defaults the result of a webhook, too
		if diff := cmp.Diff(tc.want, obj.Object["spec"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		if (len(errs) > 0) != tc.refused {
			t.Errorf("%s: %v", tc.name, errs)
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
	if _, wrapped := off.Defaulter(schemas).(unionDefaulter); wrapped {
		t.Error("F2: defaults differ from upstream's with the gate off")
	}
	if _, wrapped := unionPlan(t, withoutGates).Defaulter(schemas).(unionDefaulter); wrapped {
		t.Error("R2: the defaulter is wrapped although no discriminator has a default")
	}
}
