// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
)

func TestWarningsForCustomFeatureGates(t *testing.T) {
	const (
		gate0         = "spec.customFeatureGates.featureGates[0]"
		stable        = gate0 + `.enabled: has no effect: feature gate "G" is stable`
		undefined     = gate0 + `: guards nothing: feature gate "G" has no definition, give preRelease and fieldPaths or remove it`
		scale         = `: guards specReplicasPath of the scale subresource: scale cannot be read of objects from which feature gate "G" dropped the field`
		defined       = `featureGates: [{name: G, preRelease: beta, fieldPaths: [.spec.foo]}]`
		stableOff     = `featureGates: [{name: G, preRelease: stable, enabled: false, fieldPaths: [.spec.foo]}]`
		undefinedGate = `featureGates: [{name: G, enabled: true}]`
		scaleGate     = `featureGates: [{name: G, preRelease: alpha, fieldPaths: [.spec.replicas]}]`
		noGates       = `{}`
	)
	for _, tc := range []struct {
		claim string
		gates string
		// old has the persisted gates; it is empty on create.
		old string
		// path and oldPath are the requested and the persisted specReplicasPath; empty without a scale subresource.
		path, oldPath string
		want          []string
	}{
		{claim: "C7: an ordinary gate draws no warning", gates: defined, path: ".spec.replicas"},

		{claim: "C7: stable with enabled: false warns", gates: stableOff, want: []string{stable}},
		{claim: "C7: stable with enabled: true draws no warning", gates: `featureGates: [{name: G, preRelease: stable, enabled: true, fieldPaths: [.spec.foo]}]`},
		{claim: "C7: enabled: false of a beta gate draws no warning", gates: `featureGates: [{name: G, preRelease: beta, enabled: false, fieldPaths: [.spec.foo]}]`},
		{claim: "C7: making a gate with enabled: false stable warns", old: `featureGates: [{name: G, preRelease: beta, enabled: false, fieldPaths: [.spec.foo]}]`, gates: stableOff, want: []string{stable}},
		{claim: "C7: setting enabled: false on a stable gate warns", old: `featureGates: [{name: G, preRelease: stable, fieldPaths: [.spec.foo]}]`, gates: stableOff, want: []string{stable}},
		{claim: "C7: a stable gate that already had enabled: false draws no warning again", old: stableOff, gates: stableOff},
		{claim: "C7: gates are matched by name, not by index", old: `featureGates: [{name: X, preRelease: stable, enabled: false, fieldPaths: [.spec.bar]}, {name: G, preRelease: beta, fieldPaths: [.spec.foo]}]`, gates: stableOff, want: []string{stable}},
		{claim: "C7: a gate with another index draws no warning again", old: `featureGates: [{name: X, preRelease: beta, fieldPaths: [.spec.bar]}, {name: G, preRelease: stable, enabled: false, fieldPaths: [.spec.foo]}]`, gates: stableOff},
		{claim: "C7: adding gates to a CRD warns", old: noGates, gates: stableOff, want: []string{stable}},
		{claim: "G10: the warning has the component in front of the name", gates: `
component: istio
featureGates: [{name: G, preRelease: stable, enabled: false, fieldPaths: [.spec.foo]}]
`, want: []string{gate0 + `.enabled: has no effect: feature gate "istio/G" is stable`}},

		{claim: "C7: a gate without definition warns", gates: undefinedGate, want: []string{undefined}},
		{claim: "C7: removing the definition of a gate warns", old: defined, gates: undefinedGate, want: []string{undefined}},
		{claim: "C7: a gate that already had no definition draws no warning again", old: undefinedGate, gates: `featureGates: [{name: G, enabled: false}]`},

		{claim: "C7: guarding specReplicasPath warns", gates: scaleGate, path: ".spec.replicas", want: []string{gate0 + ".fieldPaths[0]" + scale}},
		{claim: "C7: guarding specReplicasPath with a quoted path warns", gates: `featureGates: [{name: G, preRelease: alpha, fieldPaths: [.spec.foo, ".spec['replicas']"]}]`, path: ".spec.replicas", want: []string{gate0 + ".fieldPaths[1]" + scale}},
		{claim: "C7: guarding an ancestor of specReplicasPath warns, once per gate", gates: `featureGates: [{name: G, preRelease: alpha, fieldPaths: [.spec, .spec.replicas]}]`, path: ".spec.replicas", want: []string{gate0 + ".fieldPaths[0]" + scale}},
		{claim: "C7: guarding specReplicasPath warns even if the gate is enabled", gates: `featureGates: [{name: G, preRelease: deprecated, default: true, enabled: true, fieldPaths: [.spec.replicas]}]`, path: ".spec.replicas", want: []string{gate0 + ".fieldPaths[0]" + scale}},
		{claim: "C7: guarding specReplicasPath with a stable gate draws no warning", gates: `featureGates: [{name: G, preRelease: stable, fieldPaths: [.spec.replicas]}]`, path: ".spec.replicas"},
		{claim: "C7: guarding a field below or beside specReplicasPath draws no warning", gates: `featureGates: [{name: G, preRelease: alpha, fieldPaths: [.spec.replicas.x, .spec.replica, .status.replicas]}]`, path: ".spec.replicas"},
		{claim: "C7: without a scale subresource there is no warning", gates: scaleGate},
		{claim: "C7: a persisted guard of specReplicasPath draws no warning again", old: scaleGate, oldPath: ".spec.replicas", gates: scaleGate, path: ".spec.replicas"},
		{claim: "C7: changing the guard to an ancestor of specReplicasPath draws no warning again", old: scaleGate, oldPath: ".spec.replicas", gates: `featureGates: [{name: G, preRelease: beta, fieldPaths: [.spec]}]`, path: ".spec.replicas"},
		{claim: "C7: adding a scale subresource warns", old: scaleGate, gates: scaleGate, path: ".spec.replicas", want: []string{gate0 + ".fieldPaths[0]" + scale}},
		{claim: "C7: changing specReplicasPath to a guarded field warns", old: scaleGate, oldPath: ".spec.size", gates: scaleGate, path: ".spec.replicas", want: []string{gate0 + ".fieldPaths[0]" + scale}},
		{claim: "C7: changing the gate from stable to alpha warns", old: `featureGates: [{name: G, preRelease: stable, fieldPaths: [.spec.replicas]}]`, oldPath: ".spec.replicas", gates: scaleGate, path: ".spec.replicas", want: []string{gate0 + ".fieldPaths[0]" + scale}},
		{claim: "C7: moving the guard to another gate warns", old: `featureGates: [{name: X, preRelease: alpha, fieldPaths: [.spec.replicas]}]`, oldPath: ".spec.replicas", gates: scaleGate, path: ".spec.replicas", want: []string{gate0 + ".fieldPaths[0]" + scale}},
		{claim: "R1: paths that cannot be parsed are left to validation", gates: `featureGates: [{name: G, preRelease: alpha, fieldPaths: ["", "[", .]}]`, path: "."},

		{claim: "C7: every gate has its own warnings, in order", gates: `
featureGates:
- {name: A, enabled: true}
- {name: B, preRelease: stable, enabled: false, fieldPaths: [.spec.foo]}
- {name: C, preRelease: alpha, fieldPaths: [.spec]}
`, path: ".spec.replicas", want: []string{
			`spec.customFeatureGates.featureGates[0]: guards nothing: feature gate "A" has no definition, give preRelease and fieldPaths or remove it`,
			`spec.customFeatureGates.featureGates[1].enabled: has no effect: feature gate "B" is stable`,
			`spec.customFeatureGates.featureGates[2].fieldPaths[0]: guards specReplicasPath of the scale subresource: scale cannot be read of objects from which feature gate "C" dropped the field`,
		}},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			newSpec := scaleSpec(tc.path)
			newSpec.CustomFeatureGates = gatesOf(t, tc.gates)
			var oldSpec *apiextensions.CustomResourceDefinitionSpec
			if tc.old != "" {
				oldSpec = scaleSpec(tc.oldPath)
				oldSpec.CustomFeatureGates = gatesOf(t, tc.old)
			}
			got := WarningsForCustomFeatureGates(newSpec, oldSpec, specPath)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWarningsOnScaleOfTheStorageVersion(t *testing.T) {
	scaleAt := func(path string) *apiextensions.CustomResourceSubresources {
		return &apiextensions.CustomResourceSubresources{Scale: &apiextensions.CustomResourceSubresourceScale{SpecReplicasPath: path}}
	}
	for _, tc := range []struct {
		claim    string
		versions []apiextensions.CustomResourceDefinitionVersion
		warns    bool
	}{
		{"C7: the scale subresource of the storage version is used", []apiextensions.CustomResourceDefinitionVersion{{Name: "v1"}, {Name: "v2", Storage: true, Subresources: scaleAt(".spec.replicas")}}, true},
		{"C7: the scale subresource of another version is not used", []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Subresources: scaleAt(".spec.replicas")}, {Name: "v2", Storage: true}}, false},
		{"C7: subresources without scale draw no warning", []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Storage: true, Subresources: &apiextensions.CustomResourceSubresources{}}}, false},
		{"R1: a CRD without a storage version draws no warning", []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Subresources: scaleAt(".spec.replicas")}}, false},
		{"R1: a specReplicasPath that upstream splits inside a quoted name draws no warning", []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Storage: true, Subresources: scaleAt("['spec'].replicas")}}, false},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			spec := &apiextensions.CustomResourceDefinitionSpec{Versions: tc.versions, CustomFeatureGates: alphaGate(".spec.replicas")}
			if got := WarningsForCustomFeatureGates(spec, nil, specPath); (len(got) == 1) != tc.warns {
				t.Errorf("warnings: %q", got)
			}
		})
	}
}

func TestWarningsWithoutGates(t *testing.T) {
	spec := scaleSpec(".spec.replicas")
	if got := WarningsForCustomFeatureGates(spec, spec, specPath); got != nil {
		t.Errorf("R2: %q", got)
	}
	if got := WarningsForCustomFeatureGates(nil, spec, specPath); got != nil {
		t.Errorf("R1: %q", got)
	}
}

// scaleSpec returns the spec of a CRD. If the path is not empty, the CRD has a scale subresource in spec.subresources.
func scaleSpec(path string) *apiextensions.CustomResourceDefinitionSpec {
	spec := specOf(nil, nil)
	if path != "" {
		spec.Subresources = &apiextensions.CustomResourceSubresources{
			Scale: &apiextensions.CustomResourceSubresourceScale{SpecReplicasPath: path, StatusReplicasPath: ".status.replicas"},
		}
	}
	return spec
}
