// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/yaml"
)

// sourceSchema has a union of Git, S3 and None wherever a union can be: in a struct, twice in one, in the items of a
// list map and of an atomic list, in the values of a map, and in the status.
const sourceSchema = `
type: object
properties:
  spec:
    type: object
    properties:
      image: {type: string}
      source: &source
        type: object
        properties:
          name: {type: string}
          type:
            type: string
            enum: [Git, S3, None]
            x-kubernetes-unions:
              fieldMembers:
                "": {}
                Git: {name: git}
                S3: {name: s3, optional: true}
                None: {}
          git: {type: object, properties: {url: {type: string}, depth: {type: integer}}}
          s3: {type: object, properties: {bucket: {type: string}}}
          proxy:
            type: string
            enum: [HTTP, SOCKS]
            x-kubernetes-unions:
              fieldMembers:
                "": {}
                HTTP: {name: http}
                SOCKS: {name: socks}
          http: {type: string}
          socks: {type: string}
      listMap:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items:
          required: [name]
          <<: *source
      atomic:
        type: array
        items: *source
      map:
        type: object
        additionalProperties: *source
  status:
    type: object
    properties:
      source: *source
`

// newUnionsCRD returns a CRD with sourceSchema in a group of its own.
func newUnionsCRD(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := newCRD(t, `{}`)
	crd.Spec.CustomFeatureGates = nil
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = unionsSchema(t)
	return crd
}

func unionsSchema(t *testing.T) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	expanded, err := yaml.YAMLToJSON([]byte(sourceSchema))
	if err != nil {
		t.Fatal(err)
	}
	schema := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal(expanded, schema); err != nil {
		t.Fatal(err)
	}
	return schema
}

// object is a custom resource that a test writes, by a user of its own: many tests share a CRD.
type object struct {
	subject
	name string
}

// object returns an object that does not exist yet.
func (s subject) object(t *testing.T) object {
	t.Helper()
	return object{subject{T: t, crd: s.crd, client: s.client.server.customResources(s.crd)}, "o" + rand.String(8)}
}

func (o object) create(spec string) {
	o.Helper()
	u := cronTab(o.T, o.crd, o.name, spec)
	if _, err := o.client.Create(o.Context(), u, metav1.CreateOptions{FieldManager: "creator"}); err != nil {
		o.Fatal(err)
	}
	o.takeWarnings()
}

// merge sends a merge patch of the spec.
func (o object) merge(manager, spec string) error {
	o.Helper()
	patch, err := yaml.YAMLToJSON([]byte("spec: " + spec))
	if err != nil {
		o.Fatal(err)
	}
	_, err = o.client.Patch(o.Context(), o.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
	return err
}

// isNow compares the spec with YAML in any order.
func (o object) isNow(want string) {
	o.Helper()
	if diff := cmp.Diff(parse[any](o.T, want), parse[any](o.T, specOf(o.T, o.get(o.name)))); diff != "" {
		o.Errorf("spec (-want +got):\n%s", diff)
	}
}

// warned compares the warnings since the last time.
func (o object) warned(want ...string) {
	o.Helper()
	if diff := cmp.Diff(want, o.takeWarnings()); diff != "" {
		o.Errorf("V3: warnings (-want +got):\n%s", diff)
	}
}

// refused expects an error with all of these texts.
func (o object) refused(err error, texts ...string) {
	o.Helper()
	if !apierrors.IsInvalid(err) {
		o.Fatalf("not refused as invalid: %v", err)
	}
	for _, text := range texts {
		if strings.Count(err.Error(), text) != 1 {
			o.Errorf("want once: %s\ngot: %v", text, err)
		}
	}
}

// TestU4EveryWriteNormalizes (rules U3, U4.1, U5, V3) switches unions everywhere in an object, by every kind of write.
// The client sends the members that it deselects as they are, like a client that does not know them.
func TestU4EveryWriteNormalizes(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newUnionsCRD(t))
	for _, tc := range []struct {
		name, persisted, written, want string
		warnings                       []string
	}{
		{
			name:      "struct",
			persisted: `{source: {type: Git, git: {url: u}}}`,
			written:   `{source: {type: S3, git: {url: u}, s3: {bucket: b}}}`,
			want:      `{source: {type: S3, s3: {bucket: b}}}`,
			warnings:  []string{`spec.source.git: cleared: spec.source.type changed from "Git" to "S3"`},
		},
		{
			name:      "two unions of one struct, one of which changes",
			persisted: `{source: {type: Git, git: {url: u}, proxy: HTTP, http: h}}`,
			written:   `{source: {type: Git, git: {url: u}, proxy: SOCKS, http: h, socks: s}}`,
			want:      `{source: {type: Git, git: {url: u}, proxy: SOCKS, socks: s}}`,
			warnings:  []string{`spec.source.http: cleared: spec.source.proxy changed from "HTTP" to "SOCKS"`},
		},
		{
			name:      "to a value without a member",
			persisted: `{source: {type: Git, git: {url: u}}}`,
			written:   `{source: {type: None, git: {url: u}}}`,
			want:      `{source: {type: None}}`,
			warnings:  []string{`spec.source.git: cleared: spec.source.type changed from "Git" to "None"`},
		},
		{
			name:      "list map, reordered, with a new item that is taken as created (U5)",
			persisted: `{listMap: [{name: a, type: Git, git: {url: u}}, {name: b, type: Git, git: {url: v}}]}`,
			written:   `{listMap: [{name: b, type: S3, git: {url: v}}, {name: a, type: Git, git: {url: u}}, {name: c, type: S3}]}`,
			want:      `{listMap: [{name: b, type: S3}, {name: a, type: Git, git: {url: u}}, {name: c, type: S3}]}`,
			warnings:  []string{`spec.listMap[0].git: cleared: spec.listMap[0].type changed from "Git" to "S3"`},
		},
		{
			name:      "map",
			persisted: `{map: {a: {type: Git, git: {url: u}}, b: {type: Git, git: {url: v}}}}`,
			written:   `{map: {a: {type: Git, git: {url: u}}, b: {type: S3, git: {url: v}, s3: {}}}}`,
			want:      `{map: {a: {type: Git, git: {url: u}}, b: {type: S3, s3: {}}}}`,
			warnings:  []string{`spec.map.b.git: cleared: spec.map.b.type changed from "Git" to "S3"`},
		},
	} {
		for _, w := range writers {
			t.Run(tc.name+" by "+w.name, func(t *testing.T) {
				t.Parallel()
				o := s.object(t)
				o.create(tc.persisted)
				if err := w.write(o.subject, o.name, tc.written); err != nil {
					t.Fatal(err)
				}
				o.warned(tc.warnings...)
				o.isNow(tc.want)
			})
		}
	}
}

// TestU4CreateIsNotNormalized (rules U4, U6): what a create says is taken as said, and refused; also one by apply.
func TestU4CreateIsNotNormalized(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newUnionsCRD(t))
	const both = `{source: {type: Git, git: {url: u}, s3: {bucket: b}}}`
	const forbidden = `spec.source.s3: Forbidden: must not be set when spec.source.type is "Git": a client that changes the ` +
		`members of a union must change the discriminator too`
	o := s.object(t)
	_, err := o.client.Create(t.Context(), cronTab(t, o.crd, o.name, both), metav1.CreateOptions{})
	o.refused(err, forbidden)
	_, err = o.client.Apply(t.Context(), o.name, cronTab(t, o.crd, o.name, both), metav1.ApplyOptions{FieldManager: "m"})
	o.refused(err, forbidden)
	o.warned()
}

// TestU4NothingIsEverSet (rule U4.2): a member that is not there stays away, and the write fails loudly.
func TestU4NothingIsEverSet(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).object(t)
	o.create(`{source: {type: S3, s3: {bucket: b}}}`)
	o.refused(o.merge("m", `{source: {type: Git}}`), `spec.source.git: Required value: must be set when spec.source.type is "Git"`)
	o.warned()
	o.isNow(`{source: {type: S3, s3: {bucket: b}}}`)
}

// TestU5AtomicListsAreNotMatched (rules U5, U6): their items are new with each write.
func TestU5AtomicListsAreNotMatched(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).object(t)
	o.create(`{atomic: [{type: Git, git: {url: u}}]}`)
	o.refused(o.merge("m", `{atomic: [{type: S3, git: {url: u}}]}`), `spec.atomic[0].git: Forbidden: `)
	if err := o.merge("m", `{atomic: [{type: S3}]}`); err != nil {
		t.Fatal(err)
	}
	o.isNow(`{atomic: [{type: S3}]}`)
}

// TestU6EachErrorOnceAtItsPath (rules U3, U6): also where the schema's enum reports the same value.
func TestU6EachErrorOnceAtItsPath(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newUnionsCRD(t))
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"unsupported": {`{source: {type: Svn, git: {url: u}}}`, []string{`spec.source.type: Unsupported value: "Svn"`}},
		"required":    {`{map: {a: {type: Git}}}`, []string{`spec.map.a.git: Required value: must be set when spec.map.a.type is "Git"`}},
		"forbidden":   {`{listMap: [{name: a, git: {}}]}`, []string{`spec.listMap[0].git: Forbidden: must not be set when spec.listMap[0].type is ""`}},
		"several": {`{source: {type: None, git: {}, proxy: HTTP}, atomic: [{type: Nope}]}`, []string{
			`spec.source.git: Forbidden: `, `spec.source.http: Required value: `, `spec.atomic[0].type: Unsupported value: "Nope"`,
		}},
		"wrong types are the schema's": {`{source: {type: 5, git: {}}, map: [], atomic: {}}`, []string{
			`spec.source.type: Invalid value`, `spec.map: Invalid value`, `spec.atomic: Invalid value`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := s.object(t)
			_, err := o.client.Create(t.Context(), cronTab(t, o.crd, o.name, tc.spec), metav1.CreateOptions{})
			o.refused(err, tc.want...)
			if name == "unsupported" && strings.Contains(err.Error(), "spec.source.git") {
				t.Errorf("U6.1: more is said than that the value is unsupported: %v", err)
			}
		})
	}
}
