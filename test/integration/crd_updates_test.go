// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
)

// The warnings of rule C9.
const (
	gatesKept = "spec.customFeatureGates: kept, since the update leaves it out: " +
		"to remove it, update with customFeatureGates: {}"
	unionsKept = "spec.versions: x-kubernetes-unions kept, since the update leaves out all of them and " +
		"no other part of a schema changes: to remove them, use a patch"
)

// stockClient writes CRDs as a typed client that was built without fairlead's fields does: it never sends them.
type stockClient struct {
	*testing.T
	crds     apiextensionsclient.Interface
	warnings *warningLog
}

func newStockClient(t *testing.T, s *server, contentType string) stockClient {
	t.Helper()
	log := &warningLog{}
	config := rest.CopyConfig(s.config)
	config.ContentType, config.AcceptContentTypes = contentType, contentType
	config.WarningHandlerWithContext = log
	crds, err := apiextensionsclient.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return stockClient{T: t, crds: crds, warnings: log}
}

// update sends the CRD without fairlead's fields, after a change.
func (c stockClient) update(
	crd *apiextensionsv1.CustomResourceDefinition, opts metav1.UpdateOptions, change func(*apiextensionsv1.CustomResourceDefinition),
) (*apiextensionsv1.CustomResourceDefinition, error) {
	c.Helper()
	c.warnings.take()
	crd = crd.DeepCopy()
	crd.Spec.CustomFeatureGates = nil
	for i := range crd.Spec.Versions {
		forgetUnions(crd.Spec.Versions[i].Schema.OpenAPIV3Schema)
	}
	change(crd)
	return c.crds.ApiextensionsV1().CustomResourceDefinitions().Update(c.Context(), crd, opts)
}

func (c stockClient) mustUpdate(
	crd *apiextensionsv1.CustomResourceDefinition, opts metav1.UpdateOptions, change func(*apiextensionsv1.CustomResourceDefinition),
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

func forgetUnions(schema *apiextensionsv1.JSONSchemaProps) {
	if schema == nil {
		return
	}
	schema.XUnions = nil
	for name, property := range schema.Properties {
		forgetUnions(&property)
		schema.Properties[name] = property
	}
	if schema.Items != nil {
		forgetUnions(schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil {
		forgetUnions(schema.AdditionalProperties.Schema)
	}
}

func label(crd *apiextensionsv1.CustomResourceDefinition) { crd.Labels = map[string]string{"a": "b"} }

func noChange(*apiextensionsv1.CustomResourceDefinition) {}

// newGatedUnionsCRD has a gate, unions in v1, and v2 with the same schema but for the unions.
func newGatedUnionsCRD(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := newUnionsCRD(t)
	crd.Spec.CustomFeatureGates = parse[*fairlead.CustomResourceDefinitionFeatureGates](t,
		`featureGates: [{name: G, preRelease: alpha, fieldPaths: [.spec.source.git]}]`)
	v2 := crd.Spec.Versions[0].DeepCopy()
	v2.Name, v2.Storage = "v2", false
	forgetUnions(v2.Schema.OpenAPIV3Schema)
	crd.Spec.Versions = append(crd.Spec.Versions, *v2)
	return crd
}

// wantKept compares all that a stock client does not know, and does not wish to change.
func wantKept(t *testing.T, what string, want, got *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	if diff := cmp.Diff(want.Spec, got.Spec); diff != "" {
		t.Errorf("%s: spec (-want +got):\n%s", what, diff)
	}
	if want.Generation != got.Generation {
		t.Errorf("%s: generation %d, want %d", what, got.Generation, want.Generation)
	}
}

// installed creates a CRD and returns it as soon as the server's controllers are done with it.
func installed(t *testing.T, s *server, crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	s.install(t, crd)
	s.kubectl(t, "", "wait", "--for=condition=Established", "--timeout=60s", "crd/"+crd.Name)
	return s.getCRD(t, crd.Name)
}

// TestC9ATypedClientThatWritesALabelKeepsGatesAndUnions (rules C9, C3) updates in every encoding.
func TestC9ATypedClientThatWritesALabelKeepsGatesAndUnions(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf, runtime.ContentTypeYAML} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			crd := installed(t, shared, newGatedUnionsCRD(t))
			client := newStockClient(t, shared, contentType)

			dry := client.mustUpdate(crd, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}, label)
			client.wantWarnings(gatesKept, unionsKept)
			wantKept(t, "G13: dry run", crd, dry)

			labeled := client.mustUpdate(crd, metav1.UpdateOptions{}, label)
			client.wantWarnings(gatesKept, unionsKept)
			wantKept(t, "the label", crd, labeled)
			if labeled.Labels["a"] != "b" {
				t.Errorf("labels: %v", labeled.Labels)
			}

			again := client.mustUpdate(labeled, metav1.UpdateOptions{}, noChange)
			client.wantWarnings(gatesKept, unionsKept)
			if diff := cmp.Diff(labeled, again); diff != "" {
				t.Errorf("the same again writes (-before +after):\n%s", diff)
			}
		})
	}
}

// TestC9AStatusUpdateIsNoneOfIt (rule C9): it never changes the spec, and draws no warning.
func TestC9AStatusUpdateIsNoneOfIt(t *testing.T) {
	t.Parallel()
	crd := installed(t, shared, newGatedUnionsCRD(t))
	client := newStockClient(t, shared, runtime.ContentTypeProtobuf)
	sent := crd.DeepCopy()
	sent.Spec.CustomFeatureGates = nil
	sent.Status.Conditions = append(sent.Status.Conditions,
		apiextensionsv1.CustomResourceDefinitionCondition{Type: "Tested", Status: apiextensionsv1.ConditionTrue})
	got, err := client.crds.ApiextensionsV1().CustomResourceDefinitions().UpdateStatus(t.Context(), sent, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wantKept(t, "status", crd, got)
	client.wantWarnings()
}

// TestC9WhoOwnsWhatIsKeptOwnsItStill (rules C9, C2): also who owns nothing else, and nobody else does.
func TestC9WhoOwnsWhatIsKeptOwnsItStill(t *testing.T) {
	t.Parallel()
	crd := newGatedUnionsCRD(t)
	crd.APIVersion, crd.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	t.Cleanup(func() { shared.uninstall(t, crd.Name) })
	shared.kubectl(t, manifestOf(t, crd), "apply", "--server-side", "--field-manager=author", "-f", "-")
	shared.kubectl(t, "", "wait", "--for=condition=Established", "--timeout=60s", "crd/"+crd.Name)
	admin := `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ` + crd.Name + `}, ` +
		`spec: {customFeatureGates: {featureGates: [{name: G, enabled: true}]}}}`
	shared.kubectl(t, admin, "apply", "--server-side", "--field-manager=admin", "-f", "-")

	before := shared.getCRD(t, crd.Name)
	client := newStockClient(t, shared, runtime.ContentTypeProtobuf)
	unchanged := client.mustUpdate(before, metav1.UpdateOptions{FieldManager: "injector"}, noChange)
	if diff := cmp.Diff(before, unchanged); diff != "" {
		t.Errorf("an update without a change (-before +after):\n%s", diff)
	}
	labeled := client.mustUpdate(before, metav1.UpdateOptions{FieldManager: "injector"}, label)
	wantKept(t, "the label", before, labeled)
	owns := map[string]string{}
	for _, entry := range labeled.ManagedFields {
		if entry.Manager == "injector" {
			owns[string(entry.Operation)] = entry.FieldsV1.GetRawString()
		}
	}
	if diff := cmp.Diff(map[string]string{"Update": `{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}`}, owns); diff != "" {
		t.Errorf("the client owns (-want +got):\n%s", diff)
	}
	for _, entry := range before.ManagedFields {
		if !containsEntry(labeled.ManagedFields, entry) {
			t.Errorf("%s %s lost or gained fields: %v", entry.Manager, entry.Operation, labeled.ManagedFields)
		}
	}

	// So neither of them conflicts with what the client did, and the administrator can let go.
	shared.kubectl(t, manifestOf(t, crd), "apply", "--server-side", "--field-manager=author", "-f", "-")
	name, _, _ := strings.Cut(admin, ", spec:")
	letGo := name + "}"
	shared.kubectl(t, letGo, "apply", "--server-side", "--field-manager=admin", "-f", "-")
	if diff := cmp.Diff(crd.Spec.CustomFeatureGates, shared.getCRD(t, crd.Name).Spec.CustomFeatureGates); diff != "" {
		t.Errorf("after the administrator let go (-want +got):\n%s", diff)
	}
}

func containsEntry(entries []metav1.ManagedFieldsEntry, want metav1.ManagedFieldsEntry) bool {
	for _, entry := range entries {
		if cmp.Equal(entry, want) {
			return true
		}
	}
	return false
}

// removals are the ways to remove the gates of a CRD.
var removals = map[string]func(stockClient, *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error){
	"merge patch":     patchCRD(types.MergePatchType, `{"spec": {"customFeatureGates": null}}`),
	"strategic patch": patchCRD(types.StrategicMergePatchType, `{"spec": {"customFeatureGates": null}}`),
	"JSON patch":      patchCRD(types.JSONPatchType, `[{"op": "remove", "path": "/spec/customFeatureGates"}]`),
	"update with {}": func(c stockClient, crd *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
		crd = crd.DeepCopy()
		crd.Spec.CustomFeatureGates = &fairlead.CustomResourceDefinitionFeatureGates{}
		return c.crds.ApiextensionsV1().CustomResourceDefinitions().Update(c.Context(), crd, metav1.UpdateOptions{})
	},
}

func patchCRD(
	kind types.PatchType, patch string,
) func(stockClient, *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	return func(c stockClient, crd *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
		return c.crds.ApiextensionsV1().CustomResourceDefinitions().
			Patch(c.Context(), crd.Name, kind, []byte(patch), metav1.PatchOptions{})
	}
}

// TestC9WhatRemovesTheGates (rule C9) removes them by every verb but apply, and leaves no owner behind.
func TestC9WhatRemovesTheGates(t *testing.T) {
	t.Parallel()
	for name, remove := range removals {
		for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
			t.Run("C9: "+name+" by a client of "+contentType, func(t *testing.T) {
				t.Parallel()
				crd := installed(t, shared, newGatedUnionsCRD(t))
				client := newStockClient(t, shared, contentType)
				removed, err := remove(client, crd)
				if err != nil {
					t.Fatal(err)
				}
				client.wantWarnings()
				if removed.Spec.CustomFeatureGates != nil || removed.Generation != crd.Generation+1 {
					t.Errorf("generation %d, %v", removed.Generation, removed.Spec.CustomFeatureGates)
				}
				for _, entry := range removed.ManagedFields {
					if fields := entry.FieldsV1.GetRawString(); strings.Contains(fields, "customFeatureGates") {
						t.Errorf("%s owns what is gone: %s", entry.Manager, fields)
					}
				}
				again := client.mustUpdate(removed, metav1.UpdateOptions{}, noChange)
				client.wantWarnings(unionsKept)
				wantKept(t, "an update without gates", removed, again)
			})
		}
	}
}

// TestC9KubectlReplaceRemovesGatesWithAnEmptyObject (rule C9): a manifest without them keeps them, and kubectl says how
// to remove them; so it does where what it keeps is no longer right.
func TestC9KubectlReplaceRemovesGatesWithAnEmptyObject(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, replicasGate)
	crd.APIVersion, crd.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	installed(t, shared, crd)
	gates := crd.Spec.CustomFeatureGates

	crd.Spec.CustomFeatureGates = nil
	_, stderr := shared.kubectl(t, manifestOf(t, crd), "replace", "-f", "-")
	if !strings.Contains(stderr, "Warning: "+gatesKept) {
		t.Errorf("no %q in:\n%s", gatesKept, stderr)
	}
	if diff := cmp.Diff(gates, shared.getCRD(t, crd.Name).Spec.CustomFeatureGates); diff != "" {
		t.Errorf("replace (-want +got):\n%s", diff)
	}

	delete(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "replicas")
	_, stderr, err := shared.tryKubectl(manifestOf(t, crd), "replace", "-f", "-")
	if err == nil || !strings.Contains(stderr, `.spec has no field "replicas"`) || !strings.Contains(stderr, "Warning: "+gatesKept) {
		t.Errorf("replace with a schema that the gates do not fit: %v\n%s", err, stderr)
	}
	crd.Spec.CustomFeatureGates = &fairlead.CustomResourceDefinitionFeatureGates{}
	shared.kubectl(t, manifestOf(t, crd), "replace", "-f", "-")
	if got := shared.getCRD(t, crd.Name).Spec.CustomFeatureGates; got != nil {
		t.Errorf("replace with {}: %v", got)
	}
}

// TestC9WhatRemovesUnions (rule C9): a patch, and an update that changes a schema besides.
func TestC9WhatRemovesUnions(t *testing.T) {
	t.Parallel()
	crd := installed(t, shared, newUnionsCRD(t))
	client := newStockClient(t, shared, runtime.ContentTypeJSON)
	crds := client.crds.ApiextensionsV1().CustomResourceDefinitions()

	kept := client.mustUpdate(crd, metav1.UpdateOptions{}, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions[0].AdditionalPrinterColumns = []apiextensionsv1.CustomResourceColumnDefinition{
			{Name: "image", Type: "string", JSONPath: ".spec.image"},
		}
	})
	client.wantWarnings(unionsKept)
	if diff := cmp.Diff(crd.Spec.Versions[0].Schema, kept.Spec.Versions[0].Schema); diff != "" {
		t.Errorf("with a column (-want +got):\n%s", diff)
	}
	removed := client.mustUpdate(kept, metav1.UpdateOptions{}, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Description = "d"
	})
	client.wantWarnings()
	if got := sourceUnionOf(removed); got != nil {
		t.Errorf("with a description: %v", got)
	}

	removed.Spec.Versions = crd.Spec.Versions
	if _, err := crds.Update(t.Context(), removed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	patch := []byte(`[{"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/source/properties/type/x-kubernetes-unions"}]`)
	patched, err := crds.Patch(t.Context(), crd.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := sourceUnionOf(patched); got != nil {
		t.Errorf("with a patch: %v", got)
	}
}

// TestC4AnAccidentIsRefused (rule C4): a write that means enabled and replaces the list of gates, by every verb.
func TestC4AnAccidentIsRefused(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, replicasGate)
	client := shared.install(t, crd)
	crds := client.crds.ApiextensionsV1().CustomResourceDefinitions()
	for name, write := range map[string]func() error{
		"merge patch": func() error {
			patch := `{"spec": {"customFeatureGates": {"featureGates": [{"name": "ReplicasFeatureGate", "enabled": true}]}}}`
			_, err := crds.Patch(t.Context(), crd.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			return err
		},
		"JSON patch": func() error {
			patch := `[{"op": "replace", "path": "/spec/customFeatureGates/featureGates", "value": [{"name": "ReplicasFeatureGate", "enabled": false}]}]`
			_, err := crds.Patch(t.Context(), crd.Name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
			return err
		},
		"update": func() error {
			got := shared.getCRD(t, crd.Name)
			got.Spec.CustomFeatureGates = parse[*fairlead.CustomResourceDefinitionFeatureGates](t, `featureGates: [{name: ReplicasFeatureGate, enabled: true}]`)
			_, err := crds.Update(t.Context(), got, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		},
	} {
		err := write()
		const at = "spec.customFeatureGates.featureGates[0]"
		wantCauses(t, "C4: "+name, at, []string{"$.preRelease: FieldValueRequired", "$.fieldPaths: FieldValueRequired"}, err)
	}
	if diff := cmp.Diff(crd.Spec.CustomFeatureGates, shared.getCRD(t, crd.Name).Spec.CustomFeatureGates); diff != "" {
		t.Errorf("after the accidents (-want +got):\n%s", diff)
	}
	if warnings := client.warnings.take(); warnings != nil {
		t.Errorf("warnings: %q", warnings)
	}
}

// TestC2ClientSideAuthorAndAdministrator (rule C2) is scenario 1 of KEP-2608 without server-side apply.
func TestC2ClientSideAuthorAndAdministrator(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, `featureGates: [{name: Other, preRelease: beta, fieldPaths: [.spec.image]}, {name: ReplicasFeatureGate, preRelease: alpha, fieldPaths: [.spec.replicas]}]`)
	crd.APIVersion, crd.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	t.Cleanup(func() { shared.uninstall(t, crd.Name) })
	shared.kubectl(t, manifestOf(t, crd), "apply", "-f", "-")
	shared.kubectl(t, "", "wait", "--for=condition=Established", "--timeout=60s", "crd/"+crd.Name)

	_, stderr := shared.kubectl(t, "", "patch", "crd", crd.Name, "-p",
		`{"spec": {"customFeatureGates": {"featureGates": [{"name": "ReplicasFeatureGate", "enabled": true}]}}}`)
	if stderr != "" {
		t.Errorf("the administrator is told: %s", stderr)
	}
	wantGates := func(what string) {
		t.Helper()
		want := crd.Spec.CustomFeatureGates.DeepCopy()
		on := true
		for i := range want.FeatureGates {
			if want.FeatureGates[i].Name == "ReplicasFeatureGate" {
				want.FeatureGates[i].Enabled = &on
			}
		}
		if diff := cmp.Diff(gateMap(want), gateMap(shared.getCRD(t, crd.Name).Spec.CustomFeatureGates)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	wantGates("after the administrator's patch")

	before := shared.getCRD(t, crd.Name)
	shared.kubectl(t, manifestOf(t, crd), "apply", "-f", "-")
	if diff := cmp.Diff(before, shared.getCRD(t, crd.Name)); diff != "" {
		t.Errorf("the author's next apply writes (-before +after):\n%s", diff)
	}
	crd.Spec.CustomFeatureGates.FeatureGates[1].PreRelease = fairlead.PreReleaseBeta
	shared.kubectl(t, manifestOf(t, crd), "apply", "-f", "-")
	wantGates("after the gate graduated")
	crd.Spec.CustomFeatureGates.FeatureGates = crd.Spec.CustomFeatureGates.FeatureGates[1:]
	shared.kubectl(t, manifestOf(t, crd), "apply", "-f", "-")
	wantGates("after the other gate went")
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

// TestC2OpenAPIHasThePatchKeys (rule C2): kubectl goes by them.
func TestC2OpenAPIHasThePatchKeys(t *testing.T) {
	t.Parallel()
	model := fairlead.CustomResourceDefinitionFeatureGates{}.OpenAPIModelName()
	for path, at := range map[string][]string{
		"/openapi/v2": {"definitions", model, "properties", "featureGates"},
		"/openapi/v3/apis/apiextensions.k8s.io/v1": {"components", "schemas", model, "properties", "featureGates"},
	} {
		raw, err := shared.crds.Discovery().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(t.Context())
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

// TestC9WithTheGateOff (rules C9, F4, F5): what is stored is kept all the same.
func TestC9WithTheGateOff(t *testing.T) {
	t.Parallel()
	s := startFor(t, options{featureGates: "CRDFieldLevelVersioning=true"})
	crd := installed(t, s, newGatedUnionsCRD(t))
	s.restart(t, options{})
	client := newStockClient(t, s, runtime.ContentTypeProtobuf)
	labeled := client.mustUpdate(s.getCRD(t, crd.Name), metav1.UpdateOptions{}, label)
	client.wantWarnings(gatesKept, unionsKept)
	wantKept(t, "the label", crd, labeled)

	labeled.Spec.CustomFeatureGates = &fairlead.CustomResourceDefinitionFeatureGates{}
	removed, err := s.crds.ApiextensionsV1().CustomResourceDefinitions().Update(t.Context(), labeled, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if removed.Spec.CustomFeatureGates != nil {
		t.Errorf("{} removed nothing: %v", removed.Spec.CustomFeatureGates)
	}
	client.mustUpdate(removed, metav1.UpdateOptions{}, noChange)
	client.wantWarnings(unionsKept)

	if _, err = client.update(labeled, metav1.UpdateOptions{}, label); !apierrors.IsConflict(err) {
		t.Errorf("an update of what is no longer there: %v", err)
	}
}
