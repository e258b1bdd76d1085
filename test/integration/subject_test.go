// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/line"
)

// subject is a CRD under test, with a client for its custom resources. A subject has its own log of warnings, so tests
// with different subjects may run in parallel.
type subject struct {
	*testing.T
	crd    *apiextensionsv1.CustomResourceDefinition
	client resource
}

// newSubject installs the CRD on the shared server.
func newSubject(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) subject {
	t.Helper()
	return subject{T: t, crd: crd, client: shared.install(t, crd)}
}

// forSubtest returns the subject with the T of a subtest.
func (s subject) forSubtest(t *testing.T) subject {
	s.T = t
	return s
}

// inVersion returns the subject for clients of another version of the CRD.
func (s subject) inVersion(version string) subject {
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

// editCRD updates the CRD.
func (s subject) editCRD(edit func(*apiextensionsv1.CustomResourceDefinition)) {
	s.Helper()
	s.client.server.editCRD(s.T, s.crd.Name, edit)
}

// editCRD updates a CRD and returns it. It tries again after a conflict: the server's own controllers write the status of
// a new CRD.
func (s *server) editCRD(
	t *testing.T, name string, edit func(*apiextensionsv1.CustomResourceDefinition),
) (updated *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	crds := s.crdClient()
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd, err := crds.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		edit(crd)
		updated, err = crds.Update(t.Context(), crd, metav1.UpdateOptions{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return updated
}

// flip sets gates of the CRD and waits until that takes effect: until a dry-run create with the spec probe is answered
// with the spec want.
func (s subject) flip(enabled map[string]bool, probe, want string) {
	s.Helper()
	s.editCRD(func(crd *apiextensionsv1.CustomResourceDefinition) {
		for i := range crd.Spec.CustomFeatureGates.FeatureGates {
			gate := &crd.Spec.CustomFeatureGates.FeatureGates[i]
			if on, ok := enabled[gate.Name]; ok {
				gate.Enabled = &on
			}
		}
	})
	eventually(s.T, "the flip takes effect", func(ctx context.Context) (bool, error) {
		u, err := s.client.Create(ctx, cronTab(s.T, s.crd, "flip-probe", probe), metav1.CreateOptions{DryRun: dryRun})
		return err == nil && specOf(s.T, u) == want, err
	})
	s.takeWarnings()
}

// flipReplicas sets the gate of replicasGate.
func (s subject) flipReplicas(on bool) {
	s.Helper()
	s.flip(map[string]bool{"ReplicasFeatureGate": on}, `{replicas: 7}`, map[bool]string{true: "replicas: 7", false: "{}"}[on])
}

// awaitInvalid waits until a dry-run create with the spec is refused as invalid.
func (s subject) awaitInvalid(what, spec string) {
	s.Helper()
	eventually(s.T, what, func(ctx context.Context) (bool, error) {
		_, err := s.client.Create(ctx, cronTab(s.T, s.crd, "probe", spec), metav1.CreateOptions{DryRun: dryRun})
		return apierrors.IsInvalid(err), nil
	})
}

func (s subject) get(name string) *unstructured.Unstructured {
	s.Helper()
	u, err := s.client.Get(s.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return u
}

// persisted counts the objects that subject.persist created.
var persisted atomic.Int64

// persist creates an object while the gate of replicasGate is enabled, and returns its name.
func (s subject) persist(spec string) string {
	s.Helper()
	s.flipReplicas(true)
	name := fmt.Sprintf("object-%d", persisted.Add(1))
	if _, err := s.client.Create(s.Context(), cronTab(s.T, s.crd, name, spec), metav1.CreateOptions{FieldManager: "creator"}); err != nil {
		s.Fatal(err)
	}
	return name
}

// write writes an object with a writer, after which takeWarnings returns the warnings of this write.
func (s subject) write(w writer, name, spec string) {
	s.Helper()
	s.takeWarnings()
	if err := w.write(s, name, spec); err != nil {
		s.Fatal(err)
	}
}

// mergePatch sends a merge patch in JSON, after which takeWarnings returns the warnings of this write.
func (s subject) mergePatch(manager, name, patch string) {
	s.Helper()
	s.takeWarnings()
	if _, err := s.client.Patch(s.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager}); err != nil {
		s.Fatal(err)
	}
}

// tryApply applies an object, after which takeWarnings returns the warnings of this write.
func (s subject) tryApply(manager, name, spec string, opts metav1.ApplyOptions) (*unstructured.Unstructured, error) {
	s.Helper()
	s.takeWarnings()
	opts.FieldManager = manager
	return s.client.Apply(s.Context(), name, cronTab(s.T, s.crd, name, spec), opts)
}

// apply applies an object, without force.
func (s subject) apply(manager, name, spec string) *unstructured.Unstructured {
	s.Helper()
	return s.mustApply(manager, name, spec, metav1.ApplyOptions{})
}

func (s subject) mustApply(manager, name, spec string, opts metav1.ApplyOptions) *unstructured.Unstructured {
	s.Helper()
	u, err := s.tryApply(manager, name, spec, opts)
	if err != nil {
		s.Fatal(err)
	}
	return u
}

// takeWarnings returns the warnings that the subject's client and kubectl got since the last call.
func (s subject) takeWarnings() []string {
	return s.client.warnings.take()
}

func (s subject) wantWarnings(want ...string) {
	s.Helper()
	if diff := cmp.Diff(want, s.takeWarnings()); diff != "" {
		s.Errorf("warnings (rules G10, V3) (-want +got):\n%s", diff)
	}
}

// wantSpec compares the spec of a persisted object with YAML.
func (s subject) wantSpec(name, want string) {
	s.Helper()
	s.wantSpecOf("the persisted object", s.get(name), want)
}

// wantSpecOf compares the spec of an object with YAML.
func (s subject) wantSpecOf(what string, u *unstructured.Unstructured, want string) {
	s.Helper()
	wantSpec(s.T, what, u, want)
}

func (s subject) wantGeneration(name string, want int64) {
	s.Helper()
	if got := s.get(name).GetGeneration(); got != want {
		s.Errorf("G6: generation is %d, want %d", got, want)
	}
}

// wantUnchanged compares a persisted object with its state before, including managedFields and resourceVersion.
func (s subject) wantUnchanged(what string, before *unstructured.Unstructured) {
	s.Helper()
	s.wantSame(what, before, s.get(before.GetName()))
}

// wantSame compares two states of an object, including managedFields and resourceVersion.
func (s subject) wantSame(what string, before, after *unstructured.Unstructured) {
	s.Helper()
	if diff := cmp.Diff(before, after); diff != "" {
		s.Errorf("%s changed the object or its owners (-before +after):\n%s", what, diff)
	}
}

var replicasField = []string{"f:spec", "f:replicas"}

// wantOwners compares the managers that own .spec.replicas.
func (s subject) wantOwners(u *unstructured.Unstructured, want ...string) {
	s.Helper()
	s.wantOwnersOf(u, replicasField, want...)
}

// wantOwnersOf compares the managers that own a field, which is given as in managedFields.
func (s subject) wantOwnersOf(u *unstructured.Unstructured, field []string, want ...string) {
	s.Helper()
	if diff := cmp.Diff(want, owners(s.T, u, field...)); diff != "" {
		s.Errorf("G7: owners of %s (-want +got):\n%s", strings.Join(field, " "), diff)
	}
}

// owners returns the managers that own a field, which is given as in managedFields: "f:spec", "f:replicas".
func owners(t *testing.T, u *unstructured.Unstructured, field ...string) []string {
	t.Helper()
	var managers []string
	for _, entry := range u.GetManagedFields() {
		if _, found, _ := unstructured.NestedFieldNoCopy(fieldsOf(t, entry), field...); found {
			managers = append(managers, entry.Manager)
		}
	}
	slices.Sort(managers)
	return managers
}

// fieldsOf returns the fields of a managedFields entry.
func fieldsOf(t *testing.T, entry metav1.ManagedFieldsEntry) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(line.FieldsText(entry.FieldsV1)), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// stored returns what etcd holds of an object, as JSON, without managedFields.
func (s subject) stored(name string) string {
	s.Helper()
	raw := s.client.server.inEtcd(s.T, "/registry/"+s.crd.Spec.Group+"/"+s.crd.Spec.Names.Plural+"/default/"+name)
	var object unstructured.Unstructured
	if err := json.Unmarshal(raw, &object.Object); err != nil {
		s.Fatal(err)
	}
	object.SetManagedFields(nil)
	text, err := json.Marshal(object.Object)
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}

// inEtcd returns the value of a key in etcd.
func (s *server) inEtcd(t *testing.T, key string) []byte {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(s.etcdURL, ",")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	got, err := client.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) != 1 {
		t.Fatalf("%d values of %s in etcd, want 1", len(got.Kvs), key)
	}
	return got.Kvs[0].Value
}

// object is a subject that is one custom resource, which it writes as a user of its own, so that tests can share a CRD.
// Its methods hide those of subject that take a name.
type object struct {
	subject
	name string
}

// newObject returns an object that does not exist yet.
func (s subject) newObject(t *testing.T) object {
	t.Helper()
	return object{subject{T: t, crd: s.crd, client: s.client.server.customResources(s.crd)}, "o" + rand.String(8)}
}

func (o object) get() *unstructured.Unstructured {
	o.Helper()
	return o.subject.get(o.name)
}

// create creates the object and forgets the warnings.
func (o object) create(spec string) {
	o.Helper()
	u := cronTab(o.T, o.crd, o.name, spec)
	if _, err := o.client.Create(o.Context(), u, metav1.CreateOptions{FieldManager: "creator"}); err != nil {
		o.Fatal(err)
	}
	o.takeWarnings()
}

// merge sends a merge patch of the spec, in YAML.
func (o object) merge(manager, spec string) error {
	o.Helper()
	patch, err := yaml.YAMLToJSON([]byte("spec: " + spec))
	if err != nil {
		o.Fatal(err)
	}
	return o.patch(types.MergePatchType, string(patch), metav1.PatchOptions{FieldManager: manager})
}

// patch sends a patch in JSON.
func (o object) patch(kind types.PatchType, patch string, opts metav1.PatchOptions, subresources ...string) error {
	o.Helper()
	_, err := o.client.Patch(o.Context(), o.name, kind, []byte(patch), opts, subresources...)
	return err
}

func (o object) apply(manager, spec string) {
	o.Helper()
	if err := o.tryApply(manager, spec, false); err != nil {
		o.Fatal(err)
	}
}

func (o object) tryApply(manager, spec string, force bool) error {
	o.Helper()
	u := cronTab(o.T, o.crd, o.name, spec)
	_, err := o.client.Apply(o.Context(), o.name, u, metav1.ApplyOptions{FieldManager: manager, Force: force})
	return err
}

// update sends the whole object with another spec, like a controller that reads, changes and writes it.
func (o object) update(manager, spec string) {
	o.Helper()
	u := o.get()
	u.Object["spec"] = parse[map[string]any](o.T, spec)
	if _, err := o.client.Update(o.Context(), u, metav1.UpdateOptions{FieldManager: manager}); err != nil {
		o.Fatal(err)
	}
}

// wantSpec compares the spec of the persisted object with YAML.
func (o object) wantSpec(want string) {
	o.Helper()
	o.subject.wantSpec(o.name, want)
}

// wantInvalid expects a request to be refused as invalid, with an error that contains each of the texts once.
func (o object) wantInvalid(err error, texts ...string) {
	o.Helper()
	if !apierrors.IsInvalid(err) {
		o.Fatalf("the request was not refused as invalid: %v", err)
	}
	for _, text := range texts {
		if strings.Count(err.Error(), text) != 1 {
			o.Errorf("the error must contain once: %s\ngot: %v", text, err)
		}
	}
}
