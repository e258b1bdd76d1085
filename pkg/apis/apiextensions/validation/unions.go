// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"maps"
	"slices"

	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxUnionErrors is the number of errors after which no further union is validated (rule R1). Each error contains the
// path of a schema, so that many errors with a long path would be far larger than the CRD.
const maxUnionErrors = 128

// ValidateUnions validates every x-kubernetes-unions in the schemas of a CustomResourceDefinition (rule U2). fldPath is
// the path of spec. As in upstream's validation, errors in a schema that all versions share are at spec.validation.
func ValidateUnions(spec *apiextensions.CustomResourceDefinitionSpec, fldPath *field.Path) field.ErrorList {
	if spec == nil {
		return nil
	}
	v := unionsValidator{objects: map[*apiextensions.JSONSchemaProps]*unionObject{}}
	for i := range spec.Versions {
		v.validateSchema(spec.Versions[i].Schema, fldPath.Child("versions").Index(i).Child("schema"))
	}
	v.validateSchema(spec.Validation, fldPath.Child("validation"))
	return v.errs
}

// unionsValidator validates all unions of a CRD and collects their errors.
type unionsValidator struct {
	errs field.ErrorList
	// objects has the objects with a union that have been visited.
	objects map[*apiextensions.JSONSchemaProps]*unionObject
}

// unionObject is an object with one or more unions.
type unionObject struct {
	schema   *apiextensions.JSONSchemaProps
	required sets.Set[string]
	// isResource is true for a whole resource, whose apiVersion, kind and metadata cannot be members.
	isResource bool
	// members maps every member that has been visited to the path that names it.
	members map[string]*field.Path
}

func (v *unionsValidator) validateSchema(validation *apiextensions.CustomResourceValidation, fldPath *field.Path) {
	if validation == nil {
		return
	}
	root := &schemaNode{schema: validation.OpenAPIV3Schema, path: fldPath.Child("openAPIV3Schema"), root: true}
	walkUnions(root, v.validateUnion)
}

// full reports whether the limit of errors is reached.
func (v *unionsValidator) full() bool {
	return len(v.errs) >= maxUnionErrors
}

func (v *unionsValidator) add(err *field.Error) {
	v.errs = append(v.errs, err)
}

// validateUnion validates the union whose discriminator is n. A union at a position where none is allowed is not
// validated any further.
func (v *unionsValidator) validateUnion(n *schemaNode) {
	if v.full() {
		return
	}
	switch {
	case n.misplaced != "":
		v.add(field.Forbidden(n.path.Child(unionsKey), n.misplaced))
		return
	case n.parent == nil:
		v.add(field.Forbidden(n.path.Child(unionsKey),
			"must stand on a property of an object, the discriminator: set it there, on a property of type string"))
		return
	}
	object := v.objectOf(n)
	v.validateType(n)
	v.validateValues(n)
	v.validateMembers(n, object)
	v.validatePresence(n, object)
}

// objectOf returns the object that n is a property of.
func (v *unionsValidator) objectOf(n *schemaNode) *unionObject {
	object, found := v.objects[n.parent]
	if !found {
		object = &unionObject{
			schema:     n.parent,
			required:   sets.New(n.parent.Required...),
			isResource: n.parentIsResource,
			members:    map[string]*field.Path{},
		}
		v.objects[n.parent] = object
	}
	return object
}

func (v *unionsValidator) validateType(n *schemaNode) {
	const detail = "must be string, as for every discriminator of a union"
	switch n.schema.Type {
	case "string":
	case "":
		v.add(field.Required(n.path.Child("type"), detail))
	default:
		v.add(field.Invalid(n.path.Child("type"), n.schema.Type, detail))
	}
}

// validateValues compares the enum of a discriminator with the keys of fieldMembers.
func (v *unionsValidator) validateValues(n *schemaNode) {
	members, enum := n.schema.XUnions.FieldMembers, enumOf(n.schema)
	if len(members) == 0 {
		v.add(field.Required(n.path.Child(unionsKey),
			"must have fieldMembers, which map each value of the enum to the member that it selects, as in Git: {name: git}"))
	}
	if enum == nil {
		v.add(field.Required(n.path.Child("enum"),
			"must list the values of the discriminator, which are the keys of x-kubernetes-unions.fieldMembers"))
		return
	}
	v.validateStrings(n, enum)
	if len(members) != 0 {
		v.validateSameValues(n, enum.strings, members)
	}
}

// validateStrings rejects values of the enum that are not strings, since they cannot be keys of fieldMembers. It
// accepts null if the discriminator is nullable, because generators add it to the enum of a nullable property. A
// discriminator that is null counts as absent.
func (v *unionsValidator) validateStrings(n *schemaNode, enum *enumValues) {
	for _, value := range sets.List(enum.others) {
		switch {
		case v.full():
			return
		case value != jsonNull:
			// The author may have written a word that YAML does not parse as a string, such as yes.
			v.add(field.Invalid(n.path.Child("enum"), value, "must only have strings: quote or remove "+value))
		case !n.schema.Nullable:
			v.add(field.Invalid(n.path.Child("enum"), value, "must only have strings: remove null, or set nullable: true"))
		}
	}
}

// validateSameValues checks that the enum and the keys of fieldMembers are the same set. The key "" need not be in the
// enum, because it also stands for an absent discriminator.
func (v *unionsValidator) validateSameValues(
	n *schemaNode, enum sets.Set[string], members map[string]fairlead.MemberField,
) {
	for _, value := range slices.Sorted(maps.Keys(members)) {
		if v.full() {
			return
		}
		if value != "" && !enum.Has(value) {
			v.add(field.Invalid(n.path.Child("enum"), value, fmt.Sprintf(
				"must have the key %q of x-kubernetes-unions.fieldMembers: add it to the enum, or remove the key", value)))
		}
	}
	for _, value := range sets.List(enum) {
		if v.full() {
			return
		}
		if _, found := members[value]; !found {
			v.add(field.Required(n.path.Child(unionsKey), fmt.Sprintf(
				"must have the value %q of the enum as a key of fieldMembers: add it, with {} if it selects no member, "+
					"or remove it from the enum", value)))
		}
	}
}

func (v *unionsValidator) validateMembers(n *schemaNode, object *unionObject) {
	fldPath := n.path.Child(unionsKey, "fieldMembers")
	members := n.schema.XUnions.FieldMembers
	for _, value := range slices.Sorted(maps.Keys(members)) {
		if v.full() {
			return
		}
		v.validateMember(n.name, members[value], object, fldPath.Key(value).Child("name"))
	}
}

// validateMember validates the member of one value. A member without a name means that the value selects no member. It
// must not be optional, which is probably a mistake.
func (v *unionsValidator) validateMember(
	discriminator string, member fairlead.MemberField, object *unionObject, fldPath *field.Path,
) {
	switch name := member.Name; {
	case name == "" && member.Optional:
		v.add(field.Required(fldPath, "must be given with optional: true: name the member, or remove optional"))
	case name == "":
		// The value selects no member.
	case name == discriminator:
		v.add(field.Invalid(fldPath, name, "must not be the discriminator itself: name a property beside it"))
	case object.isResource && isTypeOrObjectMeta(name):
		v.add(field.Invalid(fldPath, name, "must not be apiVersion, kind or metadata of a resource: name another property"))
	case isDiscriminator(object.schema, name):
		v.add(field.Invalid(fldPath, name, "must not be the discriminator of another union: name another property"))
	default:
		v.validateProperty(discriminator, name, object, fldPath)
	}
}

// isDiscriminator reports whether a property of an object is a discriminator.
func isDiscriminator(object *apiextensions.JSONSchemaProps, name string) bool {
	return object.Properties[name].XUnions != nil
}

// validateProperty validates the property that is a member.
func (v *unionsValidator) validateProperty(discriminator, name string, object *unionObject, fldPath *field.Path) {
	property := propertyOf(object.schema, name)
	if property == nil {
		v.add(field.Invalid(fldPath, name, fmt.Sprintf(
			"must be a property of the object that has the discriminator: declare it beside %q, or correct the name",
			discriminator)))
		return
	}
	if object.required.Has(name) {
		v.add(field.Invalid(fldPath, name, fmt.Sprintf(
			"must not be required, as it is absent unless selected: remove %q from required of the object", name)))
	}
	if hasDefault(property) {
		v.add(field.Invalid(fldPath, name, fmt.Sprintf(
			"must not have a default, which would set it when it is not selected: remove default from property %q", name)))
	}
	if first, found := object.members[name]; found {
		duplicate := field.Duplicate(fldPath, name)
		duplicate.Detail = fmt.Sprintf("must not be named twice: %s names it already", first)
		v.add(duplicate)
		return
	}
	object.members[name] = fldPath
}

// validatePresence checks that the discriminator has a value if a client leaves it out: the discriminator is required
// or has a default, or fieldMembers has the key "". Only the object's own required counts, not those under allOf or
// anyOf.
func (v *unionsValidator) validatePresence(n *schemaNode, object *unionObject) {
	_, mayBeAbsent := n.schema.XUnions.FieldMembers[""]
	if v.full() || mayBeAbsent || hasDefault(n.schema) || object.required.Has(n.name) {
		return
	}
	v.add(field.Invalid(n.path, n.name, fmt.Sprintf(
		"must select something also when it is left out: add %q to required of its object, or give it a default, "+
			`or add the key "" to x-kubernetes-unions.fieldMembers`, n.name)))
}
