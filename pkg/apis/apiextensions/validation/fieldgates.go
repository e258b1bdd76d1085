// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"regexp"
	"unicode"
	"unicode/utf8"

	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The limits of rule C4, and one for component, which ends up in warning headers and metric labels.
const (
	maxFeatureGates            = 128
	maxFieldPaths              = 128
	maxFieldPathBytes          = 512
	maxDeprecationWarningBytes = 256
	maxComponentBytes          = 253
)

const (
	gateNamePattern = `^[A-Za-z][A-Za-z0-9]{0,62}$`
	gateNameDetail  = "must start with a letter, consist of letters and digits, and have at most 63 characters"
)

var gateNameRegexp = regexp.MustCompile(gateNamePattern)

var preReleases = []fairlead.PreRelease{
	fairlead.PreReleaseAlpha, fairlead.PreReleaseBeta, fairlead.PreReleaseStable, fairlead.PreReleaseDeprecated,
}

// ValidateCustomFeatureGates validates the customFeatureGates of a CustomResourceDefinition (rules C4 to C6).
// fldPath is the path of spec. Where the storage version's schema cannot serve, everything that needs no schema
// is judged all the same.
func ValidateCustomFeatureGates(spec *apiextensions.CustomResourceDefinitionSpec, fldPath *field.Path) field.ErrorList {
	if spec == nil || spec.CustomFeatureGates == nil {
		return nil
	}
	gates := spec.CustomFeatureGates
	fldPath = fldPath.Child("customFeatureGates")
	listPath := fldPath.Child("featureGates")

	allErrs := validateComponent(gates.Component, fldPath.Child("component"))
	if n := len(gates.FeatureGates); n > maxFeatureGates {
		// Of a list that is out of bounds no more is looked at, so that the bounds limit the work as well.
		return append(allErrs, field.TooMany(listPath, n, maxFeatureGates))
	}

	v := gatesValidator{names: map[string]bool{}, guards: map[string]*field.Path{}}
	var unfit string
	if anyDefined(gates.FeatureGates) {
		v.resolver, unfit = newResolver(spec)
	}
	for i := range gates.FeatureGates {
		allErrs = append(allErrs, v.validateGate(&gates.FeatureGates[i], listPath.Index(i))...)
	}
	if unfit != "" {
		allErrs = append(allErrs, field.Forbidden(fldPath, unfit))
	}
	return allErrs
}

// ValidateCustomFeatureGatesUpdate validates what needs the persisted customFeatureGates as well: a gate that loses its
// definition keeps enabled as it was (rule C4). Otherwise a patch that was meant to change enabled has replaced the
// list, and the fields that the gate guarded would be open to all. fldPath is the path of spec.
func ValidateCustomFeatureGatesUpdate(newSpec, oldSpec *apiextensions.CustomResourceDefinitionSpec, fldPath *field.Path) field.ErrorList {
	if newSpec.CustomFeatureGates == nil || oldSpec.CustomFeatureGates == nil {
		return nil
	}
	oldGates := gatesByName(oldSpec)
	listPath := fldPath.Child("customFeatureGates", "featureGates")
	var allErrs field.ErrorList
	for i := range newSpec.CustomFeatureGates.FeatureGates {
		gate := &newSpec.CustomFeatureGates.FeatureGates[i]
		if oldGate := oldGates[gate.Name]; oldGate != nil && losesDefinitionByAccident(gate, oldGate) {
			const detail = "must be given when the update changes enabled: give the whole feature gate, " +
				"or change enabled by server-side apply or a strategic merge patch"
			allErrs = append(allErrs,
				field.Required(listPath.Index(i).Child("preRelease"), detail),
				field.Required(listPath.Index(i).Child("fieldPaths"), detail))
		}
	}
	return allErrs
}

// losesDefinitionByAccident reports whether an update that takes the definition from a gate also gives it another
// enabled, or its first.
func losesDefinitionByAccident(gate, oldGate *fairlead.CustomResourceDefinitionFeatureGate) bool {
	return gate.IsUndefined() && !oldGate.IsUndefined() &&
		(oldGate.Enabled == nil || *oldGate.Enabled != *gate.Enabled)
}

// anyDefined tells whether a gate needs a schema. Those without definition guard nothing (rule C4): they must
// not stand in the way of an author who moves to a CRD without gates and without a structural schema.
func anyDefined(gates []fairlead.CustomResourceDefinitionFeatureGate) bool {
	for i := range gates {
		if !gates[i].IsUndefined() {
			return true
		}
	}
	return false
}

func validateComponent(component *string, fldPath *field.Path) field.ErrorList {
	if component == nil {
		return nil
	}
	return validateText(*component, maxComponentBytes, fldPath)
}

// gatesValidator holds what the gates of one CRD must be judged against.
type gatesValidator struct {
	// resolver is nil where the storage version has no schema that could be used.
	resolver *resolver
	// names are the names of the gates so far.
	names map[string]bool
	// guards maps the canonical form of every path so far to where it stands.
	guards map[string]*field.Path
}

// validateGate validates one gate in the order of the table of rule C4.
func (v *gatesValidator) validateGate(gate *fairlead.CustomResourceDefinitionFeatureGate, fldPath *field.Path) field.ErrorList {
	allErrs := v.validateName(gate.Name, fldPath.Child("name"))
	if gate.IsUndefined() {
		return allErrs
	}
	allErrs = append(allErrs, validatePreRelease(gate.PreRelease, fldPath.Child("preRelease"))...)
	allErrs = append(allErrs, v.validateFieldPaths(gate.FieldPaths, fldPath.Child("fieldPaths"))...)
	allErrs = append(allErrs, validateFieldDeprecationWarning(gate, fldPath.Child("fieldDeprecationWarning"))...)
	allErrs = append(allErrs, validateDefault(gate, fldPath.Child("default"))...)
	return allErrs
}

func (v *gatesValidator) validateName(name string, fldPath *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(fldPath, gateNameDetail)}
	}
	var allErrs field.ErrorList
	if !gateNameRegexp.MatchString(name) {
		allErrs = append(allErrs, field.Invalid(fldPath, name, gateNameDetail))
	}
	if v.names[name] {
		allErrs = append(allErrs, field.Duplicate(fldPath, name))
	}
	v.names[name] = true
	return allErrs
}

func validatePreRelease(preRelease fairlead.PreRelease, fldPath *field.Path) field.ErrorList {
	if preRelease == "" {
		return field.ErrorList{field.Required(fldPath, "must be alpha, beta, stable or deprecated")}
	}
	for _, known := range preReleases {
		if preRelease == known {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(fldPath, preRelease, preReleases)}
}

func (v *gatesValidator) validateFieldPaths(paths []string, fldPath *field.Path) field.ErrorList {
	switch n := len(paths); {
	case n == 0:
		return field.ErrorList{field.Required(fldPath, "must name the guarded fields, as in .spec.replicas")}
	case n > maxFieldPaths:
		return field.ErrorList{field.TooMany(fldPath, n, maxFieldPaths)}
	}
	var allErrs field.ErrorList
	for j, text := range paths {
		if err := v.validateFieldPath(text, fldPath.Index(j)); err != nil {
			allErrs = append(allErrs, err)
		}
	}
	return allErrs
}

// validateFieldPath returns the first thing that is wrong with a path: with its length, its text, its relation
// to the paths before it and, last, the schema. There may be 16384 of these errors, so a text in them must not be
// longer than a path, whatever the CRD holds.
func (v *gatesValidator) validateFieldPath(text string, fldPath *field.Path) *field.Error {
	if len(text) > maxFieldPathBytes {
		return field.TooLong(fldPath, text, maxFieldPathBytes)
	}
	path, err := fieldpath.Parse(text)
	if err != nil {
		return field.Invalid(fldPath, text, err.Error())
	}
	canonical := path.String()
	if guard, found := v.guards[canonical]; found {
		duplicate := field.Duplicate(fldPath, text)
		duplicate.Detail = fmt.Sprintf("must not be guarded twice: %s guards it already", guard)
		return duplicate
	}
	v.guards[canonical] = fldPath
	if err := checkShape(path); err != nil {
		return field.Invalid(fldPath, text, err.Error())
	}
	if v.resolver == nil {
		return nil
	}
	if err := v.resolver.check(path); err != nil {
		return field.Invalid(fldPath, text, err.Error())
	}
	return nil
}

func validateFieldDeprecationWarning(gate *fairlead.CustomResourceDefinitionFeatureGate, fldPath *field.Path) field.ErrorList {
	switch {
	case gate.FieldDeprecationWarning == nil:
		return nil
	case gate.PreRelease != fairlead.PreReleaseDeprecated:
		return field.ErrorList{field.Forbidden(fldPath, "must only be given when preRelease is deprecated")}
	case *gate.FieldDeprecationWarning == "":
		return field.ErrorList{field.Invalid(fldPath, "", "must not be empty: leave it out for the default warning")}
	}
	return validateText(*gate.FieldDeprecationWarning, maxDeprecationWarningBytes, fldPath)
}

func validateDefault(gate *fairlead.CustomResourceDefinitionFeatureGate, fldPath *field.Path) field.ErrorList {
	switch gate.PreRelease {
	case fairlead.PreReleaseAlpha, fairlead.PreReleaseBeta:
		if gate.Default != nil && *gate.Default {
			return field.ErrorList{field.Invalid(fldPath, true, fmt.Sprintf("must be false or left out when preRelease is %s", gate.PreRelease))}
		}
	case fairlead.PreReleaseStable:
		if gate.Default != nil && !*gate.Default {
			return field.ErrorList{field.Invalid(fldPath, false, "must be true or left out when preRelease is stable")}
		}
	case fairlead.PreReleaseDeprecated:
		if gate.Default == nil {
			return field.ErrorList{field.Required(fldPath, "must be given when preRelease is deprecated: true keeps the fields in use, false disables them")}
		}
	}
	return nil
}

// validateText judges a text that reaches clients in a header, as upstream's validateDeprecationWarning judges
// the deprecationWarning of a version.
func validateText(text string, maxBytes int, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	if len(text) > maxBytes {
		allErrs = append(allErrs, field.Invalid(fldPath, text, fmt.Sprintf("must have at most %d bytes", maxBytes)))
	}
	if !utf8.ValidString(text) {
		return append(allErrs, field.Invalid(fldPath, text, "must be valid UTF-8"))
	}
	for i, r := range text {
		if !unicode.IsPrint(r) {
			return append(allErrs, field.Invalid(fldPath, text, fmt.Sprintf("must only contain printable characters, unlike the one at byte %d", i)))
		}
	}
	return allErrs
}
