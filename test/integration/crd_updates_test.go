// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/testcrd"
	"github.com/fairlead-dev/fairlead/line"
	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
)

// The warnings of rule C9.
const (
	gatesKept = "spec.customFeatureGates: kept, since the update leaves it out: " +
		"to remove it, update with customFeatureGates: {}"
	unionsKept = "spec.versions: x-kubernetes-unions kept, since the update leaves out all of them and " +
		"no other part of a schema changes: to remove them, use a patch"
)

// crdEdit changes a CRD.
type crdEdit func(*apiextensionsv1.CustomResourceDefinition)

// stockClient writes CRDs like a typed client that was built without fairlead's fields: it never sends them.
type stockClient struct {
	*testing.T
	crds     crdclient.CustomResourceDefinitionInterface
	warnings *warningLog
}

func newStockClient(t *testing.T, s *server, contentType string) stockClient {
	t.Helper()
	log := &warningLog{}
	return stockClient{T: t, crds: s.crdClientIn(t, contentType, log), warnings: log}
}

// update changes the CRD and sends it without fairlead's fields.
func (c stockClient) update(
	crd *apiextensionsv1.CustomResourceDefinition, opts metav1.UpdateOptions, change crdEdit,
) (*apiextensionsv1.CustomResourceDefinition, error) {
	c.Helper()
	c.warnings.take()
	crd = crd.DeepCopy()
	crd.Spec.CustomFeatureGates = nil
	for i := range crd.Spec.Versions {
		testcrd.RemoveUnions(crd.Spec.Versions[i].Schema.OpenAPIV3Schema)
	}
	change(crd)
	return c.crds.Update(c.Context(), crd, opts)
}

func (c stockClient) mustUpdate(
	crd *apiextensionsv1.CustomResourceDefinition, opts metav1.UpdateOptions, change crdEdit,
) *apiextensionsv1.CustomResourceDefinition {
	c.Helper()
	updated, err := c.update(crd, opts, change)
	if err != nil {
		c.Fatal(err)
	}
	return updated
}

func (c stockClient) wantWarnings(want ...string) {
	c.Helper()
	if diff := cmp.Diff(want, c.warnings.take()); diff != "" {
		c.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func label(crd *apiextensionsv1.CustomResourceDefinition) { crd.Labels = map[string]string{"a": "b"} }

func noChange(*apiextensionsv1.CustomResourceDefinition) {}

// newGatedUnionsCRD returns a CRD with a gate, with unions in v1, and with a v2 that has the same schema without
// unions.
func newGatedUnionsCRD(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := newUnionsCRD(t)
	crd.Spec.CustomFeatureGates = gatesOf(t, `featureGates: [{name: G, preRelease: alpha, fieldPaths: [.spec.source.git]}]`)
	v2 := crd.Spec.Versions[0].DeepCopy()
	v2.Name, v2.Storage = "v2", false
	testcrd.RemoveUnions(v2.Schema.OpenAPIV3Schema)
	crd.Spec.Versions = append(crd.Spec.Versions, *v2)
	return crd
}

// wantSameSpec compares the spec of two CRDs, which includes the fields that a stock client does not send, and the
// generation.
func wantSameSpec(t *testing.T, what string, want, got *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	if diff := cmp.Diff(want.Spec, got.Spec); diff != "" {
		t.Errorf("%s: spec (-want +got):\n%s", what, diff)
	}
	if want.Generation != got.Generation {
		t.Errorf("%s: generation is %d, want %d", what, got.Generation, want.Generation)
	}
}

// installed creates a CRD and returns it once the server's controllers have written its status.
func installed(t *testing.T, s *server, crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	s.install(t, crd)
	s.waitEstablished(t, crd.Name)
	return s.getCRD(t, crd.Name)
}

// TestC9ATypedClientThatWritesALabelKeepsGatesAndUnions (rules C9, C3) sends full updates in every encoding.
func TestC9ATypedClientThatWritesALabelKeepsGatesAndUnions(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf, runtime.ContentTypeYAML} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			crd := installed(t, shared, newGatedUnionsCRD(t))
			client := newStockClient(t, shared, contentType)

			dry := client.mustUpdate(crd, metav1.UpdateOptions{DryRun: dryRun}, label)
			client.wantWarnings(gatesKept, unionsKept)
			wantSameSpec(t, "G13: the dry run of the label", crd, dry)

			labeled := client.mustUpdate(crd, metav1.UpdateOptions{}, label)
			client.wantWarnings(gatesKept, unionsKept)
			wantSameSpec(t, "the label", crd, labeled)
			if labeled.Labels["a"] != "b" {
				t.Errorf("the update did not write the label: %v", labeled.Labels)
			}

			again := client.mustUpdate(labeled, metav1.UpdateOptions{}, noChange)
			client.wantWarnings(gatesKept, unionsKept)
			if diff := cmp.Diff(labeled, again); diff != "" {
				t.Errorf("the same update sent again changed the CRD (-before +after):\n%s", diff)
			}
		})
	}
}

// TestC9AStatusUpdateDrawsNoWarning (rule C9): a status update never changes the spec, so there is nothing to keep.
func TestC9AStatusUpdateDrawsNoWarning(t *testing.T) {
	t.Parallel()
	crd := installed(t, shared, newGatedUnionsCRD(t))
	client := newStockClient(t, shared, runtime.ContentTypeProtobuf)
	sent := crd.DeepCopy()
	sent.Spec.CustomFeatureGates = nil
	sent.Status.Conditions = append(sent.Status.Conditions,
		apiextensionsv1.CustomResourceDefinitionCondition{Type: "Tested", Status: apiextensionsv1.ConditionTrue})
	got, err := client.crds.UpdateStatus(t.Context(), sent, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wantSameSpec(t, "the status update", crd, got)
	client.wantWarnings()
}

// TestC9OwnersOfKeptFieldsStay (rules C9, C2): the owners of kept gates and unions own them after the update, also an
// owner that owns nothing else. The updating client does not become an owner.
func TestC9OwnersOfKeptFieldsStay(t *testing.T) {
	t.Parallel()
	crd := newGatedUnionsCRD(t)
	t.Cleanup(func() { shared.uninstall(t, crd.Name) })
	shared.applyCRD(t, "author", manifestOf(t, crd))
	shared.waitEstablished(t, crd.Name)
	shared.applyCRD(t, "admin", crdManifest(crd.Name, `{customFeatureGates: {featureGates: [{name: G, enabled: true}]}}`))

	before := shared.getCRD(t, crd.Name)
	client := newStockClient(t, shared, runtime.ContentTypeProtobuf)
	unchanged := client.mustUpdate(before, metav1.UpdateOptions{FieldManager: "injector"}, noChange)
	if diff := cmp.Diff(before, unchanged); diff != "" {
		t.Errorf("an update without a change wrote the CRD (-before +after):\n%s", diff)
	}
	labeled := client.mustUpdate(before, metav1.UpdateOptions{FieldManager: "injector"}, label)
	wantSameSpec(t, "the label", before, labeled)
	wantOnlyLabelOwned(t, "injector", labeled)
	for _, entry := range before.ManagedFields {
		if !containsEntry(labeled.ManagedFields, entry) {
			t.Errorf("%s %s lost or gained fields: %v", entry.Manager, entry.Operation, labeled.ManagedFields)
		}
	}

	// So neither of them conflicts with the client's update, and the administrator can give up enabled.
	shared.applyCRD(t, "author", manifestOf(t, crd))
	shared.applyCRD(t, "admin", crdManifest(crd.Name, ""))
	if diff := cmp.Diff(crd.Spec.CustomFeatureGates, shared.getCRD(t, crd.Name).Spec.CustomFeatureGates); diff != "" {
		t.Errorf("gates after the administrator gave up enabled (-want +got):\n%s", diff)
	}
}

// wantOnlyLabelOwned checks that the manager has one managedFields entry, with the label a.
func wantOnlyLabelOwned(t *testing.T, manager string, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	owns := map[string]string{}
	for _, entry := range crd.ManagedFields {
		if entry.Manager == manager {
			owns[string(entry.Operation)] = line.FieldsText(entry.FieldsV1)
		}
	}
	if diff := cmp.Diff(map[string]string{"Update": `{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}`}, owns); diff != "" {
		t.Errorf("fields of %s (-want +got):\n%s", manager, diff)
	}
}

// crdManifest returns a manifest of a CRD with a part of its spec, or without a spec if the part is empty.
func crdManifest(name, spec string) string {
	manifest := `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ` + name + `}`
	if spec != "" {
		manifest += ", spec: " + spec
	}
	return manifest + "}"
}

func containsEntry(entries []metav1.ManagedFieldsEntry, want metav1.ManagedFieldsEntry) bool {
	for _, entry := range entries {
		if cmp.Equal(entry, want) {
			return true
		}
	}
	return false
}

// crdWrite writes a CRD.
type crdWrite func(stockClient, *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error)

// removals are the ways to remove the gates of a CRD, other than apply.
var removals = map[string]crdWrite{
	"merge patch":     patchCRD(types.MergePatchType, `{"spec": {"customFeatureGates": null}}`),
	"strategic patch": patchCRD(types.StrategicMergePatchType, `{"spec": {"customFeatureGates": null}}`),
	"JSON patch":      patchCRD(types.JSONPatchType, `[{"op": "remove", "path": "/spec/customFeatureGates"}]`),
	"update with {}": func(c stockClient, crd *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
		crd = crd.DeepCopy()
		crd.Spec.CustomFeatureGates = &fairlead.CustomResourceDefinitionFeatureGates{}
		return c.crds.Update(c.Context(), crd, metav1.UpdateOptions{})
	},
}

func patchCRD(kind types.PatchType, patch string) crdWrite {
	return func(c stockClient, crd *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
		return c.crds.
			Patch(c.Context(), crd.Name, kind, []byte(patch), metav1.PatchOptions{})
	}
}

// TestC9WhatRemovesTheGates (rule C9) removes the gates in each way. No entry of managedFields lists them afterwards.
func TestC9WhatRemovesTheGates(t *testing.T) {
	t.Parallel()
	for name, remove := range removals {
		for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
			t.Run("C9: "+name+" in "+contentType+" removes the gates", func(t *testing.T) {
				t.Parallel()
				crd := installed(t, shared, newGatedUnionsCRD(t))
				client := newStockClient(t, shared, contentType)
				removed, err := remove(client, crd)
				if err != nil {
					t.Fatal(err)
				}
				client.wantWarnings()
				if removed.Spec.CustomFeatureGates != nil || removed.Generation != crd.Generation+1 {
					t.Errorf("generation is %d after %d, gates are %v, want none",
						removed.Generation, crd.Generation, removed.Spec.CustomFeatureGates)
				}
				for _, entry := range removed.ManagedFields {
					if fields := line.FieldsText(entry.FieldsV1); strings.Contains(fields, "customFeatureGates") {
						t.Errorf("%s owns the removed gates: %s", entry.Manager, fields)
					}
				}
				again := client.mustUpdate(removed, metav1.UpdateOptions{}, noChange)
				client.wantWarnings(unionsKept)
				wantSameSpec(t, "an update after the removal", removed, again)
			})
		}
	}
}

// TestC9KubectlReplaceRemovesGatesWithAnEmptyObject (rule C9): a manifest without gates keeps them, and kubectl prints
// how to remove them. It also prints that if the update is refused because the kept gates do not fit its schema.
func TestC9KubectlReplaceRemovesGatesWithAnEmptyObject(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, replicasGate)
	installed(t, shared, crd)
	gates := crd.Spec.CustomFeatureGates

	crd.Spec.CustomFeatureGates = nil
	_, stderr := shared.kubectl(t, manifestOf(t, crd), "replace", "-f", "-")
	if !strings.Contains(stderr, "Warning: "+gatesKept) {
		t.Errorf("kubectl replace does not print %q:\n%s", gatesKept, stderr)
	}
	if diff := cmp.Diff(gates, shared.getCRD(t, crd.Name).Spec.CustomFeatureGates); diff != "" {
		t.Errorf("gates after kubectl replace (-want +got):\n%s", diff)
	}

	delete(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "replicas")
	_, stderr, err := shared.tryKubectl(manifestOf(t, crd), "replace", "-f", "-")
	if err == nil || !strings.Contains(stderr, `.spec has no field "replicas"`) || !strings.Contains(stderr, "Warning: "+gatesKept) {
		t.Errorf("kubectl replace with a schema that the gates do not fit: %v\n%s", err, stderr)
	}
	crd.Spec.CustomFeatureGates = &fairlead.CustomResourceDefinitionFeatureGates{}
	shared.kubectl(t, manifestOf(t, crd), "replace", "-f", "-")
	if got := shared.getCRD(t, crd.Name).Spec.CustomFeatureGates; got != nil {
		t.Errorf("gates after kubectl replace with {}: %v, want none", got)
	}
}

// TestC9WhatRemovesUnions (rule C9): a patch removes unions, and so does an update that also changes another part of a
// schema. An update that only changes other fields keeps them.
func TestC9WhatRemovesUnions(t *testing.T) {
	t.Parallel()
	crd := installed(t, shared, newUnionsCRD(t))
	client := newStockClient(t, shared, runtime.ContentTypeJSON)

	kept := client.mustUpdate(crd, metav1.UpdateOptions{}, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions[0].AdditionalPrinterColumns = []apiextensionsv1.CustomResourceColumnDefinition{
			{Name: "image", Type: "string", JSONPath: ".spec.image"},
		}
	})
	client.wantWarnings(unionsKept)
	if diff := cmp.Diff(crd.Spec.Versions[0].Schema, kept.Spec.Versions[0].Schema); diff != "" {
		t.Errorf("the schema after an update that adds a printer column (-want +got):\n%s", diff)
	}
	removed := client.mustUpdate(kept, metav1.UpdateOptions{}, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Description = "d"
	})
	client.wantWarnings()
	if got := sourceUnionOf(removed); got != nil {
		t.Errorf("the union after an update that adds a description to the schema: %v, want none", got)
	}

	removed.Spec.Versions = crd.Spec.Versions
	if _, err := client.crds.Update(t.Context(), removed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	const union = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/source/properties/type/x-kubernetes-unions"
	patched, err := patchCRD(types.JSONPatchType, `[{"op": "remove", "path": "`+union+`"}]`)(client, crd)
	if err != nil {
		t.Fatal(err)
	}
	if got := sourceUnionOf(patched); got != nil {
		t.Errorf("the union after a patch that removes it: %v, want none", got)
	}
}

// accidents are writes that mean to set enabled, but replace the list of gates, and so the definition of the gate.
var accidents = map[string]crdWrite{
	"merge patch": patchCRD(types.MergePatchType,
		`{"spec": {"customFeatureGates": {"featureGates": [{"name": "ReplicasFeatureGate", "enabled": true}]}}}`),
	"JSON patch": patchCRD(types.JSONPatchType,
		`[{"op": "replace", "path": "/spec/customFeatureGates/featureGates", "value": [{"name": "ReplicasFeatureGate", "enabled": false}]}]`),
	"update": func(c stockClient, crd *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
		crd = shared.getCRD(c.T, crd.Name)
		crd.Spec.CustomFeatureGates = gatesOf(c.T, `featureGates: [{name: ReplicasFeatureGate, enabled: true}]`)
		return c.crds.Update(c.Context(), crd, metav1.UpdateOptions{DryRun: dryRun})
	},
}

// TestC4AnAccidentIsRefused (rule C4): a write that takes the definition from a gate and sets enabled is refused.
func TestC4AnAccidentIsRefused(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, replicasGate)
	wantWarnings(t, "create", nil, shared.install(t, crd).warnings.take())
	client := newStockClient(t, shared, runtime.ContentTypeJSON)
	for name, write := range accidents {
		_, err := write(client, crd)
		const gate = "spec.customFeatureGates.featureGates[0]"
		wantCauses(t, "C4: "+name, gate, []string{"$.preRelease: FieldValueRequired", "$.fieldPaths: FieldValueRequired"}, err)
	}
	if diff := cmp.Diff(crd.Spec.CustomFeatureGates, shared.getCRD(t, crd.Name).Spec.CustomFeatureGates); diff != "" {
		t.Errorf("gates after the refused writes (-want +got):\n%s", diff)
	}
	client.wantWarnings()
}

// TestC2ClientSideAuthorAndAdministrator (rule C2) is scenario 1 of KEP-2608 without server-side apply.
func TestC2ClientSideAuthorAndAdministrator(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, `featureGates: [{name: Other, preRelease: beta, fieldPaths: [.spec.image]}, {name: ReplicasFeatureGate, preRelease: alpha, fieldPaths: [.spec.replicas]}]`)
	t.Cleanup(func() { shared.uninstall(t, crd.Name) })
	authorApplies := func() { shared.kubectl(t, manifestOf(t, crd), "apply", "-f", "-") }
	authorApplies()
	shared.waitEstablished(t, crd.Name)

	_, stderr := shared.kubectl(t, "", "patch", "crd", crd.Name, "-p",
		`{"spec": {"customFeatureGates": {"featureGates": [{"name": "ReplicasFeatureGate", "enabled": true}]}}}`)
	if stderr != "" {
		t.Errorf("kubectl patch prints: %s", stderr)
	}
	wantEnabledGate(t, "after the administrator's patch", crd)

	before := shared.getCRD(t, crd.Name)
	authorApplies()
	if diff := cmp.Diff(before, shared.getCRD(t, crd.Name)); diff != "" {
		t.Errorf("the author's next apply changed the CRD (-before +after):\n%s", diff)
	}
	crd.Spec.CustomFeatureGates.FeatureGates[1].PreRelease = fairlead.PreReleaseBeta
	authorApplies()
	wantEnabledGate(t, "after the author graduated the gate", crd)
	crd.Spec.CustomFeatureGates.FeatureGates = crd.Spec.CustomFeatureGates.FeatureGates[1:]
	authorApplies()
	wantEnabledGate(t, "after the author removed the other gate", crd)
}

// wantEnabledGate checks that the server has the gates of the CRD, with ReplicasFeatureGate enabled, in any order.
func wantEnabledGate(t *testing.T, when string, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	want, on := crd.Spec.CustomFeatureGates.DeepCopy(), true
	for i := range want.FeatureGates {
		if want.FeatureGates[i].Name == "ReplicasFeatureGate" {
			want.FeatureGates[i].Enabled = &on
		}
	}
	if diff := cmp.Diff(gateMap(want), gateMap(shared.getCRD(t, crd.Name).Spec.CustomFeatureGates)); diff != "" {
		t.Errorf("gates %s (-want +got):\n%s", when, diff)
	}
}

func gateMap(gates *fairlead.CustomResourceDefinitionFeatureGates) map[string]fairlead.CustomResourceDefinitionFeatureGate {
	byName := map[string]fairlead.CustomResourceDefinitionFeatureGate{}
	if gates == nil {
		return byName
	}
	for _, gate := range gates.FeatureGates {
		byName[gate.Name] = gate
	}
	return byName
}

// TestC2OpenAPIHasThePatchKeys (rule C2): kubectl patch and kubectl apply use them to merge the list of gates.
func TestC2OpenAPIHasThePatchKeys(t *testing.T) {
	t.Parallel()
	model := fairlead.CustomResourceDefinitionFeatureGates{}.OpenAPIModelName()
	for path, at := range map[string][]string{
		"/openapi/v2": {"definitions", model, "properties", "featureGates"},
		"/openapi/v3/apis/apiextensions.k8s.io/v1": {"components", "schemas", model, "properties", "featureGates"},
	} {
		raw, err := shared.getRaw(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		for key, want := range map[string]string{
			"x-kubernetes-patch-strategy": `"merge"`, "x-kubernetes-patch-merge-key": `"name"`, "x-kubernetes-list-type": `"map"`,
		} {
			if got := rawField(t, raw, append(at, key)...); got != want {
				t.Errorf("%s: %s is %s, want %s", path, key, got, want)
			}
		}
	}
}

// TestC9WithTheGateOff (rules C9, F4, F5): an update keeps persisted gates also while the server's gate is disabled.
func TestC9WithTheGateOff(t *testing.T) {
	t.Parallel()
	s := startFor(t, options{featureGates: "CRDFieldLevelVersioning=true"})
	crd := installed(t, s, newGatedUnionsCRD(t))
	s.restart(t, options{})
	client := newStockClient(t, s, runtime.ContentTypeProtobuf)
	labeled := client.mustUpdate(s.getCRD(t, crd.Name), metav1.UpdateOptions{}, label)
	client.wantWarnings(gatesKept, unionsKept)
	wantSameSpec(t, "the label", crd, labeled)

	labeled.Spec.CustomFeatureGates = &fairlead.CustomResourceDefinitionFeatureGates{}
	removed, err := s.crdClient().Update(t.Context(), labeled, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if removed.Spec.CustomFeatureGates != nil {
		t.Errorf("gates after an update with {}: %v, want none", removed.Spec.CustomFeatureGates)
	}
	client.mustUpdate(removed, metav1.UpdateOptions{}, noChange)
	client.wantWarnings(unionsKept)

	if _, err = client.update(labeled, metav1.UpdateOptions{}, label); !apierrors.IsConflict(err) {
		t.Errorf("an update of a stale CRD is no conflict: %v", err)
	}
}
