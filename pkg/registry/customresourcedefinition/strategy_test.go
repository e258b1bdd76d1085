// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresourcedefinition

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"

	"github.com/fairlead-dev/fairlead/pkg/features"
)

func TestF4DropDisabledFields(t *testing.T) {
	withGates, without := crdOf(t, versionsOf(plain), gates), crdOf(t, versionsOf(plain), "")
	for _, tc := range []struct {
		claim   string
		enabled bool
		old     *apiextensions.CustomResourceDefinition // nil on create
		want    *apiextensions.CustomResourceDefinition
	}{
		{"F4: a create keeps the field while the feature is enabled", true, nil, withGates},
		{"F4: so does an update that adds it", true, without, withGates},
		{"F4: a create loses the field while the feature is disabled", false, nil, without},
		{"F4: so does an update that adds it", false, without, without},
		{"F4: an update of a persisted CRD that has it keeps it", false, withGates, withGates},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.CRDFieldLevelVersioning, tc.enabled)
			newCRD := withGates.DeepCopy()
			DropDisabledFields(newCRD, tc.old)
			if diff := cmp.Diff(tc.want, newCRD); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestC7WarningsAreAboutWhatTheWriteIntroduces(t *testing.T) {
	const stable = `{featureGates: [{name: G, enabled: false, preRelease: stable, fieldPaths: [.spec.git]}]}`
	const byDefault = `default: Git, ` + union
	for name, tc := range map[string]struct {
		warnings func(newCRD, oldCRD *apiextensions.CustomResourceDefinition) []string
		newCRD   *apiextensions.CustomResourceDefinition
		want     string
	}{
		"C7: of feature gates": {GateWarnings, crdOf(t, versionsOf(plain), stable),
			`spec.customFeatureGates.featureGates[0].enabled: has no effect: feature gate "G" is stable`},
		"U2: of unions": {UnionWarnings, crdOf(t, versionsOf(byDefault), ""),
			`spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[type].default: ` +
				`a client that leaves out the discriminator of a union selects "Git"`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]string{tc.want}, tc.warnings(tc.newCRD, nil)); diff != "" {
				t.Errorf("on create (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{tc.want}, tc.warnings(tc.newCRD, crdOf(t, versionsOf(plain), ""))); diff != "" {
				t.Errorf("on update (-want +got):\n%s", diff)
			}
			if got := tc.warnings(tc.newCRD, tc.newCRD.DeepCopy()); len(got) > 0 {
				t.Errorf("although it was persisted before: %q", got)
			}
		})
	}
}
