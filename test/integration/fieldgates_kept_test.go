// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
)

// keptSchema has the shapes in which a guarded field may be all that is in its parent.
const keptSchema = `
type: object
properties:
  spec:
    type: object
    properties:
      image: {type: string}
      replicas: {type: integer}
      foo:
        type: object
        default: {baz: 1}
        properties:
          baz: {type: integer}
          qux: {type: integer}
      byKey:
        type: object
        additionalProperties:
          type: object
          properties:
            opt: {type: integer}
      ports:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [port, protocol]
        items:
          type: object
          required: [port]
          properties:
            port: {type: integer}
            protocol: {type: string, default: TCP}
            opt: {type: integer}
      source:
        type: object
        required: [type]
        properties:
          type:
            type: string
            enum: [Git, S3]
            x-kubernetes-unions: {fieldMembers: {Git: {name: git, optional: true}, S3: {name: s3, optional: true}}}
          git:
            type: object
            properties: {url: {type: string}, ref: {type: string}}
          s3:
            type: object
            properties: {bucket: {type: string}}
      selector:
        type: object
        x-kubernetes-map-type: atomic
        properties:
          a: {type: integer}
          opt: {type: integer}
`

const keptGate = `
featureGates:
- name: G
  preRelease: alpha
  fieldPaths: [.spec.replicas, .spec.foo.qux, '.spec.byKey[*].opt', '.spec.ports[*].opt', .spec.source.git.url, .spec.source.s3, .spec.selector.opt]
`

func newKeptSubject(t *testing.T) subject {
	t.Helper()
	crd := newCRD(t, keptGate)
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = testyaml.Parse[*apiextensionsv1.JSONSchemaProps](t, keptSchema)
	return newSubject(t, crd)
}

func (s subject) flipKept(on bool) {
	s.Helper()
	s.flip(map[string]bool{"G": on}, `{replicas: 7, foo: {}}`, map[bool]string{true: "foo: {}\nreplicas: 7", false: "foo: {}"}[on])
}

// keptShapes are configurations in which guarded fields are all that is in their parent, or nearly so.
var keptShapes = map[string]string{
	"the only field of spec":        `{replicas: 3}`,
	"the only field of its parent":  `{image: i, foo: {qux: 3}}`,
	"the only field of a map value": `{byKey: {a: {opt: 1}}}`,
	"beside the keys of an item":    `{ports: [{port: 80, protocol: TCP, opt: 1}]}`,
	"beside a key with a default":   `{ports: [{port: 80, opt: 1}]}`,
	"inside a member of a union":    `{source: {type: Git, git: {url: u}}}`,
	"a member of a union":           `{source: {type: S3, s3: {bucket: b}}}`,
	"in an object that is atomic":   `{selector: {opt: 1}}`,
	"everywhere":                    `{replicas: 3, foo: {qux: 3}, byKey: {a: {opt: 1}}, ports: [{port: 80, opt: 1}], source: {type: Git, git: {url: u}}, selector: {a: 1, opt: 1}}`,
}

// TestG4TheSameConfigurationAppliedAgainChangesNothing applies as GitOps does: again and again, while a gate is
// switched off and on. Neither the object nor its owners change, and nobody is warned (rules G4, G6, G7, G13).
func TestG4TheSameConfigurationAppliedAgainChangesNothing(t *testing.T) {
	t.Parallel()
	s := newKeptSubject(t)
	for name, spec := range keptShapes {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			object := strings.ReplaceAll(name, " ", "-")
			s.flipKept(true)
			s.mustApplyAs("alice", object, spec)
			before := s.mustApplyAs("bob", object, spec) // a second owner
			for _, on := range []bool{false, true, false} {
				s.flipKept(on)
				for range 2 {
					for _, manager := range []string{"alice", "bob"} {
						dry := s.dryApplyAs(manager, object, spec)
						if diff := cmp.Diff(before, dry); diff != "" {
							t.Errorf("G13: gate %v: a dry run by %s (-want +got):\n%s", on, manager, diff)
						}
						if diff := cmp.Diff(before, s.mustApplyAs(manager, object, spec)); diff != "" {
							t.Errorf("gate %v: applied again by %s (-before +after):\n%s", on, manager, diff)
						}
						s.wantWarnings()
					}
				}
			}
		})
	}
}

func (s subject) mustApplyAs(manager, name, spec string) *unstructured.Unstructured {
	s.Helper()
	u, err := s.applyTo(manager, name, spec)
	if err != nil {
		s.Fatal(err)
	}
	return u
}

func (s subject) dryApplyAs(manager, name, spec string) *unstructured.Unstructured {
	s.Helper()
	u, err := s.client.Apply(s.Context(), name, cronTab(s.T, s.crd, name, spec), metav1.ApplyOptions{FieldManager: manager, DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		s.Fatal(err)
	}
	return u
}

// TestG4KubectlAppliedAgainChangesNothing does the same with kubectl, client-side and server-side.
func TestG4KubectlAppliedAgainChangesNothing(t *testing.T) {
	t.Parallel()
	s := newKeptSubject(t)
	for i, args := range [][]string{{"apply"}, {"apply", "--server-side"}} {
		object := []string{"client-side", "server-side"}[i]
		s.flipKept(true)
		for range 2 { // the second client-side apply adds the default of the first
			if err := s.kubectlWith(object, keptShapes["everywhere"], args...); err != nil {
				t.Fatal(err)
			}
		}
		before := s.get(object)
		s.flipKept(false)
		for range 2 {
			if err := s.kubectlWith(object, keptShapes["everywhere"], args...); err != nil {
				t.Fatal(err)
			}
			s.wantWarnings()
			if diff := cmp.Diff(before, s.get(object)); diff != "" {
				t.Errorf("%s (-before +after):\n%s", object, diff)
			}
		}
	}
}

// TestG4WhatIsRemovedAroundAGuardedFieldTakesItAlong removes what is around guarded fields by every way to write. The
// client is told, nobody is left as an owner, and with the gate back on anybody may set the field (rules G4, G5, G7.4,
// G10).
func TestG4WhatIsRemovedAroundAGuardedFieldTakesItAlong(t *testing.T) {
	t.Parallel()
	s := newKeptSubject(t)
	for _, w := range writers {
		t.Run(w.name, func(t *testing.T) {
			s := s.in(t)
			s.flipKept(true)
			name := "removed-by-" + strings.ToLower(strings.NewReplacer(" ", "-").Replace(w.name))
			full := `{image: i, byKey: {a: {opt: 1}, b: {opt: 2}}, ports: [{port: 80, protocol: TCP, opt: 1}, {port: 81, protocol: TCP}], source: {type: Git, git: {url: u, ref: r}}}`
			if w.apply {
				s.write(w, name, full)
			} else {
				create(t, s.client, cronTab(t, s.crd, name, full), metav1.CreateOptions{FieldManager: "creator"})
			}
			s.flipKept(false)
			if w.name == "merge patch" { // that of the writer merges what is below spec
				patch := []byte(`{"spec": {"byKey": {"a": null}, "ports": [{"port": 81, "protocol": "TCP"}], "source": {"git": null}}}`)
				if _, err := s.client.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			} else {
				s.write(w, name, `{image: i, byKey: {b: {opt: 2}}, ports: [{port: 81, protocol: TCP}], source: {type: Git}}`)
			}
			s.wantWarnings(
				`.spec.byKey[*].opt: removed with an item of .spec.byKey: feature gate "G" is disabled`,
				`.spec.ports[*].opt: removed with an item of .spec.ports: feature gate "G" is disabled`,
				`.spec.source.git.url: removed with .spec.source.git: feature gate "G" is disabled`,
			)
			s.wantSpec(name, "byKey:\n  b:\n    opt: 2\nfoo:\n  baz: 1\nimage: i\nports:\n- port: 81\n  protocol: TCP\nsource:\n  type: Git")
			s.flipKept(true)
			u, err := s.applyTo("somebody", name, `{byKey: {a: {opt: 5}}, ports: [{port: 80, opt: 5}], source: {git: {url: v}}}`)
			if err != nil {
				t.Errorf("G7.4: with the gate back on: %v", err)
			} else if diff := cmp.Diff([]string{"somebody"}, owners(t, u, "f:spec", "f:byKey", "f:a", "f:opt")); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
		})
	}
}

// TestG7AGateThatWasOffAndOnAgainLeavesOwnersAsTheyWere (G7.2): others still conflict, and the author who leaves the
// field out still removes it.
func TestG7AGateThatWasOffAndOnAgainLeavesOwnersAsTheyWere(t *testing.T) {
	t.Parallel()
	s := newKeptSubject(t)
	s.flipKept(true)
	before := s.mustApplyAs("alice", "a", `{image: i, replicas: 3, foo: {qux: 3}}`)
	s.flipKept(false)
	// The author goes on, with another value that has no effect; a controller and another applier try theirs.
	s.mustApplyAs("alice", "a", `{image: i, replicas: 4, foo: {qux: 3}}`)
	s.wantWarnings(keptBy(".spec.replicas"))
	s.mustApplyAs("bob", "a", `{replicas: 5, foo: {qux: 5}}`)
	s.wantWarnings(keptBy(".spec.replicas"), keptBy(".spec.foo.qux"))
	if _, err := s.client.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec": {"replicas": 6, "foo": {"qux": null}}}`), metav1.PatchOptions{FieldManager: "controller"}); err != nil {
		t.Fatal(err)
	}
	s.wantWarnings(keptBy(".spec.replicas"), keptBy(".spec.foo.qux"))
	s.flipKept(true)
	if diff := cmp.Diff(before, s.get("a")); diff != "" {
		t.Errorf("G6, G7.2 (-before +after):\n%s", diff)
	}
	if _, err := s.applyTo("bob", "a", `{replicas: 5}`); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "alice") {
		t.Errorf("bob has no conflict with alice: %v", err)
	}
	if diff := cmp.Diff("foo:\n  baz: 1\nimage: i", specOf(t, s.mustApplyAs("alice", "a", `{image: i}`))); diff != "" {
		t.Errorf("the author leaves it out (-want +got):\n%s", diff)
	}
}

func keptBy(path string) string {
	return path + `: not updated: feature gate "G" is disabled`
}

// TestG7WhoLeavesOutADisabledFieldOwnsItNoMore is the exception of rule G7.2.
func TestG7WhoLeavesOutADisabledFieldOwnsItNoMore(t *testing.T) {
	t.Parallel()
	s := newKeptSubject(t)
	s.flipKept(true)
	s.mustApplyAs("alice", "a", `{image: i, replicas: 3, foo: {qux: 3, baz: 2}}`)
	s.flipKept(false)
	u := s.mustApplyAs("alice", "a", `{image: i, foo: {baz: 2}}`)
	s.wantWarnings(keptBy(".spec.replicas"), keptBy(".spec.foo.qux"))
	s.wantOwners(u)
	if diff := cmp.Diff("foo:\n  baz: 2\n  qux: 3\nimage: i\nreplicas: 3", specOf(t, u)); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	// It is nobody's: leaving it out again asks for nothing.
	if diff := cmp.Diff(u, s.mustApplyAs("alice", "a", `{image: i, foo: {baz: 2}}`)); diff != "" {
		t.Errorf("the same again (-before +after):\n%s", diff)
	}
	s.wantWarnings()
	// What its applier alone owned goes as a whole (rule G4).
	s.flipKept(true)
	s.mustApplyAs("bob", "b", `{image: i, foo: {qux: 3}, byKey: {a: {opt: 1}}}`)
	s.flipKept(false)
	u = s.mustApplyAs("bob", "b", `{image: i}`)
	s.wantWarnings(keptBy(".spec.foo.qux"), `.spec.byKey[*].opt: removed with .spec.byKey: feature gate "G" is disabled`)
	if diff := cmp.Diff("foo:\n  baz: 1\n  qux: 3\nimage: i", specOf(t, u)); diff != "" {
		t.Errorf("spec: the default of foo is what remains of it (-want +got):\n%s", diff)
	}
}

// TestG4InStatus does what GitOps does to spec to the status subresource, as a controller that applies.
func TestG4InStatus(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, `featureGates: [{name: G, preRelease: alpha, fieldPaths: [.status.ready, .spec.replicas]}]`)
	schema := testyaml.Parse[*apiextensionsv1.JSONSchemaProps](t, keptSchema)
	schema.Properties["status"] = testyaml.Parse[apiextensionsv1.JSONSchemaProps](t, `{type: object, properties: {ready: {type: integer}, phase: {type: string}}}`)
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = schema
	crd.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
	s := newSubject(t, crd)
	s.flipKept(true)
	s.mustApplyAs("author", "a", `{image: i}`)
	status := cronTab(t, s.crd, "a", `{}`)
	delete(status.Object, "spec")
	status.Object["status"] = map[string]any{"ready": int64(1)}
	applyStatus := func(manager string) *unstructured.Unstructured {
		t.Helper()
		s.takeWarnings()
		u, err := s.client.ApplyStatus(t.Context(), "a", status, metav1.ApplyOptions{FieldManager: manager})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	before := applyStatus("controller")
	s.flipKept(false)
	for range 2 {
		if diff := cmp.Diff(before, applyStatus("controller")); diff != "" {
			t.Errorf("applied again (-before +after):\n%s", diff)
		}
		s.wantWarnings()
	}
	status.Object["status"] = map[string]any{"ready": int64(2)}
	if diff := cmp.Diff(before, applyStatus("controller")); diff != "" {
		t.Errorf("applied with another value (-before +after):\n%s", diff)
	}
	s.wantWarnings(keptBy(".status.ready"))
	status.Object["status"] = map[string]any{}
	if got := applyStatus("controller").Object["status"]; got == nil {
		t.Error("the status is gone")
	}
	s.wantWarnings(keptBy(".status.ready"))
}

// TestG7ManagedFieldsOfTheClient (G7): a client may reset managedFields, and no gate brings entries back.
func TestG7ManagedFieldsOfTheClient(t *testing.T) {
	t.Parallel()
	s := newKeptSubject(t)
	s.flipKept(true)
	s.mustApplyAs("alice", "a", `{image: i, replicas: 3}`)
	s.flipKept(false)
	u := s.get("a")
	u.Object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{}}
	u.Object["spec"] = map[string]any{"image": "i", "replicas": int64(5)}
	u, err := s.client.Update(t.Context(), u, metav1.UpdateOptions{FieldManager: "bob"})
	if err != nil {
		t.Fatal(err)
	}
	if got := u.GetManagedFields(); len(got) != 0 {
		t.Errorf("managedFields are back: %v", got)
	}
	if diff := cmp.Diff("foo:\n  baz: 1\nimage: i\nreplicas: 3", specOf(t, u)); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

// TestG7ManagedFieldsOfAnUnknownVersion (G7): upstream cannot use them and leaves those that are persisted, and so do
// the gates.
func TestG7ManagedFieldsOfAnUnknownVersion(t *testing.T) {
	t.Parallel()
	s := newKeptSubject(t)
	s.flipKept(true)
	before := s.mustApplyAs("alice", "a", `{image: i, replicas: 3}`)
	s.flipKept(false)
	u := s.get("a")
	entries := u.GetManagedFields()
	entries[0].APIVersion = "x.io/v9"
	invented := before.GetManagedFields()[0]
	invented.Manager = "bob"
	u.SetManagedFields(append(entries, invented))
	u.Object["spec"] = map[string]any{"image": "i", "replicas": int64(9)}
	u, err := s.client.Update(t.Context(), u, metav1.UpdateOptions{FieldManager: "carol"})
	if err != nil {
		t.Fatal(err)
	}
	s.wantOwners(u, "alice")
}

// TestG7AWrongTypeInADisabledFieldChangesNoOwner (G7, R1): the gate keeps the field, so that schema validation passes,
// and all else of the update has the owners that it has without the field.
func TestG7AWrongTypeInADisabledFieldChangesNoOwner(t *testing.T) {
	t.Parallel()
	s := newKeptSubject(t)
	for _, w := range apiWriters() {
		if w.apply {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			s := s.in(t)
			name := "typed-" + strings.ToLower(strings.ReplaceAll(w.name, " ", "-"))
			s.flipKept(true)
			s.mustApplyAs("alice", name, `{image: i, replicas: 3}`)
			s.flipKept(false)
			s.write(w, name, `{image: j, replicas: "5"}`)
			s.wantWarnings(keptBy(".spec.replicas"))
			u := s.get(name)
			s.wantOwners(u, "alice")
			if diff := cmp.Diff([]string{"writer"}, owners(t, u, "f:spec", "f:image")); diff != "" {
				t.Errorf("owners of .spec.image (-want +got):\n%s", diff)
			}
		})
	}
}
