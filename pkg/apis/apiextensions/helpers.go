// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apiextensions

import (
	"encoding/json"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// IsEnabled reports whether the feature gate is enabled by its own fields (rule C1). It does not consider the gates of
// enclosing fields (rule C8).
func (g *CustomResourceDefinitionFeatureGate) IsEnabled() bool {
	switch {
	case g.PreRelease == PreReleaseStable:
		return true
	case g.Enabled != nil:
		return *g.Enabled
	case g.Default != nil:
		return *g.Default
	default:
		return g.PreRelease == PreReleaseBeta
	}
}

// IsUndefined reports whether the gate has nothing but a name and enabled, so that it guards nothing (rule C4). This is
// what server-side apply leaves of a gate when its author removes it and an administrator owns enabled.
func (g *CustomResourceDefinitionFeatureGate) IsUndefined() bool {
	return g.Enabled != nil &&
		apiequality.Semantic.DeepEqual(*g, CustomResourceDefinitionFeatureGate{Name: g.Name, Enabled: g.Enabled})
}

// QualifiedName returns the name of the gate for warnings, prefixed with the component if there is one (rule G10).
func (gs *CustomResourceDefinitionFeatureGates) QualifiedName(g *CustomResourceDefinitionFeatureGate) string {
	if gs.Component == nil || *gs.Component == "" {
		return g.Name
	}
	return *gs.Component + "/" + g.Name
}

// Extension returns the unions as the value of an OpenAPI extension (rule U1). It does not copy them, because several
// OpenAPI documents hold the schema of a CRD for as long as the CRD is served.
func (u *Unions) Extension() json.Marshaler { return (*unionsExtension)(u) }

// unionsExtension is encoded by encoding/json. Without its MarshalJSON, the encoder of OpenAPI documents would ignore
// omitempty and publish optional: false.
// +k8s:openapi-gen=false
type unionsExtension Unions

// MarshalJSON implements json.Marshaler.
func (e *unionsExtension) MarshalJSON() ([]byte, error) { return json.Marshal((*Unions)(e)) }
