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

// WarningsForCustomFeatureGates returns what a write of a CustomResourceDefinition introduces in customFeatureGates
// that is legal but hardly meant (rule C7). oldSpec is nil on create. A gate that gave the same warning before
// the write, under the same name, gives none again. fldPath is the path of spec.
func WarningsForCustomFeatureGates(newSpec, oldSpec *apiextensions.CustomResourceDefinitionSpec, fldPath *field.Path) []string {
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
			warnings = append(warnings, fmt.Sprintf("%s: has no effect: feature gate %q is stable", gatePath.Child("enabled"), name))
		}
		if isUndefined(gate) && !isUndefined(oldGate) {
			warnings = append(warnings, fmt.Sprintf("%s: guards nothing: feature gate %q has no definition, give preRelease and fieldPaths or remove it", gatePath, name))
		}
		if j := guardOfScale(gate, newScale); j >= 0 && guardOfScale(oldGate, oldScale) < 0 {
			warnings = append(warnings, fmt.Sprintf("%s: guards specReplicasPath of the scale subresource: scale cannot be read of objects from which feature gate %q dropped the field",
				gatePath.Child("fieldPaths").Index(j), name))
		}
	}
	return warnings
}

func gatesByName(spec *apiextensions.CustomResourceDefinitionSpec) map[string]*fairlead.CustomResourceDefinitionFeatureGate {
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

// isStableDisabled tells whether somebody asked to disable a gate that is always enabled. The gate may be nil.
func isStableDisabled(gate *fairlead.CustomResourceDefinitionFeatureGate) bool {
	return gate != nil && gate.PreRelease == fairlead.PreReleaseStable && gate.Enabled != nil && !*gate.Enabled
}

// isUndefined is IsUndefined for a gate that may be nil.
func isUndefined(gate *fairlead.CustomResourceDefinitionFeatureGate) bool {
	return gate != nil && gate.IsUndefined()
}

// guardOfScale returns the index of the first path of a gate that guards the replicas of the scale subresource
// or an ancestor of them, or -1. The gate may be nil.
//
// The gate's present state does not matter, as an administrator can change it at any time. But a stable gate is
// always enabled and never drops a field, so there is nothing to warn about; a gate of an enclosing field that
// could (rule C8) is found by itself.
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

// specReplicasPath returns where the scale subresource of the storage version finds the replicas, or nil.
// The text is read as upstream's splitReplicasPath reads it at run time: every dot separates.
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
