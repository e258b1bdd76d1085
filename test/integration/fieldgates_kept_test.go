// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// keptSchema has all shapes in which a guarded field may be the only one of its parent.
var keptSchema = specSchema(`
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
`)

const keptGate = `
featureGates:
- name: G
  preRelease: alpha
  fieldPaths: [.spec.replicas, .spec.foo.qux, '.spec.byKey[*].opt', '.spec.ports[*].opt', .spec.source.git.url, .spec.source.s3, .spec.selector.opt]
`

func newKeptSubject(t *testing.T) subject {
	t.Helper()
	crd := newCRD(t, keptGate)
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = parse[*apiextensionsv1.JSONSchemaProps](t, keptSchema)
	return newSubject(t, crd)
}

// flipKept sets the gate of keptGate.
func (s subject) flipKept(on bool) {
	s.Helper()
	s.flip(map[string]bool{"G": on}, `{replicas: 7, foo: {}}`, map[bool]string{true: "foo: {}\nreplicas: 7", false: "foo: {}"}[on])
}

// keptShapes are configurations in which guarded fields are the only ones of their parents, or almost.
var keptShapes = map[string]string{
	"the only field of spec":        `{replicas: 3}`,
	"the only field of its parent":  `{image: i, foo: {qux: 3}}`,
	"the only field of a map value": `{byKey: {a: {opt: 1}}}`,
	"beside the keys of an item":    `{ports: [{port: 80, protocol: TCP, opt: 1}]}`,
	"beside a key with a default":   `{ports: [{port: 80, opt: 1}]}`,
	"inside a union member":         `{source: {type: Git, git: {url: u}}}`,
	"a union member":                `{source: {type: S3, s3: {bucket: b}}}`,
	"in an atomic object":           `{selector: {opt: 1}}`,
	"everywhere":                    `{replicas: 3, foo: {qux: 3}, byKey: {a: {opt: 1}}, ports: [{port: 80, opt: 1}], source: {type: Git, git: {url: u}}, selector: {a: 1, opt: 1}}`,
}

// TestG4TheSameConfigurationAppliedAgainChangesNothing applies again and again, as GitOps does, while a gate is
// disabled and enabled. Neither the object nor its owners change, and there are no warnings (rules G4, G6, G7.2, G13).
func TestG4TheSameConfigurationAppliedAgainChangesNothing(t *testing.T) {
	t.Parallel()
	s := newKeptSubject(t)
	for name, spec := range keptShapes {
		t.Run("G4: "+name, func(t *testing.T) {
			s := s.forSubtest(t)
			object := strings.ReplaceAll(name, " ", "-")
			s.flipKept(true)
			s.apply("alice", object, spec)
			before := s.apply("bob", object, spec) // a second owner
			for _, on := range []bool{false, true, false} {
				s.flipKept(on)
				for range 2 {
					for _, manager := range []string{"alice", "bob"} {
						s.wantApplyUnchanged(manager, spec, before)
					}
				}
			}
		})
	}
}

// wantApplyUnchanged applies an object again, first as a dry run, and expects no change and no warning.
func (s subject) wantApplyUnchanged(manager, spec string, before *unstructured.Unstructured) {
	s.Helper()
	for what, dryRun := range map[string][]string{"G13: a dry run of an apply": dryRun, "G4: an apply": nil} {
		applied := s.mustApply(manager, before.GetName(), spec, metav1.ApplyOptions{DryRun: dryRun})
		s.wantSame(what+" by "+manager, before, applied)
		s.wantWarnings()
	}
}

// TestG4KubectlAppliedAgainChangesNothing (rule G4) does the same with kubectl, client-side and server-side.
func TestG4KubectlAppliedAgainChangesNothing(t *testing.T) {
	t.Parallel()
	s := newKeptSubject(t)
	for object, args := range map[string][]string{"client-side": {"apply"}, "server-side": {"apply", "--server-side"}} {
		apply := func() {
			if err := s.kubectlWith(object, keptShapes["everywhere"], args...); err != nil {
				t.Fatal(err)
			}
		}
		s.flipKept(true)
		apply()
		apply() // the second client-side apply adds the default of foo
		before := s.get(object)
		s.flipKept(false)
		for range 2 {
			apply()
			s.wantWarnings()
			s.wantUnchanged("G4: the "+object+" apply, sent again,", before)
		}
	}
}

// TestG4AGuardedFieldIsRemovedWithItsAncestor removes ancestors of guarded fields in all ways to write. The warnings
// name the fields, nobody owns them afterwards, and with the gate enabled again any applier may set them (rules G4, G5,
// G7.4, G10).
func TestG4AGuardedFieldIsRemovedWithItsAncestor(t *testing.T) {
	t.Parallel()
	s := newKeptSubject(t)
	for _, w := range writers {
		t.Run(w.name, func(t *testing.T) {
			s := s.forSubtest(t)
			name := w.objectName("removed-by-")
			s.flipKept(true)
			const full = `{image: i, byKey: {a: {opt: 1}, b: {opt: 2}}, ports: [{port: 80, protocol: TCP, opt: 1}, {port: 81, protocol: TCP}], source: {type: Git, git: {url: u, ref: r}}}`
			if w.applies {
				s.write(w, name, full)
			} else {
				create(t, s.client, cronTab(t, s.crd, name, full), metav1.CreateOptions{FieldManager: "creator"})
			}
			s.flipKept(false)
			if w.name == "merge patch" { // the one of the writer removes only fields of spec
				s.mergePatch("writer", name,
					`{"spec": {"byKey": {"a": null}, "ports": [{"port": 81, "protocol": "TCP"}], "source": {"git": null}}}`)
			} else {
				s.write(w, name, `{image: i, byKey: {b: {opt: 2}}, ports: [{port: 81, protocol: TCP}], source: {type: Git}}`)
			}
			s.wantWarnings(
				`.spec.byKey[*].opt: removed with an item of .spec.byKey: feature gate "G" is disabled`,
				`.spec.ports[*].opt: removed with an item of .spec.ports: feature gate "G" is disabled`,
				`.spec.source.git.url: removed with .spec.source.git: feature gate "G" is disabled`,
			)
			s.wantSpec(name, `{byKey: {b: {opt: 2}}, foo: {baz: 1}, image: i, ports: [{port: 81, protocol: TCP}], source: {type: Git}}`)
			s.flipKept(true)
			u, err := s.tryApply("somebody", name, `{byKey: {a: {opt: 5}}, ports: [{port: 80, opt: 5}], source: {git: {url: v}}}`, metav1.ApplyOptions{})
			if err != nil {
				t.Fatalf("G7.4: another applier cannot set the removed fields: %v", err)
			}
			s.wantOwnersOf(u, []string{"f:spec", "f:byKey", "f:a", "f:opt"}, "somebody")
		})
	}
}

// TestG7AGateThatWasOffAndOnAgainLeavesOwnersAsTheyWere (rules G6, G7.2): other appliers conflict with the owner as
// before, and the owner removes the field by leaving it out as before.
func TestG7AGateThatWasOffAndOnAgainLeavesOwnersAsTheyWere(t *testing.T) {
	t.Parallel()
	s := newKeptSubject(t)
	s.flipKept(true)
	before := s.apply("alice", "a", `{image: i, replicas: 3, foo: {qux: 3}}`)
	s.flipKept(false)
	// The owner, another applier and a controller try other values, without effect.
	s.apply("alice", "a", `{image: i, replicas: 4, foo: {qux: 3}}`)
	s.wantWarnings(keptBy(".spec.replicas"))
	s.apply("bob", "a", `{replicas: 5, foo: {qux: 5}}`)
	s.wantWarnings(keptBy(".spec.replicas"), keptBy(".spec.foo.qux"))
	s.mergePatch("controller", "a", `{"spec": {"replicas": 6, "foo": {"qux": null}}}`)
	s.wantWarnings(keptBy(".spec.replicas"), keptBy(".spec.foo.qux"))
	s.flipKept(true)
	s.wantUnchanged("G6, G7.2: writes of disabled fields", before)
	if _, err := s.tryApply("bob", "a", `{replicas: 5}`, metav1.ApplyOptions{}); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "alice") {
		t.Errorf("want a conflict of bob with alice, got: %v", err)
	}
	s.wantSpecOf("the object after its owner left the fields out", s.apply("alice", "a", `{image: i}`), "foo:\n  baz: 1\nimage: i")
}

// keptBy returns the warning that the gate of keptGate kept a field.
func keptBy(path string) string {
	return path + `: not updated: feature gate "G" is disabled`
}

// TestG7AnApplierThatLeavesOutADisabledFieldLosesIt (rules G4, G7.2) is the exception of rule G7.2.
func TestG7AnApplierThatLeavesOutADisabledFieldLosesIt(t *testing.T) {
	t.Parallel()
	s := newKeptSubject(t)
	s.flipKept(true)
	s.apply("alice", "a", `{image: i, replicas: 3, foo: {qux: 3, baz: 2}}`)
	s.flipKept(false)
	u := s.apply("alice", "a", `{image: i, foo: {baz: 2}}`)
	s.wantWarnings(keptBy(".spec.replicas"), keptBy(".spec.foo.qux"))
	s.wantOwners(u)
	s.wantSpecOf("the object", u, "foo:\n  baz: 2\n  qux: 3\nimage: i\nreplicas: 3")
	// The fields have no owner: leaving them out again does not ask to remove them.
	s.wantSame("G6: the apply, sent again,", u, s.apply("alice", "a", `{image: i, foo: {baz: 2}}`))
	s.wantWarnings()
	// G4: an ancestor that the applier alone owned is removed as a whole.
	s.flipKept(true)
	s.apply("bob", "b", `{image: i, foo: {qux: 3}, byKey: {a: {opt: 1}}}`)
	s.flipKept(false)
	u = s.apply("bob", "b", `{image: i}`)
	s.wantWarnings(keptBy(".spec.foo.qux"), `.spec.byKey[*].opt: removed with .spec.byKey: feature gate "G" is disabled`)
	s.wantSpecOf("the object, which has the default of foo,", u, "foo:\n  baz: 1\n  qux: 3\nimage: i")
}

// TestG4InStatus (rules G4, G9) applies the status subresource again and again, as a controller may do.
func TestG4InStatus(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, `featureGates: [{name: G, preRelease: alpha, fieldPaths: [.status.ready, .spec.replicas]}]`)
	version := &crd.Spec.Versions[0]
	version.Schema.OpenAPIV3Schema = parse[*apiextensionsv1.JSONSchemaProps](t, keptSchema)
	addStatus(t, version, `{type: object, properties: {ready: {type: integer}, phase: {type: string}}}`)
	version.Subresources = statusSubresource()
	s := newSubject(t, crd)
	s.flipKept(true)
	s.apply("author", "a", `{image: i}`)
	before := s.applyStatus(`{ready: 1}`)
	s.flipKept(false)
	for range 2 {
		s.wantSame("G4: the apply of status, sent again,", before, s.applyStatus(`{ready: 1}`))
		s.wantWarnings()
	}
	s.wantSame("G4: an apply of another value", before, s.applyStatus(`{ready: 2}`))
	s.wantWarnings(keptBy(".status.ready"))
	if s.applyStatus(`{}`).Object["status"] == nil {
		t.Error("an apply of an empty status removed the status")
	}
	s.wantWarnings(keptBy(".status.ready"))
}

// applyStatus applies the status of the object "a".
func (s subject) applyStatus(status string) *unstructured.Unstructured {
	s.Helper()
	s.takeWarnings()
	u := cronTab(s.T, s.crd, "a", `{}`)
	delete(u.Object, "spec")
	u.Object["status"] = parse[map[string]any](s.T, status)
	applied, err := s.client.ApplyStatus(s.Context(), "a", u, metav1.ApplyOptions{FieldManager: "controller"})
	if err != nil {
		s.Fatal(err)
	}
	return applied
}

// TestG7AClientMayResetManagedFields (rule G7): gates do not restore the entries.
func TestG7AClientMayResetManagedFields(t *testing.T) {
	t.Parallel()
	s := newKeptSubject(t)
	s.flipKept(true)
	s.apply("alice", "a", `{image: i, replicas: 3}`)
	s.flipKept(false)
	u := s.get("a")
	u.Object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{}}
	u.Object["spec"] = map[string]any{"image": "i", "replicas": int64(5)}
	u, err := s.client.Update(t.Context(), u, metav1.UpdateOptions{FieldManager: "bob"})
	if err != nil {
		t.Fatal(err)
	}
	if got := u.GetManagedFields(); len(got) != 0 {
		t.Errorf("managedFields are %v, want none", got)
	}
	s.wantSpecOf("the object", u, "foo:\n  baz: 1\nimage: i\nreplicas: 3")
}

// TestG7ManagedFieldsOfAnUnknownVersion (rule G7): upstream cannot use them and keeps the persisted ones. With gates it
// is the same.
func TestG7ManagedFieldsOfAnUnknownVersion(t *testing.T) {
	t.Parallel()
	s := newKeptSubject(t)
	s.flipKept(true)
	before := s.apply("alice", "a", `{image: i, replicas: 3}`)
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

// TestG7AWrongTypeInADisabledFieldChangesNoOwner (rules G7, R1): the gate keeps the field, so schema validation passes.
// The other fields of the update get owners as usual.
func TestG7AWrongTypeInADisabledFieldChangesNoOwner(t *testing.T) {
	t.Parallel()
	s := newKeptSubject(t)
	for _, w := range apiWriters() {
		if w.applies {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			s := s.forSubtest(t)
			name := w.objectName("typed-")
			s.flipKept(true)
			s.apply("alice", name, `{image: i, replicas: 3}`)
			s.flipKept(false)
			s.write(w, name, `{image: j, replicas: "5"}`)
			s.wantWarnings(keptBy(".spec.replicas"))
			u := s.get(name)
			s.wantOwners(u, "alice")
			s.wantOwnersOf(u, []string{"f:spec", "f:image"}, "writer")
		})
	}
}
