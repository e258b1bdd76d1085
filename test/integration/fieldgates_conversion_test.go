// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

const countSchema = `
type: object
properties:
  spec:
    type: object
    properties:
      image: {type: string}
      count: {type: integer, minimum: 0}
`

// at returns the subject for the clients of another version of the CRD.
func (s subject) at(version string) subject {
	s.Helper()
	s.crd = s.crd.DeepCopy()
	versions := s.crd.Spec.Versions
	i := slices.IndexFunc(versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version })
	if i < 0 {
		s.Fatalf("the CRD has no version %s", version)
	}
	versions[0], versions[i] = versions[i], versions[0]
	s.client = s.client.customResources(s.crd)
	return s
}

// serve adds a served version with its own schema to the CRD, whose first version remains the stored one.
func serve(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, name, schema string) {
	t.Helper()
	crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
		Name: name, Served: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: parse[*apiextensionsv1.JSONSchemaProps](t, schema)},
	})
}

// newConvertedCRD returns a CRD with v1, which is stored, and v1beta1, converted by the webhook.
func newConvertedCRD(t *testing.T, gates string, webhook *conversionWebhook) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := newCRD(t, gates)
	serve(t, crd, "v1beta1", countSchema)
	crd.Spec.Conversion = webhook.conversion()
	return crd
}

// applyTo applies an object of any name, without force.
func (s subject) applyTo(manager, name, spec string) (*unstructured.Unstructured, error) {
	s.Helper()
	s.takeWarnings()
	return s.client.Apply(s.Context(), name, cronTab(s.T, s.crd, name, spec), metav1.ApplyOptions{FieldManager: manager})
}

// mustApplyTo does so as alice.
func (s subject) mustApplyTo(name, spec string) *unstructured.Unstructured {
	s.Helper()
	u, err := s.applyTo("alice", name, spec)
	if err != nil {
		s.Fatal(err)
	}
	return u
}

// versionedWriters are the writers that can write any version. kubectl edit shows its user the preferred one.
func versionedWriters() []writer {
	return slices.DeleteFunc(slices.Clone(writers), func(w writer) bool { return w.name == "kubectl edit" })
}

// apiWriters are those that are not kubectl: their field manager is called writer.
func apiWriters() []writer {
	return slices.DeleteFunc(slices.Clone(writers), func(w writer) bool { return strings.HasPrefix(w.name, "kubectl") })
}

func (s subject) wantSpec(name, want string) {
	s.Helper()
	if diff := cmp.Diff(want, specOf(s.T, s.get(name))); diff != "" {
		s.Errorf("spec in %s (-want +got):\n%s", s.crd.Spec.Versions[0].Name, diff)
	}
}

func (s subject) wantGeneration(name string, want int64) {
	s.Helper()
	if got := s.get(name).GetGeneration(); got != want {
		s.Errorf("G6: generation is %d, not %d", got, want)
	}
}

func TestG1ConvNonePathsCountInEveryVersion(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, replicasGate)
	serve(t, crd, "v1beta1", cronTabSchema)
	s := newSubject(t, crd)
	for _, version := range []string{"v1", "v1beta1"} {
		t.Run(version, func(t *testing.T) {
			stored := s.in(t)
			at := stored.at(version)

			// G2: what is created has no disabled field, however it is created.
			stored.flipReplicas(false)
			_, warnings := create(t, at.client, cronTab(t, at.crd, "created-"+version, `{image: a, replicas: 3}`), metav1.CreateOptions{})
			if diff := cmp.Diff([]string{droppedReplicas}, warnings); diff != "" {
				t.Errorf("G10: warnings (-want +got):\n%s", diff)
			}
			at.mustApplyTo("applied-"+version, `{image: a, replicas: 3}`)
			at.wantWarnings(droppedReplicas)
			for _, name := range []string{"created-" + version, "applied-" + version} {
				stored.wantSpec(name, "image: a")
				at.wantSpec(name, "image: a")
				at.wantGeneration(name, 1)
				at.wantOwners(at.get(name))
			}

			for _, w := range versionedWriters() {
				name := stored.persisted(`{image: a, replicas: 3}`)
				stored.flipReplicas(false)
				at.write(w, name, `{image: a, replicas: 5}`)
				at.wantWarnings(keptReplicas)
				at.wantGeneration(name, 1)
				first := at.get(name)
				at.write(w, name, `{image: a, replicas: 5}`)
				if diff := cmp.Diff(first, at.get(name)); diff != "" {
					t.Errorf("%s: G6: the same write again changed the object:\n%s", w.name, diff)
				}
				at.write(w, name, `{image: b, replicas: 5}`)
				at.wantWarnings(keptReplicas)
				stored.wantSpec(name, "image: b\nreplicas: 3")
				at.wantSpec(name, "image: b\nreplicas: 3")
				at.wantOwners(at.get(name), "creator")

				stored.flipReplicas(true)
				at.write(w, name, `{image: b, replicas: 5}`)
				at.wantWarnings()
				stored.wantSpec(name, "image: b\nreplicas: 5")
			}
		})
	}
}

// TestG1ConvNoneAVersionWithoutTheFieldPrunesIt shows what G1 leaves to upstream: with conversion None a version whose
// schema lacks the field neither shows nor stores it, and a gate keeps nothing there, since the persisted object is
// presented without it. So an update through that version removes the field, as it does for a field without gate.
// Server-side apply is no exception. (R1: none of this is an error.)
func TestG1ConvNoneAVersionWithoutTheFieldPrunesIt(t *testing.T) {
	t.Parallel()
	const unknown = `unknown field "spec.replicas"`
	crd := newCRD(t, replicasGate)
	serve(t, crd, "v1alpha1", `{type: object, properties: {spec: {type: object, properties: {image: {type: string}}}}}`)
	s := newSubject(t, crd)

	at := s.at("v1alpha1")
	_, warnings := create(t, at.client, cronTab(t, at.crd, "a", `{image: a, replicas: 3}`), metav1.CreateOptions{})
	if diff := cmp.Diff([]string{unknown}, warnings); diff != "" {
		t.Errorf("the gate has no say where the field is unknown: warnings (-want +got):\n%s", diff)
	}
	for _, enabled := range []bool{true, false} {
		for _, w := range apiWriters() {
			t.Run(fmt.Sprintf("%s/%v", w.name, enabled), func(t *testing.T) {
				stored := s.in(t)
				at := stored.at("v1alpha1")
				name := stored.persisted(`{image: a, replicas: 3}`)
				stored.flipReplicas(enabled)
				at.wantSpec(name, "image: a")
				at.write(w, name, `{image: b}`)
				at.wantWarnings()
				at.wantSpec(name, "image: b")
				stored.wantSpec(name, "image: b")
			})
		}
	}
}

func TestG1ConvWebhookCreateWithADisabledGateDropsTheField(t *testing.T) {
	t.Parallel()
	webhook := newConversionWebhook(t, renameCount)
	s := newSubject(t, newConvertedCRD(t, replicasGate, webhook))
	at := s.at("v1beta1")
	creations := map[string]func(name string, dryRun []string) (*unstructured.Unstructured, error){
		"post": func(name string, dryRun []string) (*unstructured.Unstructured, error) {
			return at.client.Create(t.Context(), cronTab(t, at.crd, name, `{image: i, count: 3}`), metav1.CreateOptions{DryRun: dryRun})
		},
		"apply": func(name string, dryRun []string) (*unstructured.Unstructured, error) {
			return at.client.Apply(t.Context(), name, cronTab(t, at.crd, name, `{image: i, count: 3}`), metav1.ApplyOptions{FieldManager: "alice", DryRun: dryRun})
		},
	}
	for name, creation := range creations {
		s.takeWarnings()
		for _, dryRun := range [][]string{{metav1.DryRunAll}, nil} {
			created, err := creation(name, dryRun)
			if err != nil {
				t.Fatal(err)
			}
			// G13: dry-run and the real request answer and warn alike. The warning has the path of the gate.
			at.wantWarnings(droppedReplicas)
			if got := specOf(t, created); got != "image: i" || created.GetAPIVersion() != s.crd.Spec.Group+"/v1beta1" || created.GetGeneration() != 1 {
				t.Errorf("%s: the answer is %v", name, created)
			}
		}
		s.wantSpec(name, "image: i")
		at.wantSpec(name, "image: i")
		if stored := s.stored(name); strings.Contains(stored, "replicas") || strings.Contains(stored, "count") {
			t.Errorf("%s: stored: %s", name, stored)
		}
	}

	// What disabled fields have no part in is created as ever.
	_, warnings := create(t, at.client, cronTab(t, at.crd, "without", `{image: i}`), metav1.CreateOptions{})
	if warnings != nil {
		t.Errorf("warnings %q", warnings)
	}
	s.flipReplicas(true)
	_, warnings = create(t, at.client, cronTab(t, at.crd, "enabled", `{image: i, count: 3}`), metav1.CreateOptions{})
	if warnings != nil {
		t.Errorf("warnings %q", warnings)
	}
	s.wantSpec("enabled", "image: i\nreplicas: 3")
}

// TestG1ConvWebhookEveryWriteObeysTheTable writes v1beta1, whose .spec.count is the gate's .spec.replicas in v1
// (G2, G6, G10).
func TestG1ConvWebhookEveryWriteObeysTheTable(t *testing.T) {
	t.Parallel()
	webhook := newConversionWebhook(t, renameCount)
	s := newSubject(t, newConvertedCRD(t, replicasGate, webhook))
	for _, w := range versionedWriters() {
		t.Run(w.name, func(t *testing.T) {
			s := s.in(t)
			at := s.at("v1beta1")
			without := s.persisted(`{image: a}`)
			name := s.persisted(`{image: a, replicas: 3}`)
			s.flipReplicas(false)

			at.write(w, without, `{image: b, count: 5}`)
			at.wantWarnings(droppedReplicas)
			s.wantSpec(without, "image: b")

			at.write(w, name, `{image: a, count: 3}`)
			at.wantWarnings()
			at.write(w, name, `{image: a, count: 5}`)
			at.wantWarnings(keptReplicas)
			at.wantGeneration(name, 1)
			first := at.get(name)
			at.write(w, name, `{image: a, count: 5}`)
			at.wantWarnings(keptReplicas)
			if diff := cmp.Diff(first, at.get(name)); diff != "" {
				t.Errorf("G6: the same write again changed the object:\n%s", diff)
			}
			s.wantSpec(name, "image: a\nreplicas: 3")
			at.wantSpec(name, "count: 3\nimage: a")

			at.write(w, name, `{image: b, count: 5}`)
			at.wantWarnings(keptReplicas)
			at.wantGeneration(name, 2)
			s.wantSpec(name, "image: b\nreplicas: 3")
			if !w.apply {
				at.write(w, name, `{image: c}`)
				at.wantWarnings(keptReplicas)
				s.wantSpec(name, "image: c\nreplicas: 3")
			}

			s.flipReplicas(true)
			at.write(w, name, `{image: d, count: 9}`)
			at.wantWarnings()
			s.wantSpec(name, "image: d\nreplicas: 9")
		})
	}
}

// TestG1ConvWebhookApplyThatLeavesOutAnOwnedField removes nothing (G2): its owner asked for that.
func TestG1ConvWebhookApplyThatLeavesOutAnOwnedField(t *testing.T) {
	t.Parallel()
	webhook := newConversionWebhook(t, renameCount)
	s := newSubject(t, newConvertedCRD(t, replicasGate, webhook))
	at := s.at("v1beta1")
	s.flipReplicas(true)
	at.mustApply("alice", `{image: i, count: 3}`, false)
	s.flipReplicas(false)
	at.mustApply("alice", `{image: j}`, false)
	at.wantWarnings(keptReplicas)
	s.wantSpec("a", "image: j\nreplicas: 3")
}

func TestG1ConvWebhookDeprecatedFieldsWarnAndStay(t *testing.T) {
	t.Parallel()
	webhook := newConversionWebhook(t, renameCount)
	s := newSubject(t, newConvertedCRD(t, `featureGates: [{name: Old, preRelease: deprecated, default: true, fieldPaths: [.spec.replicas]}]`, webhook))
	at := s.at("v1beta1")
	_, warnings := create(t, at.client, cronTab(t, at.crd, "a", `{image: i, count: 3}`), metav1.CreateOptions{})
	if diff := cmp.Diff([]string{".spec.replicas: deprecated field"}, warnings); diff != "" {
		t.Errorf("G10: warnings (-want +got):\n%s", diff)
	}
	s.wantSpec("a", "image: i\nreplicas: 3")
	for _, row := range []struct {
		spec string
		want []string
	}{
		{`{image: j, count: 3}`, nil},
		{`{image: j, count: 4}`, []string{".spec.replicas: deprecated field"}},
		{`{image: j}`, nil},
	} {
		at.write(writers[0], "a", row.spec)
		at.wantWarnings(row.want...)
	}
}

// TestG1ConvWebhookScale scales through a version in which replicas have another path (G9).
func TestG1ConvWebhookScale(t *testing.T) {
	t.Parallel()
	webhook := newConversionWebhook(t, renameCount)
	s := newSubject(t, scalableInBoth(t, webhook))
	name := s.persisted(`{image: i, replicas: 3}`)
	s.flipReplicas(false)
	at := s.at("v1beta1")
	at.scale(name, 5)
	at.wantWarnings(keptReplicas)
	s.wantSpec(name, "image: i\nreplicas: 3")
	s.wantGeneration(name, 1)
	s.flipReplicas(true)
	at.scale(name, 5)
	at.wantWarnings()
	s.wantSpec(name, "image: i\nreplicas: 5")
}

func scalableInBoth(t *testing.T, webhook *conversionWebhook) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := newConvertedCRD(t, replicasGate, webhook)
	for i, path := range []string{".spec.replicas", ".spec.count"} {
		crd.Spec.Versions[i].Subresources = &apiextensionsv1.CustomResourceSubresources{
			Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: path, StatusReplicasPath: ".status.replicas"},
		}
		crd.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["status"] = *parse[*apiextensionsv1.JSONSchemaProps](t, `{type: object, properties: {replicas: {type: integer}}}`)
	}
	return crd
}

func (s subject) scale(name string, replicas int64) {
	s.Helper()
	s.takeWarnings()
	scale, err := s.client.Get(s.Context(), name, metav1.GetOptions{}, "scale")
	if err != nil {
		s.Fatal(err)
	}
	if err := unstructured.SetNestedField(scale.Object, replicas, "spec", "replicas"); err != nil {
		s.Fatal(err)
	}
	if _, err := s.client.Update(s.Context(), scale, metav1.UpdateOptions{FieldManager: "scaler"}, "scale"); err != nil {
		s.Fatal(err)
	}
}

// TestG1ConvWebhookNothingIsConvertedInVain compares the conversions of one sequence of requests: a CRD costs the same
// with gates that have no effect as without gates, and so does a disabled gate where the stored version is written.
func TestG1ConvWebhookNothingIsConvertedInVain(t *testing.T) {
	t.Parallel()
	sequence := func(t *testing.T, gates, version string) map[string]conversions {
		t.Helper()
		webhook := newConversionWebhook(t, renameCount)
		s := newSubject(t, newConvertedCRD(t, gates, webhook)).at(version)
		field := map[string]string{"v1": "replicas", "v1beta1": "count"}[version]
		spec := func(image string, n int) string { return fmt.Sprintf("{image: %s, %s: %d}", image, field, n) }
		if _, err := s.client.List(t.Context(), metav1.ListOptions{}); err != nil { // both versions have their caches
			t.Fatal(err)
		}
		create(t, s.client, cronTab(t, s.crd, "warm-up", `{image: a}`), metav1.CreateOptions{})
		webhook.take(t)

		counts := map[string]conversions{}
		create(t, s.client, cronTab(t, s.crd, "a", spec("a", 1)), metav1.CreateOptions{})
		counts["create"] = webhook.take(t)
		for i, w := range versionedWriters() {
			s.write(w, "a", spec(fmt.Sprintf("image%d", i), i+2))
			counts[w.name] = webhook.take(t)
		}
		if _, err := s.client.List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		counts["list"] = webhook.take(t)
		if err := s.client.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		counts["delete"] = webhook.take(t)
		return counts
	}
	const enabled = `featureGates: [{name: ReplicasFeatureGate, preRelease: beta, fieldPaths: [.spec.replicas]}]`
	for _, version := range []string{"v1", "v1beta1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			var counts sync.Map
			t.Run("sequences", func(t *testing.T) { // over when all of them are
				for _, gates := range []string{"", enabled, replicasGate} {
					t.Run(gates, func(t *testing.T) {
						t.Parallel()
						counts.Store(gates, sequence(t, gates, version))
					})
				}
			})
			of := func(gates string) map[string]conversions {
				got, _ := counts.Load(gates)
				c, _ := got.(map[string]conversions)
				return c
			}
			without, disabled := of(""), of(replicasGate)
			if diff := cmp.Diff(without, of(enabled)); diff != "" {
				t.Errorf("enabled gates convert (-without +with):\n%s", diff)
			}
			diff := cmp.Diff(without, disabled)
			if version == "v1" && diff != "" {
				t.Errorf("a disabled gate converts where the stored version is written (-without +with):\n%s", diff)
			}
			t.Logf("%s: conversions without gates and with a disabled one:\n%v\n%v", version, without, disabled)
			if disabled["list"] != without["list"] || disabled["delete"] != without["delete"] {
				t.Errorf("a disabled gate converts where nothing is written (-without +with):\n%s", diff)
			}
		})
	}
}

// TestG1ConvWebhookGatesOfAnotherEndpointConvertNothing has a gate on status only, which cannot have an effect on a
// write of spec where there is a status subresource (G9).
func TestG1ConvWebhookGatesOfAnotherEndpointConvertNothing(t *testing.T) {
	t.Parallel()
	counts := map[string]conversions{}
	for _, gates := range []string{"", `featureGates: [{name: Ready, preRelease: alpha, fieldPaths: [.status.ready]}]`} {
		webhook := newConversionWebhook(t, renameCount)
		crd := newConvertedCRD(t, gates, webhook)
		for i := range crd.Spec.Versions {
			version := &crd.Spec.Versions[i]
			version.Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
			version.Schema.OpenAPIV3Schema.Properties["status"] = *parse[*apiextensionsv1.JSONSchemaProps](t, `{type: object, properties: {ready: {type: integer}}}`)
		}
		s := newSubject(t, crd).at("v1beta1")
		create(t, s.client, cronTab(t, s.crd, "warm-up", `{image: a}`), metav1.CreateOptions{})
		webhook.take(t)
		create(t, s.client, cronTab(t, s.crd, "a", `{image: a, count: 1}`), metav1.CreateOptions{})
		counts[gates] = webhook.take(t)
	}
	for gates, got := range counts {
		if got != counts[""] {
			t.Errorf("create of v1beta1 with %s: %+v, without gates: %+v", gates, got, counts[""])
		}
	}
}

// requests are writes of an object "a" that has {image: a, replicas: 3} in v1, and of a new object, all of v1beta1.
var convertedRequests = []struct {
	name string
	send func(s subject) error
	// creates tells that the request creates the object "new".
	creates bool
}{
	{"create", func(s subject) error {
		_, err := s.client.Create(s.Context(), cronTab(s.T, s.crd, "new", `{image: b, count: 5}`), metav1.CreateOptions{})
		return err
	}, true},
	{"apply that creates", func(s subject) error {
		_, err := s.applyTo("alice", "new", `{image: b, count: 5}`)
		return err
	}, true},
	{"PUT", func(s subject) error {
		u := cronTab(s.T, s.crd, "a", `{image: b, count: 5}`)
		u.SetResourceVersion(s.at("v1").get("a").GetResourceVersion())
		_, err := s.client.Update(s.Context(), u, metav1.UpdateOptions{})
		return err
	}, false},
	{"merge patch", func(s subject) error {
		_, err := s.client.Patch(s.Context(), "a", types.MergePatchType, []byte(`{"spec": {"image": "b", "count": 5}}`), metav1.PatchOptions{})
		return err
	}, false},
	{"apply", func(s subject) error {
		_, err := s.apply("alice", `{image: b, count: 5}`, true)
		return err
	}, false},
}

// TestG1ConvWebhookFailures makes the webhook fail in all ways, for a CRD with and one without gates: nothing is
// written, the error says why, and it is no worse than upstream's (R1). A healed webhook gets the same request through.
func TestG1ConvWebhookFailures(t *testing.T) {
	t.Parallel()
	broken := errors.New("no conversion today")
	failures := map[string]func(to string) error{
		"everything, with a message": func(string) error { return broken },
		"everything, down":           func(string) error { return errUnavailable },
		"to the stored version":      func(to string) error { return map[bool]error{true: broken}[to == "v1"] },
		"from the stored version":    func(to string) error { return map[bool]error{true: broken}[to == "v1beta1"] },
	}
	for failing, failure := range failures {
		t.Run(failing, func(t *testing.T) {
			t.Parallel()
			type result struct {
				code    int32
				written bool
			}
			results := map[bool]map[string]result{true: {}, false: {}}
			for _, gated := range []bool{false, true} {
				webhook := newConversionWebhook(t, renameCount)
				gates := replicasGate
				if !gated {
					gates = ""
				}
				s := newSubject(t, newConvertedCRD(t, gates, webhook))
				at := s.at("v1beta1")
				for _, request := range convertedRequests {
					for _, name := range []string{"a", "new"} {
						if err := s.client.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
							t.Fatal(err)
						}
					}
					if gated {
						s.flipReplicas(true)
					}
					if _, err := s.client.Create(t.Context(), cronTab(t, s.crd, "a", `{image: a, replicas: 3}`), metav1.CreateOptions{}); err != nil {
						t.Fatal(err)
					}
					if gated {
						s.flipReplicas(false)
					}
					before := s.get("a")
					webhook.settle(t)

					webhook.fail(failure)
					s.takeWarnings()
					err := request.send(at)
					warnings := s.takeWarnings()
					webhook.fail(nil)

					code := int32(200)
					if err != nil {
						code = 0
						var status apierrors.APIStatus
						if errors.As(err, &status) {
							code = status.Status().Code
						}
					}
					written := cmp.Diff(before, s.get("a")) != ""
					if _, err := s.client.Get(t.Context(), "new", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
						written = true
					}
					results[gated][request.name] = result{code, written}
					t.Logf("gates %v, %s: %d %v, written %v, warnings %q", gated, request.name, code, err, written, warnings)
					if !gated {
						continue
					}
					if err != nil && (!strings.Contains(err.Error(), "conver") || written || warnings != nil) {
						t.Errorf("%s: %v, written %v, warnings %q", request.name, err, written, warnings)
					}
					if err == nil && results[false][request.name].code != 200 {
						t.Errorf("%s succeeds where it does not without gates", request.name)
					}
					if code >= 500 && results[false][request.name].code < 500 {
						t.Errorf("R1: %s: %d, without gates %d", request.name, code, results[false][request.name].code)
					}

					if err != nil {
						if err := request.send(at); err != nil {
							t.Errorf("%s: the webhook is back: %v", request.name, err)
						}
					}
					if request.creates {
						s.wantSpec("new", "image: b")
					} else {
						s.wantSpec("a", "image: b\nreplicas: 3")
					}
				}
			}
		})
	}
}

// TestG1ConvWebhookFailureAtAnyCall lets a request make one conversion to the stored version more each time, until it
// succeeds: evaluation itself fails too then, on an update too, and nothing is half done.
func TestG1ConvWebhookFailureAtAnyCall(t *testing.T) {
	t.Parallel()
	webhook := newConversionWebhook(t, renameCount)
	s := newSubject(t, newConvertedCRD(t, replicasGate, webhook))
	at := s.at("v1beta1")
	s.flipReplicas(true)
	// With all owners in v1beta1 it is the evaluation that converts first.
	create(t, at.client, cronTab(t, at.crd, "a", `{image: a, count: 3}`), metav1.CreateOptions{})
	s.flipReplicas(false)
	for _, request := range convertedRequests {
		evaluations := 0
		for allowed := 0; ; allowed++ {
			before := s.get("a")
			left := allowed
			webhook.settle(t)
			s.takeWarnings()
			webhook.fail(func(to string) error {
				if to != "v1" {
					return nil
				}
				if left--; left < 0 {
					return errUnavailable
				}
				return nil
			})
			err := request.send(at)
			warnings := s.takeWarnings()
			webhook.fail(nil)
			if err == nil {
				break
			}
			if strings.Contains(err.Error(), "to evaluate feature gates") {
				evaluations++
			}
			if !strings.Contains(err.Error(), "conversion webhook") || warnings != nil {
				t.Errorf("%s, %d conversions: %v, warnings %q", request.name, allowed, err, warnings)
			}
			if diff := cmp.Diff(before, s.get("a")); diff != "" {
				t.Errorf("%s, %d conversions: %v, but wrote:\n%s", request.name, allowed, err, diff)
			}
			if _, err := s.client.Get(t.Context(), "new", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("%s, %d conversions: the object is there: %v", request.name, allowed, err)
			}
			if allowed == 20 {
				t.Fatal("it never succeeds")
			}
		}
		if evaluations == 0 {
			t.Errorf("%s: the evaluation never failed", request.name)
		}
		if request.creates {
			s.wantSpec("new", "image: b")
			if err := s.client.Delete(t.Context(), "new", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		s.wantSpec("a", "image: b\nreplicas: 3")
		at.write(writers[0], "a", `{image: a, count: 3}`)
	}
}

// TestG1ConvWebhookInvalidObjectsAreInvalid has a webhook that cannot convert what is of a wrong type. Upstream does
// not ask it before schema validation, which refuses such an object with 422 (R1).
func TestG1ConvWebhookInvalidObjectsAreInvalid(t *testing.T) {
	t.Parallel()
	for _, gates := range []string{"", replicasGate} {
		for webhookName, convert := range map[string]converter{"lenient": renameCount, "strict": renameCountStrictly} {
			t.Run(fmt.Sprintf("gates %v, %s webhook", gates != "", webhookName), func(t *testing.T) {
				t.Parallel()
				webhook := newConversionWebhook(t, convert)
				s := newSubject(t, newConvertedCRD(t, gates, webhook))
				at := s.at("v1beta1")
				create(t, at.client, cronTab(t, at.crd, "a", `{image: i}`), metav1.CreateOptions{})
				for _, spec := range []any{
					map[string]any{"image": int64(5), "count": int64(1)},
					map[string]any{"image": int64(5)},
					map[string]any{"image": "i", "count": "three"},
					int64(5),
					"text",
					[]any{"text"},
				} {
					u := cronTab(t, at.crd, "b", "{}")
					u.Object["spec"] = spec
					s.takeWarnings()
					_, createErr := at.client.Create(t.Context(), u.DeepCopy(), metav1.CreateOptions{})
					u.SetName("a")
					u.SetResourceVersion(at.get("a").GetResourceVersion())
					_, updateErr := at.client.Update(t.Context(), u, metav1.UpdateOptions{})
					warnings := s.takeWarnings()
					for verb, err := range map[string]error{"create": createErr, "update": updateErr} {
						// A disabled field of a wrong type is gone before validation, if the webhook can convert it.
						if m, ok := spec.(map[string]any); ok && m["count"] == "three" && gates != "" && err == nil {
							continue
						}
						if !apierrors.IsInvalid(err) {
							t.Errorf("%s with spec %v: %v", verb, spec, err)
						} else if warnings != nil {
							t.Errorf("G10: %s with spec %v is refused and warns: %q", verb, spec, warnings)
						}
					}
					if createErr == nil {
						if err := at.client.Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
							t.Fatal(err)
						}
					}
				}
			})
		}
	}
}

// TestG1ConvWebhookMetadataSurvives sends metadata along with a disabled field, so that the object is converted there
// and back.
func TestG1ConvWebhookMetadataSurvives(t *testing.T) {
	t.Parallel()
	webhook := newConversionWebhook(t, renameCount)
	s := newSubject(t, newConvertedCRD(t, replicasGate, webhook))
	at := s.at("v1beta1")
	s.flipReplicas(true)
	owner, _ := create(t, s.client, cronTab(t, s.crd, "owner", `{}`), metav1.CreateOptions{})
	create(t, s.client, cronTab(t, s.crd, "a", `{image: i, replicas: 3}`), metav1.CreateOptions{FieldManager: "creator"})
	s.flipReplicas(false)

	sent := func(u *unstructured.Unstructured) *unstructured.Unstructured {
		u.SetLabels(map[string]string{"l": "1"})
		u.SetAnnotations(map[string]string{"a": "2"})
		u.SetFinalizers([]string{"example.com/f"})
		u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: "owner", UID: owner.GetUID()}})
		return u
	}
	type metadata struct {
		Labels, Annotations map[string]string
		Finalizers          []string
		OwnerReferences     []metav1.OwnerReference
	}
	metadataOf := func(u *unstructured.Unstructured) metadata {
		return metadata{u.GetLabels(), u.GetAnnotations(), u.GetFinalizers(), u.GetOwnerReferences()}
	}
	want := metadataOf(sent(&unstructured.Unstructured{Object: map[string]any{}}))
	wantEverywhere := func(what string, answer *unstructured.Unstructured, spec string) {
		t.Helper()
		for where, u := range map[string]*unstructured.Unstructured{"answer": answer, "v1": s.get(answer.GetName()), "v1beta1": at.get(answer.GetName())} {
			if diff := cmp.Diff(want, metadataOf(u)); diff != "" {
				t.Errorf("%s, %s: metadata (-want +got):\n%s", what, where, diff)
			}
			for _, field := range [][]string{{"f:metadata", "f:labels", "f:l"}, {"f:spec", "f:image"}} {
				if diff := cmp.Diff([]string{"tester"}, owners(t, u, field...)); diff != "" {
					t.Errorf("%s, %s: owners of %v (-want +got):\n%s", what, where, field, diff)
				}
			}
		}
		s.wantSpec(answer.GetName(), spec)
	}

	created, _ := create(t, at.client, sent(cronTab(t, at.crd, "created", `{image: i, count: 3}`)), metav1.CreateOptions{FieldManager: "tester"})
	wantEverywhere("create", created, "image: i")

	put := sent(at.get("a"))
	stale := put.DeepCopy()
	put.Object["spec"] = map[string]any{"image": "j", "count": int64(5)}
	s.takeWarnings()
	dry, err := at.client.Update(t.Context(), put, metav1.UpdateOptions{FieldManager: "tester", DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatal(err)
	}
	at.wantWarnings(keptReplicas)
	updated, err := at.client.Update(t.Context(), put, metav1.UpdateOptions{FieldManager: "tester"})
	if err != nil {
		t.Fatal(err)
	}
	at.wantWarnings(keptReplicas)
	wantEverywhere("PUT", updated, "image: j\nreplicas: 3")
	// G13: the answers differ in what storage makes of it and in the time.
	for _, u := range []*unstructured.Unstructured{dry, updated} {
		u = u.DeepCopy()
		u.SetManagedFields(nil)
		u.SetResourceVersion("")
		if diff := cmp.Diff(specOf(t, updated), specOf(t, u)); diff != "" || u.GetGeneration() != updated.GetGeneration() {
			t.Errorf("G13: dry-run answers generation %d and:\n%s", u.GetGeneration(), diff)
		}
	}

	// Preconditions hold, and a refused request does not warn.
	before := s.get("a")
	stale.Object["spec"] = map[string]any{"image": "k", "count": int64(7)}
	if _, err := at.client.Update(t.Context(), stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("a stale resourceVersion: %v", err)
	}
	other := at.get("a")
	other.SetUID("0")
	other.SetResourceVersion("")
	other.Object["spec"] = map[string]any{"image": "k", "count": int64(7)}
	if _, err := at.client.Update(t.Context(), other, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) && !apierrors.IsConflict(err) {
		t.Errorf("another UID: %v", err)
	}
	at.wantWarnings()
	if diff := cmp.Diff(before, s.get("a")); diff != "" {
		t.Errorf("refused requests wrote:\n%s", diff)
	}

	// The last finalizer goes with a write that also names a disabled field.
	if err := at.client.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := at.client.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata": {"finalizers": null}, "spec": {"count": 8}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the object without finalizers is still there: %v", err)
	}
}

// TestG1ConvWebhookThatKeepsTheFieldInAnAnnotation has a v1beta1 without the field, whose value the webhook carries in
// an annotation, as webhooks do that must lose nothing. The gate is not to be got around that way, and its warnings
// are to be true (G1, G2).
func TestG1ConvWebhookThatKeepsTheFieldInAnAnnotation(t *testing.T) {
	t.Parallel()
	webhook := newConversionWebhook(t, stashReplicas)
	s := newSubject(t, newConvertedCRD(t, replicasGate, webhook))
	at := s.at("v1beta1")
	name := s.persisted(`{image: i, replicas: 3}`)
	s.flipReplicas(false)
	if got := at.get(name).GetAnnotations()[replicasAnnotation]; got != "3" {
		t.Fatalf("the annotation is %q", got)
	}
	u := cronTab(t, at.crd, "created", `{image: i}`)
	u.SetAnnotations(map[string]string{replicasAnnotation: "5"})
	_, warnings := create(t, at.client, u, metav1.CreateOptions{})
	if diff := cmp.Diff([]string{droppedReplicas}, warnings); diff != "" {
		t.Errorf("create: warnings (-want +got):\n%s", diff)
	}
	s.wantSpec("created", "image: i")

	for _, annotation := range []string{`"5"`, `null`} {
		s.takeWarnings()
		patch := `{"metadata": {"annotations": {"` + replicasAnnotation + `": ` + annotation + `}}}`
		if _, err := at.client.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		at.wantWarnings(keptReplicas)
		s.wantSpec(name, "image: i\nreplicas: 3")
		s.wantGeneration(name, 1)
	}
}

var countField = []string{"f:spec", "f:count"}

// wantFieldOwners looks at both names of the field, since an entry has the names of its version.
func (s subject) wantFieldOwners(what string, u *unstructured.Unstructured, want ...string) {
	s.Helper()
	got := append(owners(s.T, u, replicasField...), owners(s.T, u, countField...)...)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("G7: %s: owners of .spec.replicas alias .spec.count (-want +got):\n%s", what, diff)
	}
}

// TestG1ConvWebhookG7NobodyOwnsWhatTheGateKeptOut is about managedFields of a write through another version.
func TestG1ConvWebhookG7NobodyOwnsWhatTheGateKeptOut(t *testing.T) {
	t.Parallel()
	webhook := newConversionWebhook(t, renameCount)
	s := newSubject(t, newConvertedCRD(t, replicasGate, webhook))
	at := s.at("v1beta1")
	created, _ := create(t, at.client, cronTab(t, at.crd, "created", `{image: i, count: 3}`), metav1.CreateOptions{FieldManager: "alice"})
	at.wantFieldOwners("create", created)
	at.wantFieldOwners("apply that creates", at.mustApplyTo("applied", `{image: i, count: 3}`))
	for version, spec := range map[string]string{"v1": `{image: i, replicas: 3}`, "v1beta1": `{image: i, count: 3}`} {
		creator := s.at(version)
		for i, w := range apiWriters() {
			name := fmt.Sprintf("%s-%d", version, i)
			s.flipReplicas(true)
			create(t, creator.client, cronTab(t, creator.crd, name, spec), metav1.CreateOptions{FieldManager: "creator"})
			s.flipReplicas(false)
			at.write(w, name, `{image: j, count: 5}`)
			at.wantFieldOwners(w.name+" of another value than the creator's in "+version, at.get(name), "creator")
		}
	}
}

// TestG1ConvWebhookG7NoConflict has an owner in the storage version.
func TestG1ConvWebhookG7NoConflict(t *testing.T) {
	t.Parallel()
	webhook := newConversionWebhook(t, renameCount)
	s := newSubject(t, newConvertedCRD(t, replicasGate, webhook))
	s.flipReplicas(true)
	s.mustApplyTo("a", `{image: i, replicas: 3}`)
	s.flipReplicas(false)
	at := s.at("v1beta1")
	if _, err := at.applyTo("bob", "a", `{count: 5}`); err != nil {
		t.Fatal(err)
	}
	at.wantWarnings(keptReplicas)
	s.wantSpec("a", "image: i\nreplicas: 3")
}

// TestG1ConvWebhookG7Scale is about the owner after a scale in another version.
func TestG1ConvWebhookG7Scale(t *testing.T) {
	t.Parallel()
	webhook := newConversionWebhook(t, renameCount)
	s := newSubject(t, scalableInBoth(t, webhook))
	name := s.persisted(`{image: i, replicas: 3}`)
	s.flipReplicas(false)
	before := s.get(name)
	s.at("v1beta1").scale(name, 5)
	if diff := cmp.Diff(before, s.get(name)); diff != "" {
		t.Errorf("G6, G7: scale changed the object or its owners:\n%s", diff)
	}
}

// TestG1ConvWebhookG8DefaultsOfTheOtherVersion is about a default that a client of v1beta1 gets before the gate is
// looked at: it does not apply, and draws no warning.
func TestG1ConvWebhookG8DefaultsOfTheOtherVersion(t *testing.T) {
	t.Parallel()
	webhook := newConversionWebhook(t, renameCount)
	crd := newConvertedCRD(t, replicasGate, webhook)
	crd.Spec.Versions[1].Schema.OpenAPIV3Schema = parse[*apiextensionsv1.JSONSchemaProps](t, strings.Replace(countSchema, "minimum: 0", "default: 1", 1))
	s := newSubject(t, crd)
	at := s.at("v1beta1")
	_, warnings := create(t, at.client, cronTab(t, at.crd, "a", `{image: i}`), metav1.CreateOptions{})
	if warnings != nil {
		t.Errorf("create: a default draws warnings: %q", warnings)
	}
	s.wantSpec("a", "image: i")
	for _, w := range versionedWriters() {
		at.write(w, "a", `{image: `+strings.ReplaceAll(w.name, " ", "")+`}`)
		at.wantWarnings()
		s.wantSpec("a", "image: "+strings.ReplaceAll(w.name, " ", ""))
		at.write(w, "a", `{image: j, count: 5}`)
		at.wantWarnings(droppedReplicas)
		s.wantSpec("a", "image: j")
	}
}

// TestG1ConvWebhookG7ApplyingThePersistedValueShares has the field persisted and disabled.
func TestG1ConvWebhookG7ApplyingThePersistedValueShares(t *testing.T) {
	t.Parallel()
	webhook := newConversionWebhook(t, renameCount)
	s := newSubject(t, newConvertedCRD(t, replicasGate, webhook))
	at := s.at("v1beta1")
	s.flipReplicas(true)
	create(t, s.client, cronTab(t, s.crd, "a", `{image: i, replicas: 3}`), metav1.CreateOptions{FieldManager: "creator"})
	s.flipReplicas(false)

	u := at.mustApply("bob", `{image: i, count: 3}`, false)
	at.wantWarnings()
	at.wantFieldOwners("who applies the persisted value", u, "bob", "creator")
	if diff := cmp.Diff([]string{"bob", "creator"}, owners(t, u, "f:spec", "f:image")); diff != "" {
		t.Errorf("owners of the other field (-want +got):\n%s", diff)
	}
	first := s.get("a")
	at.mustApply("bob", `{image: i, count: 3}`, false)
	if diff := cmp.Diff(first, s.get("a")); diff != "" {
		t.Errorf("G6: the same apply again wrote:\n%s", diff)
	}

	at.wantFieldOwners("who applies another value", at.mustApply("carol", `{count: 4}`, false), "bob", "creator")
	at.wantWarnings(keptReplicas)
	at.wantFieldOwners("who leaves it out", at.mustApply("bob", `{image: i}`, false), "creator")
	at.wantWarnings()
}

// TestG1ConvWebhookG7OwnersStayUntilTheyLeaveTheFieldOut has owners in the other version.
func TestG1ConvWebhookG7OwnersStayUntilTheyLeaveTheFieldOut(t *testing.T) {
	t.Parallel()
	put := writers[0]
	applies := func(spec string) func(s subject) {
		return func(s subject) { s.mustApply("writer", spec, false) }
	}
	puts := func(spec string) func(s subject) {
		return func(s subject) { s.write(put, "a", spec) }
	}
	for _, tc := range []struct {
		name      string
		own, next func(at subject)
		want      string // spec in v1
		warnings  []string
		owners    []string
	}{
		{"apply", applies(`{image: i, count: 3}`), applies(`{image: j, count: 3}`), "image: j\nreplicas: 3", nil, []string{"writer"}},
		{"apply of the same", applies(`{image: i, count: 3}`), applies(`{image: i, count: 3}`), "image: i\nreplicas: 3", nil, []string{"writer"}},
		{"apply of another value", applies(`{image: i, count: 3}`), applies(`{image: i, count: 5}`), "image: i\nreplicas: 3", []string{keptReplicas}, []string{"writer"}},
		{"apply without the field", applies(`{image: i, count: 3}`), applies(`{image: i}`), "image: i\nreplicas: 3", []string{keptReplicas}, nil},
		{"PUT", puts(`{image: i, count: 3}`), puts(`{image: j, count: 3}`), "image: j\nreplicas: 3", nil, []string{"writer"}},
		{"PUT of another value", puts(`{image: i, count: 3}`), puts(`{image: j, count: 5}`), "image: j\nreplicas: 3", []string{keptReplicas}, []string{"writer"}},
		{"PUT without the field", puts(`{image: i, count: 3}`), puts(`{image: j}`), "image: j\nreplicas: 3", []string{keptReplicas}, []string{"writer"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			webhook := newConversionWebhook(t, renameCount)
			s := newSubject(t, newConvertedCRD(t, replicasGate, webhook))
			at := s.at("v1beta1")
			s.flipReplicas(true)
			create(t, s.client, cronTab(t, s.crd, "a", `{}`), metav1.CreateOptions{FieldManager: "creator"})
			tc.own(at)
			s.flipReplicas(false)
			at.wantFieldOwners("a flip rewrites nothing", at.get("a"), "writer")

			patch := []byte(`{"metadata": {"labels": {"by": "other"}}}`)
			if _, err := at.client.Patch(t.Context(), "a", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "other"}); err != nil {
				t.Fatal(err)
			}
			at.wantFieldOwners("another manager's write", at.get("a"), "writer")

			tc.next(at)
			at.wantWarnings(tc.warnings...)
			at.wantFieldOwners("the owner's next write", at.get("a"), tc.owners...)
			s.wantSpec("a", tc.want)
			// A disabled field raises no conflict, whoever owns it (G7.3).
			if _, err := at.applyTo("bob", "a", `{count: 7}`); err != nil {
				t.Errorf("G7: %v", err)
			}
			at.wantWarnings(keptReplicas)

			s.flipReplicas(true)
			at.mustApply("writer", `{image: j, count: 4}`, true)
			at.wantFieldOwners("with the gate on again", at.get("a"), "writer")
			s.wantSpec("a", "image: j\nreplicas: 4")
		})
	}
}

// TestG1ConvWebhookG7AConflictAboutAnotherFieldStands has two owners in the other version (rule G7.3).
func TestG1ConvWebhookG7AConflictAboutAnotherFieldStands(t *testing.T) {
	t.Parallel()
	webhook := newConversionWebhook(t, renameCount)
	s := newSubject(t, newConvertedCRD(t, replicasGate, webhook))
	at := s.at("v1beta1")
	s.flipReplicas(true)
	at.mustApply("alice", `{image: i, count: 3}`, false)
	s.flipReplicas(false)
	_, err := at.applyTo("bob", "a", `{image: j, count: 5}`)
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), ".spec.image") || strings.Contains(err.Error(), ".spec.count") {
		t.Errorf("want a conflict about .spec.image alone: %v", err)
	}
	u, err := at.applyTo("bob", "a", `{image: i, count: 5}`)
	if err != nil {
		t.Fatal(err)
	}
	at.wantWarnings(keptReplicas)
	at.wantFieldOwners("who applies another value", u, "alice")
	if diff := cmp.Diff([]string{"alice", "bob"}, owners(t, u, "f:spec", "f:image")); diff != "" {
		t.Errorf("owners of the other field (-want +got):\n%s", diff)
	}
	again, err := at.applyTo("bob", "a", `{image: i, count: 5}`)
	if diff := cmp.Diff(u, again); err != nil || diff != "" {
		t.Errorf("G6: the same again: %v (-before +after):\n%s", err, diff)
	}
}

const shapesSchema = `
type: object
properties:
  spec:
    type: object
    properties:
      image: {type: string}
      scaling: {type: object, properties: {count: {type: integer}}}
      workload: {type: string}
`

// nestCount converts between .spec.replicas of v1 and .spec.scaling.count of v1beta1, which also has .spec.workload
// tell the image and the replicas.
func nestCount(object map[string]any, to string) error {
	spec, ok := object["spec"].(map[string]any)
	if !ok {
		return nil
	}
	if to == "v1" {
		if count, found, _ := unstructured.NestedFieldNoCopy(spec, "scaling", "count"); found {
			spec["replicas"] = count
		}
		delete(spec, "scaling")
		delete(spec, "workload")
		return nil
	}
	spec["workload"] = fmt.Sprint(spec["image"], "x", spec["replicas"])
	if replicas, ok := spec["replicas"]; ok {
		spec["scaling"] = map[string]any{"count": replicas}
		delete(spec, "replicas")
	}
	return nil
}

// TestG1ConvWebhookG7FieldsOfAnotherShape has a disabled field that is elsewhere in the other version, and a part of a
// field besides: that one still has an owner.
func TestG1ConvWebhookG7FieldsOfAnotherShape(t *testing.T) {
	t.Parallel()
	webhook := newConversionWebhook(t, nestCount)
	crd := newConvertedCRD(t, replicasGate, webhook)
	crd.Spec.Versions[1].Schema.OpenAPIV3Schema = parse[*apiextensionsv1.JSONSchemaProps](t, shapesSchema)
	s := newSubject(t, crd)
	at := s.at("v1beta1")
	s.flipReplicas(true)
	create(t, s.client, cronTab(t, s.crd, "a", `{image: i, replicas: 3}`), metav1.CreateOptions{FieldManager: "creator"})
	s.flipReplicas(false)
	u := at.mustApply("alice", `{image: i, workload: ix3, scaling: {count: 3}}`, false)
	at.wantWarnings()
	for field, want := range map[string][]string{"f:image": {"alice", "creator"}, "f:workload": {"alice"}, "f:scaling": {"alice"}} {
		if diff := cmp.Diff(want, owners(t, u, "f:spec", field)); diff != "" {
			t.Errorf("G7: owners of %s (-want +got):\n%s", field, diff)
		}
	}
	s.wantSpec("a", "image: i\nreplicas: 3")
}

// TestG1ConvWebhookG7OwnersCostNoConversion compares updates of an object without the disabled field and one with it.
func TestG1ConvWebhookG7OwnersCostNoConversion(t *testing.T) {
	t.Parallel()
	webhook := newConversionWebhook(t, renameCount)
	s := newSubject(t, newConvertedCRD(t, replicasGate, webhook))
	at := s.at("v1beta1")
	s.flipReplicas(true)
	create(t, at.client, cronTab(t, at.crd, "without", `{image: i}`), metav1.CreateOptions{FieldManager: "writer"})
	create(t, at.client, cronTab(t, at.crd, "with", `{image: i, count: 3}`), metav1.CreateOptions{FieldManager: "writer"})
	s.flipReplicas(false)
	counts := map[string]conversions{}
	for name, spec := range map[string]string{"without": `{image: j}`, "with": `{image: j, count: 3}`} {
		webhook.take(t)
		at.write(writers[0], name, spec)
		counts[name] = webhook.take(t)
	}
	if got := counts["with"].Requests - counts["without"].Requests; got != 0 {
		t.Errorf("%d conversions more where a disabled field is persisted: %v", got, counts)
	}
}
