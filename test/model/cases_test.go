// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
)

// namedCase is a sequence with its outcome. All invariants hold for each of its steps too.
type namedCase struct {
	name string
	// crd is a declaration.
	crd string
	// steps are the steps of a sequence, in the form in which findings are printed. All gates are enabled at first.
	steps string
	// want is the final object, without apiVersion, kind and metadata.
	want string
	// owners are the fields of each managedFields entry of the final object. They are not checked if nil.
	owners map[string][]string
	// warnings are the warnings of the last request. They are not checked if nil.
	warnings []string
	// refused says that the last request is refused.
	refused bool
}

// specCRD returns a declaration with gates, and with the properties of .spec.
func specCRD(gates, properties string) string {
	return "gates: " + gates + `
schema:
  type: object
  properties:
    spec:
      type: object
      properties:` + strings.ReplaceAll(properties, "\n", "\n        ")
}

// replicasCRD guards a field of spec, one of a nested object, one of the values of a map, one of the items of a list
// map, and one of status.
var replicasCRD = specCRD(
	`{Replicas: [.spec.replicas], Qux: [.spec.foo.qux], Opt: ['.spec.byKey[*].opt'], Port: ['.spec.items[*].port'], Ready: [.status.ready]}`, `
image: {type: string}
replicas: {type: integer}
foo: {type: object, properties: {qux: {type: integer}, bar: {type: string}}}
byKey: {type: object, additionalProperties: {type: object, properties: {opt: {type: integer}, std: {type: integer}}}}
items:
  type: array
  x-kubernetes-list-type: map
  x-kubernetes-list-map-keys: [name, proto]
  items:
    type: object
    required: [name]
    properties: {name: {type: string}, proto: {type: string, default: TCP}, port: {type: integer}}
`) + `
    status: {type: object, properties: {ready: {type: boolean}, phase: {type: string}}}
`

// defaultKeysCRD guards fields of a list map whose only key has a default.
var defaultKeysCRD = specCRD(`{G: ['.spec.items[*].opt', '.spec.items[*].opt2']}`, `
items:
  type: array
  x-kubernetes-list-type: map
  x-kubernetes-list-map-keys: [k]
  items: {type: object, properties: {k: {type: string, default: main}, opt: {type: string}, opt2: {type: string}}}
`)

// defaultCRD has a default for the parent of a guarded field.
var defaultCRD = specCRD(`{Qux: [.spec.foo.qux]}`, `
image: {type: string}
foo: {type: object, default: {baz: 1}, properties: {qux: {type: integer}, baz: {type: integer}}}
`)

// unionCRD guards a field of one union member, and another member as a whole.
var unionCRD = specCRD(`{URL: [.spec.source.git.url], S3: [.spec.source.s3]}`, `
source:
  type: object
  required: [type]
  properties:
    type:
      type: string
      enum: [Git, S3, None]
      x-kubernetes-unions: {fieldMembers: {Git: {name: git}, S3: {name: s3}, None: {}}}
    git: {type: object, properties: {url: {type: string}, ref: {type: string}}}
    s3: {type: object, properties: {bucket: {type: string}}}
`)

// guardedListCRD guards a list map as a whole, a list map inside it, and an atomic object with a default inside.
var guardedListCRD = specCRD(`{Items: [.spec.items], Inner: ['.spec.items[*].inner'], Atomic: [.spec.atomic]}`, `
atomic: {type: object, x-kubernetes-map-type: atomic, properties: {size: {type: integer, default: 1}}}
items:
  type: array
  x-kubernetes-list-type: map
  x-kubernetes-list-map-keys: [name, proto]
  items:
    type: object
    required: [name]
    properties:
      name: {type: string}
      proto: {type: string, default: TCP}
      inner:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name, proto]
        items:
          type: object
          required: [name]
          properties: {name: {type: string}, proto: {type: string, default: TCP}}
`)

// appliedAgain returns a case of one applier that applies the same configuration again while a gate is disabled and
// after it is enabled again. The object and the applier's fields stay.
func appliedAgain(name, crd, gate, config string, owned ...string) namedCase {
	apply := "- {do: apply, by: a, body: " + config + "}\n"
	flip := func(state string) string { return "- {do: flip, gates: {" + gate + ": " + state + "}}\n" }
	return namedCase{
		name: name, crd: crd, want: config, owners: map[string][]string{"a Apply  ": owned},
		steps: apply + flip("false") + apply + flip("true") + apply + "- {do: off and on, gates: {" + gate + ": false}}\n",
	}
}

var namedCases = []namedCase{
	appliedAgain("G4: the only field of spec stays when it is applied again with its gate disabled", replicasCRD, "Replicas",
		`{spec: {replicas: 3}}`, "f:spec/f:replicas"),
	appliedAgain("G4: the only field of a nested object stays when it is applied again with its gate disabled", replicasCRD, "Qux",
		`{spec: {image: i, foo: {qux: 3}}}`, "f:spec/f:foo/f:qux", "f:spec/f:image"),
	appliedAgain("G4: the only field of a map value stays when it is applied again with its gate disabled", replicasCRD, "Opt",
		`{spec: {byKey: {a: {opt: 1}}}}`, "f:spec/f:byKey/f:a", "f:spec/f:byKey/f:a/f:opt"),
	appliedAgain("G4: the only field of an item with a defaulted key stays when it is applied again with its gate disabled", replicasCRD, "Port",
		`{spec: {items: [{name: x, proto: TCP, port: 1}]}}`,
		`f:spec/f:items/k:{"name":"x","proto":"TCP"}`, `f:spec/f:items/k:{"name":"x","proto":"TCP"}/f:name`,
		`f:spec/f:items/k:{"name":"x","proto":"TCP"}/f:port`, `f:spec/f:items/k:{"name":"x","proto":"TCP"}/f:proto`),
	appliedAgain("G4: the only field of status stays when it is applied again with its gate disabled", replicasCRD, "Ready",
		`{status: {ready: true}}`, "f:status/f:ready"),
	appliedAgain("G4: the only field of a union member stays when it is applied again with its gate disabled", unionCRD, "URL",
		`{spec: {source: {type: Git, git: {url: u}}}}`, "f:spec/f:source/f:git/f:url", "f:spec/f:source/f:type"),
	appliedAgain("G4: a union member stays when it is applied again with its gate disabled", unionCRD, "S3",
		`{spec: {source: {type: S3, s3: {bucket: b}}}}`, "f:spec/f:source/f:s3/f:bucket", "f:spec/f:source/f:type"),
	{
		name: "G4: a kept field does not bring back the default of its parent",
		crd:  defaultCRD,
		steps: `
- {do: apply, by: a, body: {spec: {foo: {qux: 3}}}}
- {do: flip, gates: {Qux: false}}
- {do: apply, by: a, body: {spec: {foo: {qux: 3}}}}`,
		want: `{spec: {foo: {qux: 3}}}`, owners: map[string][]string{"a Apply  ": {"f:spec/f:foo/f:qux"}},
	},
	{
		name: "G4: two appliers of different fields of one parent keep their fields",
		crd:  replicasCRD,
		steps: `
- {do: apply, by: a, body: {spec: {foo: {bar: x}}}}
- {do: apply, by: b, body: {spec: {foo: {qux: 3}}}}
- {do: flip, gates: {Qux: false}}
- {do: apply, by: a, body: {spec: {foo: {bar: x}}}}
- {do: apply, by: b, dryRun: true, body: {spec: {foo: {qux: 3}}}}
- {do: off and on, gates: {Qux: false}}`,
		want:   `{spec: {foo: {bar: x, qux: 3}}}`,
		owners: map[string][]string{"a Apply  ": {"f:spec/f:foo/f:bar"}, "b Apply  ": {"f:spec/f:foo/f:qux"}},
	},
	{
		name: "G7.1: a second applier shares a kept field if it applies the persisted value",
		crd:  replicasCRD,
		steps: `
- {do: apply, by: a, body: {spec: {replicas: 3}}}
- {do: flip, gates: {Replicas: false}}
- {do: apply, by: b, body: {spec: {image: i, replicas: 3}}}`,
		want:   `{spec: {image: i, replicas: 3}}`,
		owners: map[string][]string{"a Apply  ": {"f:spec/f:replicas"}, "b Apply  ": {"f:spec/f:image", "f:spec/f:replicas"}},
	},
	{
		name: "G7.3: a second applier with another value gets a warning and no conflict",
		crd:  replicasCRD,
		steps: `
- {do: apply, by: a, body: {spec: {replicas: 3}}}
- {do: flip, gates: {Replicas: false}}
- {do: apply, by: b, dryRun: true, body: {spec: {image: i, replicas: 5}}}`,
		want:     `{spec: {image: i, replicas: 3}}`,
		owners:   map[string][]string{"a Apply  ": {"f:spec/f:replicas"}, "b Apply  ": {"f:spec/f:image"}},
		warnings: []string{`.spec.replicas: not updated: feature gate "Replicas" is disabled`},
	},
	{
		name: "G7.2: an applier that leaves out a kept field loses its ownership of it",
		crd:  replicasCRD,
		steps: `
- {do: apply, by: a, body: {spec: {image: i, replicas: 3}}}
- {do: flip, gates: {Replicas: false}}
- {do: apply, by: a, body: {spec: {image: i}}}`,
		want:     `{spec: {image: i, replicas: 3}}`,
		owners:   map[string][]string{"a Apply  ": {"f:spec/f:image"}},
		warnings: []string{`.spec.replicas: not updated: feature gate "Replicas" is disabled`},
	},
	{
		name: "G4: the only applier of a parent removes the parent and the kept field in it by leaving it out",
		crd:  replicasCRD,
		steps: `
- {do: apply, by: a, body: {spec: {image: i, foo: {bar: x, qux: 3}}}}
- {do: flip, gates: {Qux: false}}
- {do: apply, by: a, dryRun: true, body: {spec: {image: i}}}`,
		want: `{spec: {image: i}}`, owners: map[string][]string{"a Apply  ": {"f:spec/f:image"}},
		warnings: []string{`.spec.foo.qux: removed with .spec.foo: feature gate "Qux" is disabled`},
	},
	{
		name: "G4: an applier that does not own the kept field does not remove its parent",
		crd:  replicasCRD,
		steps: `
- {do: apply, by: a, body: {spec: {image: i, foo: {bar: x}}}}
- {do: apply, by: b, body: {spec: {foo: {qux: 3}}}}
- {do: flip, gates: {Qux: false}}
- {do: apply, by: a, body: {spec: {image: i}}}`,
		want:   `{spec: {image: i, foo: {qux: 3}}}`,
		owners: map[string][]string{"a Apply  ": {"f:spec/f:image"}, "b Apply  ": {"f:spec/f:foo/f:qux"}},
	},
	removal("PUT", "{do: update, by: u, body: {spec: {image: i}}}"),
	removal("a merge patch", "{do: merge, by: u, body: {spec: {foo: null}}}"),
	removal("a JSON patch", "{do: json, by: u, patch: [{op: remove, path: /spec/foo}]}"),
	removal("apply", "{do: apply, by: a, body: {spec: {image: i}}}"),
	{
		name: "G5: a field that is removed with its list item leaves no owner",
		crd:  replicasCRD,
		steps: `
- {do: apply, by: a, body: {spec: {image: i, items: [{name: x, port: 1}]}}}
- {do: flip, gates: {Port: false}}
- {do: update, by: u, body: {spec: {image: i, items: []}}}
- {do: flip, gates: {Port: true}}
- {do: apply, by: b, body: {spec: {items: [{name: x, port: 2}]}}}`,
		want: `{spec: {image: i, items: [{name: x, proto: TCP, port: 2}]}}`,
	},
	{
		name: "G5: a field that is removed with its map key leaves no owner",
		crd:  replicasCRD,
		steps: `
- {do: apply, by: a, body: {spec: {byKey: {a: {opt: 1}, b: {std: 1}}}}}
- {do: flip, gates: {Opt: false}}
- {do: json, by: u, patch: [{op: remove, path: /spec/byKey/a}]}
- {do: flip, gates: {Opt: true}}
- {do: apply, by: b, body: {spec: {byKey: {a: {opt: 2}}}}}`,
		want: `{spec: {byKey: {a: {opt: 2}, b: {std: 1}}}}`,
	},
	{
		name: "U9: a union that switches away from a member with a guarded field leaves no owner of the field",
		crd:  unionCRD,
		steps: `
- {do: apply, by: a, body: {spec: {source: {type: Git, git: {url: u, ref: r}}}}}
- {do: flip, gates: {URL: false}}
- {do: update, by: u, body: {spec: {source: {type: None}}}}`,
		want:     `{spec: {source: {type: None}}}`,
		owners:   map[string][]string{"u Update  model.example.com/v1": {"f:spec/f:source/f:type"}},
		warnings: []string{`.spec.source.git.url: removed with .spec.source.git: feature gate "URL" is disabled`},
	},
	{
		name: "U9: a union can switch away from a member whose gate is disabled",
		crd:  unionCRD,
		steps: `
- {do: apply, by: a, body: {spec: {source: {type: S3, s3: {bucket: b}}}}}
- {do: flip, gates: {S3: false}}
- {do: merge, by: u, body: {spec: {source: {type: Git, git: {ref: r}}}}}`,
		want:     `{spec: {source: {type: Git, git: {ref: r}}}}`,
		warnings: []string{`spec.source.s3: cleared: spec.source.type changed from "S3" to "Git"`},
	},
	{
		name: "G4: an item that is identified by defaults alone stays while its applier applies it",
		crd:  defaultKeysCRD,
		steps: `
- {do: apply, by: a, body: {spec: {items: [{opt: o}, {k: b}]}}}
- {do: flip, gates: {G: false}}
- {do: apply, by: a, body: {spec: {items: [{opt2: x}, {k: b}]}}}`,
		want: `{spec: {items: [{k: main, opt: o}, {k: b}]}}`,
		warnings: []string{
			`.spec.items[*].opt: not updated: feature gate "G" is disabled`, `.spec.items[*].opt2: dropped: feature gate "G" is disabled`,
		},
	},
	{
		name: "G3: an item that is identified by defaults alone stays when all its other fields are dropped",
		crd:  defaultKeysCRD,
		steps: `
- {do: flip, gates: {G: false}}
- {do: apply, by: a, body: {spec: {items: [{opt: o}]}}}
- {do: apply, by: a, body: {spec: {items: [{opt: o}]}}}
- {do: apply, by: a, body: {spec: {items: [{opt: p}, {k: b}]}}}`,
		want:   `{spec: {items: [{k: main}, {k: b}]}}`,
		owners: map[string][]string{"a Apply  ": {`f:spec/f:items/k:{"k":"b"}`, `f:spec/f:items/k:{"k":"b"}/f:k`, `f:spec/f:items/k:{"k":"main"}`}},
	},
	{
		name: "G7: a disabled field of the wrong type changes no owners, and the rest of the update changes them as usual",
		crd:  replicasCRD,
		steps: `
- {do: apply, by: a, body: {spec: {image: i, replicas: 3, byKey: {k: {std: 1}}}}}
- {do: flip, gates: {Replicas: false}}
- {do: update, by: u, body: {spec: {image: j, replicas: "5"}}}`,
		want:   `{spec: {image: j, replicas: 3}}`,
		owners: map[string][]string{"a Apply  ": {"f:spec/f:replicas"}, "u Update  model.example.com/v1": {"f:spec/f:image"}},
	},
	{
		name: "G6: a patch of disabled fields alone writes nothing to an object without managedFields",
		crd:  replicasCRD,
		steps: `
- {do: apply, by: a}
- {do: flip, gates: {Replicas: false}}
- {do: merge, by: u, body: {spec: {}}}
- {do: merge, by: u, body: {spec: {replicas: 3}}}`,
		want: `{spec: {}}`, owners: map[string][]string{},
		warnings: []string{`.spec.replicas: dropped: feature gate "Replicas" is disabled`},
	},
	appliedAgain("G7.2: an item of a guarded list keeps its owner when it is applied again", guardedListCRD, "Items",
		`{spec: {items: [{name: x, proto: TCP}]}}`,
		`f:spec/f:items/k:{"name":"x","proto":"TCP"}`, `f:spec/f:items/k:{"name":"x","proto":"TCP"}/f:name`,
		`f:spec/f:items/k:{"name":"x","proto":"TCP"}/f:proto`),
	{
		name: "G7.2: an applied item that leaves out a key with a default keeps its owner in a guarded list",
		crd:  guardedListCRD,
		steps: `
- {do: apply, by: a, body: {spec: {items: [{name: x}]}}}
- {do: off and on, gates: {Items: false}}`,
		want: `{spec: {items: [{name: x, proto: TCP}]}}`,
		owners: map[string][]string{"a Apply  ": {
			`f:spec/f:items/k:{"name":"x","proto":"TCP"}`, `f:spec/f:items/k:{"name":"x","proto":"TCP"}/f:name`,
		}},
	},
	{
		name: "G7.4: a list that is dropped from a new item leaves no owners of the list's items",
		crd:  guardedListCRD,
		steps: `
- {do: apply, by: a, body: {spec: {}}}
- {do: flip, gates: {Inner: false}}
- {do: update, by: u, body: {spec: {items: [{name: x, inner: [{name: y}]}]}}}`,
		want:     `{spec: {items: [{name: x, proto: TCP}]}}`,
		warnings: []string{`.spec.items[*].inner: dropped: feature gate "Inner" is disabled`},
	},
	{
		name: "G4: a default inside a guarded field draws no warning when the field is applied again",
		crd:  guardedListCRD,
		steps: `
- {do: apply, by: a, body: {spec: {atomic: {}}}}
- {do: off and on, gates: {Atomic: false}}`,
		want: `{spec: {atomic: {size: 1}}}`, owners: map[string][]string{"a Apply  ": {"f:spec/f:atomic"}},
	},
	{
		name: "U4.3: an update that leaves out the discriminator of a set member is refused",
		crd:  unionCRD,
		steps: `
- {do: apply, by: a, body: {spec: {source: {type: Git, git: {url: u}}}}}
- {do: update, by: u, body: {spec: {source: {git: {url: u}}}}}`,
		want: `{spec: {source: {type: Git, git: {url: u}}}}`, refused: true,
	},
	{
		name: "G3: if an applier sets a disabled set to items that are not persisted, the siblings that defaults filled in stay",
		crd: specCRD(`{G: [.spec.a.c]}`, `
a:
  type: object
  default: {b: {a: x}, c: [q]}
  properties:
    b: {type: object, properties: {a: {type: string}}}
    c: {type: array, x-kubernetes-list-type: set, items: {type: string}}
`),
		steps: `
- {do: apply, by: c, body: {spec: {}}}
- {do: flip, gates: {G: false}}
- {do: apply, by: c, body: {spec: {a: {c: [x]}}}}`,
		want:     `spec: {a: {b: {a: x}, c: [q]}}`,
		warnings: []string{`.spec.a.c: not updated: feature gate "G" is disabled`},
	},
}

// removal returns a case of a request that removes the parent of a guarded field. The field leaves no owner, so that
// with the gate enabled again another applier sets it without a conflict.
func removal(how, request string) namedCase {
	return namedCase{
		name: "G7.4: a field that is removed with its parent by " + how + " leaves no owner",
		crd:  replicasCRD,
		steps: `
- {do: apply, by: a, body: {spec: {image: i, foo: {bar: x, qux: 3}}}}
- {do: flip, gates: {Qux: false}}
- ` + request + `
- {do: flip, gates: {Qux: true}}
- {do: apply, by: b, body: {spec: {foo: {qux: 4}}}}`,
		want:   `{spec: {image: i, foo: {qux: 4}}}`,
		owners: map[string][]string{"a Apply  ": {"f:spec/f:image"}, "b Apply  ": {"f:spec/f:foo/f:qux"}},
	}
}

// TestNamedCases replays findings that are understood, and checks their outcome (rules G2, G4, G5, G7, G10, U4.3, U9).
func TestNamedCases(t *testing.T) {
	for _, c := range namedCases {
		t.Run(c.name, func(t *testing.T) {
			m, err := replay(t, sequence{
				declaration: testyaml.Parse[declaration](t, c.crd), Steps: testyaml.Parse[[]step](t, c.steps),
			})
			if err != nil {
				t.Fatal(err)
			}
			if m == nil {
				t.Fatal("validation of CRDs refuses the declaration")
			}
			c.check(t, m)
		})
	}
}

// check compares the outcome of a run with that of the case.
func (c namedCase) check(t *testing.T, m *run) {
	t.Helper()
	if diff := cmp.Diff(testyaml.Object(t, c.want), body(m.object)); diff != "" {
		t.Errorf("final object (-want +got):\n%s", diff)
	}
	if c.refused == m.last.ok() {
		t.Errorf("the last request was refused: %v, want %v: %s", !m.last.ok(), c.refused, m.last.message())
	}
	if c.warnings != nil && !slices.Equal(c.warnings, m.last.warnings) {
		t.Errorf("warnings of the last request %q, want %q", m.last.warnings, c.warnings)
	}
	if c.owners == nil {
		return
	}
	got := map[string][]string{}
	for entry, fields := range ownersOf(m.object) {
		got[entry] = fields.texts()
	}
	if diff := cmp.Diff(c.owners, got); diff != "" {
		t.Errorf("fields by managedFields entry (-want +got):\n%s", diff)
	}
}
