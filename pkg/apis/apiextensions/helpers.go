// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apiextensions

import (
	"encoding/json"
)

// IsEnabled tells the effective state of a feature gate by itself (rule C1), leaving aside the gates of
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

// IsUndefined tells whether the gate consists of a name and enabled alone, and so guards nothing: what remains
// of a gate under server-side apply when its author removes it while an administrator owns enabled (rule C4).
func (g *CustomResourceDefinitionFeatureGate) IsUndefined() bool {
	return g.Enabled != nil && g.Default == nil && g.PreRelease == "" &&
		g.FieldDeprecationWarning == nil && len(g.FieldPaths) == 0
}

// QualifiedName is how warnings name the gate: with the component in front where there is one (rule G10).
func (gs *CustomResourceDefinitionFeatureGates) QualifiedName(g *CustomResourceDefinitionFeatureGate) string {
	if gs.Component == nil || *gs.Component == "" {
		return g.Name
	}
	return *gs.Component + "/" + g.Name
}

// Extension returns the unions as the value of an OpenAPI extension (rule U1). It costs nothing: several documents hold
// the schema of a CRD for as long as that is served.
func (u *Unions) Extension() json.Marshaler { return (*unionsExtension)(u) }

// unionsExtension are unions that are encoded as everywhere else. The encoder of OpenAPI documents would keep what
// omitempty leaves out, such as false.
// +k8s:openapi-gen=false
type unionsExtension Unions

// MarshalJSON implements json.Marshaler.
func (e *unionsExtension) MarshalJSON() ([]byte, error) { return json.Marshal((*Unions)(e)) }
