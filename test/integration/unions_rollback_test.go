// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

const (
	unionsOn   = "APIUnions=true"
	ratcheting = "APIUnions=true,APIUnionsRatcheting=true"

	// bothMembers is invalid by rule U6: the second member of the union is set but not selected.
	bothMembers = `{image: i, source: {type: Git, git: {url: u}, s3: {bucket: b}}}`
)

// rolled is a CRD on a server that is restarted with other gates or another binary.
type rolled struct {
	*testing.T
	*server
	crd   *apiextensionsv1.CustomResourceDefinition
	specs map[string]string // the expected specs of the persisted objects, by name
}

// client returns a client of the running server.
func (r *rolled) client() resource {
	return r.customResources(r.crd)
}

// mustCreate creates an object.
func (r *rolled) mustCreate(name, spec string, finalizers ...string) {
	r.Helper()
	object := cronTab(r.T, r.crd, name, spec)
	object.SetFinalizers(finalizers)
	if _, err := r.client().Create(r.Context(), object, metav1.CreateOptions{}); err != nil {
		r.Fatal(err)
	}
	r.specs[name] = spec
}

// patch sends a merge patch.
func (r *rolled) patch(name, patch string) error {
	_, err := r.client().Patch(r.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// mustPatch sends a merge patch, which must result in the spec.
func (r *rolled) mustPatch(name, patch, spec string) {
	r.Helper()
	if err := r.patch(name, patch); err != nil {
		r.Errorf("%s: the patch %s is refused: %v", name, patch, err)
	}
	r.specs[name] = spec
	r.wantReadable("after the patch " + patch)
}

// wantRefused sends a merge patch, which must be refused with one error, given as path and type.
func (r *rolled) wantRefused(name, patch, want string) {
	r.Helper()
	wantCauses(r.T, name+": "+patch, "", []string{want}, r.patch(name, patch))
}

// wantReadable gets, lists and watches every object and compares the specs (rule F5).
func (r *rolled) wantReadable(when string) {
	r.Helper()
	want := map[string]any{}
	for name, spec := range r.specs {
		want[name] = parse[any](r.T, spec)
	}
	for how, read := range map[string]func() map[string]any{"get": r.getAll, "list": r.listAll, "watch": r.watchAll} {
		if diff := cmp.Diff(want, read()); diff != "" {
			r.Errorf("F5: %s: specs by %s (-want +got):\n%s", when, how, diff)
		}
	}
}

func (r *rolled) getAll() map[string]any {
	r.Helper()
	specs := map[string]any{}
	for name := range r.specs {
		object, err := r.client().Get(r.Context(), name, metav1.GetOptions{})
		if err != nil {
			r.Errorf("%s: %v", name, err)
			continue
		}
		specs[name] = object.Object["spec"]
	}
	return plain(r.T, specs)
}

func (r *rolled) listAll() map[string]any {
	r.Helper()
	list, err := r.client().List(r.Context(), metav1.ListOptions{})
	if err != nil {
		r.Fatal(err)
	}
	specs := map[string]any{}
	for _, object := range list.Items {
		specs[object.GetName()] = object.Object["spec"]
	}
	return plain(r.T, specs)
}

// watchAll reads the initial events of a new watch, one for each object.
func (r *rolled) watchAll() map[string]any {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	watcher, err := r.client().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		r.Fatal(err)
	}
	defer watcher.Stop()
	specs := map[string]any{}
	for len(specs) < len(r.specs) {
		event, open := <-watcher.ResultChan()
		object, isObject := event.Object.(*unstructured.Unstructured)
		if !open || !isObject {
			r.Fatalf("the watch ended after %d objects: %v", len(specs), event.Object)
		}
		specs[object.GetName()] = object.Object["spec"]
	}
	return plain(r.T, specs)
}

// plain returns specs with numbers of the types that parse returns.
func plain(t *testing.T, specs map[string]any) map[string]any {
	t.Helper()
	objects := map[string]any{}
	for name, spec := range specs {
		objects[name] = parse[any](t, specOf(t, &unstructured.Unstructured{Object: map[string]any{"spec": spec}}))
	}
	return objects
}

// restartWith restarts the server with gates, and expects the same objects.
func (r *rolled) restartWith(when, gates string) {
	r.Helper()
	r.restart(r.T, options{featureGates: gates})
	r.wantServed(when)
}

// wantServed waits until the server serves the custom resources, and expects the same objects.
func (r *rolled) wantServed(when string) {
	r.Helper()
	eventually(r.T, "the custom resources are served", func(ctx context.Context) (bool, error) {
		_, err := r.client().List(ctx, metav1.ListOptions{})
		return err == nil, nil
	})
	r.wantReadable(when)
}

// TestF5UnionsOffAndOn (rules F3, F5, U4, U7 and the rollback section of KEP-1027) disables and enables the gate twice
// over one etcd.
func TestF5UnionsOffAndOn(t *testing.T) {
	t.Parallel()
	crd := newUnionsCRD(t)
	r := &rolled{T: t, server: startFor(t, options{}), crd: crd, specs: map[string]string{}}
	r.install(t, crd)
	r.mustCreate("both", bothMembers)
	r.mustCreate("switched", bothMembers)
	r.mustCreate("missing", `{source: {type: Git}}`)
	r.mustCreate("deep", `{map: {a: {type: None, s3: {bucket: b}}}, listMap: [{name: x, git: {depth: 1}}]}`)
	r.mustCreate("deleted", bothMembers, "example.com/finalizer")
	r.mustCreate("valid", `{source: {type: Git, git: {url: u}}}`)

	r.restartWith("with APIUnions", unionsOn)
	r.wantSameUnion("with APIUnions")
	r.wantWritesRefused()
	r.wantReadable("after refused writes")
	r.repair()
	r.wantDeletable("deleted")

	r.restartWith("without APIUnions", "")
	r.wantSameUnion("without APIUnions")
	// Without normalization the old member stays.
	r.mustPatch("valid", `{"spec": {"source": {"type": "Git", "git": {"url": "v"}}}}`,
		`{source: {type: Git, git: {url: v}, s3: {bucket: c}}}`)
	r.mustPatch("both", `{"metadata": {"labels": {"a": "off"}}}`, r.specs["both"])

	r.restartWith("with APIUnionsRatcheting", ratcheting)
	r.wantSameUnion("with APIUnionsRatcheting")
	r.mustPatch("valid", `{"spec": {"image": "j"}}`, `{image: j, source: {type: Git, git: {url: v}, s3: {bucket: c}}}`)
	r.wantRefused("valid", `{"spec": {"source": {"git": {"url": "w"}}}}`, "spec.source.s3: FieldValueForbidden")
	r.mustPatch("valid", `{"spec": {"source": {"type": "S3"}}}`, `{image: j, source: {type: S3, s3: {bucket: c}}}`)
}

// wantSameUnion checks rule F3: the CRD has its extension whatever the gate.
func (r *rolled) wantSameUnion(when string) {
	r.Helper()
	if diff := cmp.Diff(sourceUnionOf(r.crd), sourceUnionOf(r.getCRD(r.T, r.crd.Name))); diff != "" {
		r.Errorf("F3: %s: the union of the CRD (-want +got):\n%s", when, diff)
	}
}

// wantWritesRefused checks rule U7: without ratcheting a write is refused although it does not change the invalid
// union, unless it changes nothing but metadata.
func (r *rolled) wantWritesRefused() {
	r.Helper()
	const image = `{"spec": {"image": "j"}}`
	r.wantRefused("both", image, "spec.source.s3: FieldValueForbidden")
	r.wantRefused("missing", image, "spec.source.git: FieldValueRequired")
	deep := []string{"spec.listMap[0].git: FieldValueForbidden", "spec.map.a.s3: FieldValueForbidden"}
	wantCauses(r.T, "deep", "", deep, r.patch("deep", image))
	object, err := r.client().Get(r.Context(), "both", metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	object.SetLabels(map[string]string{"a": "b"})
	if _, err = r.client().Update(r.Context(), object, metav1.UpdateOptions{}); err != nil {
		r.Errorf("U7: an update of a label is refused: %v", err)
	}
	if err := r.patch("deep", `{"metadata": {"labels": {"a": "b"}}}`); err != nil {
		r.Errorf("U7: a patch of a label is refused: %v", err)
	}
}

// repair makes the unions valid in different ways.
func (r *rolled) repair() {
	r.Helper()
	r.mustPatch("both", `{"spec": {"source": {"s3": null}}}`, `{image: i, source: {type: Git, git: {url: u}}}`)
	r.mustPatch("both", `{"metadata": {"labels": {"a": "b"}}}`, r.specs["both"])
	// A switch clears the member that the new value does not select.
	r.mustPatch("switched", `{"spec": {"source": {"type": "S3"}}}`, `{image: i, source: {type: S3, s3: {bucket: b}}}`)
	r.mustPatch("missing", `{"spec": {"source": {"git": {"url": "u"}}}}`, `{source: {type: Git, git: {url: u}}}`)
	r.mustPatch("deep", `{"spec": {"map": {"a": {"type": "S3"}}, "listMap": [{"name": "x"}]}}`,
		`{map: {a: {type: S3, s3: {bucket: b}}}, listMap: [{name: x}]}`)
	r.mustPatch("valid", `{"spec": {"source": {"type": "S3", "s3": {"bucket": "c"}}}}`,
		`{source: {type: S3, s3: {bucket: c}}}`)
}

// wantDeletable deletes an invalid object and removes its finalizer (rule U7).
func (r *rolled) wantDeletable(name string) {
	r.Helper()
	if err := r.client().Delete(r.Context(), name, metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
	if err := r.patch(name, `{"metadata": {"finalizers": null}}`); err != nil {
		r.Errorf("U7: the finalizer cannot be removed: %v", err)
	}
	if _, err := r.client().Get(r.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		r.Errorf("U7: the object without finalizers still exists: %v", err)
	}
	delete(r.specs, name)
}

// TestF5UnionsRollbackToAStockServer (rules F5, U7) shows what docs/unions.md says about a rollback: a stock server of
// the same version takes over the etcd, and then ours again. A CRD that the stock server writes loses its unions; one
// that it only reads keeps them.
func TestF5UnionsRollbackToAStockServer(t *testing.T) {
	t.Parallel()
	s := startFor(t, options{featureGates: allGates})
	written := &rolled{T: t, server: s, crd: newUnionsCRD(t), specs: map[string]string{}}
	untouched := &rolled{T: t, server: s, crd: newUnionsCRD(t), specs: map[string]string{}}
	both := []*rolled{written, untouched}
	for _, r := range both {
		s.install(t, r.crd)
		r.mustCreate("a", `{image: i, source: {type: Git, git: {url: u}}}`)
	}

	s.restart(t, options{program: stockBinary(t)})
	for _, r := range both {
		r.wantServed("on the stock server")
		r.mustPatch("a", `{"spec": {"source": {"s3": {"bucket": "b"}}}}`, bothMembers)
		if union := sourceUnionOf(s.getCRD(t, r.crd.Name)); union != nil {
			t.Errorf("the stock server has x-kubernetes-unions: %v", union)
		}
	}
	wantUnionsRefused(t, s)
	label := []byte(`{"metadata": {"labels": {"written-by": "stock"}}}`)
	if _, err := s.crdClient().Patch(t.Context(), written.crd.Name, types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}

	s.restart(t, options{featureGates: unionsOn})
	for _, r := range both {
		r.wantServed("on our server after the stock server")
	}
	untouched.wantSameUnion("after the stock server read the CRD")
	untouched.wantRefused("a", `{"spec": {"image": "j"}}`, "spec.source.s3: FieldValueForbidden")
	untouched.mustPatch("a", `{"spec": {"source": {"s3": null}}}`, `{image: i, source: {type: Git, git: {url: u}}}`)

	if union := sourceUnionOf(s.getCRD(t, written.crd.Name)); union != nil {
		t.Errorf("the CRD that the stock server wrote still has its unions, which docs/unions.md denies: %v", union)
	}
	written.mustPatch("a", `{"spec": {"image": "j"}}`, `{image: j, source: {type: Git, git: {url: u}, s3: {bucket: b}}}`)
	written.declareAgain()
	written.wantRefused("a", `{"spec": {"image": "k"}}`, "spec.source.s3: FieldValueForbidden")
	written.mustPatch("a", `{"spec": {"source": {"type": "S3"}}}`, `{image: j, source: {type: S3, s3: {bucket: b}}}`)
}

// wantUnionsRefused applies a CRD with a union to a stock server with kubectl, which asks for strict field validation.
// So the extension is not lost without an error.
func wantUnionsRefused(t *testing.T, s *server) {
	t.Helper()
	file := unionManifest(t, "refused.example.com", `{Git: {name: git}, None: {}}`, "d")
	_, stderr, err := s.tryKubectl(file, "apply", "-f", "-")
	want := `unknown field "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.type.x-kubernetes-unions"`
	if err == nil || !strings.Contains(stderr, want) {
		t.Errorf("kubectl apply to the stock server: got %v, %s\nwant %s", err, stderr, want)
	}
}

// declareAgain writes the CRD with its unions, like its author's next apply, and waits until that takes effect. It is
// accepted although the stored objects are invalid.
func (r *rolled) declareAgain() {
	r.Helper()
	s := subject{T: r.T, crd: r.crd, client: r.client()}
	s.editCRD(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions = r.crd.Spec.Versions })
	r.wantSameUnion("declared again")
	s.awaitInvalid("the unions take effect", bothMembers)
}
