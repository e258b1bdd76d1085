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
		// old are the gates before an update; empty on create.
		old string
		// path and oldPath are the specReplicasPath; empty without a scale subresource.
		path, oldPath string
		want          []string
	}{
		{claim: "C7: a sound gate draws no warning", gates: defined, path: ".spec.replicas"},

		{claim: "C7: stable with enabled: false has no effect", gates: stableOff, want: []string{stable}},
		{claim: "C7: stable with enabled: true draws no warning", gates: `featureGates: [{name: G, preRelease: stable, enabled: true, fieldPaths: [.spec.foo]}]`},
		{claim: "C7: enabled: false at another stage draws no warning", gates: `featureGates: [{name: G, preRelease: beta, enabled: false, fieldPaths: [.spec.foo]}]`},
		{claim: "C7: graduating a gate that is switched off warns", old: `featureGates: [{name: G, preRelease: beta, enabled: false, fieldPaths: [.spec.foo]}]`, gates: stableOff, want: []string{stable}},
		{claim: "C7: switching a stable gate off warns", old: `featureGates: [{name: G, preRelease: stable, fieldPaths: [.spec.foo]}]`, gates: stableOff, want: []string{stable}},
		{claim: "C7: a stable gate that was switched off before draws no warning again", old: stableOff, gates: stableOff},
		{claim: "C7: gates are matched by name, not by place", old: `featureGates: [{name: X, preRelease: stable, enabled: false, fieldPaths: [.spec.bar]}, {name: G, preRelease: beta, fieldPaths: [.spec.foo]}]`, gates: stableOff, want: []string{stable}},
		{claim: "C7: a gate that moved draws no warning again", old: `featureGates: [{name: X, preRelease: beta, fieldPaths: [.spec.bar]}, {name: G, preRelease: stable, enabled: false, fieldPaths: [.spec.foo]}]`, gates: stableOff},
		{claim: "C7: adding gates to a CRD is an introduction", old: noGates, gates: stableOff, want: []string{stable}},
		{claim: "G10: where component is given it names the gate too", gates: `
component: istio
featureGates: [{name: G, preRelease: stable, enabled: false, fieldPaths: [.spec.foo]}]
`, want: []string{gate0 + `.enabled: has no effect: feature gate "istio/G" is stable`}},

		{claim: "C7: a gate without definition guards nothing", gates: undefinedGate, want: []string{undefined}},
		{claim: "C7: losing the definition warns", old: defined, gates: undefinedGate, want: []string{undefined}},
		{claim: "C7: a gate that had no definition before draws no warning again", old: undefinedGate, gates: `featureGates: [{name: G, enabled: false}]`},

		{claim: "C7: guarding specReplicasPath warns", gates: scaleGate, path: ".spec.replicas", want: []string{gate0 + ".fieldPaths[0]" + scale}},
		{claim: "C7: guarding it in quotes warns", gates: `featureGates: [{name: G, preRelease: alpha, fieldPaths: [.spec.foo, ".spec['replicas']"]}]`, path: ".spec.replicas", want: []string{gate0 + ".fieldPaths[1]" + scale}},
		{claim: "C7: guarding an ancestor of it warns, once per gate", gates: `featureGates: [{name: G, preRelease: alpha, fieldPaths: [.spec, .spec.replicas]}]`, path: ".spec.replicas", want: []string{gate0 + ".fieldPaths[0]" + scale}},
		{claim: "C7: guarding it warns whatever the present state of the gate", gates: `featureGates: [{name: G, preRelease: deprecated, default: true, enabled: true, fieldPaths: [.spec.replicas]}]`, path: ".spec.replicas", want: []string{gate0 + ".fieldPaths[0]" + scale}},
		{claim: "C7: guarding it with a stable gate, which never drops, draws no warning", gates: `featureGates: [{name: G, preRelease: stable, fieldPaths: [.spec.replicas]}]`, path: ".spec.replicas"},
		{claim: "C7: guarding a field below or beside it draws no warning", gates: `featureGates: [{name: G, preRelease: alpha, fieldPaths: [.spec.replicas.x, .spec.replica, .status.replicas]}]`, path: ".spec.replicas"},
		{claim: "C7: without a scale subresource there is no warning", gates: scaleGate},
		{claim: "C7: guarding it as before draws no warning again", old: scaleGate, oldPath: ".spec.replicas", gates: scaleGate, path: ".spec.replicas"},
		{claim: "C7: guarding an ancestor instead draws no warning again", old: scaleGate, oldPath: ".spec.replicas", gates: `featureGates: [{name: G, preRelease: beta, fieldPaths: [.spec]}]`, path: ".spec.replicas"},
		{claim: "C7: a scale subresource that is new warns", old: scaleGate, gates: scaleGate, path: ".spec.replicas", want: []string{gate0 + ".fieldPaths[0]" + scale}},
		{claim: "C7: a specReplicasPath that moves below a guard warns", old: scaleGate, oldPath: ".spec.size", gates: scaleGate, path: ".spec.replicas", want: []string{gate0 + ".fieldPaths[0]" + scale}},
		{claim: "C7: a guard that is no longer stable warns", old: `featureGates: [{name: G, preRelease: stable, fieldPaths: [.spec.replicas]}]`, oldPath: ".spec.replicas", gates: scaleGate, path: ".spec.replicas", want: []string{gate0 + ".fieldPaths[0]" + scale}},
		{claim: "C7: another gate that takes over the guard warns", old: `featureGates: [{name: X, preRelease: alpha, fieldPaths: [.spec.replicas]}]`, oldPath: ".spec.replicas", gates: scaleGate, path: ".spec.replicas", want: []string{gate0 + ".fieldPaths[0]" + scale}},
		{claim: "R1: paths that cannot be read are left to validation", gates: `featureGates: [{name: G, preRelease: alpha, fieldPaths: ["", "[", .]}]`, path: "."},

		{claim: "C7: every gate gives its own warnings, in order", gates: `
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
		{"C7: the scale subresource of the storage version counts", []apiextensions.CustomResourceDefinitionVersion{{Name: "v1"}, {Name: "v2", Storage: true, Subresources: scaleAt(".spec.replicas")}}, true},
		{"C7: that of another version does not", []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Subresources: scaleAt(".spec.replicas")}, {Name: "v2", Storage: true}}, false},
		{"C7: subresources without scale draw no warning", []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Storage: true, Subresources: &apiextensions.CustomResourceSubresources{}}}, false},
		{"R1: no storage version draws no warning", []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Subresources: scaleAt(".spec.replicas")}}, false},
		{"R1: a path that upstream splits inside a quoted name is no ancestor", []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Storage: true, Subresources: scaleAt("['spec'].replicas")}}, false},
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

// scaleSpec makes the spec of a CRD whose scale subresource, if there is a path, is on top of the versions.
func scaleSpec(path string) *apiextensions.CustomResourceDefinitionSpec {
	spec := &apiextensions.CustomResourceDefinitionSpec{
		Versions: []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}},
	}
	if path != "" {
		spec.Subresources = &apiextensions.CustomResourceSubresources{
			Scale: &apiextensions.CustomResourceSubresourceScale{SpecReplicasPath: path, StatusReplicasPath: ".status.replicas"},
		}
	}
	return spec
}
