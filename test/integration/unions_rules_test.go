// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
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

// storedInvalid are objects that a server stored while APIUnions was off.
type storedInvalid struct {
	server        *server
	crd, narrowed *apiextensionsv1.CustomResourceDefinition
}

// object returns one of the objects, by a new user.
func (i *storedInvalid) object(t *testing.T, name string) object {
	return object{subject{T: t, crd: i.crd, client: i.server.customResources(i.crd)}, name}
}

// store writes one object while the gate is off.
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

// TestU7OverStoredInvalidObjects (rules F5, U6, U7) is a cluster on which APIUnions, and then APIUnionsRatcheting, is switched
// on over objects that are invalid by it. The steps share the servers, since starting them takes longest.
func TestU7OverStoredInvalidObjects(t *testing.T) {
	t.Parallel()
	i := &storedInvalid{server: startFor(t, options{featureGates: "APIUnions=false"}), crd: newUnionsCRD(t), narrowed: newUnionsCRD(t)}
	schema := i.crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	schema.Properties["spec"].Properties["replicas"] = apiextensionsv1.JSONSchemaProps{Type: "integer"}
	i.crd.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{Scale: &apiextensionsv1.CustomResourceSubresourceScale{
		SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas",
	}}
	i.server.install(t, i.crd)
	i.server.install(t, i.narrowed)
	const both = `{spec: {source: {type: Git, git: {}, s3: {}}}}`
	i.store(t, i.crd, "plain", both)
	i.store(t, i.crd, "finalized", both)
	i.store(t, i.crd, "repaired", `{spec: {source: {type: Git, git: {}, s3: {}}, atomic: [{git: {}}]}}`)
	i.store(t, i.crd, "ratcheted", `{spec: {source: {type: Git, git: {}, s3: {}}, listMap: [{name: a, git: {}}, {name: b}]}}`)
	i.store(t, i.crd, "scaled", `{spec: {source: {git: {}}, replicas: 1}}`)
	i.store(t, i.crd, "listed", `{spec: {image: a, atomic: [{type: S3, git: {}}, {type: None}]}}`)
	i.store(t, i.crd, "status", `{spec: {replicas: 1}, status: {source: {git: {}}}}`)
	i.store(t, i.narrowed, "narrowed", `{spec: {source: {type: None}}}`)

	i.server.restart(t, options{featureGates: "APIUnions=true"})
	t.Run("every write must pass", i.everyWriteMustPass)
	t.Run("finalizers can be removed", i.finalizersCanBeRemoved)
	t.Run("the way out", i.theWayOut)
	t.Run("scale is a write too", i.scaleIsAWriteToo)
	narrowed := i.narrowedObject(t)
	narrowed.narrow("None")
	narrowed.refused(narrowed.merge("m", `{image: i}`), `spec.source.type: Unsupported value: "None"`)

	i.server.restart(t, options{featureGates: allGates})
	t.Run("ratcheting", i.ratcheting)
	t.Run("ratcheting of lists", i.ratchetingOfLists)
	if err := i.narrowedObject(t).merge("m", `{image: i}`); err != nil {
		t.Errorf("U7: a value that did not change is not forgiven: %v", err)
	}
}

// narrowedObject has a value that its CRD does not have any more: upstream forgives the enum error of a value that did
// not change, but it is an error of the union unless APIUnionsRatcheting forgives that.
func (i *storedInvalid) narrowedObject(t *testing.T) object {
	return object{subject{T: t, crd: i.narrowed, client: i.server.customResources(i.narrowed)}, "narrowed"}
}

// annotate is a write that changes nothing but metadata.
func (o object) annotate(value string) error {
	patch := fmt.Sprintf(`{"metadata": {"annotations": {"touched": %q}}}`, value)
	_, err := o.client.Patch(o.Context(), o.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// everyWriteMustPass: without ratcheting the object can be read, but each write must make it valid, unless it changes
// nothing but metadata.
func (i *storedInvalid) everyWriteMustPass(t *testing.T) {
	o := i.object(t, "plain")
	o.isNow(`{source: {type: Git, git: {}, s3: {}}}`)
	o.refused(o.merge("m", `{image: i}`), forbiddenS3)
	o.metadataCanBeWritten()
	labeled := cronTab(t, o.crd, o.name, `{}`)
	delete(labeled.Object, "spec")
	labeled.SetLabels(map[string]string{"applied": "true"})
	if _, err := o.client.Apply(t.Context(), o.name, labeled, metav1.ApplyOptions{FieldManager: "m"}); err != nil {
		t.Errorf("U7: label by apply: %v", err)
	}
	o.refused(o.merge("m", `{image: i}`), forbiddenS3)
}

// metadataCanBeWritten tries annotations, finalizers and labels, by PUT and patches.
func (o object) metadataCanBeWritten() {
	o.Helper()
	if err := o.annotate("1"); err != nil {
		o.Errorf("U7: annotation by merge patch: %v", err)
	}
	for _, patch := range []string{
		`[{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/hold"]}]`,
		`[{"op": "remove", "path": "/metadata/finalizers"}]`,
	} {
		if _, err := o.client.Patch(o.Context(), o.name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			o.Errorf("U7: finalizers by JSON patch: %v", err)
		}
	}
	u := o.get(o.name)
	u.SetLabels(map[string]string{"by": "put"})
	if _, err := o.client.Update(o.Context(), u, metav1.UpdateOptions{}); err != nil {
		o.Errorf("U7: label by PUT: %v", err)
	}
}

// finalizersCanBeRemoved, and all else that touches no union, once the object is being deleted.
func (i *storedInvalid) finalizersCanBeRemoved(t *testing.T) {
	o, ctx := i.object(t, "finalized"), t.Context()
	if err := o.client.Delete(ctx, o.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	o.refused(o.merge("m", `{source: {git: {url: u}}}`), forbiddenS3)
	if err := o.annotate("2"); err != nil {
		t.Errorf("U7: the unions are left alone: %v", err)
	}
	patch := `[{"op": "remove", "path": "/metadata/finalizers"}]`
	if _, err := o.client.Patch(ctx, o.name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Errorf("U7: the finalizer stays: %v", err)
	}
	if _, err := o.client.Get(ctx, o.name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the object is still there: %v", err)
	}
}

// theWayOut: a write that repairs the unions passes, and so does each one after it.
func (i *storedInvalid) theWayOut(t *testing.T) {
	o := i.object(t, "repaired")
	if err := o.merge("m", `{source: {s3: null}, atomic: null}`); err != nil {
		t.Fatal(err)
	}
	if err := o.annotate("1"); err != nil {
		t.Error(err)
	}
}

// scaleIsAWriteToo: it is refused for invalid unions, but not for those of the status.
func (i *storedInvalid) scaleIsAWriteToo(t *testing.T) {
	scale := func(o object) error {
		patch := []byte(`{"spec": {"replicas": 2}}`)
		_, err := o.client.Patch(t.Context(), o.name, types.MergePatchType, patch, metav1.PatchOptions{}, "scale")
		return err
	}
	o := i.object(t, "scaled")
	o.refused(scale(o), "spec.source.git: Forbidden: ")
	if err := scale(i.object(t, "status")); err != nil {
		t.Errorf("scale of an object with an invalid status: %v", err)
	}
}

// ratcheting forgives a union that a write does not touch.
func (i *storedInvalid) ratcheting(t *testing.T) {
	o := i.object(t, "ratcheted")
	if err := o.annotate("1"); err != nil {
		t.Errorf("nothing of a union is touched: %v", err)
	}
	touched := `{image: i, source: {name: other}, listMap: [{name: b, type: S3}, {name: a, git: {}}]}`
	if err := o.merge("m", touched); err != nil {
		t.Errorf("only what belongs to no invalid union is touched: %v", err)
	}
	o.refused(o.merge("m", `{source: {git: {url: u}}}`), forbiddenS3)
	o.refused(o.merge("m", `{listMap: [{name: a, git: {url: u}}]}`), `spec.listMap[0].git: Forbidden: `)
	o.refused(o.merge("m", `{listMap: [{name: new, git: {}}]}`), `spec.listMap[0].git: Forbidden: `)
	if err := o.merge("m", `{source: {type: S3}}`); err != nil {
		t.Errorf("a switch repairs: %v", err)
	}
	o.isNow(`{image: i, source: {name: other, type: S3, s3: {}}, listMap: [{name: b, type: S3}, {name: a, git: {}}]}`)
}

// ratchetingOfLists forgives the unions of an atomic list that is equal as a whole.
func (i *storedInvalid) ratchetingOfLists(t *testing.T) {
	o := i.object(t, "listed")
	if err := o.merge("m", `{image: b, atomic: [{type: S3, git: {}}, {type: None}]}`); err != nil {
		t.Errorf("U7: the list is as it was: %v", err)
	}
	const forbidden = `spec.atomic[0].git: Forbidden: must not be set when spec.atomic[0].type is "S3"`
	o.refused(o.merge("m", `{atomic: [{type: S3, git: {}}]}`), forbidden)
	o.refused(o.merge("m", `{atomic: [{type: S3, git: {}}, {type: S3}]}`), forbidden)
	o.isNow(`{image: b, atomic: [{type: S3, git: {}}, {type: None}]}`)
}

// narrow takes a value from the union of source, and waits for it to take effect.
func (o object) narrow(value string) {
	o.Helper()
	crds := o.client.crds.ApiextensionsV1().CustomResourceDefinitions()
	eventually(o.T, "the CRD is changed", func(ctx context.Context) (bool, error) {
		crd, err := crds.Get(ctx, o.crd.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
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
		_, err = crds.Update(ctx, crd, metav1.UpdateOptions{})
		return err == nil, nil
	})
	eventually(o.T, "the value is refused", func(ctx context.Context) (bool, error) {
		u := cronTab(o.T, o.crd, "probe", `{source: {type: `+value+`}}`)
		_, err := o.client.Create(ctx, u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsInvalid(err), nil
	})
}

// TestU7StatusAndScale (rules U4, U7): status writes normalize and judge the unions of the status, scale writes all others.
func TestU7StatusAndScale(t *testing.T) {
	t.Parallel()
	crd := newUnionsCRD(t)
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	spec.Properties["replicas"] = apiextensionsv1.JSONSchemaProps{Type: "integer"}
	crd.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{
		Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
		Scale: &apiextensionsv1.CustomResourceSubresourceScale{
			SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas",
		},
	}
	o := newSubject(t, crd).object(t)
	o.create(`{source: {type: Git, git: {}}}`)
	writeStatus := func(status string) error {
		patch := fmt.Sprintf(`{"spec": {"source": {"type": "S3"}}, "status": %s}`, status)
		_, err := o.client.Patch(t.Context(), o.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		return err
	}
	o.refused(writeStatus(`{"source": {"type": "Git", "s3": {}}}`), `status.source.s3: Forbidden: `, `status.source.git: Required value: `)
	if err := writeStatus(`{"source": {"type": "Git", "git": {}}}`); err != nil {
		t.Fatal(err)
	}
	o.warned() // what a status write says of the spec is not heard
	if err := writeStatus(`{"source": {"type": "S3"}}`); err != nil {
		t.Fatal(err)
	}
	o.warned(`status.source.git: cleared: status.source.type changed from "Git" to "S3"`)
	o.isNow(`{source: {type: Git, git: {}}}`)
	status, _, _ := unstructured.NestedMap(o.get(o.name).Object, "status")
	if diff := cmp.Diff(map[string]any{"source": map[string]any{"type": "S3"}}, status); diff != "" {
		t.Errorf("U4: status (-want +got):\n%s", diff)
	}

	// A write of the resource itself has no say in the status.
	if err := o.merge("m", `{image: i}`); err != nil {
		t.Error(err)
	}
	patch := `{"status": {"source": {"type": "Git", "s3": {}}}}`
	if _, err := o.client.Patch(t.Context(), o.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Errorf("what the resource's endpoint does not write is judged: %v", err)
	}
	o.warned()
	if _, err := o.client.Patch(t.Context(), o.name, types.MergePatchType, []byte(`{"spec": {"replicas": 2}}`), metav1.PatchOptions{}, "scale"); err != nil {
		t.Errorf("scale: %v", err)
	}
}
