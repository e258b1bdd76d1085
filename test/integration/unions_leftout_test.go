// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/hack/unions-table/matrix"
)

const leftOutS3 = `spec.source.type: Required value: must be given when spec.source.s3 is set: the persisted value is "S3"`

// leftOutRows are requests that leave out the discriminator, or set it, when its default is Git. For their outcome
// without a default see the test matrix.
const leftOutRows = `
- name: leaves out type, with a member that the default does not select
  persisted: {note: a, source: {type: S3, s3: {bucket: s}}}
  changes: {note: b, source: {type: null}}
  want: {errors: ["spec.source.type: Required value"]}
  but:
  - writers: [server-side apply]
    want: {spec: {note: b, source: {type: S3, s3: {bucket: s}}}}
- name: leaves out type, with members of both
  persisted: {source: {type: S3, s3: {bucket: s}}}
  changes: {source: {type: null, git: {url: u}}}
  want: {errors: ["spec.source.type: Required value"]}
  but:
  - writers: [server-side apply]
    want: {errors: ["spec.source.git: Forbidden"]}
- name: leaves out type and the old member, with the one that the default selects
  persisted: {source: {type: S3, s3: {bucket: s}}}
  changes: {source: {type: null, s3: null, git: {url: u}}}
  want: {spec: {source: {type: Git, git: {url: u}}}}
  but:
  - writers: [server-side apply]
    want: {errors: ["spec.source.git: Forbidden"]}
- name: leaves out a type that is the default
  persisted: {source: {type: Git, git: {url: u}}}
  changes: {source: {type: null, git: {url: v}}}
  want: {spec: {source: {type: Git, git: {url: v}}}}
- name: writes the default out
  persisted: {source: {type: S3, s3: {bucket: s}}}
  changes: {source: {type: Git, git: {url: u}}}
  want:
    spec: {source: {type: Git, git: {url: u}}}
    warnings: ['spec.source.s3: cleared: spec.source.type changed from "S3" to "Git"']
- name: leaves out everything
  persisted: {source: {type: S3, s3: {bucket: s}}}
  changes: {source: {type: null, s3: null}}
  want: {errors: ["spec.source.git: Required value"]}
  but:
  - writers: [server-side apply]
    want: {spec: {source: {type: S3, s3: {bucket: s}}}}
`

// newDefaultedUnion returns skewedCRD with a default for the discriminator.
func newDefaultedUnion(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := skewedCRD(t, "optional")
	editSource(crd, func(_, discriminator *apiextensionsv1.JSONSchemaProps) {
		delete(discriminator.XUnions.FieldMembers, "")
		discriminator.Default = &apiextensionsv1.JSON{Raw: []byte(`"Git"`)}
	})
	return crd
}

// TestU43ADefaultNeverSwitches (rules U4.3, V3) plays leftOutRows with every way to write.
func TestU43ADefaultNeverSwitches(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newDefaultedUnion(t))
	for i, row := range parse[[]matrix.Row](t, leftOutRows) {
		for j, w := range skewedWriters {
			c := matrixCase{Row: row, client: "all", writer: w, object: fmt.Sprintf("row-%d-%d", i, j)}
			t.Run(w.name+"/"+row.Name, func(t *testing.T) {
				t.Parallel()
				c.create(s.forSubtest(t))
				c.run(s.forSubtest(t))
			})
		}
	}
}

// TestU43CreatesAreNotDefaultedToAnotherMember (rules U4.3, U6.1) creates by POST and by apply.
func TestU43CreatesAreNotDefaultedToAnotherMember(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newDefaultedUnion(t))
	for verb, create := range map[string]func(o object, spec string) error{
		"POST": func(o object, spec string) error {
			_, err := o.client.Create(o.Context(), cronTab(o.T, o.crd, o.name, spec), metav1.CreateOptions{})
			return err
		},
		"apply": func(o object, spec string) error { return o.tryApply("author", spec, false) },
	} {
		t.Run("U4.3: "+verb+" with the member of the default sets the default", func(t *testing.T) {
			t.Parallel()
			o := s.newObject(t)
			if err := create(o, `{source: {git: {url: u}}}`); err != nil {
				t.Fatal(err)
			}
			o.wantSpec(`{source: {type: Git, git: {url: u}}}`)
		})
		t.Run("U6.1: "+verb+" with another member is refused", func(t *testing.T) {
			t.Parallel()
			o := s.newObject(t)
			err := create(o, `{source: {s3: {bucket: b}}}`)
			o.wantInvalid(err, `spec.source.type: Required value: supported values: "Disk", "Git", "S3", "Web"`)
		})
	}
}

// forEachDiscriminator runs a subtest for each kind of discriminator, with an object that does not exist yet.
func forEachDiscriminator(t *testing.T, test func(object)) {
	t.Helper()
	for name, crd := range map[string]*apiextensionsv1.CustomResourceDefinition{
		"with a default": newDefaultedUnion(t), "optional": skewedCRD(t, "optional"), "required": skewedCRD(t, "required"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newSubject(t, crd).newObject(t))
		})
	}
}

// TestU43AnApplierThatLeavesItOut (rule U4.3): the only owner of the discriminator stops applying it, which removes it
// from the merged object, while another manager applies a member.
func TestU43AnApplierThatLeavesItOut(t *testing.T) {
	t.Parallel()
	forEachDiscriminator(t, func(o object) {
		const both = `{source: {type: S3, s3: {bucket: b}}}`
		o.apply("author", both)
		o.apply("tuner", `{source: {s3: {bucket: b}}}`)
		for range 2 { // a second attempt has the same outcome
			o.wantInvalid(o.tryApply("author", `{note: changed}`, false), leftOutS3)
		}
		o.wantWarnings()
		o.wantSpec(both)
		o.apply("author", both)
		o.wantSpec(both)
	})
}

// TestU43TheErrorNamesThePersistedValue (rules U4.3, U6.1) once, also if the schema requires the discriminator.
func TestU43TheErrorNamesThePersistedValue(t *testing.T) {
	t.Parallel()
	forEachDiscriminator(t, func(o object) {
		o.create(`{source: {type: S3, s3: {bucket: b}}}`)
		u := o.get()
		u.Object["spec"] = parse[any](o.T, `{note: changed, source: {s3: {bucket: b}}}`)
		for _, dryRun := range [][]string{dryRun, nil, nil} {
			_, err := o.client.Update(o.Context(), u, metav1.UpdateOptions{DryRun: dryRun})
			o.wantInvalid(err, leftOutS3, "spec.source.type")
		}
	})
}

// TestU43ItemsAndValues (rules U2, U4.3, U5) leaves out the discriminator of list items and of map values.
func TestU43ItemsAndValues(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).newObject(t)
	o.create(`{listMap: [{name: a, type: Git, git: {}}, {name: b, type: S3, s3: {}}], map: {k: {type: Git, git: {}}}}`)
	o.wantInvalid(o.merge("m", `{listMap: [{name: b, s3: {}}, {name: a, git: {}}]}`),
		`spec.listMap[0].type: Required value: must be given when spec.listMap[0].s3 is set: the persisted value is "S3"`,
		`spec.listMap[1].type: Required value: must be given when spec.listMap[1].git is set: the persisted value is "Git"`)
	o.wantInvalid(o.merge("m", `{map: {k: {type: null}}}`),
		`spec.map.k.type: Required value: must be given when spec.map.k.git is set: the persisted value is "Git"`)
	if err := o.merge("m", `{listMap: [{name: a, type: "", git: {}}], map: {k: {type: null, git: null}}}`); err == nil {
		t.Error(`U2: the discriminator "" is accepted, although the enum does not have it`)
	}
	if err := o.merge("m", `{listMap: [{name: a}], map: {k: {type: null, git: null}}}`); err != nil {
		t.Errorf("U4.3: leaving out the discriminator is refused although no member is set: %v", err)
	}
	o.wantSpec(`{listMap: [{name: a}], map: {k: {}}}`)
}

// TestU61AStoredDiscriminatorOfAnotherType (rules U4, U6.1, U7): the discriminator was stored as a number, with an
// older schema. Upstream's ratcheting forgives a value that does not change, but the union is validated as soon as the
// request changes it.
func TestU61AStoredDiscriminatorOfAnotherType(t *testing.T) {
	t.Parallel()
	union := newUnionsCRD(t)
	crd := union.DeepCopy()
	source := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["source"]
	source.Properties["type"] = apiextensionsv1.JSONSchemaProps{Type: "integer"}
	o := newSubject(t, crd).newObject(t)
	o.create(`{image: a, source: {type: 5, git: {url: u}}}`)
	o.editCRD(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions[0].Schema = union.Spec.Versions[0].Schema
	})
	o.awaitInvalid("the union takes effect", `{source: {type: None, git: {}}}`)

	if err := o.merge("m", `{image: b}`); err != nil {
		t.Errorf("U7: APIUnionsRatcheting does not forgive a union that the request does not change: %v", err)
	}
	o.wantInvalid(o.merge("m", `{source: {s3: {}}}`), `spec.source.type: Unsupported value: 5`)
	o.wantInvalid(o.merge("m", `{source: {type: null}}`),
		`spec.source.type: Required value: must be given when spec.source.git is set: the persisted value is 5`)
	o.wantMetadataWritable()
	o.takeWarnings()
	if err := o.merge("m", `{source: {type: S3}}`); err != nil {
		t.Fatal(err)
	}
	o.wantWarnings(`spec.source.git: cleared: spec.source.type changed from 5 to "S3"`)
	o.wantSpec(`{image: b, source: {type: S3}}`)
}

// TestU43AfterMutatingAdmission (rule U4.3): an object that admission changes is defaulted again, but the discriminator
// counts as left out by the client.
func TestU43AfterMutatingAdmission(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newDefaultedUnion(t)).newObject(t)
	o.create(`{source: {type: S3, s3: {bucket: b}}}`)
	o.mutate("UPDATE", `[{"op": "add", "path": "/spec/note", "value": "admitted"}]`)
	o.awaitMutation(`{"spec": {"note": "sent"}}`, "admitted")
	o.wantInvalid(o.merge("m", `{source: {type: null}}`), leftOutS3)
	o.wantSpec(`{source: {type: S3, s3: {bucket: b}}}`)
	if err := o.merge("m", `{source: {type: null, s3: null, git: {url: u}}}`); err != nil {
		t.Fatal(err)
	}
	o.wantSpec(`{note: admitted, source: {type: Git, git: {url: u}}}`)
}
