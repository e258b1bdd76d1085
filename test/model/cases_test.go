// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
)

// story is a sequence with its outcome. All invariants hold for each of its steps too.
type story struct {
	name string
	// crd is a declaration.
	crd string
	// steps are those of a sequence, as a finding prints them. All gates are enabled at first.
	steps string
	// want is the object in the end, without apiVersion, kind and metadata.
	want string
	// owners are who owns what in the end, by entry; unchecked if nil.
	owners map[string][]string
	// warnings are those of the last request.
	warnings []string
	// refused says that the last request is refused.
	refused bool
}

// replicasCRD guards the field of a spec, one in a nested object, one in the values of a map and one in a list map.
const replicasCRD = `
gates: {Replicas: [.spec.replicas], Qux: [.spec.foo.qux], Opt: ['.spec.byKey[*].opt'], Port: ['.spec.items[*].port'], Ready: [.status.ready]}
schema:
  type: object
  properties:
    spec:
      type: object
      properties:
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
    status: {type: object, properties: {ready: {type: boolean}, phase: {type: string}}}
`

// defaultKeysCRD guards fields of a list map whose keys all have defaults.
const defaultKeysCRD = `
gates: {G: ['.spec.items[*].opt', '.spec.items[*].opt2']}
schema:
  type: object
  properties:
    spec:
      type: object
      properties:
        items:
          type: array
          x-kubernetes-list-type: map
          x-kubernetes-list-map-keys: [k]
          items: {type: object, properties: {k: {type: string, default: main}, opt: {type: string}, opt2: {type: string}}}
`

// defaultCRD has a default for the parent of a guarded field.
const defaultCRD = `
gates: {Qux: [.spec.foo.qux]}
schema:
  type: object
  properties:
    spec:
      type: object
      properties:
        image: {type: string}
        foo: {type: object, default: {baz: 1}, properties: {qux: {type: integer}, baz: {type: integer}}}
`

// unionCRD guards a field of a member, and a member as a whole.
const unionCRD = `
gates: {URL: [.spec.source.git.url], S3: [.spec.source.s3]}
schema:
  type: object
  properties:
    spec:
      type: object
      properties:
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
`

// guardedListCRD guards list maps as a whole, one of which is inside of the other, and an atomic object with a default.
const guardedListCRD = `
gates: {Items: [.spec.items], Inner: ['.spec.items[*].inner'], Atomic: [.spec.atomic]}
schema:
  type: object
  properties:
    spec:
      type: object
      properties:
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
`

// offResyncOn is a story of one applier whose manifest stays the same while a gate is off.
func offResyncOn(name, crd, gate, config string, owned ...string) story {
	apply := "- {do: apply, by: a, body: " + config + "}\n"
	flip := func(state string) string { return "- {do: flip, gates: {" + gate + ": " + state + "}}\n" }
	return story{
		name: name, crd: crd, want: config, owners: map[string][]string{"a Apply  ": owned},
		steps: apply + flip("false") + apply + flip("true") + apply + "- {do: off and on, gates: {" + gate + ": false}}\n",
	}
}

var stories = []story{
	offResyncOn("G4: the only field of spec survives a resync", replicasCRD, "Replicas",
		`{spec: {replicas: 3}}`, "f:spec/f:replicas"),
	offResyncOn("G4: the only field of a nested object survives a resync", replicasCRD, "Qux",
		`{spec: {image: i, foo: {qux: 3}}}`, "f:spec/f:foo/f:qux", "f:spec/f:image"),
	offResyncOn("G4: the only field of a map's value survives a resync", replicasCRD, "Opt",
		`{spec: {byKey: {a: {opt: 1}}}}`, "f:spec/f:byKey/f:a", "f:spec/f:byKey/f:a/f:opt"),
	offResyncOn("G4: the only field of an item with a defaulted key survives a resync", replicasCRD, "Port",
		`{spec: {items: [{name: x, proto: TCP, port: 1}]}}`,
		`f:spec/f:items/k:{"name":"x","proto":"TCP"}`, `f:spec/f:items/k:{"name":"x","proto":"TCP"}/f:name`,
		`f:spec/f:items/k:{"name":"x","proto":"TCP"}/f:port`, `f:spec/f:items/k:{"name":"x","proto":"TCP"}/f:proto`),
	offResyncOn("G4: the only field of status survives a resync", replicasCRD, "Ready",
		`{status: {ready: true}}`, "f:status/f:ready"),
	offResyncOn("G4: the only field of a member of a union survives a resync", unionCRD, "URL",
		`{spec: {source: {type: Git, git: {url: u}}}}`, "f:spec/f:source/f:git/f:url", "f:spec/f:source/f:type"),
	offResyncOn("G4: a member of a union survives a resync", unionCRD, "S3",
		`{spec: {source: {type: S3, s3: {bucket: b}}}}`, "f:spec/f:source/f:s3/f:bucket", "f:spec/f:source/f:type"),
	{
		name: "G4: the default of the parent does not mix with what is kept",
		crd:  defaultCRD,
		steps: `
- {do: apply, by: a, body: {spec: {foo: {qux: 3}}}}
- {do: flip, gates: {Qux: false}}
- {do: apply, by: a, body: {spec: {foo: {qux: 3}}}}`,
		want: `{spec: {foo: {qux: 3}}}`, owners: map[string][]string{"a Apply  ": {"f:spec/f:foo/f:qux"}},
	},
	{
		name: "G4: two appliers of different fields of a parent",
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
		name: "G7.1: a second applier may share a kept field by its value",
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
		name: "G7.2: who leaves a kept field out owns it no more",
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
		name: "G4: who alone applied a parent and leaves it out removes it",
		crd:  replicasCRD,
		steps: `
- {do: apply, by: a, body: {spec: {image: i, foo: {bar: x, qux: 3}}}}
- {do: flip, gates: {Qux: false}}
- {do: apply, by: a, dryRun: true, body: {spec: {image: i}}}`,
		want: `{spec: {image: i}}`, owners: map[string][]string{"a Apply  ": {"f:spec/f:image"}},
		warnings: []string{`.spec.foo.qux: removed with .spec.foo: feature gate "Qux" is disabled`},
	},
	{
		name: "G4: who does not own a kept field does not remove its parent",
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
		name: "G5: what goes with an item of a list leaves no owner",
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
		name: "G5: what goes with a key of a map leaves no owner",
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
		name: "U9: a union that moves off a guarded member leaves no owner of it",
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
		name: "U9: a union moves off a member whose gate is disabled",
		crd:  unionCRD,
		steps: `
- {do: apply, by: a, body: {spec: {source: {type: S3, s3: {bucket: b}}}}}
- {do: flip, gates: {S3: false}}
- {do: merge, by: u, body: {spec: {source: {type: Git, git: {ref: r}}}}}`,
		want:     `{spec: {source: {type: Git, git: {ref: r}}}}`,
		warnings: []string{`spec.source.s3: cleared: spec.source.type changed from "S3" to "Git"`},
	},
	{
		name: "G4: an item that only its default keys identify stays while its applier names it",
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
		name: "G3: an item that only its default keys identify stays when all that it names is dropped",
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
		name: "G7: a disabled field of a wrong type changes no owner, nor what else the update does to them",
		crd:  replicasCRD,
		steps: `
- {do: apply, by: a, body: {spec: {image: i, replicas: 3, byKey: {k: {std: 1}}}}}
- {do: flip, gates: {Replicas: false}}
- {do: update, by: u, body: {spec: {image: j, replicas: "5"}}}`,
		want:   `{spec: {image: j, replicas: 3}}`,
		owners: map[string][]string{"a Apply  ": {"f:spec/f:replicas"}, "u Update  model.example.com/v1": {"f:spec/f:image"}},
	},
	{
		name: "G6: what is all disabled writes nothing to an object without managedFields",
		crd:  replicasCRD,
		steps: `
- {do: apply, by: a}
- {do: flip, gates: {Replicas: false}}
- {do: merge, by: u, body: {spec: {}}}
- {do: merge, by: u, body: {spec: {replicas: 3}}}`,
		want: `{spec: {}}`, owners: map[string][]string{},
		warnings: []string{`.spec.replicas: dropped: feature gate "Replicas" is disabled`},
	},
	offResyncOn("G7.2: an item of a guarded list keeps its owner", guardedListCRD, "Items",
		`{spec: {items: [{name: x, proto: TCP}]}}`,
		`f:spec/f:items/k:{"name":"x","proto":"TCP"}`, `f:spec/f:items/k:{"name":"x","proto":"TCP"}/f:name`,
		`f:spec/f:items/k:{"name":"x","proto":"TCP"}/f:proto`),
	{
		name: "G7.2: an item that leaves a key to its default keeps its owner in a guarded list",
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
		name: "G7.4: a list that is dropped from a new item leaves no owners of its items",
		crd:  guardedListCRD,
		steps: `
- {do: apply, by: a, body: {spec: {}}}
- {do: flip, gates: {Inner: false}}
- {do: update, by: u, body: {spec: {items: [{name: x, inner: [{name: y}]}]}}}`,
		want:     `{spec: {items: [{name: x, proto: TCP}]}}`,
		warnings: []string{`.spec.items[*].inner: dropped: feature gate "Inner" is disabled`},
	},
	{
		name: "G4: a default inside of a guarded field draws no warning when it is applied again",
		crd:  guardedListCRD,
		steps: `
- {do: apply, by: a, body: {spec: {atomic: {}}}}
- {do: off and on, gates: {Atomic: false}}`,
		want: `{spec: {atomic: {size: 1}}}`, owners: map[string][]string{"a Apply  ": {"f:spec/f:atomic"}},
	},
	{
		name: "U4.3: a client that does not know the discriminator is refused",
		crd:  unionCRD,
		steps: `
- {do: apply, by: a, body: {spec: {source: {type: Git, git: {url: u}}}}}
- {do: update, by: u, body: {spec: {source: {git: {url: u}}}}}`,
		want: `{spec: {source: {type: Git, git: {url: u}}}}`, refused: true,
	},
}

// removal is a story of a request that removes the parent of a guarded field. Nobody owns the field then, so that with
// the gate on again another applier sets it without a conflict.
func removal(how, request string) story {
	return story{
		name: "G7.4: what goes with its parent by " + how + " leaves no owner",
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

// TestStories tells the findings of issue 11 and of this model (rules G2, G4, G5, G7, G10, U4.3, U9).
func TestStories(t *testing.T) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			m, err := replay(t, sequence{
				declaration: testyaml.Parse[declaration](t, s.crd), Steps: testyaml.Parse[[]step](t, s.steps),
			})
			if err != nil {
				t.Fatal(err)
			}
			s.check(t, m)
		})
	}
}

// check compares the outcome of a story with what is told.
func (s story) check(t *testing.T, m *run) {
	t.Helper()
	if diff := cmp.Diff(testyaml.Object(t, s.want), body(m.object)); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
	if s.refused == m.last.ok() {
		t.Errorf("the last request: %s", m.last.message())
	}
	if s.warnings != nil && !slices.Equal(s.warnings, m.last.warnings) {
		t.Errorf("warnings %q, want %q", m.last.warnings, s.warnings)
	}
	if s.owners == nil {
		return
	}
	got := map[string][]string{}
	for entry, fields := range ownersOf(m.object) {
		got[entry] = fields.texts()
	}
	if diff := cmp.Diff(s.owners, got); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}
