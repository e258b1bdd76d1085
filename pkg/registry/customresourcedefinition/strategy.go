// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresourcedefinition

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/validation"
	"github.com/fairlead-dev/fairlead/pkg/features"
)

// DropDisabledFields drops customFeatureGates from newCRD while the feature is disabled, unless oldCRD has it (rule
// F4). oldCRD is the persisted CRD, nil on create. It must be called before the generation is computed, so that a
// dropped field does not change it.
func DropDisabledFields(newCRD, oldCRD *apiextensions.CustomResourceDefinition) {
	inUse := oldCRD != nil && oldCRD.Spec.CustomFeatureGates != nil
	if !inUse && !utilfeature.DefaultFeatureGate.Enabled(features.CRDFieldLevelVersioning) {
		newCRD.Spec.CustomFeatureGates = nil
	}
}

// GateWarnings returns the warnings about the feature gates that a write of newCRD over oldCRD introduces (rule C7).
// oldCRD is nil on create.
func GateWarnings(newCRD, oldCRD *apiextensions.CustomResourceDefinition) []string {
	return validation.WarningsForCustomFeatureGates(&newCRD.Spec, specOf(oldCRD), field.NewPath("spec"))
}

// UnionWarnings returns the warnings about the unions that a write of newCRD over oldCRD introduces (rule U2). oldCRD
// is nil on create.
func UnionWarnings(newCRD, oldCRD *apiextensions.CustomResourceDefinition) []string {
	return validation.WarningsForUnions(&newCRD.Spec, specOf(oldCRD), field.NewPath("spec"))
}

// specOf returns the spec of a CRD, or nil if there is no CRD.
func specOf(crd *apiextensions.CustomResourceDefinition) *apiextensions.CustomResourceDefinitionSpec {
	if crd == nil {
		return nil
	}
	return &crd.Spec
}
