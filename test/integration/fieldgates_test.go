// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	applyv1 "k8s.io/apiextensions-apiserver/pkg/client/applyconfiguration/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"sigs.k8s.io/yaml"

	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	applyfairlead "github.com/fairlead-dev/fairlead/pkg/client/applyconfiguration/apis/apiextensions"
)

const droppedReplicas = `.spec.replicas: dropped: feature gate "ReplicasFeatureGate" is disabled`

// create creates an object and returns what the server answers and warns.
func create(t *testing.T, client resource, u *unstructured.Unstructured, opts metav1.CreateOptions) (*unstructured.Unstructured, []string) {
	t.Helper()
	client.warnings.take()
	created, err := client.Create(t.Context(), u, opts)
	if err != nil {
		t.Fatal(err)
	}
	return created, client.warnings.take()
}

func TestG2CreateWithADisabledGateDropsTheField(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, replicasGate)
	client := shared.install(t, crd)

	created, warnings := create(t, client, cronTab(t, crd, "a", `{image: i, replicas: 3}`), metav1.CreateOptions{})
	if diff := cmp.Diff([]string{droppedReplicas}, warnings); diff != "" {
		t.Errorf("G10: warnings (-want +got):\n%s", diff)
	}
	if got := specOf(t, created); got != "image: i" {
		t.Errorf("the answer has spec %q", got)
	}
	stored, err := client.Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := specOf(t, stored); got != "image: i" {
		t.Errorf("the stored object has spec %q", got)
	}
	if got := stored.GetGeneration(); got != 1 {
		t.Errorf("generation is %d", got)
	}
}

func TestG2CreateOfEveryKind(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, gates, spec, want string
		warnings                []string
	}{
		{
			name:  "G2: an enabled gate sets the field",
			gates: `featureGates: [{name: A, preRelease: alpha, enabled: true, fieldPaths: [.spec.replicas]}]`,
			spec:  `{replicas: 3}`, want: "replicas: 3",
		},
		{
			name:  "C1, G2: a beta gate is enabled",
			gates: `featureGates: [{name: A, preRelease: beta, fieldPaths: [.spec.replicas]}]`,
			spec:  `{replicas: 3}`, want: "replicas: 3",
		},
		{
			name:  "C1, C7: a stable gate is enabled whatever enabled says",
			gates: `featureGates: [{name: A, preRelease: stable, enabled: false, fieldPaths: [.spec.replicas]}]`,
			spec:  `{replicas: 3}`, want: "replicas: 3",
		},
		{
			name:  "C8: nothing is said of a gate below a disabled one",
			gates: `featureGates: [{name: Foo, preRelease: alpha, fieldPaths: [.spec.foo]}, {name: Qux, preRelease: alpha, fieldPaths: [.spec.foo.qux]}]`,
			spec:  `{image: i, foo: {baz: 1, qux: 2}}`, want: "image: i",
			warnings: []string{`.spec.foo: dropped: feature gate "Foo" is disabled`},
		},
		{
			name:  "G3: an object left empty by a drop stays",
			gates: `featureGates: [{name: Qux, preRelease: alpha, fieldPaths: [.spec.foo.qux]}]`,
			spec:  `{foo: {qux: 2}}`, want: "foo: {}",
			warnings: []string{`.spec.foo.qux: dropped: feature gate "Qux" is disabled`},
		},
		{
			name:  "G5, G10: through a list map, with the component's name, once per path",
			gates: `{component: istio, featureGates: [{name: Size, preRelease: alpha, fieldPaths: ['.spec.containers[*].size']}]}`,
			spec:  `{containers: [{name: a, size: 1}, {name: b, size: 2}]}`, want: "containers:\n- name: a\n- name: b",
			warnings: []string{`.spec.containers[*].size: dropped: feature gate "istio/Size" is disabled`},
		},
		{
			name:  "G10: deprecated and used",
			gates: `featureGates: [{name: Old, preRelease: deprecated, default: true, fieldPaths: [.spec.image]}, {name: Told, preRelease: deprecated, default: true, fieldDeprecationWarning: use foo, fieldPaths: [.spec.replicas, .spec.cronSpec]}]`,
			spec:  `{image: i, replicas: 1, cronSpec: c}`, want: "cronSpec: c\nimage: i\nreplicas: 1",
			warnings: []string{".spec.image: deprecated field", "use foo"},
		},
		{
			name:  "C4: a gate without definition guards nothing",
			gates: `featureGates: [{name: Gone, enabled: false}]`,
			spec:  `{replicas: 3}`, want: "replicas: 3",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			crd := newCRD(t, tc.gates)
			client := shared.install(t, crd)
			created, warnings := create(t, client, cronTab(t, crd, "a", tc.spec), metav1.CreateOptions{})
			if diff := cmp.Diff(tc.warnings, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, specOf(t, created)); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

func TestG2ServerSideApplyThatCreates(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, replicasGate)
	client := shared.install(t, crd)
	client.warnings.take()
	applied, err := client.Apply(t.Context(), "a", cronTab(t, crd, "a", `{image: i, replicas: 3}`), metav1.ApplyOptions{FieldManager: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{droppedReplicas}, client.warnings.take()); diff != "" {
		t.Errorf("G10: warnings (-want +got):\n%s", diff)
	}
	if got := specOf(t, applied); got != "image: i" {
		t.Errorf("spec is %q", got)
	}
}

func TestG10ARefusedCreateDrawsNoWarning(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, replicasGate)
	client := shared.install(t, crd)
	client.warnings.take()
	if _, err := client.Create(t.Context(), cronTab(t, crd, "a", `{image: 5, replicas: 3}`), metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Fatalf("the object of the wrong type was not refused: %v", err)
	}
	if warnings := client.warnings.take(); warnings != nil {
		t.Errorf("warnings: %q", warnings)
	}

	// A name that is taken is noticed by storage, after the strategy has done its work.
	create(t, client, cronTab(t, crd, "taken", `{image: i}`), metav1.CreateOptions{})
	if _, err := client.Create(t.Context(), cronTab(t, crd, "taken", `{replicas: 3}`), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Fatalf("the second object of a name was not refused: %v", err)
	}
	if warnings := client.warnings.take(); warnings != nil {
		t.Errorf("warnings: %q", warnings)
	}
}

func TestG1ADroppedFieldIsNotValidated(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, replicasGate)
	client := shared.install(t, crd)
	created, warnings := create(t, client, cronTab(t, crd, "a", `{image: i, replicas: -1}`), metav1.CreateOptions{})
	if got := specOf(t, created); got != "image: i" || len(warnings) != 1 {
		t.Errorf("spec %q, warnings %q", got, warnings)
	}
}

func TestG13DryRunAnswersWhatTheCreateWould(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, replicasGate)
	client := shared.install(t, crd)
	created, warnings := create(t, client, cronTab(t, crd, "a", `{image: i, replicas: 3}`), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if diff := cmp.Diff([]string{droppedReplicas}, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if got := specOf(t, created); got != "image: i" {
		t.Errorf("the answer has spec %q", got)
	}
	if _, err := client.Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the object was stored: %v", err)
	}
}

func TestG11AFlipTakesEffectWithoutARestartAndRewritesNothing(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, replicasGate)
	client := shared.install(t, crd)
	before, _ := create(t, client, cronTab(t, crd, "before", `{image: i, replicas: 3}`), metav1.CreateOptions{})

	flip(t, crd, true)
	eventually(t, "the enabled gate takes effect", func(ctx context.Context) (bool, error) {
		u, err := client.Create(ctx, cronTab(t, crd, "after", `{replicas: 3}`), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && specOf(t, u) == "replicas: 3", err
	})
	after, warnings := create(t, client, cronTab(t, crd, "after", `{replicas: 3}`), metav1.CreateOptions{})
	if got := specOf(t, after); got != "replicas: 3" || warnings != nil {
		t.Errorf("with the gate on: spec %q, warnings %q", got, warnings)
	}

	flip(t, crd, false)
	eventually(t, "the disabled gate takes effect", func(ctx context.Context) (bool, error) {
		u, err := client.Create(ctx, cronTab(t, crd, "again", `{replicas: 3}`), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && specOf(t, u) == "{}", err
	})
	for _, want := range []*unstructured.Unstructured{before, after} {
		got, err := client.Get(t.Context(), want.GetName(), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("a flip rewrote %s:\n%s", want.GetName(), diff)
		}
	}
}

func flip(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, enabled bool) {
	t.Helper()
	patch := `[{"op": "add", "path": "/spec/customFeatureGates/featureGates/0/enabled", "value": ` + map[bool]string{true: "true", false: "false"}[enabled] + `}]`
	if _, err := shared.crds.ApiextensionsV1().CustomResourceDefinitions().Patch(t.Context(), crd.Name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestC4ToC6BrokenGatesAreRefusedAtTheirPath(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, gates, want string }{
		{"C4: no name", `featureGates: [{preRelease: alpha, fieldPaths: [.spec.replicas]}]`, `spec.customFeatureGates.featureGates[0].name: Required value`},
		{"C4: unknown preRelease", `featureGates: [{name: A, preRelease: gamma, fieldPaths: [.spec.replicas]}]`, `spec.customFeatureGates.featureGates[0].preRelease: Unsupported value: "gamma"`},
		{"C4: a path guarded twice", `featureGates: [{name: A, preRelease: alpha, fieldPaths: [.spec.replicas]}, {name: B, preRelease: alpha, fieldPaths: [".spec['replicas']"]}]`, `spec.customFeatureGates.featureGates[1].fieldPaths[0]: Duplicate value`},
		{"C5: a path that leads nowhere", `featureGates: [{name: A, preRelease: alpha, fieldPaths: [.spec.nowhere]}]`, `spec.customFeatureGates.featureGates[0].fieldPaths[0]: Invalid value: ".spec.nowhere"`},
		{"C5: metadata", `featureGates: [{name: A, preRelease: alpha, fieldPaths: [.metadata.labels]}]`, `spec.customFeatureGates.featureGates[0].fieldPaths[0]: Invalid value`},
		{"C6: a required field", `featureGates: [{name: A, preRelease: alpha, fieldPaths: ['.spec.containers[*].name']}]`, `spec.customFeatureGates.featureGates[0].fieldPaths[0]: Invalid value`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			crd := newCRD(t, tc.gates)
			_, err := shared.crds.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), crd, metav1.CreateOptions{})
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
	crd.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{
		Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas"},
	}
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

	// A write that does not introduce them is not warned about them.
	patch := `{"metadata": {"labels": {"a": "b"}}}`
	if _, err := client.crds.ApiextensionsV1().CustomResourceDefinitions().Patch(t.Context(), crd.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if warnings := client.warnings.take(); warnings != nil {
		t.Errorf("warnings again: %q", warnings)
	}
}

// TestC2AuthorAndAdministratorDoNotClobberEachOther is scenario 1 of KEP-2608.
func TestC2AuthorAndAdministratorDoNotClobberEachOther(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, replicasGate)
	crd.APIVersion, crd.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	t.Cleanup(func() { shared.uninstall(t, crd.Name) })
	shared.kubectl(t, manifestOf(t, crd), "apply", "--server-side", "--field-manager=author", "-f", "-")

	admin := `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ` + crd.Name + `}, ` +
		`spec: {customFeatureGates: {featureGates: [{name: ReplicasFeatureGate, enabled: true}]}}}`
	shared.kubectl(t, admin, "apply", "--server-side", "--field-manager=admin", "-f", "-")

	gates := func() string {
		got, err := shared.crds.ApiextensionsV1().CustomResourceDefinitions().Get(t.Context(), crd.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := yaml.Marshal(got.Spec.CustomFeatureGates.FeatureGates)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	if diff := cmp.Diff("- enabled: true\n  fieldPaths:\n  - .spec.replicas\n  name: ReplicasFeatureGate\n  preRelease: alpha", gates()); diff != "" {
		t.Errorf("after the administrator's apply (-want +got):\n%s", diff)
	}

	crd.Spec.CustomFeatureGates.FeatureGates[0].PreRelease = "beta"
	shared.kubectl(t, manifestOf(t, crd), "apply", "--server-side", "--field-manager=author", "-f", "-")
	if diff := cmp.Diff("- enabled: true\n  fieldPaths:\n  - .spec.replicas\n  name: ReplicasFeatureGate\n  preRelease: beta", gates()); diff != "" {
		t.Errorf("after the author's next apply (-want +got):\n%s", diff)
	}

	// C4: what remains when the author removes the gate is accepted, and warned about.
	crd.Spec.CustomFeatureGates = nil
	_, stderr := shared.kubectl(t, manifestOf(t, crd), "apply", "--server-side", "--field-manager=author", "-f", "-")
	if diff := cmp.Diff("- enabled: true\n  name: ReplicasFeatureGate", gates()); diff != "" {
		t.Errorf("after the author removed the gate (-want +got):\n%s", diff)
	}
	if want := "Warning: spec.customFeatureGates.featureGates[0]: "; !strings.Contains(stderr, want) {
		t.Errorf("no %q in:\n%s", want, stderr)
	}
}

// TestC2ControllersOfCRDsLeaveItsOwners (rule C2): who owns the gates of a CRD is the same after the server's own
// controllers have written its status.
func TestC2ControllersOfCRDsLeaveItsOwners(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, replicasGate)
	crd.APIVersion, crd.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	t.Cleanup(func() { shared.uninstall(t, crd.Name) })
	shared.kubectl(t, manifestOf(t, crd), "apply", "--server-side", "--field-manager=author", "-f", "-")
	shared.kubectl(t, "", "wait", "--for=condition=Established", "--timeout=60s", "crd/"+crd.Name)

	got, err := shared.crds.ApiextensionsV1().CustomResourceDefinitions().Get(t.Context(), crd.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owns := map[string]string{}
	for _, entry := range got.ManagedFields {
		owns[strings.Join([]string{entry.Manager, string(entry.Operation), entry.Subresource}, " ")] = entry.FieldsV1.GetRawString()
	}
	if len(owns) != 2 {
		t.Errorf("owners: %v, want two", owns)
	}
	if author := owns["author Apply "]; !strings.Contains(author, `"f:preRelease":{}`) {
		t.Errorf("the author owns %s, want the gate too", author)
	}
	if status := owns["kube-apiserver Update status"]; !strings.Contains(status, `"f:conditions"`) || strings.Contains(status, "f:spec") {
		t.Errorf("the server owns %s, want the status alone", status)
	}
}

func TestC2ExplainShowsEveryField(t *testing.T) {
	t.Parallel()
	stdout, _ := shared.kubectl(t, "", "explain", "crd.spec.customFeatureGates", "--recursive")
	for _, field := range []string{"component", "featureGates", "name", "enabled", "default", "preRelease", "fieldDeprecationWarning", "fieldPaths"} {
		if !strings.Contains(stdout, "\n  "+field+"\t<") && !strings.Contains(stdout, "\n    "+field+"\t<") {
			t.Errorf("explain lacks %s:\n%s", field, stdout)
		}
	}
	stdout, _ = shared.kubectl(t, "", "explain", "crd.spec.customFeatureGates.featureGates.fieldPaths")
	if !strings.Contains(stdout, "JSON paths of the guarded fields") {
		t.Errorf("explain has no text for fieldPaths:\n%s", stdout)
	}
}

// TestC3EveryEncodingOfARequest is rule C3 over the wire; CBOR is not served to clients of CRDs by default.
func TestC3EveryEncodingOfARequest(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf, runtime.ContentTypeYAML} {
		t.Run(contentType, func(t *testing.T) {
			config := rest.CopyConfig(shared.config)
			config.ContentType, config.AcceptContentTypes = contentType, contentType
			client, err := apiextensionsclient.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			crd := newCRD(t, `{component: c, featureGates: [{name: G, enabled: false, default: true, preRelease: deprecated, fieldDeprecationWarning: w, fieldPaths: [.spec.replicas]}]}`)
			t.Cleanup(func() { shared.uninstall(t, crd.Name) })
			if _, err := client.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			got, err := client.ApiextensionsV1().CustomResourceDefinitions().Get(t.Context(), crd.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(crd.Spec.CustomFeatureGates, got.Spec.CustomFeatureGates); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestC3ApplyConfigurations (rule C3) applies a CRD with the generated types, as controllers in Go do.
func TestC3ApplyConfigurations(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, `{}`)
	crd.Spec.CustomFeatureGates = nil
	shared.install(t, crd)
	want := parse[*fairlead.CustomResourceDefinitionFeatureGates](t, `
component: c
featureGates:
- {name: G, enabled: false, default: true, preRelease: deprecated, fieldDeprecationWarning: w, fieldPaths: [.spec.replicas]}
`)
	gates := applyfairlead.CustomResourceDefinitionFeatureGates().WithComponent("c").WithFeatureGates(
		applyfairlead.CustomResourceDefinitionFeatureGate().WithName("G").WithEnabled(false).WithDefault(true).
			WithPreRelease(fairlead.PreReleaseDeprecated).WithFieldDeprecationWarning("w").WithFieldPaths(".spec.replicas"))
	config := applyv1.CustomResourceDefinition(crd.Name).WithSpec(
		applyv1.CustomResourceDefinitionSpec().WithCustomFeatureGates(gates))
	crds := shared.crds.ApiextensionsV1().CustomResourceDefinitions()
	got, err := crds.Apply(t.Context(), config, metav1.ApplyOptions{FieldManager: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Spec.CustomFeatureGates); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// What the manager owns can be extracted and applied again, which changes nothing.
	extracted, err := applyv1.ExtractCustomResourceDefinition(got, "admin")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(gates, extracted.Spec.CustomFeatureGates); diff != "" {
		t.Errorf("extracted (-want +got):\n%s", diff)
	}
	again, err := crds.Apply(t.Context(), extracted, metav1.ApplyOptions{FieldManager: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, again.Spec.CustomFeatureGates); diff != "" || again.Generation != got.Generation {
		t.Errorf("applied again: generation %d (-want +got):\n%s", again.Generation, diff)
	}
}

// TestF4OffOnOff restarts one server over one etcd.
func TestF4OffOnOff(t *testing.T) {
	t.Parallel()
	s := startFor(t, options{})
	ctx := t.Context()
	crds := func() interface {
		Get(context.Context, string, metav1.GetOptions) (*apiextensionsv1.CustomResourceDefinition, error)
		Update(context.Context, *apiextensionsv1.CustomResourceDefinition, metav1.UpdateOptions) (*apiextensionsv1.CustomResourceDefinition, error)
	} {
		return s.crds.ApiextensionsV1().CustomResourceDefinitions()
	}

	dropped := newCRD(t, replicasGate)
	s.install(t, dropped)
	got, err := crds().Get(ctx, dropped.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Spec.CustomFeatureGates != nil {
		t.Error("F4: with the gate off, create kept the field")
	}
	got.Spec.CustomFeatureGates = dropped.Spec.CustomFeatureGates
	updated, err := crds().Update(ctx, got, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if updated.Spec.CustomFeatureGates != nil || updated.Generation != got.Generation {
		t.Errorf("F4: with the gate off, update added the field or counted it: %v, generation %d", updated.Spec.CustomFeatureGates, updated.Generation)
	}

	s.restart(t, options{featureGates: "CRDFieldLevelVersioning=true"})
	kept := newCRD(t, replicasGate)
	s.install(t, kept)

	s.restart(t, options{})
	got, err = crds().Get(ctx, kept.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kept.Spec.CustomFeatureGates, got.Spec.CustomFeatureGates); diff != "" {
		t.Errorf("F5: switching the gate off lost the field (-want +got):\n%s", diff)
	}
	got.Labels = map[string]string{"a": "b"}
	updated, err = crds().Update(ctx, got, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kept.Spec.CustomFeatureGates, updated.Spec.CustomFeatureGates); diff != "" {
		t.Errorf("F4: with the gate off, update lost the field (-want +got):\n%s", diff)
	}
	created, err := s.customResources(kept).Create(ctx, cronTab(t, kept, "a", `{replicas: 3}`), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := specOf(t, created); got != "replicas: 3" {
		t.Errorf("F2: with the server's gate off, the CRD's gates have an effect: spec is %q", got)
	}
}
