// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apiextensions_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/generated/openapi"
)

// TestC2OpenAPIMergesGatesByName checks the extensions that clients read (rule C2): server-side apply reads the list
// type, kubectl the patch keys.
func TestC2OpenAPIMergesGatesByName(t *testing.T) {
	definitions := openapi.GetOpenAPIDefinitions(func(string) spec.Ref { return spec.Ref{} })
	model := definitions[apiextensions.CustomResourceDefinitionFeatureGates{}.OpenAPIModelName()]
	want := spec.Extensions{
		"x-kubernetes-list-type":       "map",
		"x-kubernetes-list-map-keys":   []any{"name"},
		"x-kubernetes-patch-strategy":  "merge",
		"x-kubernetes-patch-merge-key": "name",
	}
	if diff := cmp.Diff(want, model.Schema.Properties["featureGates"].Extensions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestC2GatesMergeByNameUnderStrategicMergePatch patches a CRD as the server does, by the struct tags (rule C2).
func TestC2GatesMergeByNameUnderStrategicMergePatch(t *testing.T) {
	const persisted = `[{name: A, preRelease: alpha, fieldPaths: [.spec.a]}, {name: B, preRelease: beta, enabled: false, fieldPaths: [.spec.b]}]`
	for _, tc := range []struct{ claim, patch, want string }{
		{"C2: a patch of enabled changes nothing else", `[{name: A, enabled: true}]`,
			`[{name: A, enabled: true, preRelease: alpha, fieldPaths: [.spec.a]}, {name: B, preRelease: beta, enabled: false, fieldPaths: [.spec.b]}]`},
		{"C2: a patch of the last gate changes no other gate", `[{name: B, enabled: true}]`,
			`[{name: A, preRelease: alpha, fieldPaths: [.spec.a]}, {name: B, preRelease: beta, enabled: true, fieldPaths: [.spec.b]}]`},
		{"C2: null removes enabled", `[{name: B, enabled: null}]`,
			`[{name: A, preRelease: alpha, fieldPaths: [.spec.a]}, {name: B, preRelease: beta, fieldPaths: [.spec.b]}]`},
		{"C2: the paths of a gate are replaced", `[{name: A, fieldPaths: [.spec.c]}]`,
			`[{name: A, preRelease: alpha, fieldPaths: [.spec.c]}, {name: B, preRelease: beta, enabled: false, fieldPaths: [.spec.b]}]`},
		{"C2: a gate with a new name is added", `[{name: C, enabled: true}]`,
			`[{name: C, enabled: true}, {name: A, preRelease: alpha, fieldPaths: [.spec.a]}, {name: B, preRelease: beta, enabled: false, fieldPaths: [.spec.b]}]`},
		{"C2: an empty list changes nothing", `[]`, persisted},
		{"C2: a gate is removed by its name", `[{name: A, $patch: delete}]`,
			`[{name: B, preRelease: beta, enabled: false, fieldPaths: [.spec.b]}]`},
		{"C2: $patch: replace replaces the list", `[{$patch: replace}, {name: A, enabled: true}]`, `[{name: A, enabled: true}]`},
	} {
		for version, schema := range map[string]any{
			"v1": crdv1.CustomResourceDefinition{}, "v1beta1": crdv1beta1.CustomResourceDefinition{},
		} {
			t.Run(tc.claim+" in "+version, func(t *testing.T) {
				got, err := strategicpatch.StrategicMergePatch(withGates(t, persisted), withGates(t, tc.patch), schema)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(gatesByName(t, withGates(t, tc.want)), gatesByName(t, got)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestC2ClientSideApplyOfTheAuthorLeavesEnabledAlone creates the patch that kubectl apply creates (rule C2).
func TestC2ClientSideApplyOfTheAuthorLeavesEnabledAlone(t *testing.T) {
	const last = `[{name: A, preRelease: alpha, fieldPaths: [.spec.a]}, {name: B, preRelease: alpha, fieldPaths: [.spec.b]}]`
	const live = `[{name: A, enabled: true, preRelease: alpha, fieldPaths: [.spec.a]}, {name: B, preRelease: alpha, fieldPaths: [.spec.b]}]`
	for _, tc := range []struct{ claim, applied, want string }{
		{"C2: the same manifest applied again changes nothing", last, live},
		{"C2: a new preRelease keeps enabled", `[{name: A, preRelease: beta, fieldPaths: [.spec.a]}, {name: B, preRelease: alpha, fieldPaths: [.spec.b]}]`,
			`[{name: A, enabled: true, preRelease: beta, fieldPaths: [.spec.a]}, {name: B, preRelease: alpha, fieldPaths: [.spec.b]}]`},
		{"C2: another order of gates keeps enabled", `[{name: B, preRelease: alpha, fieldPaths: [.spec.b]}, {name: A, preRelease: alpha, fieldPaths: [.spec.a]}]`, live},
		{"C2: removing a gate leaves the others alone", `[{name: A, preRelease: alpha, fieldPaths: [.spec.a]}]`,
			`[{name: A, enabled: true, preRelease: alpha, fieldPaths: [.spec.a]}]`},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			meta, err := strategicpatch.NewPatchMetaFromStruct(crdv1.CustomResourceDefinition{})
			if err != nil {
				t.Fatal(err)
			}
			current := withGates(t, live)
			patch, err := strategicpatch.CreateThreeWayMergePatch(withGates(t, last), withGates(t, tc.applied), current, meta, true)
			if err != nil {
				t.Fatal(err)
			}
			got, err := strategicpatch.StrategicMergePatch(current, patch, crdv1.CustomResourceDefinition{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(gatesByName(t, withGates(t, tc.want)), gatesByName(t, got)); diff != "" {
				t.Errorf("patch %s (-want +got):\n%s", patch, diff)
			}
		})
	}
}

// withGates returns a CRD, or a patch of a CRD, that has nothing but a list of feature gates.
func withGates(t *testing.T, list string) []byte {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(`spec: {customFeatureGates: {featureGates: ` + list + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// gatesByName returns the feature gates of a CRD by name, since their order does not matter.
func gatesByName(t *testing.T, crd []byte) map[string]any {
	t.Helper()
	var decoded struct {
		Spec struct {
			CustomFeatureGates struct{ FeatureGates []map[string]any }
		}
	}
	if err := json.Unmarshal(crd, &decoded); err != nil {
		t.Fatal(err)
	}
	gates := map[string]any{}
	for _, gate := range decoded.Spec.CustomFeatureGates.FeatureGates {
		name, _ := gate["name"].(string)
		gates[name] = gate
	}
	return gates
}
