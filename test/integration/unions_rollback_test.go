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
	"k8s.io/client-go/util/retry"
)

const (
	unionsOn   = "APIUnions=true"
	ratcheting = "APIUnions=true,APIUnionsRatcheting=true"

	// bothMembers is what rule U6 refuses: the second member of the union is set and not selected.
	bothMembers = `{image: i, source: {type: Git, git: {url: u}, s3: {bucket: b}}}`
)

// rolled is a server that is restarted with other gates or another binary, with the custom resources that lie in its
// etcd, by name, as they must be.
type rolled struct {
	*testing.T
	*server
	crd   *apiextensionsv1.CustomResourceDefinition
	specs map[string]string
}

// client returns a client of the server that runs now.
func (r *rolled) client() resource {
	return r.customResources(r.crd)
}

// mustCreate creates an object, which must be accepted as it is.
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

// mustPatch sends a merge patch that must be accepted and make the spec what is given.
func (r *rolled) mustPatch(name, patch, spec string) {
	r.Helper()
	if err := r.patch(name, patch); err != nil {
		r.Errorf("%s: %s is refused: %v", name, patch, err)
	}
	r.specs[name] = spec
	r.allReadable("after " + patch)
}

// refused sends a merge patch that must be refused with this one error, as path and type.
func (r *rolled) refused(name, patch, want string) {
	r.Helper()
	wantCauses(r.T, name+": "+patch, "", []string{want}, r.patch(name, patch))
}

// allReadable (rule F5) gets, lists and watches every object.
func (r *rolled) allReadable(when string) {
	r.Helper()
	want := map[string]any{}
	for name, spec := range r.specs {
		want[name] = parse[any](r.T, spec)
	}
	for how, read := range map[string]func() map[string]any{"get": r.getAll, "list": r.listAll, "watch": r.watchAll} {
		if diff := cmp.Diff(want, read()); diff != "" {
			r.Errorf("F5: %s, %s (-want +got):\n%s", when, how, diff)
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

// watchAll reads the events that a new watch begins with: one for each object.
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
			r.Fatalf("the watch ends after %d objects: %v", len(specs), event.Object)
		}
		specs[object.GetName()] = object.Object["spec"]
	}
	return plain(r.T, specs)
}

// plain makes objects comparable with what parse returns, which has other types of numbers.
func plain(t *testing.T, specs map[string]any) map[string]any {
	t.Helper()
	objects := map[string]any{}
	for name, spec := range specs {
		objects[name] = parse[any](t, specOf(t, &unstructured.Unstructured{Object: map[string]any{"spec": spec}}))
	}
	return objects
}

// restartWith runs the server anew and expects everything to be as it was.
func (r *rolled) restartWith(when, gates string) {
	r.Helper()
	r.restart(r.T, options{featureGates: gates})
	r.served(when)
}

// served waits until the server serves the custom resources, and expects everything to be as it was.
func (r *rolled) served(when string) {
	r.Helper()
	eventually(r.T, "the custom resources are served", func(ctx context.Context) (bool, error) {
		_, err := r.client().List(ctx, metav1.ListOptions{})
		return err == nil, nil
	})
	r.allReadable(when)
}

// TestF5UnionsOffAndOn (rules F5, U7; the rollback section of KEP-1027) switches the gate off, on, off and on over one
// etcd.
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

	r.restartWith("on", unionsOn)
	r.sameUnion("on")
	r.writesAreRefused()
	r.allReadable("on, after writes that were refused")
	r.repairs()
	r.deletionIsNotHeldUp()

	r.restartWith("off again", "")
	r.sameUnion("off again")
	// Whoever relied on normalization gets stale members again.
	r.mustPatch("valid", `{"spec": {"source": {"type": "Git", "git": {"url": "v"}}}}`,
		`{source: {type: Git, git: {url: v}, s3: {bucket: c}}}`)
	r.mustPatch("both", `{"metadata": {"labels": {"a": "off"}}}`, r.specs["both"])

	r.restartWith("on again, with ratcheting", ratcheting)
	r.sameUnion("on again, with ratcheting")
	r.mustPatch("valid", `{"spec": {"image": "j"}}`, `{image: j, source: {type: Git, git: {url: v}, s3: {bucket: c}}}`)
	r.refused("valid", `{"spec": {"source": {"git": {"url": "w"}}}}`, "spec.source.s3: FieldValueForbidden")
	r.mustPatch("valid", `{"spec": {"source": {"type": "S3"}}}`, `{image: j, source: {type: S3, s3: {bucket: c}}}`)
}

// sameUnion: the CRD has its extension whatever the gate says (rule F3).
func (r *rolled) sameUnion(when string) {
	r.Helper()
	if diff := cmp.Diff(sourceUnionOf(r.crd), sourceUnionOf(r.getCRD(r.T, r.crd.Name))); diff != "" {
		r.Errorf("F3: %s, the CRD (-want +got):\n%s", when, diff)
	}
}

// writesAreRefused: without ratcheting a write that leaves an invalid union alone is refused as well, unless it changes
// nothing but metadata (rule U7).
func (r *rolled) writesAreRefused() {
	r.Helper()
	const image = `{"spec": {"image": "j"}}`
	r.refused("both", image, "spec.source.s3: FieldValueForbidden")
	r.refused("missing", image, "spec.source.git: FieldValueRequired")
	deep := []string{"spec.listMap[0].git: FieldValueForbidden", "spec.map.a.s3: FieldValueForbidden"}
	wantCauses(r.T, "deep", "", deep, r.patch("deep", image))
	object, err := r.client().Get(r.Context(), "both", metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	object.SetLabels(map[string]string{"a": "b"})
	if _, err = r.client().Update(r.Context(), object, metav1.UpdateOptions{}); err != nil {
		r.Errorf("PUT of what was read, with a label: %v", err)
	}
	if err := r.patch("deep", `{"metadata": {"labels": {"a": "b"}}}`); err != nil {
		r.Errorf("a label: %v", err)
	}
}

// repairs makes the unions valid, in each way that there is, and writes something else afterwards.
func (r *rolled) repairs() {
	r.Helper()
	r.mustPatch("both", `{"spec": {"source": {"s3": null}}}`, `{image: i, source: {type: Git, git: {url: u}}}`)
	r.mustPatch("both", `{"metadata": {"labels": {"a": "b"}}}`, r.specs["both"])
	// A switch clears what the new value does not select.
	r.mustPatch("switched", `{"spec": {"source": {"type": "S3"}}}`, `{image: i, source: {type: S3, s3: {bucket: b}}}`)
	r.mustPatch("missing", `{"spec": {"source": {"git": {"url": "u"}}}}`, `{source: {type: Git, git: {url: u}}}`)
	r.mustPatch("deep", `{"spec": {"map": {"a": {"type": "S3"}}, "listMap": [{"name": "x"}]}}`,
		`{map: {a: {type: S3, s3: {bucket: b}}}, listMap: [{name: x}]}`)
	r.mustPatch("valid", `{"spec": {"source": {"type": "S3", "s3": {"bucket": "c"}}}}`,
		`{source: {type: S3, s3: {bucket: c}}}`)
}

// deletionIsNotHeldUp (rule U7) removes the finalizer of an invalid object.
func (r *rolled) deletionIsNotHeldUp() {
	r.Helper()
	const name = "deleted"
	if err := r.client().Delete(r.Context(), name, metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
	if err := r.patch(name, `{"metadata": {"finalizers": null}}`); err != nil {
		r.Errorf("U7: the finalizer cannot be removed: %v", err)
	}
	if _, err := r.client().Get(r.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		r.Errorf("U7: the object is still there: %v", err)
	}
	delete(r.specs, name)
}

// TestF5UnionsRollbackToAStockServer is what docs/unions.md says of it: an unpatched server of the same version takes
// over the etcd, and ours again. It does not know the extension, so a CRD that it writes loses it; one that it only
// reads keeps it.
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
		r.served("the stock server reads what ours wrote")
		r.mustPatch("a", `{"spec": {"source": {"s3": {"bucket": "b"}}}}`, bothMembers)
		if union := sourceUnionOf(s.getCRD(t, r.crd.Name)); union != nil {
			t.Errorf("the stock server knows x-kubernetes-unions: %v", union)
		}
	}
	// kubectl, which asks for strict field validation, does not lose the extension in silence.
	file := unionManifest(t, "refused.example.com", `{Git: {name: git}, None: {}}`, "d")
	_, stderr, err := s.tryKubectl(file, "apply", "-f", "-")
	want := `unknown field "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.type.x-kubernetes-unions"`
	if err == nil || !strings.Contains(stderr, want) {
		t.Errorf("kubectl apply to the stock server: got %v, %s\nwant %s", err, stderr, want)
	}
	label := []byte(`{"metadata": {"labels": {"written-by": "stock"}}}`)
	if _, err := s.crds.ApiextensionsV1().CustomResourceDefinitions().
		Patch(t.Context(), written.crd.Name, types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}

	s.restart(t, options{featureGates: unionsOn})
	for _, r := range both {
		r.served("ours reads what the stock server wrote")
	}
	untouched.sameUnion("after the stock server read it")
	untouched.refused("a", `{"spec": {"image": "j"}}`, "spec.source.s3: FieldValueForbidden")
	untouched.mustPatch("a", `{"spec": {"source": {"s3": null}}}`, `{image: i, source: {type: Git, git: {url: u}}}`)

	if union := sourceUnionOf(s.getCRD(t, written.crd.Name)); union != nil {
		t.Errorf("a CRD that the stock server wrote still has its unions: update docs/unions.md, %v", union)
	}
	written.mustPatch("a", `{"spec": {"image": "j"}}`, `{image: j, source: {type: Git, git: {url: u}, s3: {bucket: b}}}`)
	written.declareAgain()
	written.refused("a", `{"spec": {"image": "k"}}`, "spec.source.s3: FieldValueForbidden")
	written.mustPatch("a", `{"spec": {"source": {"type": "S3"}}}`, `{image: j, source: {type: S3, s3: {bucket: b}}}`)
}

// declareAgain writes the CRD with its unions, as its author's next apply does, and waits until that has an effect. It
// is accepted although the stored objects do not obey.
func (r *rolled) declareAgain() {
	r.Helper()
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd := r.getCRD(r.T, r.crd.Name)
		crd.Spec.Versions = r.crd.Spec.Versions
		_, err := r.crds.ApiextensionsV1().CustomResourceDefinitions().Update(r.Context(), crd, metav1.UpdateOptions{})
		return err
	}); err != nil {
		r.Fatal(err)
	}
	r.sameUnion("declared again")
	eventually(r.T, "the unions have an effect", func(ctx context.Context) (bool, error) {
		probe := cronTab(r.T, r.crd, "probe", bothMembers)
		_, err := r.client().Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsInvalid(err), nil
	})
}
