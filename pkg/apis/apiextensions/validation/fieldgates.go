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

// The limits of rule C4. maxComponentBytes is an additional limit, because the component is part of warning headers and
// metric labels.
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
// fldPath is the path of spec. If field paths cannot be resolved, because the storage version has no suitable schema,
// everything that needs no schema is still validated.
func ValidateCustomFeatureGates(
	spec *apiextensions.CustomResourceDefinitionSpec, fldPath *field.Path,
) field.ErrorList {
	if spec == nil || spec.CustomFeatureGates == nil {
		return nil
	}
	gates := spec.CustomFeatureGates
	fldPath = fldPath.Child("customFeatureGates")
	allErrs := validateComponent(gates.Component, fldPath.Child("component"))
	if n := len(gates.FeatureGates); n > maxFeatureGates {
		// The gates of a list that is too long are not validated, so that the limit also limits the work.
		return append(allErrs, field.TooMany(fldPath.Child("featureGates"), n, maxFeatureGates))
	}

	v := gatesValidator{names: map[string]bool{}, guardedAt: map[string]*field.Path{}}
	var problem string
	if anyDefined(gates.FeatureGates) {
		v.resolver, problem = newResolver(spec)
	}
	for i := range gates.FeatureGates {
		allErrs = append(allErrs, v.validateGate(&gates.FeatureGates[i], fldPath.Child("featureGates").Index(i))...)
	}
	if problem != "" {
		allErrs = append(allErrs, field.Forbidden(fldPath, problem))
	}
	return allErrs
}

// ValidateCustomFeatureGatesUpdate validates an update against the persisted customFeatureGates: an update that removes
// the definition of a gate must not change its enabled (rule C4). If it does, it probably is a patch that was meant to
// change enabled only but replaced the list. Without its definition the gate guards nothing, so that all clients could
// set the fields that it guarded. fldPath is the path of spec.
func ValidateCustomFeatureGatesUpdate(
	newSpec, oldSpec *apiextensions.CustomResourceDefinitionSpec, fldPath *field.Path,
) field.ErrorList {
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

// losesDefinitionByAccident reports whether an update removes the definition of a gate and also sets or changes its
// enabled.
func losesDefinitionByAccident(gate, oldGate *fairlead.CustomResourceDefinitionFeatureGate) bool {
	return gate.IsUndefined() && !oldGate.IsUndefined() &&
		(oldGate.Enabled == nil || *oldGate.Enabled != *gate.Enabled)
}

// anyDefined reports whether any gate has a definition, so that its field paths need a schema. A gate without
// definition guards nothing (rule C4), and an author must be able to leave it behind in a CRD without a structural
// schema.
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

// gatesValidator validates the gates of one CRD, in order.
type gatesValidator struct {
	// resolver is nil if field paths cannot be resolved.
	resolver *resolver
	// names has the names of all gates before the current one.
	names map[string]bool
	// guardedAt maps the canonical form of every field path before the current one to its position in the CRD.
	guardedAt map[string]*field.Path
}

// validateGate validates one gate in the order of the table of rule C4.
func (v *gatesValidator) validateGate(
	gate *fairlead.CustomResourceDefinitionFeatureGate, fldPath *field.Path,
) field.ErrorList {
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

// validateFieldPath returns the first error of a path. It checks its length, its syntax, whether the field is already
// guarded and, last, the schema. A CRD can have 16384 of these errors. Therefore they must not quote any text of the
// CRD that may be longer than a path.
func (v *gatesValidator) validateFieldPath(text string, fldPath *field.Path) *field.Error {
	if len(text) > maxFieldPathBytes {
		return field.TooLong(fldPath, text, maxFieldPathBytes)
	}
	path, err := fieldpath.Parse(text)
	if err != nil {
		return field.Invalid(fldPath, text, err.Error())
	}
	canonical := path.String()
	if first, found := v.guardedAt[canonical]; found {
		duplicate := field.Duplicate(fldPath, text)
		duplicate.Detail = fmt.Sprintf("must not be guarded twice: %s guards it already", first)
		return duplicate
	}
	v.guardedAt[canonical] = fldPath
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

func validateFieldDeprecationWarning(
	gate *fairlead.CustomResourceDefinitionFeatureGate, fldPath *field.Path,
) field.ErrorList {
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
			return field.ErrorList{field.Invalid(fldPath, true,
				fmt.Sprintf("must be false or left out when preRelease is %s", gate.PreRelease))}
		}
	case fairlead.PreReleaseStable:
		if gate.Default != nil && !*gate.Default {
			return field.ErrorList{field.Invalid(fldPath, false, "must be true or left out when preRelease is stable")}
		}
	case fairlead.PreReleaseDeprecated:
		if gate.Default == nil {
			return field.ErrorList{field.Required(fldPath,
				"must be given when preRelease is deprecated: true keeps the fields in use, false disables them")}
		}
	}
	return nil
}

// validateText validates a text that is sent to clients in a warning header, like upstream's
// validateDeprecationWarning validates the deprecationWarning of a version.
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
			return append(allErrs, field.Invalid(fldPath, text,
				fmt.Sprintf("must only contain printable characters, unlike the one at byte %d", i)))
		}
	}
	return allErrs
}
