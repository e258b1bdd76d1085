// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// sourceSchema has unions wherever they can be: one and two in an object, in the items of a list map and of an atomic
// list, in the values of a map, and in status.
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

// newUnionsCRD returns a CRD with sourceSchema, without gates.
func newUnionsCRD(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	return newCRDWithSchema(t, unionsSchema(t))
}

// unionsSchema reads sourceSchema, which has YAML aliases.
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

// TestU4EveryWriteNormalizes (rules U3, U4.1, U5, V3) switches unions everywhere in an object, with every way to write.
// The client sends the member that it deselects unchanged, like a client that does not know it.
func TestU4EveryWriteNormalizes(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newUnionsCRD(t))
	for _, tc := range []struct {
		name, persisted, written, want string
		warnings                       []string
	}{
		{
			name:      "U4.1: the deselected member of a union is cleared",
			persisted: `{source: {type: Git, git: {url: u}}}`,
			written:   `{source: {type: S3, git: {url: u}, s3: {bucket: b}}}`,
			want:      `{source: {type: S3, s3: {bucket: b}}}`,
			warnings:  []string{`spec.source.git: cleared: spec.source.type changed from "Git" to "S3"`},
		},
		{
			name:      "U4.1: only the union whose discriminator changes is normalized",
			persisted: `{source: {type: Git, git: {url: u}, proxy: HTTP, http: h}}`,
			written:   `{source: {type: Git, git: {url: u}, proxy: SOCKS, http: h, socks: s}}`,
			want:      `{source: {type: Git, git: {url: u}, proxy: SOCKS, socks: s}}`,
			warnings:  []string{`spec.source.http: cleared: spec.source.proxy changed from "HTTP" to "SOCKS"`},
		},
		{
			name:      "U4.1: a value without a member clears the old member",
			persisted: `{source: {type: Git, git: {url: u}}}`,
			written:   `{source: {type: None, git: {url: u}}}`,
			want:      `{source: {type: None}}`,
			warnings:  []string{`spec.source.git: cleared: spec.source.type changed from "Git" to "None"`},
		},
		{
			name:      "U5: items of a list map are matched by key, and a new item is not normalized",
			persisted: `{listMap: [{name: a, type: Git, git: {url: u}}, {name: b, type: Git, git: {url: v}}]}`,
			written:   `{listMap: [{name: b, type: S3, git: {url: v}}, {name: a, type: Git, git: {url: u}}, {name: c, type: S3}]}`,
			want:      `{listMap: [{name: b, type: S3}, {name: a, type: Git, git: {url: u}}, {name: c, type: S3}]}`,
			warnings:  []string{`spec.listMap[0].git: cleared: spec.listMap[0].type changed from "Git" to "S3"`},
		},
		{
			name:      "U5: values of a map are matched by key",
			persisted: `{map: {a: {type: Git, git: {url: u}}, b: {type: Git, git: {url: v}}}}`,
			written:   `{map: {a: {type: Git, git: {url: u}}, b: {type: S3, git: {url: v}, s3: {}}}}`,
			want:      `{map: {a: {type: Git, git: {url: u}}, b: {type: S3, s3: {}}}}`,
			warnings:  []string{`spec.map.b.git: cleared: spec.map.b.type changed from "Git" to "S3"`},
		},
	} {
		for _, w := range writers {
			t.Run(tc.name+", by "+w.name, func(t *testing.T) {
				t.Parallel()
				o := s.newObject(t)
				o.create(tc.persisted)
				if err := w.write(o.subject, o.name, tc.written); err != nil {
					t.Fatal(err)
				}
				o.wantWarnings(tc.warnings...)
				o.wantSpec(tc.want)
			})
		}
	}
}

// TestU4CreateIsNotNormalized (rules U4, U6): a create with two members is refused, also a create by apply.
func TestU4CreateIsNotNormalized(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newUnionsCRD(t))
	const both = `{source: {type: Git, git: {url: u}, s3: {bucket: b}}}`
	const forbidden = `spec.source.s3: Forbidden: must not be set when spec.source.type is "Git": a client that changes the ` +
		`members of a union must change the discriminator too`
	o := s.newObject(t)
	_, err := o.client.Create(t.Context(), cronTab(t, o.crd, o.name, both), metav1.CreateOptions{})
	o.wantInvalid(err, forbidden)
	_, err = o.client.Apply(t.Context(), o.name, cronTab(t, o.crd, o.name, both), metav1.ApplyOptions{FieldManager: "m"})
	o.wantInvalid(err, forbidden)
	o.wantWarnings()
}

// TestU4NothingIsEverSet (rules U4.2, U6.3): normalization does not add a missing member, so the write is refused.
func TestU4NothingIsEverSet(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).newObject(t)
	o.create(`{source: {type: S3, s3: {bucket: b}}}`)
	o.wantInvalid(o.merge("m", `{source: {type: Git}}`), `spec.source.git: Required value: must be set when spec.source.type is "Git"`)
	o.wantWarnings()
	o.wantSpec(`{source: {type: S3, s3: {bucket: b}}}`)
}

// TestU5AtomicListsAreNotMatched (rules U5, U6): the items of an atomic list are new with each write.
func TestU5AtomicListsAreNotMatched(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).newObject(t)
	o.create(`{atomic: [{type: Git, git: {url: u}}]}`)
	o.wantInvalid(o.merge("m", `{atomic: [{type: S3, git: {url: u}}]}`), `spec.atomic[0].git: Forbidden: `)
	if err := o.merge("m", `{atomic: [{type: S3}]}`); err != nil {
		t.Fatal(err)
	}
	o.wantSpec(`{atomic: [{type: S3}]}`)
}

// TestU6EachErrorOnceAtItsPath (rules U3, U6): the error appears once, also if the schema's enum reports the same
// value.
func TestU6EachErrorOnceAtItsPath(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newUnionsCRD(t))
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"U6.1: an unsupported value": {`{source: {type: Svn, git: {url: u}}}`, []string{`spec.source.type: Unsupported value: "Svn"`}},
		"U6.2: a member that is not selected": {`{listMap: [{name: a, git: {}}]}`, []string{
			`spec.listMap[0].git: Forbidden: must not be set when spec.listMap[0].type is ""`,
		}},
		"U6.3: a missing member": {`{map: {a: {type: Git}}}`, []string{
			`spec.map.a.git: Required value: must be set when spec.map.a.type is "Git"`,
		}},
		"U6: several errors": {`{source: {type: None, git: {}, proxy: HTTP}, atomic: [{type: Nope}]}`, []string{
			`spec.source.git: Forbidden: `, `spec.source.http: Required value: `, `spec.atomic[0].type: Unsupported value: "Nope"`,
		}},
		"R1: wrong types are reported by schema validation": {`{source: {type: 5, git: {}}, map: [], atomic: {}}`, []string{
			`spec.source.type: Invalid value`, `spec.map: Invalid value`, `spec.atomic: Invalid value`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := s.newObject(t)
			_, err := o.client.Create(t.Context(), cronTab(t, o.crd, o.name, tc.spec), metav1.CreateOptions{})
			o.wantInvalid(err, tc.want...)
			if strings.HasPrefix(name, "U6.1") && strings.Contains(err.Error(), "spec.source.git") {
				t.Errorf("U6.1: the error is not only about the discriminator: %v", err)
			}
		})
	}
}
