// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresourcedefinition

import (
	"context"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/validation"
	"github.com/fairlead-dev/fairlead/pkg/features"
)

// WrapStrategies makes a store of CustomResourceDefinitions treat customFeatureGates and unions as rules C7, C9, F4 and
// U2 say. What the strategies of the store do follows, so that a field that is dropped or kept changes no generation.
func WrapStrategies(store *genericregistry.Store) {
	store.CreateStrategy = createStrategy{store.CreateStrategy}
	store.UpdateStrategy = updateStrategy{store.UpdateStrategy}
}

type createStrategy struct{ rest.RESTCreateStrategy }

// PrepareForCreate implements rest.RESTCreateStrategy.
func (s createStrategy) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	dropDisabledFields(obj.(*apiextensions.CustomResourceDefinition), nil)
	s.RESTCreateStrategy.PrepareForCreate(ctx, obj)
}

// WarningsOnCreate implements rest.RESTCreateStrategy.
func (s createStrategy) WarningsOnCreate(ctx context.Context, obj runtime.Object) []string {
	return append(s.RESTCreateStrategy.WarningsOnCreate(ctx, obj), warningsFor(obj.(*apiextensions.CustomResourceDefinition), nil)...)
}

type updateStrategy struct{ rest.RESTUpdateStrategy }

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s updateStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	newCRD, oldCRD := obj.(*apiextensions.CustomResourceDefinition), old.(*apiextensions.CustomResourceDefinition)
	keepLeftOut(ctx, newCRD, oldCRD)
	dropDisabledFields(newCRD, oldCRD)
	s.RESTUpdateStrategy.PrepareForUpdate(ctx, obj, old)
}

// WarningsOnUpdate implements rest.RESTUpdateStrategy.
func (s updateStrategy) WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string {
	newCRD, oldCRD := obj.(*apiextensions.CustomResourceDefinition), old.(*apiextensions.CustomResourceDefinition)
	return append(s.RESTUpdateStrategy.WarningsOnUpdate(ctx, obj, old), warningsFor(newCRD, oldCRD)...)
}

// dropDisabledFields drops customFeatureGates from newCRD while the feature is disabled, unless oldCRD has it (rule
// F4). oldCRD is the persisted CRD, nil on create.
func dropDisabledFields(newCRD, oldCRD *apiextensions.CustomResourceDefinition) {
	inUse := oldCRD != nil && oldCRD.Spec.CustomFeatureGates != nil
	if !inUse && !utilfeature.DefaultFeatureGate.Enabled(features.CRDFieldLevelVersioning) {
		newCRD.Spec.CustomFeatureGates = nil
	}
}

// warningsFor returns the warnings about the feature gates (rule C7) and the unions (rule U2) that a write of newCRD over
// oldCRD introduces. oldCRD is nil on create.
func warningsFor(newCRD, oldCRD *apiextensions.CustomResourceDefinition) []string {
	var oldSpec *apiextensions.CustomResourceDefinitionSpec
	if oldCRD != nil {
		oldSpec = &oldCRD.Spec
	}
	spec := field.NewPath("spec")
	return append(
		validation.WarningsForCustomFeatureGates(&newCRD.Spec, oldSpec, spec),
		validation.WarningsForUnions(&newCRD.Spec, oldSpec, spec)...,
	)
}
