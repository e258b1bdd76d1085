// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// corpusNormalizer replaces values that necessarily differ between two servers, such as UIDs, by their number in the
// order of occurrence. So it does not hide that an object changed, or that it is another object.
type corpusNormalizer struct {
	since  time.Time         // when the server started
	values map[string]string // replacements, by kind and value
}

var (
	// A uid is random.
	uidField  = regexp.MustCompile(`uid"?: ?"?(` + uuidValue.String() + `)`)
	uuidValue = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	// A resourceVersion counts all writes to etcd, including those of the server itself. Some errors quote objects.
	resourceVersion = regexp.MustCompile(`(resourceVersion\\*"?: ?\\*")(\d+)`)
	// The resourceVersion of a list is the latest one of all objects in etcd.
	listVersion     = regexp.MustCompile(`("metadata":\{(?:"continue":"",)?"resourceVersion":)"\d+"\}`)
	listVersionYAML = regexp.MustCompile(`(?m)(^metadata:\n  continue: ""\n  resourceVersion: )"\d+"`)
	// Times that the server sets: creationTimestamp, deletionTimestamp, and those in managedFields and conditions.
	serverTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	// Tables have an age instead of a time.
	tableAge = regexp.MustCompile(`"(?:\d+m)?\d+s"([],])`)
)

// normalize replaces the values in a body or in what etcd has.
func (n *corpusNormalizer) normalize(text string) string {
	if strings.HasPrefix(text, `{"openapi":`) {
		return text // it describes types, not objects
	}
	text = n.normalizeUIDs(text)
	text = listVersion.ReplaceAllString(text, `$1"latest"}`)
	text = listVersionYAML.ReplaceAllString(text, `$1"latest"`)
	text = resourceVersion.ReplaceAllStringFunc(text, func(field string) string {
		parts := resourceVersion.FindStringSubmatch(field)
		return parts[1] + n.nameOf("resourceVersion", parts[2])
	})
	if strings.HasPrefix(text, `{"kind":"Table"`) {
		text = tableAge.ReplaceAllString(text, `"age"$1`)
	}
	// The order of a CRD's conditions depends on which controller is first.
	if strings.Contains(text, `"type":"NamesAccepted"`) {
		text = sortArrays(text, `"conditions":`)
	}
	// The order of resources in discovery is that of a Go map.
	if strings.Contains(text, `"kind":"APIResourceList"`) || strings.Contains(text, `"freshness":`) {
		text = sortArrays(text, `"resources":`)
	}
	return n.normalizeTimes(text)
}

// normalizeUIDs replaces values that are the uid of an object somewhere.
func (n *corpusNormalizer) normalizeUIDs(text string) string {
	for _, match := range uidField.FindAllStringSubmatch(text, -1) {
		n.nameOf("uid", match[1])
	}
	return uuidValue.ReplaceAllStringFunc(text, func(value string) string {
		if name, seen := n.values["uid "+value]; seen {
			return name
		}
		return value
	})
}

// normalizeTimes replaces times since the start of the server. Earlier ones are from clients or defaults.
func (n *corpusNormalizer) normalizeTimes(text string) string {
	return serverTime.ReplaceAllStringFunc(text, func(value string) string {
		if at, err := time.Parse(time.RFC3339, value); err != nil || at.Before(n.since) {
			return value
		}
		return "now"
	})
}

// sortArrays sorts the items of all arrays in fields of a name.
func sortArrays(text, field string) string {
	head, tail, found := strings.Cut(text, field)
	if !found {
		return text
	}
	var raw []json.RawMessage
	decoder := json.NewDecoder(strings.NewReader(tail))
	if decoder.Decode(&raw) != nil { // in a schema, the property of this name
		return head + field + sortArrays(tail, field)
	}
	items := make([]string, len(raw))
	for i := range raw {
		items[i] = string(raw[i])
	}
	slices.Sort(items)
	return head + field + "[" + strings.Join(items, ",") + "]" + sortArrays(tail[decoder.InputOffset():], field)
}

// nameOf returns the replacement of a value: its kind and a number.
func (n *corpusNormalizer) nameOf(kind, value string) string {
	if n.values == nil {
		n.values = map[string]string{}
	}
	key := kind + " " + value
	if _, seen := n.values[key]; !seen {
		n.values[key] = fmt.Sprintf("%s %d", kind, len(n.values))
	}
	return n.values[key]
}

// diffAnswers returns a diff of the first answers that differ, or "" if there are none. Bytes are compared; the diff is
// of the indented text, if that differs.
func diffAnswers(want, got []corpusAnswer) string {
	if len(want) != len(got) {
		return fmt.Sprintf("%d answers, want %d", len(got), len(want))
	}
	var diffs []string
	for i := range want {
		w, g := want[i], got[i]
		w.wrong, g.wrong = "", ""
		if reflect.DeepEqual(w, g) {
			continue
		}
		diff := cmp.Diff(strings.Split(w.indented(), "\n"), strings.Split(g.indented(), "\n"))
		if diff == "" {
			diff = cmp.Diff(fmt.Sprintf("%+v", w), fmt.Sprintf("%+v", g))
		}
		if diffs = append(diffs, w.Request+":\n"+diff); len(diffs) == 3 {
			break
		}
	}
	return strings.Join(diffs, "\n")
}

func (a corpusAnswer) indented() string {
	header, _ := yaml.Marshal(a.Header)
	return fmt.Sprintf("%d\n%s\nbody: %s\nstored: %s", a.Code, header, indentJSON(a.Body), indentJSON(a.Stored))
}

func indentJSON(text string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(text), "", "  ") != nil {
		return text
	}
	return out.String()
}

const (
	uid1, uid2   = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
	corpusObject = `{"metadata":{"creationTimestamp":"2026-01-01T00:00:01Z","resourceVersion":"7","uid":"` + uid1 + `"}}`
)

// TestF2CorpusComparison (rule F2) shows which differences TestF2ExistingUnionsDoNotBreak detects, and which it
// ignores.
func TestF2CorpusComparison(t *testing.T) {
	t.Parallel()
	const object = corpusObject
	replaced := func(oldAndNew ...string) string { return strings.NewReplacer(oldAndNew...).Replace(object) }
	for name, test := range map[string]struct {
		stock, ours []string // bodies
		same        bool
	}{
		"another uid, resourceVersion and time of the server": {
			stock: []string{object},
			ours:  []string{replaced(uid1, uid2, `"7"`, `"1234"`, "00:00:01Z", "00:01:00Z")},
			same:  true,
		},
		"the same object with another uid than before": {
			stock: []string{object, object},
			ours:  []string{object, replaced(uid1, uid2)},
		},
		"a write that one server made and the other left out": {
			stock: []string{object, object},
			ours:  []string{object, replaced(`"7"`, `"8"`)},
		},
		"values in errors that quote the object": {
			stock: []string{object, `{"message":"uid ` + uid1 + `, {\\\"resourceVersion\\\":\\\"7\\\"}"}`},
			ours: []string{
				replaced(uid1, uid2, `"7"`, `"8"`),
				`{"message":"uid ` + uid2 + `, {\\\"resourceVersion\\\":\\\"8\\\"}"}`,
			},
			same: true,
		},
		"a uid that no object has": {
			stock: []string{`{"spec":{"id":"` + uid1 + `"}}`},
			ours:  []string{`{"spec":{"id":"` + uid2 + `"}}`},
		},
		"a time that is not the server's": {
			stock: []string{`{"lastTransitionTime":"2020-02-02T20:20:20Z"}`},
			ours:  []string{`{"lastTransitionTime":"2020-02-02T20:20:21Z"}`},
		},
		"the resourceVersion of a list": {
			stock: []string{`{"items":[` + object + `],"metadata":{"continue":"","resourceVersion":"7"}}`},
			ours:  []string{`{"items":[` + object + `],"metadata":{"continue":"","resourceVersion":"9"}}`},
			same:  true,
		},
		"the resourceVersion of a list in YAML": {
			stock: []string{"items: []\nmetadata:\n  continue: \"\"\n  resourceVersion: \"7\"\n"},
			ours:  []string{"items: []\nmetadata:\n  continue: \"\"\n  resourceVersion: \"9\"\n"},
			same:  true,
		},
		"the order of a CRD's conditions": {
			stock: []string{`{"conditions":[{"type":"Established"},{"type":"NamesAccepted"}]}`},
			ours:  []string{`{"conditions":[{"type":"NamesAccepted"},{"type":"Established"}]}`},
			same:  true,
		},
		"the order of other conditions": {
			stock: []string{`{"conditions":[{"type":"A"},{"type":"B"}]}`},
			ours:  []string{`{"conditions":[{"type":"B"},{"type":"A"}]}`},
		},
		"the order of keys": {stock: []string{`{"a":1,"b":2}`}, ours: []string{`{"b":2,"a":1}`}},
		"a space":           {stock: []string{`{"a":1}`}, ours: []string{`{"a": 1}`}},
		"a missing answer":  {stock: []string{object, object}, ours: []string{object}},
	} {
		t.Run(map[bool]string{true: "ignored: ", false: "detected: "}[test.same]+name, func(t *testing.T) {
			diff := diffAnswers(answersOf(test.stock), answersOf(test.ours))
			if (diff == "") != test.same {
				t.Errorf("the answers are the same: %v, want %v; diff:\n%s", diff == "", test.same, diff)
			}
		})
	}
}

// TestF2CorpusComparisonOfAnswers (rule F2) shows that not only bodies are compared.
func TestF2CorpusComparisonOfAnswers(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]corpusAnswer{
		"code":    {Code: 201},
		"warning": {Code: 200, Header: http.Header{"Warning": {"299 - w"}}},
		"storage": {Code: 200, Stored: "{}"},
	} {
		if diff := diffAnswers([]corpusAnswer{{Code: 200}}, []corpusAnswer{other}); diff == "" {
			t.Errorf("another %s is not detected", name)
		}
	}
}

// answersOf returns the recorded answers of a server that started at the beginning of 2026.
func answersOf(bodies []string) (answers []corpusAnswer) {
	n := corpusNormalizer{since: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for _, body := range bodies {
		answers = append(answers, corpusAnswer{Code: http.StatusOK, Body: n.normalize(body)})
	}
	return answers
}
