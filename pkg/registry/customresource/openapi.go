// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fairlead-dev/fairlead/pkg/features"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
)

// PublishOpenAPI marks the guarded fields in the OpenAPI schema of a version, in place, if that is the storage version
// (rules F2, G12).
func PublishOpenAPI(schema *spec.Schema, crd *apiextensionsv1.CustomResourceDefinition, versionName string) {
	if crd.Spec.CustomFeatureGates == nil || !utilfeature.DefaultFeatureGate.Enabled(features.CRDFieldLevelVersioning) {
		return
	}
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; v.Storage && v.Name == versionName {
			fieldgate.Publish(schema, crd.Spec.CustomFeatureGates)
		}
	}
}
