// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	applyv1 "k8s.io/apiextensions-apiserver/pkg/client/applyconfiguration/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/line"
	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	applyfairlead "github.com/fairlead-dev/fairlead/pkg/client/applyconfiguration/apis/apiextensions"
)

// wantGates compares the gates of two CRDs.
func wantGates(t *testing.T, when string, want, got *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	if diff := cmp.Diff(want.Spec.CustomFeatureGates, got.Spec.CustomFeatureGates); diff != "" {
		t.Errorf("%s: customFeatureGates (-want +got):\n%s", when, diff)
	}
}

func TestC4ToC6BrokenGatesAreRefusedAtTheirPath(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, gates, want string }{
		{"C4: a gate without a name is refused", `featureGates: [{preRelease: alpha, fieldPaths: [.spec.replicas]}]`, `spec.customFeatureGates.featureGates[0].name: Required value`},
		{"C4: an unknown preRelease is refused", `featureGates: [{name: A, preRelease: gamma, fieldPaths: [.spec.replicas]}]`, `spec.customFeatureGates.featureGates[0].preRelease: Unsupported value: "gamma"`},
		{"C4: a path that is guarded twice is refused", `featureGates: [{name: A, preRelease: alpha, fieldPaths: [.spec.replicas]}, {name: B, preRelease: alpha, fieldPaths: [".spec['replicas']"]}]`, `spec.customFeatureGates.featureGates[1].fieldPaths[0]: Duplicate value`},
		{"C5: a path that does not resolve is refused", `featureGates: [{name: A, preRelease: alpha, fieldPaths: [.spec.nowhere]}]`, `spec.customFeatureGates.featureGates[0].fieldPaths[0]: Invalid value: ".spec.nowhere"`},
		{"C5: a path in metadata is refused", `featureGates: [{name: A, preRelease: alpha, fieldPaths: [.metadata.labels]}]`, `spec.customFeatureGates.featureGates[0].fieldPaths[0]: Invalid value`},
		{"C6: the path of a required field is refused", `featureGates: [{name: A, preRelease: alpha, fieldPaths: ['.spec.containers[*].name']}]`, `spec.customFeatureGates.featureGates[0].fieldPaths[0]: Invalid value`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			crd := newCRD(t, tc.gates)
			_, err := shared.crdClient().Create(t.Context(), crd, metav1.CreateOptions{})
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v\nwant %s", err, tc.want)
			}
			shared.uninstall(t, crd.Name)
		})
	}
}

func TestC7WarningsOnTheCRD(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, `
featureGates:
- {name: G, preRelease: stable, enabled: false, fieldPaths: [.spec.image]}
- {name: Gone, enabled: true}
- {name: Scaled, preRelease: alpha, fieldPaths: [.spec.replicas]}
`)
	crd.Spec.Versions[0].Subresources = scaleSubresource(".spec.replicas")
	client := shared.install(t, crd)
	warnings := strings.Join(client.warnings.take(), "\n")
	for _, want := range []string{
		`spec.customFeatureGates.featureGates[0].enabled: has no effect: feature gate "G" is stable`,
		`spec.customFeatureGates.featureGates[1]: `,
		`spec.customFeatureGates.featureGates[2].fieldPaths[0]: guards specReplicasPath of the scale subresource`,
	} {
		if !strings.Contains(warnings, want) {
			t.Errorf("no warning %q in:\n%s", want, warnings)
		}
	}

	// There are no warnings on a write that does not introduce their causes.
	patch := `{"metadata": {"labels": {"a": "b"}}}`
	if _, err := client.crdClient().Patch(t.Context(), crd.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	wantWarnings(t, "C7: a patch of a label", nil, client.warnings.take())
}

// TestC2AuthorAndAdministratorDoNotClobberEachOther (rules C2, C4) is scenario 1 of KEP-2608.
func TestC2AuthorAndAdministratorDoNotClobberEachOther(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, replicasGate)
	t.Cleanup(func() { shared.uninstall(t, crd.Name) })
	wantGateList := func(when, want string) {
		t.Helper()
		text, err := yaml.Marshal(shared.getCRD(t, crd.Name).Spec.CustomFeatureGates.FeatureGates)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, strings.TrimSpace(string(text))); diff != "" {
			t.Errorf("featureGates after %s (-want +got):\n%s", when, diff)
		}
	}
	shared.applyCRD(t, "author", manifestOf(t, crd))
	shared.applyCRD(t, "admin", crdManifest(crd.Name, `{customFeatureGates: {featureGates: [{name: ReplicasFeatureGate, enabled: true}]}}`))
	wantGateList("the administrator's apply",
		"- enabled: true\n  fieldPaths:\n  - .spec.replicas\n  name: ReplicasFeatureGate\n  preRelease: alpha")

	crd.Spec.CustomFeatureGates.FeatureGates[0].PreRelease = "beta"
	shared.applyCRD(t, "author", manifestOf(t, crd))
	wantGateList("the author's next apply",
		"- enabled: true\n  fieldPaths:\n  - .spec.replicas\n  name: ReplicasFeatureGate\n  preRelease: beta")

	// C4: if the author removes the gate, name and enabled remain, with a warning.
	crd.Spec.CustomFeatureGates = nil
	stderr := shared.applyCRD(t, "author", manifestOf(t, crd))
	wantGateList("the author removed the gate", "- enabled: true\n  name: ReplicasFeatureGate")
	if want := "Warning: spec.customFeatureGates.featureGates[0]: "; !strings.Contains(stderr, want) {
		t.Errorf("kubectl does not print %q:\n%s", want, stderr)
	}
}

// TestC2ControllersOfCRDsLeaveItsOwners (rule C2): the server's own controllers, which write the status of the CRD, do
// not change the owners of its gates.
func TestC2ControllersOfCRDsLeaveItsOwners(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, replicasGate)
	t.Cleanup(func() { shared.uninstall(t, crd.Name) })
	shared.applyCRD(t, "author", manifestOf(t, crd))
	shared.waitEstablished(t, crd.Name)

	owns := map[string]string{}
	for _, entry := range shared.getCRD(t, crd.Name).ManagedFields {
		owns[strings.Join([]string{entry.Manager, string(entry.Operation), entry.Subresource}, " ")] = line.FieldsText(entry.FieldsV1)
	}
	if len(owns) != 2 {
		t.Errorf("managedFields entries are %v, want two", owns)
	}
	if author := owns["author Apply "]; !strings.Contains(author, `"f:preRelease":{}`) {
		t.Errorf("the author owns %s, want the gate too", author)
	}
	if status := owns["kube-apiserver Update status"]; !strings.Contains(status, `"f:conditions"`) || strings.Contains(status, "f:spec") {
		t.Errorf("the server owns %s, want only the status", status)
	}
}

func TestC2ExplainShowsEveryField(t *testing.T) {
	t.Parallel()
	stdout, _ := shared.kubectl(t, "", "explain", "crd.spec.customFeatureGates", "--recursive")
	for _, field := range []string{"component", "featureGates", "name", "enabled", "default", "preRelease", "fieldDeprecationWarning", "fieldPaths"} {
		if !strings.Contains(stdout, "\n  "+field+"\t<") && !strings.Contains(stdout, "\n    "+field+"\t<") {
			t.Errorf("kubectl explain does not print %s:\n%s", field, stdout)
		}
	}
	stdout, _ = shared.kubectl(t, "", "explain", "crd.spec.customFeatureGates.featureGates.fieldPaths")
	if !strings.Contains(stdout, "JSON paths of the guarded fields") {
		t.Errorf("kubectl explain has no text for fieldPaths:\n%s", stdout)
	}
}

const everyGateField = `{component: c, featureGates: [{name: G, enabled: false, default: true, preRelease: deprecated, fieldDeprecationWarning: w, fieldPaths: [.spec.replicas]}]}`

// TestC3EveryEncodingOfARequest (rule C3) sends and reads the gates.
func TestC3EveryEncodingOfARequest(t *testing.T) {
	t.Parallel()
	wantInEveryEncoding(t,
		func(t *testing.T) *apiextensionsv1.CustomResourceDefinition { return newCRD(t, everyGateField) },
		func(crd *apiextensionsv1.CustomResourceDefinition) any { return crd.Spec.CustomFeatureGates })
}

// TestC3ApplyConfigurations (rule C3) applies a CRD with the generated types, as controllers in Go do.
func TestC3ApplyConfigurations(t *testing.T) {
	t.Parallel()
	crd := newCRDWithSchema(t, parse[*apiextensionsv1.JSONSchemaProps](t, cronTabSchema))
	shared.install(t, crd)
	want := gatesOf(t, everyGateField)
	gates := applyfairlead.CustomResourceDefinitionFeatureGates().WithComponent("c").WithFeatureGates(
		applyfairlead.CustomResourceDefinitionFeatureGate().WithName("G").WithEnabled(false).WithDefault(true).
			WithPreRelease(fairlead.PreReleaseDeprecated).WithFieldDeprecationWarning("w").WithFieldPaths(".spec.replicas"))
	config := applyv1.CustomResourceDefinition(crd.Name).WithSpec(
		applyv1.CustomResourceDefinitionSpec().WithCustomFeatureGates(gates))
	crds := shared.crdClient()
	got, err := crds.Apply(t.Context(), config, metav1.ApplyOptions{FieldManager: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Spec.CustomFeatureGates); diff != "" {
		t.Errorf("customFeatureGates (-want +got):\n%s", diff)
	}

	// The fields of the manager can be extracted and applied again, which changes nothing.
	extracted, err := applyv1.ExtractCustomResourceDefinition(got, "admin")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(gates, extracted.Spec.CustomFeatureGates); diff != "" {
		t.Errorf("extracted customFeatureGates (-want +got):\n%s", diff)
	}
	again, err := crds.Apply(t.Context(), extracted, metav1.ApplyOptions{FieldManager: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, again.Spec.CustomFeatureGates); diff != "" || again.Generation != got.Generation {
		t.Errorf("applied again: generation is %d after %d, customFeatureGates (-want +got):\n%s", again.Generation, got.Generation, diff)
	}
}
