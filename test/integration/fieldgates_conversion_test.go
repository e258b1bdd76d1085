// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// countSchema is the schema of v1beta1, in which .spec.replicas is .spec.count.
var countSchema = specSchema(`
image: {type: string}
count: {type: integer, minimum: 0}
`)

// converted is a subject whose CRD stores v1, and serves v1beta1 with countSchema through a conversion webhook.
type converted struct {
	subject         // clients of v1
	beta    subject // clients of v1beta1
	webhook *conversionWebhook
}

// newConverted installs a CRD with gates, after the edits.
func newConverted(t *testing.T, gates string, convert converter, edits ...crdEdit) converted {
	t.Helper()
	webhook := newConversionWebhook(t, convert)
	crd := newCRD(t, gates)
	serveVersion(t, crd, "v1beta1", countSchema)
	crd.Spec.Conversion = webhook.conversion()
	for _, edit := range edits {
		edit(crd)
	}
	s := newSubject(t, crd)
	return converted{subject: s, beta: s.inVersion("v1beta1"), webhook: webhook}
}

// betaSchema returns an edit that replaces the schema of v1beta1.
func betaSchema(t *testing.T, schema string) crdEdit {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions[1].Schema.OpenAPIV3Schema = parse[*apiextensionsv1.JSONSchemaProps](t, schema)
	}
}

// forSubtest returns the subject with the T of a subtest.
func (c converted) forSubtest(t *testing.T) converted {
	c.subject = c.subject.forSubtest(t)
	c.beta = c.inVersion("v1beta1")
	return c
}

// wantRepeatedWriteUnchanged writes again what was just written, and expects that nothing changes (rule G6).
func (s subject) wantRepeatedWriteUnchanged(w writer, name, spec string) {
	s.Helper()
	before := s.get(name)
	s.write(w, name, spec)
	s.wantUnchanged("G6: "+w.name+", sent again,", before)
}

// TestG1ConvNonePathsCountInEveryVersion (rules G1, G2, G6, G7, G10) has two versions with the same schema.
func TestG1ConvNonePathsCountInEveryVersion(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, replicasGate)
	serveVersion(t, crd, "v1beta1", cronTabSchema)
	s := newSubject(t, crd)
	for _, version := range []string{"v1", "v1beta1"} {
		t.Run("G2: a disabled field is dropped on create in "+version, func(t *testing.T) {
			s.forSubtest(t).wantDroppedIn(version)
		})
		for _, w := range versionedWriters() {
			t.Run("G2: a persisted field is kept by "+w.name+" in "+version, func(t *testing.T) {
				s.forSubtest(t).wantKeptIn(version, w)
			})
		}
	}
}

// wantDroppedIn creates objects in a version with the disabled field, by POST and by apply.
func (s subject) wantDroppedIn(version string) {
	s.Helper()
	v := s.inVersion(version)
	s.flipReplicas(false)
	_, warnings := create(s.T, v.client, cronTab(s.T, v.crd, "created-"+version, `{image: a, replicas: 3}`), metav1.CreateOptions{})
	wantWarnings(s.T, "G10: create", []string{droppedReplicas}, warnings)
	v.apply("alice", "applied-"+version, `{image: a, replicas: 3}`)
	v.wantWarnings(droppedReplicas)
	for _, name := range []string{"created-" + version, "applied-" + version} {
		s.wantSpec(name, "image: a")
		v.wantSpec(name, "image: a")
		v.wantGeneration(name, 1)
		v.wantOwners(v.get(name))
	}
}

// wantKeptIn writes a persisted object in a version with another value of the field.
func (s subject) wantKeptIn(version string, w writer) {
	s.Helper()
	v := s.inVersion(version)
	name := s.persist(`{image: a, replicas: 3}`)
	s.flipReplicas(false)
	v.write(w, name, `{image: a, replicas: 5}`)
	v.wantWarnings(keptReplicas)
	v.wantGeneration(name, 1)
	v.wantRepeatedWriteUnchanged(w, name, `{image: a, replicas: 5}`)
	v.write(w, name, `{image: b, replicas: 5}`)
	v.wantWarnings(keptReplicas)
	s.wantSpec(name, "image: b\nreplicas: 3")
	v.wantSpec(name, "image: b\nreplicas: 3")
	v.wantOwners(v.get(name), "creator")

	s.flipReplicas(true)
	v.write(w, name, `{image: b, replicas: 5}`)
	v.wantWarnings()
	s.wantSpec(name, "image: b\nreplicas: 5")
}

// TestG1ConvNoneAVersionWithoutTheFieldPrunesIt shows what rule G1 leaves to upstream. With conversion None, a version
// whose schema does not have the field prunes it from reads and writes, and a gate does not change that: such an update
// removes the field, as it removes a field without a gate. The same holds for server-side apply. None of this is an
// error (rule R1).
func TestG1ConvNoneAVersionWithoutTheFieldPrunesIt(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, replicasGate)
	serveVersion(t, crd, "v1alpha1", `{type: object, properties: {spec: {type: object, properties: {image: {type: string}}}}}`)
	s := newSubject(t, crd)

	alpha := s.inVersion("v1alpha1")
	_, warnings := create(t, alpha.client, cronTab(t, alpha.crd, "a", `{image: a, replicas: 3}`), metav1.CreateOptions{})
	wantWarnings(t, "create in a version without the field", []string{`unknown field "spec.replicas"`}, warnings)
	for _, enabled := range []bool{true, false} {
		for _, w := range apiWriters() {
			t.Run(fmt.Sprintf("G1: %s removes the field, gate enabled: %v", w.name, enabled), func(t *testing.T) {
				v1 := s.forSubtest(t)
				alpha := v1.inVersion("v1alpha1")
				name := v1.persist(`{image: a, replicas: 3}`)
				v1.flipReplicas(enabled)
				alpha.wantSpec(name, "image: a")
				alpha.write(w, name, `{image: b}`)
				alpha.wantWarnings()
				alpha.wantSpec(name, "image: b")
				v1.wantSpec(name, "image: b")
			})
		}
	}
}

// betaCreations create an object in v1beta1 with the disabled field.
var betaCreations = map[string]func(s converted, name string, dryRun []string) (*unstructured.Unstructured, error){
	"post": func(s converted, name string, dryRun []string) (*unstructured.Unstructured, error) {
		return s.beta.client.Create(s.Context(), cronTab(s.T, s.beta.crd, name, `{image: i, count: 3}`), metav1.CreateOptions{DryRun: dryRun})
	},
	"apply": func(s converted, name string, dryRun []string) (*unstructured.Unstructured, error) {
		opts := metav1.ApplyOptions{FieldManager: "alice", DryRun: dryRun}
		return s.beta.client.Apply(s.Context(), name, cronTab(s.T, s.beta.crd, name, `{image: i, count: 3}`), opts)
	},
}

func TestG1ConvWebhookCreateWithADisabledGateDropsTheField(t *testing.T) {
	t.Parallel()
	s := newConverted(t, replicasGate, renameCount)
	for name, creation := range betaCreations {
		s.takeWarnings()
		for _, dryRun := range [][]string{dryRun, nil} {
			created, err := creation(s, name, dryRun)
			if err != nil {
				t.Fatal(err)
			}
			// G13: a dry run has the answer and the warnings of the real request. The warning has the path of the gate.
			s.beta.wantWarnings(droppedReplicas)
			s.wantSpecOf("the answer", created, "image: i")
			if created.GetAPIVersion() != s.crd.Spec.Group+"/v1beta1" || created.GetGeneration() != 1 {
				t.Errorf("%s: want generation 1 of v1beta1, got %v", name, created)
			}
		}
		s.wantSpec(name, "image: i")
		s.beta.wantSpec(name, "image: i")
		if stored := s.stored(name); strings.Contains(stored, "replicas") || strings.Contains(stored, "count") {
			t.Errorf("%s: etcd has the dropped field: %s", name, stored)
		}
	}

	// Objects without the disabled field, or with the gate enabled, are created as usual.
	_, warnings := create(t, s.beta.client, cronTab(t, s.beta.crd, "without", `{image: i}`), metav1.CreateOptions{})
	wantWarnings(t, "create without the field", nil, warnings)
	s.flipReplicas(true)
	_, warnings = create(t, s.beta.client, cronTab(t, s.beta.crd, "enabled", `{image: i, count: 3}`), metav1.CreateOptions{})
	wantWarnings(t, "create with the gate enabled", nil, warnings)
	s.wantSpec("enabled", "image: i\nreplicas: 3")
}

// TestG1ConvWebhookEveryWriteObeysTheTable (rules G1, G2, G6, G10) writes v1beta1, where the guarded .spec.replicas of
// v1 is .spec.count.
func TestG1ConvWebhookEveryWriteObeysTheTable(t *testing.T) {
	t.Parallel()
	all := newConverted(t, replicasGate, renameCount)
	for _, w := range versionedWriters() {
		t.Run(w.name, func(t *testing.T) {
			s := all.forSubtest(t)
			absent, name := s.persist(`{image: a}`), s.persist(`{image: a, replicas: 3}`)
			s.flipReplicas(false)
			s.beta.write(w, absent, `{image: b, count: 5}`)
			s.beta.wantWarnings(droppedReplicas)
			s.wantSpec(absent, "image: b")

			s.beta.write(w, name, `{image: a, count: 3}`)
			s.beta.wantWarnings()
			s.beta.write(w, name, `{image: a, count: 5}`)
			s.beta.wantWarnings(keptReplicas)
			s.beta.wantGeneration(name, 1)
			s.beta.wantRepeatedWriteUnchanged(w, name, `{image: a, count: 5}`)
			s.beta.wantWarnings(keptReplicas)
			s.wantSpec(name, "image: a\nreplicas: 3")
			s.beta.wantSpec(name, "count: 3\nimage: a")

			s.beta.write(w, name, `{image: b, count: 5}`)
			s.beta.wantWarnings(keptReplicas)
			s.beta.wantGeneration(name, 2)
			s.wantSpec(name, "image: b\nreplicas: 3")
			if !w.applies {
				s.beta.write(w, name, `{image: c}`)
				s.beta.wantWarnings(keptReplicas)
				s.wantSpec(name, "image: c\nreplicas: 3")
			}

			s.flipReplicas(true)
			s.beta.write(w, name, `{image: d, count: 9}`)
			s.beta.wantWarnings()
			s.wantSpec(name, "image: d\nreplicas: 9")
		})
	}
}

// TestG1ConvWebhookApplyThatLeavesOutAnOwnedField (rules G1, G2): the field is kept, and since leaving it out asks to
// remove it there is a warning.
func TestG1ConvWebhookApplyThatLeavesOutAnOwnedField(t *testing.T) {
	t.Parallel()
	s := newConverted(t, replicasGate, renameCount)
	s.flipReplicas(true)
	s.beta.apply("alice", "a", `{image: i, count: 3}`)
	s.flipReplicas(false)
	s.beta.apply("alice", "a", `{image: j}`)
	s.beta.wantWarnings(keptReplicas)
	s.wantSpec("a", "image: j\nreplicas: 3")
}

func TestG1ConvWebhookDeprecatedFieldsWarnAndStay(t *testing.T) {
	t.Parallel()
	s := newConverted(t, `featureGates: [{name: Old, preRelease: deprecated, default: true, fieldPaths: [.spec.replicas]}]`, renameCount)
	const deprecated = ".spec.replicas: deprecated field"
	_, warnings := create(t, s.beta.client, cronTab(t, s.beta.crd, "a", `{image: i, count: 3}`), metav1.CreateOptions{})
	wantWarnings(t, "G10: create", []string{deprecated}, warnings)
	s.wantSpec("a", "image: i\nreplicas: 3")
	for _, row := range []struct {
		spec string
		want []string
	}{
		{`{image: j, count: 3}`, nil},
		{`{image: j, count: 4}`, []string{deprecated}},
		{`{image: j}`, nil},
	} {
		s.beta.write(put, "a", row.spec)
		s.beta.wantWarnings(row.want...)
	}
}

// scalable returns an edit that adds the scale subresource to both versions, in which the replicas have different
// paths.
func scalable(t *testing.T) crdEdit {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		for i, path := range []string{".spec.replicas", ".spec.count"} {
			version := &crd.Spec.Versions[i]
			version.Subresources = scaleSubresource(path)
			addStatus(t, version, `{type: object, properties: {replicas: {type: integer}}}`)
		}
	}
}

// scale reads the scale subresource and updates its replicas.
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

// TestG1ConvWebhookScale (rules G1, G9) scales through the version in which replicas have another path.
func TestG1ConvWebhookScale(t *testing.T) {
	t.Parallel()
	s := newConverted(t, replicasGate, renameCount, scalable(t))
	name := s.persist(`{image: i, replicas: 3}`)
	s.flipReplicas(false)
	s.beta.scale(name, 5)
	s.beta.wantWarnings(keptReplicas)
	s.wantSpec(name, "image: i\nreplicas: 3")
	s.wantGeneration(name, 1)
	s.flipReplicas(true)
	s.beta.scale(name, 5)
	s.beta.wantWarnings()
	s.wantSpec(name, "image: i\nreplicas: 5")
}

// countConversions sends a sequence of requests in a version and returns how many conversions each of them takes.
func countConversions(t *testing.T, gates, version string) map[string]conversions {
	t.Helper()
	c := newConverted(t, gates, renameCount)
	s := c.inVersion(version)
	field := map[string]string{"v1": "replicas", "v1beta1": "count"}[version]
	spec := func(image string, n int) string { return fmt.Sprintf("{image: %s, %s: %d}", image, field, n) }
	list := func() {
		if _, err := s.client.List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	list() // so that both versions have their watch caches
	create(t, s.client, cronTab(t, s.crd, "warm-up", `{image: a}`), metav1.CreateOptions{})
	c.webhook.take(t)

	counts := map[string]conversions{}
	create(t, s.client, cronTab(t, s.crd, "a", spec("a", 1)), metav1.CreateOptions{})
	counts["create"] = c.webhook.take(t)
	for i, w := range versionedWriters() {
		s.write(w, "a", spec(fmt.Sprintf("image%d", i), i+2))
		counts[w.name] = c.webhook.take(t)
	}
	list()
	counts["list"] = c.webhook.take(t)
	if err := s.client.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	counts["delete"] = c.webhook.take(t)
	return counts
}

// TestG1ConvWebhookNothingIsConvertedInVain (rule G1): a CRD whose gates have no effect takes as many conversions as a
// CRD without gates. So does a disabled gate if the stored version is written.
func TestG1ConvWebhookNothingIsConvertedInVain(t *testing.T) {
	t.Parallel()
	const enabled = `featureGates: [{name: ReplicasFeatureGate, preRelease: beta, fieldPaths: [.spec.replicas]}]`
	for _, version := range []string{"v1", "v1beta1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			var counts sync.Map                 // by gates
			t.Run("count", func(t *testing.T) { // ends when its parallel subtests have ended
				for name, gates := range map[string]string{"without gates": "", "enabled gate": enabled, "disabled gate": replicasGate} {
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						counts.Store(gates, countConversions(t, gates, version))
					})
				}
			})
			countsOf := func(gates string) map[string]conversions {
				found, _ := counts.Load(gates)
				counts, _ := found.(map[string]conversions)
				return counts
			}
			without, disabled := countsOf(""), countsOf(replicasGate)
			if diff := cmp.Diff(without, countsOf(enabled)); diff != "" {
				t.Errorf("conversions with an enabled gate (-without gates +with):\n%s", diff)
			}
			diff := cmp.Diff(without, disabled)
			if version == "v1" && diff != "" {
				t.Errorf("conversions with a disabled gate when the stored version is written (-without gates +with):\n%s", diff)
			}
			if disabled["list"] != without["list"] || disabled["delete"] != without["delete"] {
				t.Errorf("conversions with a disabled gate when nothing is written (-without gates +with):\n%s", diff)
			}
			t.Logf("conversions without gates: %v\nwith a disabled gate: %v", without, disabled)
		})
	}
}

// TestG1ConvWebhookGatesOfAnotherEndpointConvertNothing (rules G1, G9): a gate on status has no effect on a write of
// spec if there is a status subresource.
func TestG1ConvWebhookGatesOfAnotherEndpointConvertNothing(t *testing.T) {
	t.Parallel()
	withStatus := func(crd *apiextensionsv1.CustomResourceDefinition) {
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Subresources = statusSubresource()
			addStatus(t, &crd.Spec.Versions[i], `{type: object, properties: {ready: {type: integer}}}`)
		}
	}
	counts := map[string]conversions{}
	for _, gates := range []string{"", `featureGates: [{name: Ready, preRelease: alpha, fieldPaths: [.status.ready]}]`} {
		s := newConverted(t, gates, renameCount, withStatus)
		create(t, s.beta.client, cronTab(t, s.beta.crd, "warm-up", `{image: a}`), metav1.CreateOptions{})
		s.webhook.take(t)
		create(t, s.beta.client, cronTab(t, s.beta.crd, "a", `{image: a, count: 1}`), metav1.CreateOptions{})
		counts[gates] = s.webhook.take(t)
	}
	for gates, got := range counts {
		if got != counts[""] {
			t.Errorf("a create in v1beta1 takes %+v with %s, and %+v without gates", got, gates, counts[""])
		}
	}
}

// TestG1ConvWebhookThatKeepsTheFieldInAnAnnotation (rules G1, G2) has a v1beta1 without the field, whose value the
// webhook keeps in an annotation. The gate also applies to the annotation, and the warnings say what happened.
func TestG1ConvWebhookThatKeepsTheFieldInAnAnnotation(t *testing.T) {
	t.Parallel()
	s := newConverted(t, replicasGate, stashReplicas)
	name := s.persist(`{image: i, replicas: 3}`)
	s.flipReplicas(false)
	if got := s.beta.get(name).GetAnnotations()[replicasAnnotation]; got != "3" {
		t.Fatalf("the annotation is %q, want 3", got)
	}
	u := cronTab(t, s.beta.crd, "created", `{image: i}`)
	u.SetAnnotations(map[string]string{replicasAnnotation: "5"})
	_, warnings := create(t, s.beta.client, u, metav1.CreateOptions{})
	wantWarnings(t, "create with the annotation", []string{droppedReplicas}, warnings)
	s.wantSpec("created", "image: i")

	for _, annotation := range []string{`"5"`, `null`} {
		s.beta.mergePatch("", name, `{"metadata": {"annotations": {"`+replicasAnnotation+`": `+annotation+`}}}`)
		s.beta.wantWarnings(keptReplicas)
		s.wantSpec(name, "image: i\nreplicas: 3")
		s.wantGeneration(name, 1)
	}
}

// TestG1ConvWebhookDefaultsOfTheOtherVersion (rules G1, G8): a default of v1beta1 is set before gates are evaluated.
// For a disabled field it does not apply, and draws no warning.
func TestG1ConvWebhookDefaultsOfTheOtherVersion(t *testing.T) {
	t.Parallel()
	s := newConverted(t, replicasGate, renameCount, betaSchema(t, strings.Replace(countSchema, "minimum: 0", "default: 1", 1)))
	_, warnings := create(t, s.beta.client, cronTab(t, s.beta.crd, "a", `{image: i}`), metav1.CreateOptions{})
	wantWarnings(t, "create without the field", nil, warnings)
	s.wantSpec("a", "image: i")
	for _, w := range versionedWriters() {
		image := "image: " + strings.ReplaceAll(w.name, " ", "")
		s.beta.write(w, "a", "{"+image+"}")
		s.beta.wantWarnings()
		s.wantSpec("a", image)
		s.beta.write(w, "a", `{image: j, count: 5}`)
		s.beta.wantWarnings(droppedReplicas)
		s.wantSpec("a", "image: j")
	}
}

// convertedMetadata is the metadata that TestG1ConvWebhookMetadataSurvives sends with a disabled field.
type convertedMetadata struct {
	Labels, Annotations map[string]string
	Finalizers          []string
	OwnerReferences     []metav1.OwnerReference
}

func metadataOf(u *unstructured.Unstructured) convertedMetadata {
	return convertedMetadata{u.GetLabels(), u.GetAnnotations(), u.GetFinalizers(), u.GetOwnerReferences()}
}

func (m convertedMetadata) set(u *unstructured.Unstructured) *unstructured.Unstructured {
	u.SetLabels(m.Labels)
	u.SetAnnotations(m.Annotations)
	u.SetFinalizers(m.Finalizers)
	u.SetOwnerReferences(m.OwnerReferences)
	return u
}

// wantEverywhere compares metadata and the owners of fields in the answer and as persisted, in both versions.
func (m convertedMetadata) wantEverywhere(s converted, what string, answer *unstructured.Unstructured) {
	s.Helper()
	name := answer.GetName()
	for where, u := range map[string]*unstructured.Unstructured{"the answer": answer, "v1": s.get(name), "v1beta1": s.beta.get(name)} {
		if diff := cmp.Diff(m, metadataOf(u)); diff != "" {
			s.Errorf("%s: metadata in %s (-want +got):\n%s", what, where, diff)
		}
		for _, field := range [][]string{{"f:metadata", "f:labels", "f:l"}, {"f:spec", "f:image"}} {
			s.wantOwnersOf(u, field, "tester")
		}
	}
}

// TestG1ConvWebhookMetadataSurvives (rules G1, G13) sends metadata with a disabled field, so that the object is
// converted twice.
func TestG1ConvWebhookMetadataSurvives(t *testing.T) {
	t.Parallel()
	s := newConverted(t, replicasGate, renameCount)
	s.flipReplicas(true)
	owner, _ := create(t, s.client, cronTab(t, s.crd, "owner", `{}`), metav1.CreateOptions{})
	create(t, s.client, cronTab(t, s.crd, "a", `{image: i, replicas: 3}`), metav1.CreateOptions{FieldManager: "creator"})
	s.flipReplicas(false)
	sent := convertedMetadata{
		Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "2"}, Finalizers: []string{"example.com/f"},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: "owner", UID: owner.GetUID(),
		}},
	}

	u := sent.set(cronTab(t, s.beta.crd, "created", `{image: i, count: 3}`))
	created, _ := create(t, s.beta.client, u, metav1.CreateOptions{FieldManager: "tester"})
	sent.wantEverywhere(s, "create", created)
	s.wantSpec("created", "image: i")

	update := sent.set(s.beta.get("a"))
	stale := update.DeepCopy()
	update.Object["spec"] = map[string]any{"image": "j", "count": int64(5)}
	sent.wantEverywhere(s, "PUT", s.updateTwice(update))
	s.wantSpec("a", "image: j\nreplicas: 3")

	s.wantPreconditions(stale)
	s.wantLastFinalizerRemoved("a")
}

// updateTwice sends an update in v1beta1 as a dry run and then for real. Both must have the same answer (rule G13),
// except for what storage sets.
func (c converted) updateTwice(u *unstructured.Unstructured) *unstructured.Unstructured {
	c.Helper()
	c.beta.takeWarnings()
	var answers []*unstructured.Unstructured
	for _, dryRun := range [][]string{dryRun, nil} {
		answer, err := c.beta.client.Update(c.Context(), u, metav1.UpdateOptions{FieldManager: "tester", DryRun: dryRun})
		if err != nil {
			c.Fatal(err)
		}
		c.beta.wantWarnings(keptReplicas)
		answers = append(answers, answer)
	}
	dry, updated := answers[0], answers[1]
	if diff := cmp.Diff(specOf(c.T, updated), specOf(c.T, dry)); diff != "" || dry.GetGeneration() != updated.GetGeneration() {
		c.Errorf("G13: the dry run has generation %d, the update %d; spec (-update +dry run):\n%s",
			dry.GetGeneration(), updated.GetGeneration(), diff)
	}
	return updated
}

// wantPreconditions sends an update of an old resourceVersion, and one of another UID. Both must be refused without a
// warning (rule G10), and write nothing.
func (c converted) wantPreconditions(stale *unstructured.Unstructured) {
	c.Helper()
	before := c.get(stale.GetName())
	stale.Object["spec"] = map[string]any{"image": "k", "count": int64(7)}
	if _, err := c.beta.client.Update(c.Context(), stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		c.Errorf("an update of an old resourceVersion is no conflict: %v", err)
	}
	other := c.beta.get(stale.GetName())
	other.SetUID("0")
	other.SetResourceVersion("")
	other.Object["spec"] = map[string]any{"image": "k", "count": int64(7)}
	if _, err := c.beta.client.Update(c.Context(), other, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) && !apierrors.IsConflict(err) {
		c.Errorf("an update of another UID is not refused: %v", err)
	}
	c.beta.wantWarnings()
	c.wantUnchanged("refused updates", before)
}

// wantLastFinalizerRemoved removes the last finalizer of an object that is being deleted, with a write that also sets
// the disabled field.
func (c converted) wantLastFinalizerRemoved(name string) {
	c.Helper()
	if err := c.beta.client.Delete(c.Context(), name, metav1.DeleteOptions{}); err != nil {
		c.Fatal(err)
	}
	c.beta.mergePatch("", name, `{"metadata": {"finalizers": null}, "spec": {"count": 8}}`)
	if _, err := c.client.Get(c.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		c.Errorf("the object without finalizers still exists: %v", err)
	}
}
