// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apiextensions

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

// Extension returns the unions as the value of an OpenAPI extension: JSON that leaves out what is not said (rule U1). The
// structs do not encode like that in OpenAPI documents, whose encoder keeps false.
func (u *Unions) Extension() map[string]any {
	extension := map[string]any{}
	if u.FieldMembers == nil {
		return extension
	}
	members := make(map[string]any, len(u.FieldMembers))
	for value, member := range u.FieldMembers {
		published := map[string]any{}
		if member.Name != "" {
			published["name"] = member.Name
		}
		if member.Optional {
			published["optional"] = true
		}
		members[value] = published
	}
	extension["fieldMembers"] = members
	return extension
}
