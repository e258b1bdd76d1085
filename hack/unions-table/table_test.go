// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/hack/unions-table/matrix"
)

// someRows has rows with the same outcome for all writers, another outcome, another warning, an error and a note.
const someRows = `
rows:
- name: changes another field
  kep: [12, 16]
  client: [all, some]
  server: [all]
  union: [required, optional]
  change: none
  persisted: {note: a, source: {type: S3, s3: {bucket: b}}}
  want: {spec: {note: b, source: {type: S3, s3: {bucket: b}}}}
  but:
  - writers: [PUT]
    why: the reason
    want: {errors: ["spec.source.s3: Required value"]}
- name: clears
  client: [all, some, none]
  server: [all, some]
  union: [optional]
  change: existing
  persisted: {source: {type: Git, git: {}}}
  want:
    spec: {source: {type: ""}}
    warnings: ['spec.source.git: cleared: spec.source.type changed from "Git" to ""']
  but:
  - {writers: [PUT, JSON patch], why: the reason, want: {spec: {source: {type: ""}}}}
  note: that is all
- name: sets s3
  client: [none]
  server: [some]
  union: [optional]
  change: new
  persisted: {note: a}
  want:
    errors: ["spec.source.type: Unsupported value"]
    warnings: ['unknown field "spec.source.s3"']
  note: that is all
leftOut:
- {client: [some], server: [all], union: [required, optional], change: new, why: it cannot}
`

const someTable = `
**The client changes nothing in the union**

| client | server | union | stored | the client … | outcome | KEP |
|---|---|---|---|---|---|---|
| all, some | all | any | §{type: S3, s3}§ | changes another field | unchanged <sup>1</sup> | 12, 16 |

**The client changes values or members that the union always had**

| client | server | union | stored | the client … | outcome | KEP |
|---|---|---|---|---|---|---|
| any | any | optional | §{type: Git, git}§ | clears | §{type: ""}§; warning §spec.source.git: cleared§ <sup>2, 3</sup> |  |

**The client sets values or members that were added later**

| client | server | union | stored | the client … | outcome | KEP |
|---|---|---|---|---|---|---|
| none | some | optional | absent | sets s3 | refused: §spec.source.type: Unsupported value§; warning §unknown field "spec.source.s3"§ <sup>3</sup> |  |

1. PUT: refused: §spec.source.s3: Required value§. The reason.
2. PUT, JSON patch: without a warning. The reason.
3. That is all.

**Left out**

- Client some, server all, union any, where the client sets values or members that were added later: it cannot.
`

func TestTable(t *testing.T) {
	var m matrix.Matrix
	if err := yaml.UnmarshalStrict([]byte(someRows), &m); err != nil {
		t.Fatal(err)
	}
	text, found := strings.CutPrefix(table(&m), legend)
	if !found {
		t.Error("the legend is missing")
	}
	counted, text, _ := strings.Cut(text, "\n\n")
	if !strings.Contains(counted, "11 cases") {
		t.Errorf("wrong number of cases: %s", counted)
	}
	if diff := cmp.Diff(strings.ReplaceAll(someTable, "§", "`"), "\n"+text); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestReplace(t *testing.T) {
	got, err := replace("# Unions\n"+begin+"old\n"+end+"more\n", "new\n")
	if want := "# Unions\n" + begin + "\nnew\n\n" + end + "more\n"; err != nil || got != want {
		t.Errorf("got %q, %v\nwant %q", got, err, want)
	}
	again, err := replace(got, "new\n")
	if err != nil || again != got {
		t.Errorf("replacing the table again gives another text: %q, %v", again, err)
	}
	for _, text := range []string{"", begin, end, end + begin} {
		if got, err := replace(text, "new\n"); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}
