// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
)

// TestC4AnUpdateThatRemovesADefinitionKeepsEnabled tests ValidateCustomFeatureGatesUpdate (rule C4).
func TestC4AnUpdateThatRemovesADefinitionKeepsEnabled(t *testing.T) {
	const (
		unset   = `{featureGates: [{name: G, preRelease: alpha, fieldPaths: [.spec.foo]}]}`
		on      = `{featureGates: [{name: G, enabled: true, preRelease: alpha, fieldPaths: [.spec.foo]}]}`
		off     = `{featureGates: [{name: G, enabled: false, preRelease: alpha, fieldPaths: [.spec.foo]}]}`
		bareOn  = `{featureGates: [{name: G, enabled: true}]}`
		bareOff = `{featureGates: [{name: G, enabled: false}]}`
	)
	rejected := func(i string) []expectation {
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
		{claim: "C4: removing the definition and setting enabled to true is rejected", old: unset, new: bareOn, want: rejected("0")},
		{claim: "C4: removing the definition and setting enabled to false is rejected", old: unset, new: bareOff, want: rejected("0")},
		{claim: "C4: removing the definition and changing enabled to true is rejected", old: off, new: bareOn, want: rejected("0")},
		{claim: "C4: removing the definition and changing enabled to false is rejected", old: on, new: bareOff, want: rejected("0")},
		{claim: "C4: removing the definition and keeping enabled: true is accepted", old: on, new: bareOn},
		{claim: "C4: removing the definition and keeping enabled: false is accepted", old: off, new: bareOff},
		{claim: "C4: removing the definition of a deprecated gate and setting enabled is rejected",
			old: `{featureGates: [{name: G, default: true, preRelease: deprecated, fieldDeprecationWarning: w, fieldPaths: [.spec.foo]}]}`,
			new: bareOff, want: rejected("0")},
		{claim: "C4: the errors of every gate have its index",
			old: `{featureGates: [{name: A, preRelease: alpha, fieldPaths: [.spec.a]}, {name: G, preRelease: alpha, fieldPaths: [.spec.foo]}]}`,
			new: `{featureGates: [{name: G, enabled: true}, {name: A, enabled: true}]}`, want: append(rejected("0"), rejected("1")...)},
		{claim: "C4: gates are matched by name, not by index",
			old: `{featureGates: [{name: A, preRelease: alpha, fieldPaths: [.spec.a]}, {name: G, enabled: true}]}`,
			new: `{featureGates: [{name: G, enabled: false}, {name: A, preRelease: alpha, fieldPaths: [.spec.a]}]}`},

		{claim: "C4: enabled of a gate that keeps its definition may change", old: off, new: on},
		{claim: "C4: enabled of a gate that gets a definition may change", old: bareOff, new: on},
		{claim: "C4: enabled of a gate that had no definition may change", old: bareOff, new: bareOn},
		{claim: "C4: a new gate without definition is accepted", old: unset, new: `{featureGates: [{name: H, enabled: true}]}`},
		{claim: "C4: a gate may be removed", old: on, new: `{featureGates: []}`},
		{claim: "C4: a name alone is left to ValidateCustomFeatureGates", old: on, new: `{featureGates: [{name: G}]}`},
		{claim: "C4: an incomplete definition is left to ValidateCustomFeatureGates", old: off, new: `{featureGates: [{name: G, enabled: true, preRelease: alpha}]}`},
		{claim: "C4: customFeatureGates may be removed", old: on},
		{claim: "C4: new customFeatureGates may have a gate without definition", new: bareOn},
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

// TestC4ALostDefinitionIsReportedOnce checks that ValidateCustomFeatureGates accepts what
// ValidateCustomFeatureGatesUpdate rejects, so that a client does not see the same error twice (rule C4).
func TestC4ALostDefinitionIsReportedOnce(t *testing.T) {
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
