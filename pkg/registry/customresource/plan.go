// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/fairlead-dev/fairlead/pkg/features"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
)

// Plan is what fairlead does to the custom resources of one CRD. It is immutable. The nil Plan does nothing, at no
// cost (rule R2); all methods accept it.
type Plan struct {
	gates *fieldgate.Plan
}

// NewPlan compiles what the CRD asks for, as far as the server's feature gates allow it, or returns nil where that
// is nothing. schemas are the structural schemas of the CRD by version.
func NewPlan(crd *apiextensionsv1.CustomResourceDefinition, schemas map[string]*structuralschema.Structural) *Plan {
	if crd.Spec.CustomFeatureGates == nil || !utilfeature.DefaultFeatureGate.Enabled(features.CRDFieldLevelVersioning) {
		return nil
	}
	gates := fieldgate.Compile(crd.Spec.CustomFeatureGates, schemas[storageVersion(crd)], fieldgate.Options{})
	if gates == nil {
		return nil
	}
	return &Plan{gates: gates}
}

// storageVersion returns the version whose schema the gates' paths belong to (rule G1).
func storageVersion(crd *apiextensionsv1.CustomResourceDefinition) string {
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Storage {
			return crd.Spec.Versions[i].Name
		}
	}
	return ""
}

// PrepareForCreate evaluates the feature gates of the CRD on an object that is about to be created, and notes the
// outcome in the Request of ctx. It belongs into the strategy's method of that name, before generation is computed
// (rule G6).
func (p *Plan) PrepareForCreate(ctx context.Context, obj map[string]any) {
	if p == nil {
		return
	}
	outcome := p.gates.Evaluate(obj, nil)
	if request := requestFrom(ctx); request != nil {
		request.gates = outcome
	}
}
