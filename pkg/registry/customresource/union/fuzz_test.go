// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// wildYAML has unions that validation of a CRD rejects (rule U2). The reference is not compared for them.
const wildYAML = `
type: object
properties:
  t1: {type: string, x-kubernetes-unions: {fieldMembers: {A: {name: t2}, B: {name: a}, C: {name: t1}, D: {optional: true}}}}
  t2: {type: string, x-kubernetes-unions: {fieldMembers: {A: {name: t1}, B: {name: a, optional: true}, "": {name: a}}}}
  a: {type: object, x-kubernetes-unions: {fieldMembers: {A: {name: none}}}, properties: {t1: {type: string, x-kubernetes-unions: {fieldMembers: {A: {name: status}}}}}}
  spec: {type: object, additionalProperties: {type: object, properties: {type: {type: integer, x-kubernetes-unions: {fieldMembers: {"1": {name: a}}}}, a: {type: string}}}}
  status: {type: string, x-kubernetes-unions: {fieldMembers: {A: {name: spec}, B: {name: metadata}}}}
  items:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [type, a]
    items: {type: object, properties: {type: {type: string, x-kubernetes-unions: {fieldMembers: {A: {name: a}, B: {name: b}}}}, a: {type: string}, b: {type: string}}}
`

// fuzzCase is a schema and its plan.
type fuzzCase struct {
	schema *structuralschema.Structural
	plan   *Plan
	wild   bool // whether the schema is wildYAML
}

// fuzzGates are the disabled gates, by the path of the member that they guard.
var fuzzGates = map[string]string{".spec.items[*].git": "istio/G", ".a": "A", ".spec.two.w1": "W"}

func fuzzCases(t testing.TB) []fuzzCase {
	t.Helper()
	var cases []fuzzCase
	for _, text := range []string{positionsSchemaYAML(), chainedYAML, inSpec("source", sourceYAML), wildYAML, defaultsYAML} {
		schema := testyaml.Structural(t, text)
		plan := Compile(schema, func(path fieldpath.Path) string { return fuzzGates[path.String()] })
		cases = append(cases, fuzzCase{schema, plan, text == wildYAML})
	}
	return cases
}

// request is a create or an update of an object.
type request struct {
	object, old map[string]any
	opts        Options
}

func (r request) copy() request {
	r.object, r.old = runtime.DeepCopyJSON(r.object), runtime.DeepCopyJSON(r.old)
	return r
}

// FuzzUnions checks requests that are generated from bytes.
func FuzzUnions(f *testing.F) {
	cases := fuzzCases(f)
	for i, seed := range randomBytes(32) {
		f.Add(byte(i), byte(i/4), seed, seed[len(seed)/2:])
	}
	f.Fuzz(func(t *testing.T, which, opts byte, objectBytes, oldBytes []byte) {
		c := cases[int(which)%len(cases)]
		checkRequest(t, c, fuzzRequest(opts, &source{data: objectBytes}, &source{data: oldBytes}, c.schema))
	})
}

// FuzzUnionsJSON checks requests that are written as JSON, so that a failing input is readable.
func FuzzUnionsJSON(f *testing.F) {
	cases := fuzzCases(f)
	for _, seed := range []struct{ object, old string }{
		{`{"spec":{"source":{"type":"S3","git":{},"s3":{}}}}`, ``},
		{`{"spec":{"source":{"type":"S3","git":{},"s3":{}}}}`, `{"spec":{"source":{"type":"Git","git":{}}}}`},
		{`{"spec":{"items":[{"name":"b","type":"S3","git":{}},{"name":"a","type":"Git","git":{}}]}}`, `{"spec":{"items":[{"name":"a","type":"Git","git":{}},{"name":"b","type":"Git","git":{}}]}}`},
		{`{"spec":{"map":{"a":{"type":null},"":{"type":""}}},"mode":null}`, `{"spec":{"map":{"a":{"type":"Git"},"":{}}},"mode":"A","a":"x"}`},
		{`{"spec":{"outer":{"type":"Other","inner":{"type":"S3","git":{}}}}}`, `{"spec":{"outer":{"type":"Inner","inner":{"type":"Git","git":{}}}}}`},
		{`{"spec":{"atomic":[{"type":"A"}],"set":[{"type":1}],"plain":[[]]}}`, `{"spec":{"atomic":[{"type":"A"}],"set":[{"type":1}],"plain":[[]]}}`},
		{`{"m":"B","a":"P","p":"R","r":"x"}`, `{"m":"A","a":"P","p":"R","r":"x"}`},
		{`{"t1":"A","t2":"B","a":{"t1":"A"},"items":[{"type":"A","b":"x"}]}`, `{"t1":"B","t2":"","a":{"t1":"B"},"items":[{"type":"A","b":"y"}]}`},
		{`{"mode":["A"],"a":1,"spec":[],"status":"x"}`, `{"mode":"A","a":{},"spec":null}`},
	} {
		for which := range cases {
			f.Add(byte(which), byte(0), seed.object, seed.old)
			f.Add(byte(which), byte(3), seed.object, seed.old)
		}
	}
	f.Fuzz(func(t *testing.T, which, opts byte, objectText, oldText string) {
		object, ok := fuzzJSON(objectText)
		old, oldOK := fuzzJSON(oldText)
		if !ok || object == nil || !oldOK {
			return
		}
		checkRequest(t, cases[int(which)%len(cases)], request{object, old, fuzzOptions(opts)})
	})
}

func fuzzOptions(from byte) Options {
	return Options{
		Scope:   []scope.Scope{scope.Everything, scope.ExceptStatus, scope.OnlyStatus}[int(from>>1)%3],
		Ratchet: from&1 != 0,
	}
}

// fuzzJSON decodes an object as the server does. It returns nil for an empty text, and false for anything but an object.
func fuzzJSON(text string) (map[string]any, bool) {
	if text == "" {
		return nil, true
	}
	var out any
	if err := utiljson.Unmarshal([]byte(text), &out); err != nil {
		return nil, false
	}
	object, ok := out.(map[string]any)
	return object, ok
}

// TestUnionsEqualTheReference checks random requests in every test run.
func TestUnionsEqualTheReference(t *testing.T) {
	cases := fuzzCases(t)
	var cleared, invalid, forgiven, unchanged int
	for i, data := range randomBytes(4000) {
		c := cases[i%len(cases)]
		r := fuzzRequest(byte(i/len(cases)), &source{data: data}, &source{data: data[len(data)/2:]}, c.schema)
		outcome := checkRequest(t, c, r)
		cleared += count(outcome.cleared)
		invalid += count(outcome.invalid)
		forgiven += count(outcome.forgiven)
		unchanged += count(outcome.unchanged)
		if t.Failed() {
			return
		}
	}
	t.Logf("cleared: %d, invalid: %d, forgiven: %d, unchanged: %d", cleared, invalid, forgiven, unchanged)
	if min(cleared, invalid, forgiven, unchanged) < 50 {
		t.Error("the random requests cover too little")
	}
}

// count returns 1 if the outcome happened, or 0.
func count(happened bool) int {
	if happened {
		return 1
	}
	return 0
}

// randomBytes returns n slices of random length. The seed is fixed.
func randomBytes(n int) [][]byte {
	random := rand.New(rand.NewPCG(1, 2))
	out := make([][]byte, n)
	for i := range out {
		out[i] = make([]byte, 100+random.IntN(900))
		for j := range out[i] {
			out[i][j] = byte(random.Uint32())
		}
	}
	return out
}

// outcome is what happened to a request. The test counts outcomes, to be sure that the requests cover each of them.
type outcome struct{ cleared, invalid, forgiven, unchanged bool }

// checkRequest normalizes, validates and defaults a request, and checks that the rules hold.
func checkRequest(t *testing.T, c fuzzCase, r request) outcome {
	t.Helper()
	before := r.copy()
	fail := func(claim, diff string) {
		t.Helper()
		t.Errorf("%s:\n%s\nobject: %s\nold: %s\noptions: %+v", claim, diff, encodeJSON(before.object), encodeJSON(before.old), r.opts)
	}
	result, cleared := c.plan.Normalize(r.object, r.old, r.opts.Scope)
	errs, failures := c.plan.Validate(result, r.old, r.opts)
	unchanged := c.plan.Unchanged(r.object, r.old, r.opts.Scope)

	if !reflect.DeepEqual(before, r) {
		fail("R4: an argument was modified", cmp.Diff(before, r, cmp.AllowUnexported(request{})))
	}
	if path := notRemoved(r.object, result); path != "" {
		fail("U4: normalization did more than remove fields", path)
	}
	if again, more := c.plan.Normalize(result, r.old, r.opts.Scope); len(more) > 0 || !reflect.DeepEqual(again, result) {
		fail("R4: normalization is not idempotent", strings.Join(Warnings(more), "\n"))
	}
	if (len(errs) == 0) != (len(failures) == 0) {
		fail("V1: failures without errors, or errors without failures", encodeJSON(failures))
	}
	checkUnchanged(c, r, unchanged, fail)
	checkDefault(c, r, fail)
	if !c.wild {
		checkAgainstReference(c, r, result, cleared, errs, fail)
	}
	all, _ := c.plan.Validate(result, nil, Options{Scope: r.opts.Scope})
	return outcome{len(cleared) > 0, len(errs) > 0, len(all) > len(errs), unchanged && len(all) > 0}
}

// checkUnchanged checks the result of Unchanged.
func checkUnchanged(c fuzzCase, r request, unchanged bool, fail func(claim, diff string)) {
	if reflect.DeepEqual(r.object, r.old) && r.old != nil && !unchanged {
		fail("U7: an equal object is not unchanged", "")
	}
	if !unchanged || r.old == nil {
		return
	}
	if _, cleared := c.plan.Normalize(r.object, r.old, r.opts.Scope); len(cleared) > 0 {
		fail("U7: a member was cleared although the object is unchanged", strings.Join(Warnings(cleared), "\n"))
	}
	now, _ := c.plan.Validate(r.object, nil, Options{Scope: r.opts.Scope})
	before, _ := c.plan.Validate(r.old, nil, Options{Scope: r.opts.Scope})
	if len(now) != len(before) {
		fail("U7: the errors differ although the object is unchanged", cmp.Diff(texts(before), texts(now)))
	}
}

// checkDefault compares the defaults with those of the schema.
func checkDefault(c fuzzCase, r request, fail func(claim, diff string)) {
	all, object := runtime.DeepCopyJSON(r.object), runtime.DeepCopyJSON(r.object)
	structuraldefaulting.Default(all, c.schema)
	applyDefaults(c, object)
	if path := notRemoved(all, object); path != "" {
		fail("U4.3: defaults differ by more than absent discriminators", path)
	}
	again := runtime.DeepCopyJSON(object)
	if applyDefaults(c, again); !reflect.DeepEqual(object, again) {
		fail("R4: defaulting is not idempotent", cmp.Diff(object, again))
	}
	for _, u := range refUnions(c.schema, request{object: object}) {
		value, _ := u.object.Properties[u.discriminator].Default.Object.(string)
		noConflict := !slices.ContainsFunc(u.set(), func(name string) bool { return name != u.members[value].Name })
		if _, present := u.holder[u.discriminator]; value != "" && noConflict && !present {
			fail("U4.3: a discriminator without conflict was not defaulted", u.path)
		}
	}
}

// applyDefaults defaults an object in place.
func applyDefaults(c fuzzCase, object map[string]any) {
	c.plan.Default(object, func() { structuraldefaulting.Default(object, c.schema) })
}

// checkAgainstReference compares object, warnings and errors with the reference.
func checkAgainstReference(
	c fuzzCase, r request, result map[string]any, cleared []Cleared, errs field.ErrorList, fail func(claim, diff string),
) {
	wantResult, wantWarnings := refNormalize(c.schema, r)
	if diff := cmp.Diff(wantResult, result); diff != "" {
		fail("U4, U5: the object differs from the reference (-want +got)", diff)
	}
	var warnings []string
	for _, each := range cleared {
		warnings = append(warnings, each.warning())
	}
	if diff := cmp.Diff(wantWarnings, warnings); diff != "" {
		fail("V3: the warnings differ from the reference (-want +got)", diff)
	}
	validated := r
	validated.object = result
	if diff := cmp.Diff(refValidate(c.schema, validated), texts(errs)); diff != "" {
		fail("U6, U7: the errors differ from the reference (-want +got)", diff)
	}
	for _, u := range refUnions(c.schema, validated) {
		if !u.discriminatorChanged() {
			continue
		}
		for _, err := range errs {
			if err.Type == field.ErrorTypeForbidden && u.hasMemberAt(err.Field) {
				fail("U4: a member is forbidden although the discriminator changed", err.Error())
			}
		}
	}
}

// notRemoved returns the path of a difference between a value and the result, or "" if the result is the value without
// some of its fields.
func notRemoved(value, result any) string {
	switch result := result.(type) {
	case map[string]any:
		value, ok := value.(map[string]any)
		for key := range result {
			if _, present := value[key]; !ok || !present {
				return "." + key
			}
			if path := notRemoved(value[key], result[key]); path != "" {
				return "." + key + path
			}
		}
	case []any:
		value, ok := value.([]any)
		if !ok || len(value) != len(result) {
			return "[]"
		}
		for i := range result {
			if path := notRemoved(value[i], result[i]); path != "" {
				return "[]" + path
			}
		}
	default:
		if !reflect.DeepEqual(value, result) {
			return ": " + encodeJSON(value) + " is " + encodeJSON(result)
		}
	}
	return ""
}

func encodeJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
