// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"

	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// WarningsForCustomFeatureGates returns warnings about customFeatureGates that are legal but probably a mistake (rule
// C7). oldSpec is nil on create. On update it only warns about what the update introduces: there is no warning if the
// persisted gate with the same name gives the same warning. fldPath is the path of spec.
func WarningsForCustomFeatureGates(
	newSpec, oldSpec *apiextensions.CustomResourceDefinitionSpec, fldPath *field.Path,
) []string {
	if newSpec == nil || newSpec.CustomFeatureGates == nil {
		return nil
	}
	gates := newSpec.CustomFeatureGates
	listPath := fldPath.Child("customFeatureGates", "featureGates")
	newScale, oldScale, oldGates := specReplicasPath(newSpec), specReplicasPath(oldSpec), gatesByName(oldSpec)

	var warnings []string
	for i := range gates.FeatureGates {
		gate := &gates.FeatureGates[i]
		oldGate := oldGates[gate.Name]
		gatePath, name := listPath.Index(i), gates.QualifiedName(gate)

		if isStableDisabled(gate) && !isStableDisabled(oldGate) {
			warnings = append(warnings, stableDisabledWarning(gatePath, name))
		}
		if isUndefined(gate) && !isUndefined(oldGate) {
			warnings = append(warnings, undefinedWarning(gatePath, name))
		}
		if j := guardOfScale(gate, newScale); j >= 0 && guardOfScale(oldGate, oldScale) < 0 {
			warnings = append(warnings, scaleWarning(gatePath.Child("fieldPaths").Index(j), name))
		}
	}
	return warnings
}

func stableDisabledWarning(gatePath *field.Path, name string) string {
	return fmt.Sprintf("%s: has no effect: feature gate %q is stable", gatePath.Child("enabled"), name)
}

func undefinedWarning(gatePath *field.Path, name string) string {
	return fmt.Sprintf("%s: guards nothing: feature gate %q has no definition, "+
		"give preRelease and fieldPaths or remove it", gatePath, name)
}

func scaleWarning(fieldPath *field.Path, name string) string {
	return fmt.Sprintf("%s: guards specReplicasPath of the scale subresource: "+
		"scale cannot be read of objects from which feature gate %q dropped the field", fieldPath, name)
}

// gatesByName returns the gates of a CRD by name. spec may be nil.
func gatesByName(
	spec *apiextensions.CustomResourceDefinitionSpec,
) map[string]*fairlead.CustomResourceDefinitionFeatureGate {
	if spec == nil || spec.CustomFeatureGates == nil {
		return nil
	}
	gates := spec.CustomFeatureGates.FeatureGates
	byName := make(map[string]*fairlead.CustomResourceDefinitionFeatureGate, len(gates))
	for i := range gates {
		byName[gates[i].Name] = &gates[i]
	}
	return byName
}

// isStableDisabled reports whether a gate is stable and has enabled: false, which has no effect. The gate may be nil.
func isStableDisabled(gate *fairlead.CustomResourceDefinitionFeatureGate) bool {
	return gate != nil && gate.PreRelease == fairlead.PreReleaseStable && gate.Enabled != nil && !*gate.Enabled
}

// isUndefined is IsUndefined for a gate that may be nil.
func isUndefined(gate *fairlead.CustomResourceDefinitionFeatureGate) bool {
	return gate != nil && gate.IsUndefined()
}

// guardOfScale returns the index of the first path of a gate that guards the replicas of the scale subresource, or an
// ancestor of them. It returns -1 if there is none. The gate may be nil.
//
// Whether the gate is enabled does not matter, because an administrator can change that at any time. A stable gate is
// always enabled and never drops a field. A gate of an enclosing field, which may drop it (rule C8), gets a warning of
// its own.
func guardOfScale(gate *fairlead.CustomResourceDefinitionFeatureGate, scale fieldpath.Path) int {
	if gate == nil || len(scale) == 0 || gate.PreRelease == fairlead.PreReleaseStable {
		return -1
	}
	for j, text := range gate.FieldPaths {
		if path, err := fieldpath.Parse(text); err == nil && scale.HasPrefix(path) {
			return j
		}
	}
	return -1
}

// specReplicasPath returns the specReplicasPath of the storage version's scale subresource, or nil if there is none.
// Like upstream's splitReplicasPath, it splits the text at every dot.
func specReplicasPath(spec *apiextensions.CustomResourceDefinitionSpec) fieldpath.Path {
	if spec == nil {
		return nil
	}
	storage := storageVersion(spec)
	if storage == nil {
		return nil
	}
	subresources := spec.Subresources
	if apiextensions.HasPerVersionSubresources(spec.Versions) {
		subresources = storage.Subresources
	}
	if subresources == nil || subresources.Scale == nil {
		return nil
	}
	var path fieldpath.Path
	for _, name := range strings.Split(strings.TrimPrefix(subresources.Scale.SpecReplicasPath, "."), ".") {
		path = append(path, fieldpath.Field(name))
	}
	return path
}
