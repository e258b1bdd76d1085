// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

const forbiddenS3 = `spec.source.s3: Forbidden: must not be set when spec.source.type is "Git"`

// storedInvalid is a server on which invalid objects were stored while APIUnions was disabled. narrowed is a CRD from
// whose union a value is removed later.
type storedInvalid struct {
	server        *server
	crd, narrowed *apiextensionsv1.CustomResourceDefinition
}

// storedSpecs are the stored objects of crd, by name.
var storedSpecs = map[string]string{
	"plain":     `{spec: {source: {type: Git, git: {}, s3: {}}}}`,
	"finalized": `{spec: {source: {type: Git, git: {}, s3: {}}}}`,
	"repaired":  `{spec: {source: {type: Git, git: {}, s3: {}}, atomic: [{git: {}}]}}`,
	"ratcheted": `{spec: {source: {type: Git, git: {}, s3: {}}, listMap: [{name: a, git: {}}, {name: b}]}}`,
	"scaled":    `{spec: {source: {git: {}}, replicas: 1}}`,
	"listed":    `{spec: {image: a, atomic: [{type: S3, git: {}}, {type: None}]}}`,
	"status":    `{spec: {replicas: 1}, status: {source: {git: {}}}}`,
}

func newStoredInvalid(t *testing.T) *storedInvalid {
	t.Helper()
	i := &storedInvalid{server: startFor(t, options{featureGates: "APIUnions=false"}), crd: newUnionsCRD(t), narrowed: newUnionsCRD(t)}
	addReplicas(i.crd)
	i.crd.Spec.Versions[0].Subresources = scaleSubresource(".spec.replicas")
	i.server.install(t, i.crd)
	i.server.install(t, i.narrowed)
	for name, text := range storedSpecs {
		i.store(t, i.crd, name, text)
	}
	i.store(t, i.narrowed, "narrowed", `{spec: {source: {type: None}}}`)
	return i
}

// addReplicas adds the property .spec.replicas to sourceSchema.
func addReplicas(crd *apiextensionsv1.CustomResourceDefinition) {
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	spec.Properties["replicas"] = apiextensionsv1.JSONSchemaProps{Type: "integer"}
}

// store creates an object.
func (i *storedInvalid) store(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, name, text string) {
	t.Helper()
	u := cronTab(t, crd, name, `{}`)
	for field, value := range parse[map[string]any](t, text) {
		u.Object[field] = value
	}
	if name == "finalized" {
		u.SetFinalizers([]string{"example.com/hold"})
	}
	if _, err := i.server.customResources(crd).Create(t.Context(), u, metav1.CreateOptions{FieldManager: "creator"}); err != nil {
		t.Fatal(err)
	}
}

// object returns one of the objects, for a new user.
func (i *storedInvalid) object(t *testing.T, name string) object {
	return object{subject{T: t, crd: i.crd, client: i.server.customResources(i.crd)}, name}
}

// narrowedObject returns the object whose value is removed from its union. Upstream's ratcheting forgives the enum
// error of an unchanged value, but as an error of the union it is forgiven only with APIUnionsRatcheting.
func (i *storedInvalid) narrowedObject(t *testing.T) object {
	return object{subject{T: t, crd: i.narrowed, client: i.server.customResources(i.narrowed)}, "narrowed"}
}

// TestU7OverStoredInvalidObjects (rules F5, U6, U7) enables APIUnions, and then APIUnionsRatcheting, over stored
// objects that are invalid by rule U6. The steps share a server, since most of the time is spent on its start.
func TestU7OverStoredInvalidObjects(t *testing.T) {
	t.Parallel()
	i := newStoredInvalid(t)
	i.server.restart(t, options{featureGates: "APIUnions=true"})
	t.Run("U7: every write is validated, except for changes of metadata", i.everyWriteIsValidated)
	t.Run("U7: finalizers can be removed from an object that is being deleted", i.finalizersCanBeRemoved)
	t.Run("U7: a write that repairs the unions is accepted", i.repairIsAccepted)
	t.Run("U7: scale validates the unions of spec", i.scaleIsValidated)
	narrowed := i.narrowedObject(t)
	narrowed.removeValue("None")
	narrowed.wantInvalid(narrowed.merge("m", `{image: i}`), `spec.source.type: Unsupported value: "None"`)

	i.server.restart(t, options{featureGates: allGates})
	t.Run("U7: ratcheting forgives a union that a write does not change", i.ratcheting)
	t.Run("U7: ratcheting forgives the unions of an unchanged atomic list", i.ratchetingOfLists)
	if err := i.narrowedObject(t).merge("m", `{image: i}`); err != nil {
		t.Errorf("U7: an unsupported value is not forgiven although it does not change: %v", err)
	}
}

// annotate changes nothing but metadata.
func (o object) annotate(value string) error {
	o.Helper()
	return o.patch(types.MergePatchType, fmt.Sprintf(`{"metadata": {"annotations": {"touched": %q}}}`, value), metav1.PatchOptions{})
}

func (i *storedInvalid) everyWriteIsValidated(t *testing.T) {
	o := i.object(t, "plain")
	o.wantSpec(`{source: {type: Git, git: {}, s3: {}}}`)
	o.wantInvalid(o.merge("m", `{image: i}`), forbiddenS3)
	o.wantMetadataWritable()
	labeled := cronTab(t, o.crd, o.name, `{}`)
	delete(labeled.Object, "spec")
	labeled.SetLabels(map[string]string{"applied": "true"})
	if _, err := o.client.Apply(t.Context(), o.name, labeled, metav1.ApplyOptions{FieldManager: "m"}); err != nil {
		t.Errorf("U7: an apply of a label is refused: %v", err)
	}
	o.wantInvalid(o.merge("m", `{image: i}`), forbiddenS3)
}

// wantMetadataWritable writes annotations, finalizers and labels, with an update and patches.
func (o object) wantMetadataWritable() {
	o.Helper()
	if err := o.annotate("1"); err != nil {
		o.Errorf("U7: a merge patch of an annotation is refused: %v", err)
	}
	for _, patch := range []string{
		`[{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/hold"]}]`,
		`[{"op": "remove", "path": "/metadata/finalizers"}]`,
	} {
		if err := o.patch(types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
			o.Errorf("U7: a JSON patch of finalizers is refused: %v", err)
		}
	}
	u := o.get()
	u.SetLabels(map[string]string{"by": "put"})
	if _, err := o.client.Update(o.Context(), u, metav1.UpdateOptions{}); err != nil {
		o.Errorf("U7: an update of a label is refused: %v", err)
	}
}

func (i *storedInvalid) finalizersCanBeRemoved(t *testing.T) {
	o := i.object(t, "finalized")
	if err := o.client.Delete(t.Context(), o.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	o.wantInvalid(o.merge("m", `{source: {git: {url: u}}}`), forbiddenS3)
	if err := o.annotate("2"); err != nil {
		t.Errorf("U7: an annotation is refused although the unions do not change: %v", err)
	}
	if err := o.patch(types.JSONPatchType, `[{"op": "remove", "path": "/metadata/finalizers"}]`, metav1.PatchOptions{}); err != nil {
		t.Errorf("U7: the finalizer cannot be removed: %v", err)
	}
	if _, err := o.client.Get(t.Context(), o.name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("U7: the object without finalizers still exists: %v", err)
	}
}

// repairIsAccepted also writes something else after the repair.
func (i *storedInvalid) repairIsAccepted(t *testing.T) {
	o := i.object(t, "repaired")
	if err := o.merge("m", `{source: {s3: null}, atomic: null}`); err != nil {
		t.Fatal(err)
	}
	if err := o.annotate("1"); err != nil {
		t.Error(err)
	}
}

// scaleIsValidated scales objects with an invalid spec and with an invalid status.
func (i *storedInvalid) scaleIsValidated(t *testing.T) {
	const replicas = `{"spec": {"replicas": 2}}`
	o := i.object(t, "scaled")
	o.wantInvalid(o.patch(types.MergePatchType, replicas, metav1.PatchOptions{}, "scale"), "spec.source.git: Forbidden: ")
	if err := i.object(t, "status").patch(types.MergePatchType, replicas, metav1.PatchOptions{}, "scale"); err != nil {
		t.Errorf("scale of an object with an invalid status is refused: %v", err)
	}
}

func (i *storedInvalid) ratcheting(t *testing.T) {
	o := i.object(t, "ratcheted")
	if err := o.annotate("1"); err != nil {
		t.Errorf("an annotation is refused: %v", err)
	}
	others := `{image: i, source: {name: other}, listMap: [{name: b, type: S3}, {name: a, git: {}}]}`
	if err := o.merge("m", others); err != nil {
		t.Errorf("a write that changes no field of an invalid union is refused: %v", err)
	}
	o.wantInvalid(o.merge("m", `{source: {git: {url: u}}}`), forbiddenS3)
	o.wantInvalid(o.merge("m", `{listMap: [{name: a, git: {url: u}}]}`), `spec.listMap[0].git: Forbidden: `)
	o.wantInvalid(o.merge("m", `{listMap: [{name: new, git: {}}]}`), `spec.listMap[0].git: Forbidden: `)
	if err := o.merge("m", `{source: {type: S3}}`); err != nil {
		t.Errorf("a switch that repairs the union is refused: %v", err)
	}
	o.wantSpec(`{image: i, source: {name: other, type: S3, s3: {}}, listMap: [{name: b, type: S3}, {name: a, git: {}}]}`)
}

func (i *storedInvalid) ratchetingOfLists(t *testing.T) {
	o := i.object(t, "listed")
	if err := o.merge("m", `{image: b, atomic: [{type: S3, git: {}}, {type: None}]}`); err != nil {
		t.Errorf("a write that does not change the list is refused: %v", err)
	}
	const forbidden = `spec.atomic[0].git: Forbidden: must not be set when spec.atomic[0].type is "S3"`
	o.wantInvalid(o.merge("m", `{atomic: [{type: S3, git: {}}]}`), forbidden)
	o.wantInvalid(o.merge("m", `{atomic: [{type: S3, git: {}}, {type: S3}]}`), forbidden)
	o.wantSpec(`{image: b, atomic: [{type: S3, git: {}}, {type: None}]}`)
}

// removeValue removes a value from the union of source, and waits until that takes effect.
func (o object) removeValue(value string) {
	o.Helper()
	o.editCRD(func(crd *apiextensionsv1.CustomResourceDefinition) {
		source := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["source"]
		discriminator := source.Properties["type"]
		delete(discriminator.XUnions.FieldMembers, value)
		discriminator.Enum = nil
		for key := range discriminator.XUnions.FieldMembers {
			if key != "" {
				discriminator.Enum = append(discriminator.Enum, apiextensionsv1.JSON{Raw: []byte(`"` + key + `"`)})
			}
		}
		source.Properties["type"] = discriminator
	})
	o.awaitInvalid("the value is refused", `{source: {type: `+value+`}}`)
}

// TestU7StatusAndScale (rules U4, U7, V3): status writes normalize and validate the unions of status only. All other
// writes, scale included, normalize and validate the other unions only.
func TestU7StatusAndScale(t *testing.T) {
	t.Parallel()
	crd := newUnionsCRD(t)
	addReplicas(crd)
	crd.Spec.Versions[0].Subresources = scaleSubresource(".spec.replicas")
	crd.Spec.Versions[0].Subresources.Status = statusSubresource().Status
	o := newSubject(t, crd).newObject(t)
	o.create(`{source: {type: Git, git: {}}}`)
	writeStatus := func(status string) error {
		patch := fmt.Sprintf(`{"spec": {"source": {"type": "S3"}}, "status": %s}`, status)
		return o.patch(types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	}
	o.wantInvalid(writeStatus(`{"source": {"type": "Git", "s3": {}}}`), `status.source.s3: Forbidden: `, `status.source.git: Required value: `)
	if err := writeStatus(`{"source": {"type": "Git", "git": {}}}`); err != nil {
		t.Fatal(err)
	}
	o.wantWarnings() // a status write ignores the spec
	if err := writeStatus(`{"source": {"type": "S3"}}`); err != nil {
		t.Fatal(err)
	}
	o.wantWarnings(`status.source.git: cleared: status.source.type changed from "Git" to "S3"`)
	o.wantSpec(`{source: {type: Git, git: {}}}`)
	status, _, _ := unstructured.NestedMap(o.get().Object, "status")
	if diff := cmp.Diff(map[string]any{"source": map[string]any{"type": "S3"}}, status); diff != "" {
		t.Errorf("U4: status (-want +got):\n%s", diff)
	}
	o.wantStatusIgnored()
}

// wantStatusIgnored writes the resource itself and scale.
func (o object) wantStatusIgnored() {
	o.Helper()
	if err := o.merge("m", `{image: i}`); err != nil {
		o.Error(err)
	}
	if err := o.patch(types.MergePatchType, `{"status": {"source": {"type": "Git", "s3": {}}}}`, metav1.PatchOptions{}); err != nil {
		o.Errorf("U7: a write of the resource is refused for its status, which it does not write: %v", err)
	}
	o.wantWarnings()
	if err := o.patch(types.MergePatchType, `{"spec": {"replicas": 2}}`, metav1.PatchOptions{}, "scale"); err != nil {
		o.Errorf("U7: scale is refused: %v", err)
	}
}
