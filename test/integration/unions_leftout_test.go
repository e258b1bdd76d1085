// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/hack/unions-table/matrix"
)

const leftOutS3 = `spec.source.type: Required value: must be given when spec.source.s3 is set: the persisted value is "S3"`

// leftOutRows are requests that leave out the discriminator, or write it, where it has the default Git. The matrix has
// what becomes of them without a default.
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

// newDefaultedUnion returns a CRD whose discriminator has a default.
func newDefaultedUnion(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := skewedCRD(t, "optional")
	editSource(crd, func(_, discriminator *apiextensionsv1.JSONSchemaProps) {
		delete(discriminator.XUnions.FieldMembers, "")
		discriminator.Default = &apiextensionsv1.JSON{Raw: []byte(`"Git"`)}
	})
	return crd
}

// TestU43ADefaultNeverSwitches (rules U4.3, V3), by every way to write.
func TestU43ADefaultNeverSwitches(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newDefaultedUnion(t))
	for i, row := range parse[[]matrix.Row](t, leftOutRows) {
		for j, w := range skewedWriters {
			c := matrixCase{Row: row, client: "all", writer: w, object: fmt.Sprintf("row-%d-%d", i, j)}
			t.Run(w.name+"/"+row.Name, func(t *testing.T) {
				t.Parallel()
				c.create(s.in(t))
				c.run(s.in(t))
			})
		}
	}
}

// TestU43CreatesAreNotDefaultedToAnotherMember (rules U4.3, U6.1): what a create leaves out is filled in where it fits.
func TestU43CreatesAreNotDefaultedToAnotherMember(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newDefaultedUnion(t))
	for _, tc := range []struct{ name, spec, want string }{
		{"fits", `{source: {git: {url: u}}}`, `{source: {type: Git, git: {url: u}}}`},
		{"does-not-fit", `{source: {s3: {bucket: b}}}`, ``},
	} {
		for _, create := range []struct {
			verb string
			do   func(o object) error
		}{
			{"post", func(o object) error {
				_, err := o.client.Create(o.Context(), cronTab(o.T, o.crd, o.name, tc.spec), metav1.CreateOptions{})
				return err
			}},
			{"apply", func(o object) error { return o.tryApply("author", tc.spec, false) }},
		} {
			t.Run(tc.name+"/"+create.verb, func(t *testing.T) {
				t.Parallel()
				o := s.object(t)
				err := create.do(o)
				switch {
				case tc.want == "":
					o.refused(err, `spec.source.type: Required value: supported values: "Disk", "Git", "S3", "Web"`)
				case err != nil:
					t.Error(err)
				default:
					o.isNow(tc.want)
				}
			})
		}
	}
}

// TestU43AnApplierWhoLeavesItOut (rule U4.3): who alone owned the discriminator and stops applying it removes it from
// the merged object, while another applies a member.
func TestU43AnApplierWhoLeavesItOut(t *testing.T) {
	t.Parallel()
	for name, crd := range map[string]*apiextensionsv1.CustomResourceDefinition{
		"with a default": newDefaultedUnion(t), "without": skewedCRD(t, "optional"), "required": skewedCRD(t, "required"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newSubject(t, crd).object(t)
			const both = `{source: {type: S3, s3: {bucket: b}}}`
			o.apply("author", both)
			o.apply("tuner", `{source: {s3: {bucket: b}}}`)
			for range 2 { // the same again
				o.refused(o.tryApply("author", `{note: changed}`, false), leftOutS3)
			}
			o.warned()
			o.isNow(both)
			o.apply("author", both)
			o.isNow(both)
		})
	}
}

// TestU43TheErrorNamesThePersistedValue (rules U4.3, U6): also where the schema requires the discriminator, once.
func TestU43TheErrorNamesThePersistedValue(t *testing.T) {
	t.Parallel()
	for name, crd := range map[string]*apiextensionsv1.CustomResourceDefinition{
		"with a default": newDefaultedUnion(t), "required": skewedCRD(t, "required"), "optional": skewedCRD(t, "optional"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newSubject(t, crd).object(t)
			o.create(`{source: {type: S3, s3: {bucket: b}}}`)
			u := o.get(o.name)
			u.Object["spec"] = parse[any](t, `{note: changed, source: {s3: {bucket: b}}}`)
			for _, dryRun := range [][]string{{metav1.DryRunAll}, nil, nil} {
				_, err := o.client.Update(t.Context(), u, metav1.UpdateOptions{DryRun: dryRun})
				o.refused(err, leftOutS3, "spec.source.type")
			}
		})
	}
}

// TestU43ItemsAndValues (rules U4.3, U5): a client that does not know the discriminator of items and values of maps.
func TestU43ItemsAndValues(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).object(t)
	o.create(`{listMap: [{name: a, type: Git, git: {}}, {name: b, type: S3, s3: {}}], map: {k: {type: Git, git: {}}}}`)
	o.refused(o.merge("m", `{listMap: [{name: b, s3: {}}, {name: a, git: {}}]}`),
		`spec.listMap[0].type: Required value: must be given when spec.listMap[0].s3 is set: the persisted value is "S3"`,
		`spec.listMap[1].type: Required value: must be given when spec.listMap[1].git is set: the persisted value is "Git"`)
	o.refused(o.merge("m", `{map: {k: {type: null}}}`),
		`spec.map.k.type: Required value: must be given when spec.map.k.git is set: the persisted value is "Git"`)
	if err := o.merge("m", `{listMap: [{name: a, type: "", git: {}}], map: {k: {type: null, git: null}}}`); err == nil {
		t.Error(`U2: "" is not in the enum`)
	}
	if err := o.merge("m", `{listMap: [{name: a}], map: {k: {type: null, git: null}}}`); err != nil {
		t.Errorf("no member is set: %v", err)
	}
	o.isNow(`{listMap: [{name: a}], map: {k: {}}}`)
}

// TestU61AStoredDiscriminatorOfAnotherType (rules U4, U6.1, U7): the CRD had a number there. Upstream forgives a value that does
// not change; its members are judged all the same.
func TestU61AStoredDiscriminatorOfAnotherType(t *testing.T) {
	t.Parallel()
	union := newUnionsCRD(t)
	crd := union.DeepCopy()
	source := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["source"]
	source.Properties["type"] = apiextensionsv1.JSONSchemaProps{Type: "integer"}
	o := newSubject(t, crd).object(t)
	o.create(`{image: a, source: {type: 5, git: {url: u}}}`)
	o.replaceSchema(union.Spec.Versions[0].Schema)

	if err := o.merge("m", `{image: b}`); err != nil {
		t.Errorf("U7: APIUnionsRatcheting forgives a union that is as it was: %v", err)
	}
	o.refused(o.merge("m", `{source: {s3: {}}}`), `spec.source.type: Unsupported value: 5`)
	o.refused(o.merge("m", `{source: {type: null}}`),
		`spec.source.type: Required value: must be given when spec.source.git is set: the persisted value is 5`)
	o.metadataCanBeWritten()
	o.takeWarnings()
	if err := o.merge("m", `{source: {type: S3}}`); err != nil {
		t.Fatal(err)
	}
	o.warned(`spec.source.git: cleared: spec.source.type changed from 5 to "S3"`)
	o.isNow(`{image: b, source: {type: S3}}`)
}

// replaceSchema gives the CRD another schema, and waits for its union to take effect.
func (o object) replaceSchema(schema *apiextensionsv1.CustomResourceValidation) {
	o.Helper()
	crds := o.client.crds.ApiextensionsV1().CustomResourceDefinitions()
	eventually(o.T, "the CRD is changed", func(ctx context.Context) (bool, error) {
		crd, err := crds.Get(ctx, o.crd.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		crd.Spec.Versions[0].Schema = schema
		_, err = crds.Update(ctx, crd, metav1.UpdateOptions{})
		return err == nil, nil
	})
	eventually(o.T, "the union is judged", func(ctx context.Context) (bool, error) {
		probe := cronTab(o.T, o.crd, "probe", `{source: {type: None, git: {}}}`)
		_, err := o.client.Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsInvalid(err), nil
	})
}

// TestU43AfterMutatingAdmission (rule U4.3): what admission changes is defaulted anew, and the discriminator is still left out.
func TestU43AfterMutatingAdmission(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newDefaultedUnion(t)).object(t)
	o.create(`{source: {type: S3, s3: {bucket: b}}}`)
	o.mutate("UPDATE", `JSONPatch{op: "add", path: "/spec/note", value: "admitted"}`)
	eventually(t, "the policy takes effect", func(ctx context.Context) (bool, error) {
		u, err := o.client.Patch(ctx, o.name, types.MergePatchType, []byte(`{"spec": {"note": "sent"}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && strings.Contains(specOf(t, u), "admitted"), nil
	})
	o.refused(o.merge("m", `{source: {type: null}}`), leftOutS3)
	o.isNow(`{source: {type: S3, s3: {bucket: b}}}`)
	if err := o.merge("m", `{source: {type: null, s3: null, git: {url: u}}}`); err != nil {
		t.Fatal(err)
	}
	o.isNow(`{note: admitted, source: {type: Git, git: {url: u}}}`)
}
