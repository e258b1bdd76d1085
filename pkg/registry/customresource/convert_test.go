// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/pkg/features"
)

// TestG8ADefaultOfTheRequestsVersionDrawsNoWarning has a default of count in v1beta1, which is the disabled replicas in
// the storage version.
func TestG8ADefaultOfTheRequestsVersionDrawsNoWarning(t *testing.T) {
	const dropped = `.spec.replicas: dropped: feature gate "Replicas" is disabled`
	const ofField = `
type: object
properties: {spec: {type: object, properties: {image: {type: string}, count: {type: integer, default: 1}}}}
`
	const ofParent = `
type: object
properties: {spec: {type: object, default: {image: i, count: 7}, properties: {image: {type: string}, count: {type: integer}}}}
`
	for _, tc := range []struct {
		name        string
		schema      string
		spec, old   map[string]any
		want        []string
		conversions int
	}{
		{"a default draws no warning", ofField, map[string]any{"image": "i", "count": int64(1)}, nil, nil, 3},
		{"another value draws a warning", ofField, map[string]any{"image": "i", "count": int64(5)}, nil, []string{dropped}, 2},
		{"a part of the default of an enclosing object draws no warning", ofParent, map[string]any{"image": "i", "count": int64(7)}, nil, nil, 3},
		{"a field of an enclosing object that is not the default draws a warning", ofParent, map[string]any{"image": "j", "count": int64(7)}, nil, []string{dropped}, 2},
		{"a value in a version without defaults draws a warning", "type: object", map[string]any{"count": int64(1)}, nil, []string{dropped}, 2},
		{"a default in an update draws no warning", ofField, map[string]any{"image": "i", "count": int64(1)}, map[string]any{"image": "i"}, nil, 4},
		{"a kept field draws a warning, even if the request has the default", ofField, map[string]any{"image": "i", "count": int64(1)}, map[string]any{"count": int64(3)},
			[]string{`.spec.replicas: not updated: feature gate "Replicas" is disabled`}, 3},
	} {
		t.Run("G8: "+tc.name, func(t *testing.T) {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.CRDFieldLevelVersioning, true)
			webhook := &renamer{}
			schemas := testSchemas()
			schemas["v1beta1"] = testyaml.Structural(t, tc.schema)
			plan, _ := NewPlan(withWebhook(t), schemas, webhook)
			endpoint := plan.Resource("v1beta1")
			ctx, request, seen := beginRecorded(t, endpoint, metav1.DryRunAll)
			var old *unstructured.Unstructured
			if tc.old != nil {
				old = customResource("v1beta1", tc.old)
			}
			u := customResource("v1beta1", tc.spec)
			if _, err := request.evaluate(u, old); err != nil {
				t.Fatal(err)
			}
			request.Done(ctx, nil)
			if diff := cmp.Diff(tc.want, seen.texts); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if webhook.calls != tc.conversions {
				t.Errorf("%d conversions, want %d", webhook.calls, tc.conversions)
			}
			if got := u.Object["spec"].(map[string]any)["count"]; got != tc.old["count"] {
				t.Errorf("G2: count is %v", got)
			}
		})
	}
}

// TestG8WithoutDefaultsReplacesDefaults (rule G8) in items of lists and in values of maps.
func TestG8WithoutDefaultsReplacesDefaults(t *testing.T) {
	schema := testyaml.Structural(t, `
type: object
properties:
  list:
    type: array
    items:
      type: object
      properties: {name: {type: string}, size: {type: integer, default: 1}}
  byName:
    type: object
    additionalProperties:
      type: object
      properties: {size: {type: integer, default: 1}}
`)
	sized := func(size any, kv ...any) map[string]any {
		out := map[string]any{}
		if size != nil {
			out["size"] = size
		}
		for i := 0; i < len(kv); i += 2 {
			out[kv[i].(string)] = kv[i+1]
		}
		return out
	}
	value := map[string]any{
		"list":   []any{sized(int64(1), "name", "a"), sized(int64(2), "name", "b"), "not an object"},
		"byName": map[string]any{"a": sized(int64(1)), "kept": sized(int64(1))},
		"other":  int64(1),
	}
	final := map[string]any{
		"list":   []any{sized(nil, "name", "a"), sized(nil, "name", "b"), "not an object"},
		"byName": map[string]any{"a": sized(nil), "kept": sized(int64(1))},
	}
	want := map[string]any{
		"list":   []any{sized(nil, "name", "a"), sized(int64(2), "name", "b"), "not an object"},
		"byName": map[string]any{"a": sized(nil), "kept": sized(int64(1))},
		"other":  int64(1),
	}
	if diff := cmp.Diff(want, compileDefaults(schema).withoutDefaults(value, final).value); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := value["list"].([]any)[0]; cmp.Diff(sized(int64(1), "name", "a"), got) != "" {
		t.Errorf("R4: the object was changed: %v", got)
	}
}
