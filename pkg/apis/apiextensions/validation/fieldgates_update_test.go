// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
)

// TestC4AnUpdateThatTakesTheDefinitionKeepsEnabled (rule C4): enabled changes by accident where the definition goes.
func TestC4AnUpdateThatTakesTheDefinitionKeepsEnabled(t *testing.T) {
	const (
		undecided = `{featureGates: [{name: G, preRelease: alpha, fieldPaths: [.spec.foo]}]}`
		on        = `{featureGates: [{name: G, enabled: true, preRelease: alpha, fieldPaths: [.spec.foo]}]}`
		off       = `{featureGates: [{name: G, enabled: false, preRelease: alpha, fieldPaths: [.spec.foo]}]}`
		bareOn    = `{featureGates: [{name: G, enabled: true}]}`
		bareOff   = `{featureGates: [{name: G, enabled: false}]}`
	)
	accident := func(i string) []expectation {
		return []expectation{
			expect(field.ErrorTypeRequired, "featureGates["+i+"].preRelease"),
			expect(field.ErrorTypeRequired, "featureGates["+i+"].fieldPaths"),
		}
	}
	for _, tc := range []struct {
		claim    string
		old, new string // empty for no customFeatureGates
		want     []expectation
	}{
		{claim: "C4: with its first enabled, on, it is refused", old: undecided, new: bareOn, want: accident("0")},
		{claim: "C4: with its first enabled, off, it is refused", old: undecided, new: bareOff, want: accident("0")},
		{claim: "C4: with enabled switched on it is refused", old: off, new: bareOn, want: accident("0")},
		{claim: "C4: with enabled switched off it is refused", old: on, new: bareOff, want: accident("0")},
		{claim: "C4: with enabled as it was, on, it is accepted", old: on, new: bareOn},
		{claim: "C4: with enabled as it was, off, it is accepted", old: off, new: bareOff},
		{claim: "C4: in a definition of any kind it is refused",
			old: `{featureGates: [{name: G, default: true, preRelease: deprecated, fieldDeprecationWarning: w, fieldPaths: [.spec.foo]}]}`,
			new: bareOff, want: accident("0")},
		{claim: "C4: each gate of a list is refused at its place",
			old: `{featureGates: [{name: A, preRelease: alpha, fieldPaths: [.spec.a]}, {name: G, preRelease: alpha, fieldPaths: [.spec.foo]}]}`,
			new: `{featureGates: [{name: G, enabled: true}, {name: A, enabled: true}]}`, want: append(accident("0"), accident("1")...)},
		{claim: "C4: gates are matched by name, not by place",
			old: `{featureGates: [{name: A, preRelease: alpha, fieldPaths: [.spec.a]}, {name: G, enabled: true}]}`,
			new: `{featureGates: [{name: G, enabled: false}, {name: A, preRelease: alpha, fieldPaths: [.spec.a]}]}`},

		{claim: "C4: a gate that keeps its definition may be switched", old: off, new: on},
		{claim: "C4: a gate that gets a definition may be switched", old: bareOff, new: on},
		{claim: "C4: a gate that had no definition before may be switched", old: bareOff, new: bareOn},
		{claim: "C4: a gate without definition that is new is accepted", old: undecided, new: `{featureGates: [{name: H, enabled: true}]}`},
		{claim: "C4: a gate may go as a whole", old: on, new: `{featureGates: []}`},
		{claim: "C4: a name alone is left to the other checks", old: on, new: `{featureGates: [{name: G}]}`},
		{claim: "C4: part of a definition is left to the other checks", old: off, new: `{featureGates: [{name: G, enabled: true, preRelease: alpha}]}`},
		{claim: "C4: customFeatureGates may go", old: on},
		{claim: "C4: a gate without definition in customFeatureGates that are new is accepted", new: bareOn},
		{claim: "C4: customFeatureGates may become empty", old: on, new: `{}`},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			oldSpec, newSpec := specOf(nil, nil), specOf(nil, nil)
			if tc.old != "" {
				oldSpec.CustomFeatureGates = gatesOf(t, tc.old)
			}
			if tc.new != "" {
				newSpec.CustomFeatureGates = gatesOf(t, tc.new)
			}
			testErrors(t, tc.want, ValidateCustomFeatureGatesUpdate(newSpec, oldSpec, specPath))
		})
	}
}

// TestC4AnAccidentIsToldOnce (rule C4): what an update does by accident is legal without the persisted object, so that
// no error comes from both checks.
func TestC4AnAccidentIsToldOnce(t *testing.T) {
	spec := specOf(testyaml.Schema(t, richSchema), gatesOf(t, `{featureGates: [{name: G, enabled: true}]}`))
	testErrors(t, nil, ValidateCustomFeatureGates(spec, specPath))

	old := specOf(testyaml.Schema(t, richSchema), alphaGate(".spec.foo"))
	errs := ValidateCustomFeatureGatesUpdate(spec, old, specPath)
	const want = `spec.customFeatureGates.featureGates[0].preRelease: Required value: must be given when the update changes ` +
		`enabled: give the whole feature gate, or change enabled by server-side apply or a strategic merge patch`
	if len(errs) != 2 || errs[0].Error() != want {
		t.Errorf("got  %v\nwant %s", errs, want)
	}
}
