// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/line"
)

const correctSchemaYAML = `
type: object
properties:
  spec:
    type: object
    properties:
      image: {type: string}
      replicas: {type: integer}
      foo: {type: object, properties: {baz: {type: integer}, qux: {type: integer}}}
      pools: {type: object, additionalProperties: {type: object, properties: {size: {type: integer}}}}
      items:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items: {type: object, required: [name], properties: {name: {type: string}, size: {type: integer}, note: {type: string}}}
`

// updateCases are the cases of TestG7UpdatesKeepOwners.
var updateCases = []struct {
	name                  string
	old, requested, final string
	before, after         entries
	want                  entries
}{
	{
		name: "G7.1, G7.2: a changed field that is kept stays with its owner",
		old:  `spec: {image: a, replicas: 3}`, requested: `spec: {image: b, replicas: 5}`, final: `spec: {image: b, replicas: 3}`,
		before: entries{`alice Update v1: {f:spec: {f:image: {}, f:replicas: {}}}`},
		after:  entries{`bob Update v1: {f:spec: {f:image: {}, f:replicas: {}}}`},
		want:   entries{`alice Update v1: {f:spec: {f:replicas: {}}}`, `bob Update v1: {f:spec: {f:image: {}}}`},
	},
	{
		name: "G7.2: a kept field that a PUT leaves out keeps all of its owners",
		old:  `spec: {image: a, replicas: 3}`, requested: `spec: {image: b}`, final: `spec: {image: b, replicas: 3}`,
		before: entries{`alice Apply v1: {f:spec: {f:image: {}, f:replicas: {}}}`, `carol Apply v1: {f:spec: {f:replicas: {}}}`},
		after:  entries{`bob Update v1: {f:spec: {f:image: {}}}`},
		want: entries{
			`alice Apply v1: {f:spec: {f:replicas: {}}}`, `carol Apply v1: {f:spec: {f:replicas: {}}}`, `bob Update v1: {f:spec: {f:image: {}}}`,
		},
	},
	{
		name: "G7.1: a dropped field has no owner",
		old:  `spec: {image: a}`, requested: `spec: {image: b, replicas: 5}`, final: `spec: {image: b}`,
		before: entries{`alice Update v1: {f:spec: {f:image: {}}}`},
		after:  entries{`bob Update v1: {f:spec: {f:image: {}, f:replicas: {}}}`},
		want:   entries{`bob Update v1: {f:spec: {f:image: {}}}`},
	},
	{
		name:      "G7.1: a field that is dropped on create has no owner",
		requested: `spec: {image: b, replicas: 5, foo: {qux: 1}}`, final: `spec: {image: b, foo: {}}`,
		after: entries{`bob Update v1: {f:spec: {.: {}, f:image: {}, f:replicas: {}, f:foo: {.: {}, f:qux: {}}}}`},
		want:  entries{`bob Update v1: {f:spec: {.: {}, f:image: {}, f:foo: {}}}`},
	},
	{
		name:      "G3, G7: a manager owns the object that it wrote and that a drop emptied",
		requested: `spec: {foo: {qux: 1}, pools: {x: {size: 1}}}`, final: `spec: {foo: {}, pools: {x: {}}}`,
		after: entries{`bob Apply v1: {f:spec: {f:foo: {f:qux: {}}, f:pools: {f:x: {f:size: {}}}}}`},
		want:  entries{`bob Apply v1: {f:spec: {f:foo: {}, f:pools: {f:x: {}}}}`},
	},
	{
		name: "G7: an object that was empty before keeps its owners",
		old:  `spec: {foo: {}}`, requested: `spec: {foo: {qux: 1}}`, final: `spec: {foo: {}}`,
		before: entries{`alice Update v1: {f:spec: {f:foo: {}}}`},
		after:  entries{`alice Update v1: {f:spec: {f:foo: {}}}`, `bob Update v1: {f:spec: {f:foo: {f:qux: {}}}}`},
		want:   entries{`alice Update v1: {f:spec: {f:foo: {}}}`},
	},
	{
		name: "G7: a request that changes nothing but disabled fields leaves no entry",
		old:  `spec: {replicas: 3}`, requested: `spec: {replicas: 5}`, final: `spec: {replicas: 3}`,
		before: entries{`alice Update v1: {f:spec: {f:replicas: {}}}`},
		after:  entries{`bob Update v1: {f:spec: {f:replicas: {}}}`},
		want:   entries{`alice Update v1: {f:spec: {f:replicas: {}}}`},
	},
	{
		name: "G7.4: a field that is removed with its ancestor has no owner",
		old:  `spec: {image: a, foo: {baz: 1, qux: 2}}`, requested: `spec: {image: a, foo: {qux: 2}}`, final: `spec: {image: a}`,
		before: entries{`alice Update v1: {f:spec: {f:image: {}, f:foo: {.: {}, f:baz: {}, f:qux: {}}}}`},
		after:  entries{`alice Update v1: {f:spec: {f:image: {}, f:foo: {.: {}, f:qux: {}}}}`},
		want:   entries{`alice Update v1: {f:spec: {f:image: {}}}`},
	},
	{
		name: "U8: a cleared member has no owner, and the requesting manager owns the discriminator",
		old:  `spec: {source: {type: Git, git: {url: u, ref: r}}}`, requested: `spec: {source: {type: S3, git: {url: u, ref: r}, s3: {bucket: b}}}`,
		final:  `spec: {source: {type: S3, s3: {bucket: b}}}`,
		before: entries{`alice Update v1: {f:spec: {f:source: {f:type: {}, f:git: {.: {}, f:url: {}, f:ref: {}}}}}`},
		after: entries{
			`alice Update v1: {f:spec: {f:source: {f:git: {.: {}, f:url: {}, f:ref: {}}}}}`,
			`bob Update v1: {f:spec: {f:source: {f:type: {}, f:s3: {.: {}, f:bucket: {}}}}}`,
		},
		want: entries{`bob Update v1: {f:spec: {f:source: {f:type: {}, f:s3: {.: {}, f:bucket: {}}}}}`},
	},
	{
		name: "U8: a member that the request changed and normalization cleared has no owner",
		old:  `spec: {type: Git, git: {}}`, requested: `spec: {type: S3, git: {url: u}, s3: {}}`, final: `spec: {type: S3, s3: {}}`,
		before: entries{`alice Update v1: {f:spec: {f:type: {}, f:git: {}}}`},
		after:  entries{`alice Update v1: {f:spec: {f:git: {}}}`, `bob Update v1: {f:spec: {f:type: {}, f:git: {f:url: {}}, f:s3: {}}}`},
		want:   entries{`bob Update v1: {f:spec: {f:type: {}, f:s3: {}}}`},
	},
	{
		name: "G5, G7: items are matched by their keys, in any order",
		old:  `spec: {items: [{name: a, size: 1}, {name: b, size: 2}]}`, requested: `spec: {items: [{name: b, size: 9}, {name: c, size: 3}, {name: a, size: 1}]}`,
		final:  `spec: {items: [{name: b, size: 2}, {name: c}, {name: a, size: 1}]}`,
		before: entries{`alice Update v1: {f:spec: {f:items: {'k:{"name":"a"}': {.: {}, f:name: {}, f:size: {}}, 'k:{"name":"b"}': {.: {}, f:name: {}, f:size: {}}}}}`},
		after: entries{
			`alice Update v1: {f:spec: {f:items: {'k:{"name":"a"}': {.: {}, f:name: {}, f:size: {}}, 'k:{"name":"b"}': {.: {}, f:name: {}}}}}`,
			`bob Update v1: {f:spec: {f:items: {'k:{"name":"b"}': {f:size: {}}, 'k:{"name":"c"}': {.: {}, f:name: {}, f:size: {}}}}}`,
		},
		want: entries{
			`alice Update v1: {f:spec: {f:items: {'k:{"name":"a"}': {.: {}, f:name: {}, f:size: {}}, 'k:{"name":"b"}': {.: {}, f:name: {}, f:size: {}}}}}`,
			`bob Update v1: {f:spec: {f:items: {'k:{"name":"c"}': {.: {}, f:name: {}}}}}`,
		},
	},
	{
		name: "G5, G7: items are matched by two keys, one of them a number",
		old:  `spec: {ports: [{port: 80, protocol: TCP, host: h}]}`, requested: `spec: {ports: [{port: 81, protocol: TCP, host: i}, {port: 80.0, protocol: TCP, host: i}]}`,
		final:  `spec: {ports: [{port: 81, protocol: TCP}, {port: 80.0, protocol: TCP, host: h}]}`,
		before: entries{`alice Update v1: {f:spec: {f:ports: {'k:{"port":80,"protocol":"TCP"}': {.: {}, f:host: {}, f:port: {}, f:protocol: {}}}}}`},
		after: entries{
			`alice Update v1: {f:spec: {f:ports: {'k:{"port":80,"protocol":"TCP"}': {.: {}, f:port: {}, f:protocol: {}}}}}`,
			`bob Update v1: {f:spec: {f:ports: {'k:{"port":80,"protocol":"TCP"}': {f:host: {}}, 'k:{"port":81,"protocol":"TCP"}': {.: {}, f:host: {}, f:port: {}, f:protocol: {}}}}}`,
		},
		want: entries{
			`alice Update v1: {f:spec: {f:ports: {'k:{"port":80,"protocol":"TCP"}': {.: {}, f:host: {}, f:port: {}, f:protocol: {}}}}}`,
			`bob Update v1: {f:spec: {f:ports: {'k:{"port":81,"protocol":"TCP"}': {.: {}, f:port: {}, f:protocol: {}}}}}`,
		},
	},
	{
		name: "G7: items of a kept set keep their owner",
		old:  `spec: {tags: [a, b]}`, requested: `spec: {tags: [b, c]}`, final: `spec: {tags: [a, b]}`,
		before: entries{`alice Apply v1: {f:spec: {f:tags: {'v:"a"': {}, 'v:"b"': {}}}}`},
		after:  entries{`alice Apply v1: {f:spec: {f:tags: {'v:"b"': {}}}}`, `bob Update v1: {f:spec: {f:tags: {'v:"c"': {}}}}`},
		want:   entries{`alice Apply v1: {f:spec: {f:tags: {'v:"a"': {}, 'v:"b"': {}}}}`},
	},
	{
		name: "G7: values of a map are kept, dropped and removed separately",
		old:  `spec: {pools: {x: {size: 1}, gone: {size: 2}}}`, requested: `spec: {pools: {x: {size: 5}, new: {size: 5}}}`,
		final:  `spec: {pools: {x: {size: 1}, new: {}}}`,
		before: entries{`alice Update v1: {f:spec: {f:pools: {.: {}, f:x: {.: {}, f:size: {}}, f:gone: {.: {}, f:size: {}}}}}`},
		after: entries{
			`alice Update v1: {f:spec: {f:pools: {.: {}, f:x: {.: {}}}}}`,
			`bob Update v1: {f:spec: {f:pools: {f:x: {f:size: {}}, f:new: {.: {}, f:size: {}}}}}`,
		},
		want: entries{
			`alice Update v1: {f:spec: {f:pools: {.: {}, f:x: {.: {}, f:size: {}}}}}`,
			`bob Update v1: {f:spec: {f:pools: {f:new: {}}}}`,
		},
	},
	{
		name: "G7: an atomic list that is kept keeps its owner",
		old:  `spec: {args: [a]}`, requested: `spec: {args: [a, b]}`, final: `spec: {args: [a]}`,
		before: entries{`alice Update v1: {f:spec: {f:args: {}}}`}, after: entries{`bob Update v1: {f:spec: {f:args: {}}}`},
		want: entries{`alice Update v1: {f:spec: {f:args: {}}}`},
	},
	{
		name: "G7: an atomic object of which the request changed another field is owned by the requesting manager",
		old:  `spec: {whole: {x: 1, z: 1}}`, requested: `spec: {whole: {x: 2, z: 2}}`, final: `spec: {whole: {x: 1, z: 2}}`,
		before: entries{`alice Update v1: {f:spec: {f:whole: {}}}`}, after: entries{`bob Update v1: {f:spec: {f:whole: {}}}`},
		want: entries{`bob Update v1: {f:spec: {f:whole: {}}}`},
	},
	{
		name: "G7: metadata and other fields that were not changed after field management are left alone",
		old:  `{metadata: {labels: {a: b}}, spec: {replicas: 3}}`, requested: `{metadata: {labels: {a: c}}, spec: {replicas: 5}}`,
		final:  `{metadata: {labels: {a: c}}, spec: {replicas: 3}}`,
		before: entries{`alice Update v1: {f:metadata: {f:labels: {f:a: {}}}, f:spec: {f:replicas: {}}}`},
		after:  entries{`bob Update v1: {f:metadata: {f:labels: {f:a: {}}}, f:spec: {f:replicas: {}}}`},
		want:   entries{`alice Update v1: {f:spec: {f:replicas: {}}}`, `bob Update v1: {f:metadata: {f:labels: {f:a: {}}}}`},
	},
	{
		name: "R1: paths that lead to nothing are left alone",
		old:  `spec: {replicas: 3}`, requested: `spec: {replicas: 5}`, final: `spec: {replicas: 3}`,
		before: entries{`alice Update v1: {f:spec: {f:replicas: {}, f:list: {'k:{"n":null}': {}, 'v:{"x":1}': {}, 'i:-1': {}, 'i:9': {}}, f:x: {f:z: {}}}}`},
		after:  entries{`alice Update v1: {f:spec: {f:list: {'k:{"n":null}': {}, 'v:{"x":1}': {}, 'i:-1': {}, 'i:9': {}}, f:x: {f:z: {}}}}`, `bob Update v1: {f:spec: {f:replicas: {}}}`},
		want:   entries{`alice Update v1: {f:spec: {f:replicas: {}, f:list: {'k:{"n":null}': {}, 'v:{"x":1}': {}, 'i:-1': {}, 'i:9': {}}, f:x: {f:z: {}}}}`},
	},
	{
		name: "G7: a manager has an entry for each subresource",
		old:  `spec: {replicas: 3}`, requested: `spec: {replicas: 5}`, final: `spec: {replicas: 3}`,
		before: entries{`hpa Update v1 scale: {f:spec: {f:replicas: {}}}`},
		after:  entries{`hpa Update v1: {f:spec: {f:replicas: {}}}`},
		want:   entries{`hpa Update v1 scale: {f:spec: {f:replicas: {}}}`},
	},
	{
		name: "U8: with conversion None entries of other versions are corrected like those of the request's version",
		old:  `spec: {replicas: 3, foo: {qux: 1}}`, requested: `spec: {replicas: 5, foo: {qux: 1}}`, final: `spec: {replicas: 3}`,
		before: entries{`alice Update v1beta1: {f:spec: {f:replicas: {}, f:foo: {f:qux: {}}}}`},
		after:  entries{`alice Update v1beta1: {f:spec: {f:foo: {f:qux: {}}}}`, `bob Update v1: {f:spec: {f:replicas: {}}}`},
		want:   entries{`alice Update v1beta1: {f:spec: {f:replicas: {}}}`},
	},
}

// TestG7UpdatesKeepOwners (rules G7, U8): the gates, or the normalization of a union, changed the object of an update.
func TestG7UpdatesKeepOwners(t *testing.T) {
	for _, tc := range updateCases {
		t.Run(tc.name, func(t *testing.T) {
			got := mustCorrect(t, Write{
				Before: tc.before.parse(t), After: tc.after.parse(t),
				Objects: inAllVersions(parseObjects(t, tc.old, tc.requested, tc.final)),
			})
			assertEntries(t, tc.want, got)
		})
	}
}

// applyCases are the cases of TestG7AppliersOfDisabledFields.
var applyCases = []struct {
	name           string
	paths          []string
	old            string
	sent, adjusted string
	requested      string // the result of field management
	final          string // empty: as requested
	before, after  entries
	want           entries
}{
	{
		name: "G7.1: an applier of the persisted value shares the field", paths: []string{".spec.replicas"},
		old: `spec: {replicas: 3}`, sent: `spec: {replicas: 3}`, adjusted: `spec: {replicas: 3}`, requested: `spec: {replicas: 3}`,
		before: entries{`alice Apply v1: {f:spec: {f:replicas: {}}}`},
		after:  entries{`alice Apply v1: {f:spec: {f:replicas: {}}}`, `bob Apply v1: {f:spec: {f:replicas: {}}}`},
		want:   entries{`alice Apply v1: {f:spec: {f:replicas: {}}}`, `bob Apply v1: {f:spec: {f:replicas: {}}}`},
	},
	{
		name: "G7.1: an applier of another value does not become owner", paths: []string{".spec.replicas"},
		old: `spec: {image: a, replicas: 3}`, sent: `spec: {image: b, replicas: 5}`, adjusted: `spec: {image: b, replicas: 3}`,
		requested: `spec: {image: b, replicas: 3}`,
		before:    entries{`alice Apply v1: {f:spec: {f:replicas: {}}}`},
		after:     entries{`alice Apply v1: {f:spec: {f:replicas: {}}}`, `bob Apply v1: {f:spec: {f:image: {}, f:replicas: {}}}`},
		want:      entries{`alice Apply v1: {f:spec: {f:replicas: {}}}`, `bob Apply v1: {f:spec: {f:image: {}}}`},
	},
	{
		name: "G7.2: an owner that applies another value stays owner", paths: []string{".spec.replicas"},
		old: `spec: {replicas: 3}`, sent: `spec: {replicas: 5}`, adjusted: `spec: {replicas: 3}`, requested: `spec: {replicas: 3}`,
		before: entries{`bob Apply v1: {f:spec: {f:replicas: {}}}`},
		after:  entries{`bob Apply v1: {f:spec: {f:replicas: {}}}`},
		want:   entries{`bob Apply v1: {f:spec: {f:replicas: {}}}`},
	},
	{
		name: "G7.2: an owner that leaves the field out gives it up", paths: []string{".spec.replicas"},
		old: `spec: {image: a, replicas: 3}`, sent: `spec: {image: a}`, adjusted: `spec: {image: a}`,
		requested: `spec: {image: a}`, final: `spec: {image: a, replicas: 3}`,
		before: entries{`bob Apply v1: {f:spec: {f:image: {}, f:replicas: {}}}`},
		after:  entries{`bob Apply v1: {f:spec: {f:image: {}}}`},
		want:   entries{`bob Apply v1: {f:spec: {f:image: {}}}`},
	},
	{
		name: "G7.2: an owner that applies null gives the field up", paths: []string{".spec.replicas"},
		old: `spec: {image: a, replicas: 3}`, sent: `spec: {image: a, replicas: null}`, adjusted: `spec: {image: a}`,
		requested: `spec: {image: a}`, final: `spec: {image: a, replicas: 3}`,
		before: entries{`bob Apply v1: {f:spec: {f:image: {}, f:replicas: {}}}`},
		after:  entries{`bob Apply v1: {f:spec: {f:image: {}}}`},
		want:   entries{`bob Apply v1: {f:spec: {f:image: {}}}`},
	},
	{
		name: "G7.1: a field that is not persisted has no owner", paths: []string{".spec.replicas"},
		old: `spec: {image: a}`, sent: `spec: {image: a, replicas: 5}`, adjusted: `spec: {image: a}`, requested: `spec: {image: a}`,
		before: entries{`bob Apply v1: {f:spec: {f:image: {}}}`},
		after:  entries{`bob Apply v1: {f:spec: {f:image: {}}}`},
		want:   entries{`bob Apply v1: {f:spec: {f:image: {}}}`},
	},
	{
		name: "G7.1: if the only field of an object is dropped, the applier owns the object", paths: []string{".spec.foo.qux"},
		sent: `spec: {foo: {qux: 1}}`, adjusted: `spec: {foo: {}}`, requested: `spec: {foo: {}}`,
		after: entries{`bob Apply v1: {f:spec: {f:foo: {}}}`},
		want:  entries{`bob Apply v1: {f:spec: {f:foo: {}}}`},
	},
	{
		name: "G7.2: an applier of another field of a disabled object does not become owner, and gives its own field up", paths: []string{".spec.foo"},
		old: `spec: {foo: {baz: 1, qux: 2}}`, sent: `spec: {foo: {baz: 5}}`, adjusted: `spec: {foo: {baz: 1}}`, requested: `spec: {foo: {baz: 1, qux: 2}}`,
		before: entries{`alice Apply v1: {f:spec: {f:foo: {f:baz: {}}}}`, `bob Apply v1: {f:spec: {f:foo: {f:qux: {}}}}`},
		after:  entries{`alice Apply v1: {f:spec: {f:foo: {f:baz: {}}}}`, `bob Apply v1: {f:spec: {f:foo: {f:baz: {}}}}`},
		want:   entries{`alice Apply v1: {f:spec: {f:foo: {f:baz: {}}}}`},
	},
	{
		name: "G5, G7.2: fields of items are matched by the keys of the items", paths: []string{".spec.items[*].size"},
		old: `spec: {items: [{name: a, size: 1}, {name: b, size: 2}]}`, sent: `spec: {items: [{name: b, size: 9}, {name: a}]}`,
		adjusted: `spec: {items: [{name: b, size: 2}, {name: a}]}`, requested: `spec: {items: [{name: a}, {name: b, size: 2}]}`,
		final:  `spec: {items: [{name: a, size: 1}, {name: b, size: 2}]}`,
		before: entries{`bob Apply v1: {f:spec: {f:items: {'k:{"name":"a"}': {.: {}, f:name: {}, f:size: {}}, 'k:{"name":"b"}': {.: {}, f:name: {}, f:size: {}}}}}`},
		after:  entries{`bob Apply v1: {f:spec: {f:items: {'k:{"name":"a"}': {.: {}, f:name: {}}, 'k:{"name":"b"}': {.: {}, f:name: {}, f:size: {}}}}}`},
		want:   entries{`bob Apply v1: {f:spec: {f:items: {'k:{"name":"a"}': {.: {}, f:name: {}}, 'k:{"name":"b"}': {.: {}, f:name: {}, f:size: {}}}}}`},
	},
	{
		name: "G7: an applier that changes to another version keeps its fields", paths: []string{".spec.replicas"},
		old: `spec: {image: a, replicas: 3}`, sent: `spec: {image: a, replicas: 5}`, adjusted: `spec: {image: a, replicas: 3}`, requested: `spec: {image: a, replicas: 3}`,
		before: entries{`bob Apply v1beta1: {f:spec: {f:image: {}, f:replicas: {}}}`},
		after:  entries{`bob Apply v1: {f:spec: {f:image: {}, f:replicas: {}}}`},
		want:   entries{`bob Apply v1: {f:spec: {f:image: {}, f:replicas: {}}}`},
	},
	{
		name: "G7: entries of the same manager for updates, or for another subresource, are not those of the applier", paths: []string{".spec.replicas"},
		old: `spec: {replicas: 3}`, sent: `spec: {}`, adjusted: `spec: {}`, requested: `spec: {}`, final: `spec: {replicas: 3}`,
		before: entries{`bob Apply v1 scale: {f:spec: {f:replicas: {}}}`, `bob Update v1: {f:spec: {f:replicas: {}}}`},
		after:  entries{`bob Apply v1 scale: {f:spec: {f:replicas: {}}}`, `bob Update v1: {f:spec: {f:replicas: {}}}`, `bob Apply v1: {f:spec: {}}`},
		want:   entries{`bob Apply v1: {f:spec: {}}`, `bob Apply v1 scale: {f:spec: {f:replicas: {}}}`, `bob Update v1: {f:spec: {f:replicas: {}}}`},
	},
	{
		name: "G7.2: an owner that applies a persisted null again stays owner", paths: []string{".spec.replicas"},
		old: `spec: {image: a, replicas: null}`, sent: `spec: {image: b, replicas: null}`, adjusted: `spec: {image: b, replicas: null}`, requested: `spec: {image: b, replicas: null}`,
		before: entries{`bob Apply v1: {f:spec: {f:image: {}, f:replicas: {}}}`},
		after:  entries{`bob Apply v1: {f:spec: {f:image: {}, f:replicas: {}}}`},
		want:   entries{`bob Apply v1: {f:spec: {f:image: {}, f:replicas: {}}}`},
	},
}

// TestG7AppliersOfDisabledFields (rules G7.1, G7.2): an applier may keep, share or give up a disabled field. The
// configuration was adjusted before field management.
func TestG7AppliersOfDisabledFields(t *testing.T) {
	for _, tc := range applyCases {
		t.Run(tc.name, func(t *testing.T) {
			final := tc.final
			if final == "" {
				final = tc.requested
			}
			got := mustCorrect(t, Write{
				Before: tc.before.parse(t), After: tc.after.parse(t),
				Objects: inAllVersions(parseObjects(t, tc.old, tc.requested, final)),
				Applier: &Applier{
					Manager: "bob", Configuration: testyaml.Object(t, tc.sent), Adjusted: testyaml.Object(t, tc.adjusted),
					DisabledFields: disabledFields(planOf(t, correctSchemaYAML, tc.paths...)),
				},
			})
			assertEntries(t, tc.want, got)
		})
	}
}

// TestU8EntriesAreCorrectedInTheirVersion has a webhook. The field replicas has the name count in v1beta1.
func TestU8EntriesAreCorrectedInTheirVersion(t *testing.T) {
	objects := map[string]*Objects{
		"example.com/v1":      {Old: testyaml.Object(t, `spec: {replicas: 3}`), Requested: testyaml.Object(t, `spec: {replicas: 5}`), Final: testyaml.Object(t, `spec: {replicas: 3}`)},
		"example.com/v1beta1": {Old: testyaml.Object(t, `spec: {count: 3}`), Requested: testyaml.Object(t, `spec: {count: 5}`), Final: testyaml.Object(t, `spec: {count: 3}`)},
	}
	calls := map[string]bool{}
	got := mustCorrect(t, Write{
		Before: entries{
			`alice Update v1beta1: {f:spec: {f:count: {}}}`, `carol Update v2: {f:spec: {f:size: {}}}`, `dave Update v1beta1: {f:metadata: {f:labels: {}}}`,
			`erin Update v3: {f:spec: {f:gone: {}}}`,
		}.parse(t),
		After: entries{
			`bob Update v1: {f:spec: {f:replicas: {}}}`, `carol Update v2: {f:spec: {f:other: {}}}`, `dave Update v1beta1: {f:metadata: {f:labels: {}}}`,
		}.parse(t),
		Objects: func(apiVersion string, changed bool) (*Objects, error) {
			calls[apiVersion] = calls[apiVersion] || changed
			return objects[apiVersion], nil
		},
		SameFields: func(a, b string) bool { return a == b },
	})
	assertEntries(t, entries{
		`alice Update v1beta1: {f:spec: {f:count: {}}}`, `carol Update v2: {f:spec: {f:other: {}}}`,
		`dave Update v1beta1: {f:metadata: {f:labels: {}}}`,
	}, got)
	wantCalls := map[string]bool{"example.com/v1": true, "example.com/v1beta1": true, "example.com/v2": true, "example.com/v3": true}
	if diff := cmp.Diff(wantCalls, calls); diff != "" {
		t.Errorf("G1: versions whose entries field management changed (-want +got):\n%s", diff)
	}
}

func TestG1AFailingConversionIsAnError(t *testing.T) {
	failure := errors.New("webhook is down")
	for name, w := range map[string]Write{
		"G1: for an entry that field management made":    {After: entries{`bob Update v1: {f:spec: {f:a: {}}}`}.parse(t)},
		"G1: for an entry that field management removed": {Before: entries{`bob Update v1: {f:spec: {f:a: {}}}`}.parse(t)},
	} {
		t.Run(name, func(t *testing.T) {
			w.SameFields, w.Objects = sameFields, func(string, bool) (*Objects, error) { return nil, failure }
			if _, err := Correct(w); !errors.Is(err, failure) {
				t.Errorf("got error %v", err)
			}
		})
	}
}

// TestG7EntriesThatCannotBeDecoded (rules G7, R1): field management ignores the entries that it starts from if one of
// them cannot be decoded. In its result, such an entry is an error.
func TestG7EntriesThatCannotBeDecoded(t *testing.T) {
	const text = `alice Update v1: {f:spec: {f:replicas: {}}}`
	defect := func(change func(*metav1.ManagedFieldsEntry)) []metav1.ManagedFieldsEntry {
		list := entries{text, text}.parse(t)
		list[1].Manager = "carol"
		change(&list[1])
		return list
	}
	for name, broken := range map[string][]metav1.ManagedFieldsEntry{
		"another operation":     defect(func(e *metav1.ManagedFieldsEntry) { e.Operation = "Patch" }),
		"no operation":          defect(func(e *metav1.ManagedFieldsEntry) { e.Operation = "" }),
		"no apiVersion":         defect(func(e *metav1.ManagedFieldsEntry) { e.APIVersion = "" }),
		"no fieldsType":         defect(func(e *metav1.ManagedFieldsEntry) { e.FieldsType = "" }),
		"another fieldsType":    defect(func(e *metav1.ManagedFieldsEntry) { e.FieldsType = "FieldsV2" }),
		"truncated JSON":        defect(func(e *metav1.ManagedFieldsEntry) { e.FieldsV1 = line.NewFields(`{"f:spec":{"f:rep`) }),
		"no object":             defect(func(e *metav1.ManagedFieldsEntry) { e.FieldsV1 = line.NewFields(`[]`) }),
		"a key that is no JSON": defect(func(e *metav1.ManagedFieldsEntry) { e.FieldsV1 = line.NewFields(`{"f:items":{"k:{name}":{}}}`) }),
		"a key without a kind":  defect(func(e *metav1.ManagedFieldsEntry) { e.FieldsV1 = line.NewFields(`{"spec":{}}`) }),
	} {
		t.Run("G7: "+name, func(t *testing.T) {
			objects := parseObjects(t, `spec: {replicas: 3}`, `spec: {replicas: 5}`, `spec: {replicas: 3}`)
			w := Write{
				Before: broken, After: entries{`bob Update v1: {f:spec: {f:image: {}, f:replicas: {}}}`}.parse(t),
				Objects: inAllVersions(objects), SameFields: sameFields,
			}
			assertEntries(t, entries{`bob Update v1: {f:spec: {f:image: {}}}`}, mustCorrect(t, w))
			w.After = broken
			if _, err := Correct(w); err == nil || !strings.Contains(err.Error(), `manager "carol"`) {
				t.Errorf("R1: entries of field management that cannot be decoded: error %v", err)
			}
		})
	}
}

// TestG7KeysOfAnUnknownKindAreLeftOut (rule G7): upstream's decoder ignores path elements with an unknown prefix.
func TestG7KeysOfAnUnknownKindAreLeftOut(t *testing.T) {
	objects := parseObjects(t, `spec: {a: 1}`, `spec: {a: 2}`, `spec: {a: 1}`)
	before := entries{`alice Update v1: {f:spec: {f:a: {}, x:b: {}}}`}.parse(t)
	after := entries{`bob Update v1: {f:spec: {f:a: {}}}`}.parse(t)
	got := mustCorrect(t, Write{Before: before, After: after, Objects: inAllVersions(objects)})
	assertEntries(t, entries{`alice Update v1: {f:spec: {f:a: {}}}`}, got)
}

// TestG7AnEntryWithoutFieldsIsRemoved (rule G7): an entry may lack fieldsV1.
func TestG7AnEntryWithoutFieldsIsRemoved(t *testing.T) {
	list := entries{`alice Update v1: {}`}.parse(t)
	list[0].FieldsV1 = nil
	objects := &Objects{Old: map[string]any{}, Requested: map[string]any{"a": "b"}, Final: map[string]any{}}
	if got := mustCorrect(t, Write{Before: list, After: list, Objects: inAllVersions(objects)}); got != nil {
		t.Errorf("got %v, want nil, since an empty list would be set in the object", got)
	}
}

// TestG7OfSeveralEntriesOfOneManagerTheLastCounts (rule G7): upstream decodes them in the same way.
func TestG7OfSeveralEntriesOfOneManagerTheLastCounts(t *testing.T) {
	objects := parseObjects(t, `spec: {a: 1, b: 1}`, `spec: {a: 2, b: 2}`, `spec: {a: 1, b: 1}`)
	got := mustCorrect(t, Write{
		Before:  entries{`alice Update v1: {f:spec: {f:a: {}}}`, `alice Update v1: {f:spec: {f:b: {}}}`}.parse(t),
		After:   entries{`bob Update v1: {f:spec: {f:a: {}, f:b: {}}}`}.parse(t),
		Objects: inAllVersions(objects),
	})
	assertEntries(t, entries{`alice Update v1: {f:spec: {f:b: {}}}`}, got)
}

// TestG6OrderAndTimesOfEntries (rule G6): upstream's store must find no difference if the request changes nothing.
func TestG6OrderAndTimesOfEntries(t *testing.T) {
	kept := parseObjects(t, `spec: {a: 1}`, `spec: {a: 2}`, `spec: {a: 1}`)
	const alice, bob, carol = `alice Update v1: {f:spec: {f:a: {}}}`, `bob Update v1: {f:spec: {f:b: {}}}`, `carol Apply v1: {f:spec: {f:c: {}}}`
	for _, tc := range []struct {
		name          string
		before, after []metav1.ManagedFieldsEntry
		want          []string
		times         []int64
	}{
		{
			name:   "unchanged entries keep their order",
			before: timed(entries{bob, alice, carol}.parse(t), 9, 1, 5), after: timed(entries{carol, bob, `dave Update v1: {f:spec: {f:a: {}}}`}.parse(t), 5, 9, 20),
			want: entries{bob, alice, carol}, times: []int64{9, 1, 5},
		},
		{
			name:   "entries of which only times differ keep their order",
			before: timed(entries{bob, alice}.parse(t), 9, 1), after: timed(entries{bob, alice}.parse(t), 9, 20),
			want: entries{bob, alice}, times: []int64{9, 20},
		},
		{
			name:   "changed entries are sorted: appliers first, then by time",
			before: timed(entries{bob, alice}.parse(t), 9, 1), after: timed(entries{bob, carol}.parse(t), 9, 20),
			want: entries{carol, alice, bob}, times: []int64{20, 1, 9},
		},
		{
			name:  "entries of the same second are sorted by manager, version and subresource",
			after: timed(entries{`z Update v1: {f:b: {}}`, `a Update v2: {f:b: {}}`, `a Update v1 status: {f:b: {}}`, `a Update v1: {f:b: {}}`}.parse(t), 7, 7, 7, 7),
			want:  entries{`a Update v1: {f:b: {}}`, `a Update v1 status: {f:b: {}}`, `a Update v2: {f:b: {}}`, `z Update v1: {f:b: {}}`}, times: []int64{7, 7, 7, 7},
		},
	} {
		t.Run("G6: "+tc.name, func(t *testing.T) {
			got := mustCorrect(t, Write{Before: tc.before, After: tc.after, Objects: inAllVersions(kept)})
			if diff := cmp.Diff(described(t, entries(tc.want).parse(t)), described(t, got)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			for i := range got {
				if got[i].Time.Unix() != tc.times[i] {
					t.Errorf("entry %d has time %d, want %d", i, got[i].Time.Unix(), tc.times[i])
				}
			}
		})
	}
}

// TestG6UnchangedEntriesKeepTheirBytes (rule G6): upstream's store compares encoded entries.
func TestG6UnchangedEntriesKeepTheirBytes(t *testing.T) {
	before := entries{`alice Update v1: {f:spec: {f:a: {}, f:b: {}}}`}.parse(t)
	before[0].FieldsV1 = line.NewFields(`{ "f:spec": {"f:b": {}, "f:a": {}} }`)
	objects := parseObjects(t, `spec: {a: 1, b: 1}`, `spec: {a: 2, b: 1}`, `spec: {a: 1, b: 1}`)
	got := mustCorrect(t, Write{
		Before: before, After: entries{`alice Update v1: {f:spec: {f:b: {}}}`, `bob Update v1: {f:spec: {f:a: {}}}`}.parse(t),
		Objects: inAllVersions(objects),
	})
	if diff := cmp.Diff(before, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
