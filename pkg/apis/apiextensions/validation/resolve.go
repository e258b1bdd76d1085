// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// resolver follows paths through the structural schema of a storage version (rules C5 and C6).
type resolver struct {
	root *structuralschema.Structural
	// sets are the long lists of names that contains has met, by the address of their first element.
	sets map[*string]sets.Set[string]
}

// newResolver returns the resolver for the storage version or, in words for the user, why there can be none.
func newResolver(spec *apiextensions.CustomResourceDefinitionSpec) (*resolver, string) {
	if spec.PreserveUnknownFields != nil && *spec.PreserveUnknownFields {
		return nil, "must not be given with preserveUnknownFields: true: set it to false and give the storage version a structural schema"
	}
	storage := storageVersion(spec)
	if storage == nil {
		return nil, "must not be given without a storage version: mark one version with storage: true"
	}
	props := versionSchema(spec, storage)
	if props == nil {
		return nil, fmt.Sprintf("must not be given without a schema: give storage version %q a structural schema", storage.Name)
	}
	if props.XPreserveUnknownFields != nil && *props.XPreserveUnknownFields {
		return nil, fmt.Sprintf("must not be given with x-kubernetes-preserve-unknown-fields at the root: in the schema of storage version %q set it on fields only", storage.Name)
	}
	root, err := newStructural(props)
	if err != nil {
		return nil, fmt.Sprintf("must not be given without a structural schema: that of storage version %q is not structural: %v", storage.Name, err)
	}
	return &resolver{root: root, sets: map[*string]sets.Set[string]{}}, ""
}

func storageVersion(spec *apiextensions.CustomResourceDefinitionSpec) *apiextensions.CustomResourceDefinitionVersion {
	for i := range spec.Versions {
		if spec.Versions[i].Storage {
			return &spec.Versions[i]
		}
	}
	return nil
}

// versionSchema returns the schema of a version, from where the internal form of a CRD keeps it: with the
// versions if any version has its own, else on top. See GetSchemaForVersion upstream.
func versionSchema(spec *apiextensions.CustomResourceDefinitionSpec, version *apiextensions.CustomResourceDefinitionVersion) *apiextensions.JSONSchemaProps {
	validation := spec.Validation
	if apiextensions.HasPerVersionSchema(spec.Versions) {
		validation = version.Schema
	}
	if validation == nil {
		return nil
	}
	return validation.OpenAPIV3Schema
}

func newStructural(props *apiextensions.JSONSchemaProps) (*structuralschema.Structural, error) {
	structural, err := structuralschema.NewStructural(props)
	if err != nil {
		return nil, err
	}
	if errs := structuralschema.ValidateStructural(field.NewPath("openAPIV3Schema"), structural); len(errs) > 0 {
		return nil, errs[0] // they are sorted, and upstream reports the others
	}
	return structural, nil
}

// isTypeOrObjectMeta tells whether a field of the root, or of an embedded resource, belongs to the API machinery.
func isTypeOrObjectMeta(name string) bool {
	return name == "apiVersion" || name == "kind" || name == "metadata"
}

// checkShape judges what rule C5 says of a path and no schema is needed for.
func checkShape(path fieldpath.Path) error {
	if first := path[0]; isTypeOrObjectMeta(first.Name) {
		return fmt.Errorf("must not guard apiVersion, kind or anything in metadata: guard a field beside .%s", first.Name)
	}
	if last := len(path) - 1; path[last].Each {
		return fmt.Errorf("must not end in [*]: guard the list or map itself, %s, or a field below", path[:last])
	}
	return nil
}

// cursor is where in the schema a path has got to.
type cursor struct {
	// schema is nil below x-kubernetes-preserve-unknown-fields, where nothing is declared.
	schema *structuralschema.Structural
	// preserve tells that fields without a schema are kept here.
	preserve bool
	// mapKeys are the keys of the list map whose items are here.
	mapKeys []string
}

// at returns the cursor for a field or map value of that schema.
func at(schema *structuralschema.Structural) cursor {
	if schema == nil {
		// The values of additionalProperties: true. Upstream prunes all fields of such a value.
		schema = &structuralschema.Structural{}
	}
	return cursor{schema: schema, preserve: schema.XPreserveUnknownFields}
}

// check follows a path that has passed checkShape and judges the field that it leads to.
func (r *resolver) check(path fieldpath.Path) error {
	var parent cursor
	here := at(r.root)
	for i, step := range path {
		next, err := enter(here, path[:i], step)
		if err != nil {
			return err
		}
		parent, here = here, next
	}
	return r.checkGuarded(parent, here, path)
}

func enter(here cursor, where fieldpath.Path, step fieldpath.Step) (cursor, error) {
	if step.Each {
		return enterEach(here, where)
	}
	return enterField(here, where, step.Name)
}

// enterField follows .name out of the value at where.
func enterField(here cursor, where fieldpath.Path, name string) (cursor, error) {
	s := here.schema
	switch {
	case s == nil:
		return cursor{}, nil
	case s.XEmbeddedResource && isTypeOrObjectMeta(name):
		return cursor{}, fmt.Errorf("must not guard apiVersion, kind or anything in metadata of %s, which is an embedded resource", where)
	case s.Type == "array":
		return cursor{}, fmt.Errorf("must step through %s with [*]: it is a list, not an object", where)
	case isScalar(s):
		return cursor{}, fmt.Errorf("must resolve in the schema of the storage version: %s is %s and has no field %q", where, describe(s), name)
	}
	if property, found := s.Properties[name]; found {
		return at(&property), nil
	}
	switch {
	case isMap(s):
		return cursor{}, fmt.Errorf("must step through %s with [*]: it is a map, of which single values such as %q cannot be guarded", where, name)
	case here.preserve:
		return cursor{}, nil
	default:
		return cursor{}, fmt.Errorf("must resolve in the schema of the storage version: %s has no field %q", describePlace(where), name)
	}
}

// enterEach follows [*] out of the value at where.
func enterEach(here cursor, where fieldpath.Path) (cursor, error) {
	s := here.schema
	switch {
	case s == nil:
		return cursor{}, refuseUndeclared(where)
	case s.Type == "array":
		return enterItems(here, where)
	case isScalar(s):
		return cursor{}, fmt.Errorf("must not have [*] after %s: it is %s, neither a map nor a list", where, describe(s))
	case isMap(s):
		return at(s.AdditionalProperties.Structural), nil
	case here.preserve:
		return cursor{}, refuseUndeclared(where)
	default:
		return cursor{}, fmt.Errorf("must not have [*] after %s: it is an object with named fields, neither a map nor a list", where)
	}
}

func refuseUndeclared(where fieldpath.Path) error {
	return fmt.Errorf("must not have [*] after %s: the schema declares neither a map nor a list there, only x-kubernetes-preserve-unknown-fields", where)
}

// enterItems steps into the items of a list. Only those of a list map can be told apart in old and new object.
func enterItems(here cursor, where fieldpath.Path) (cursor, error) {
	if listType := here.schema.XListType; listType == nil || *listType != "map" {
		return cursor{}, fmt.Errorf("must not step through %s with [*]: its x-kubernetes-list-type is %s, so that its items have no identity: make it map, or guard %s itself", where, describeListType(listType), where)
	}
	items := at(here.schema.Items)
	// Like upstream's pruning: a list that preserves unknown fields does so in its items.
	items.preserve = items.preserve || here.preserve
	items.mapKeys = here.schema.XListMapKeys
	return items, nil
}

// checkGuarded judges the field at the end of a path, and whether it may be absent (rule C6).
func (r *resolver) checkGuarded(parent, guarded cursor, path fieldpath.Path) error {
	name, where := path[len(path)-1].Name, path[:len(path)-1]
	switch {
	case guarded.schema != nil && guarded.schema.XEmbeddedResource:
		// Rule C5 protects "the root" of an embedded resource along with its apiVersion, kind and metadata.
		return errors.New("must not guard an embedded resource as a whole: guard the fields in it, or the field that it is in")
	case r.contains(parent.mapKeys, name):
		return fmt.Errorf("must not guard a key of the items of %s: x-kubernetes-list-map-keys has %q", where[:len(where)-1], name)
	case guarded.schema != nil && guarded.schema.XUnions != nil:
		// Dropping or keeping it would contradict the members that the client sent along with it.
		return fmt.Errorf("must not guard %q of %s, which is the discriminator of a union: guard its members", name, describePlace(where))
	case parent.schema != nil && parent.schema.ValueValidation != nil && r.contains(parent.schema.ValueValidation.Required, name):
		return fmt.Errorf("must be optional, as every guarded field: remove %q from required of %s", name, describePlace(where))
	}
	return nil
}

// contains is slices.Contains for lists of the schema. A schema may require a great many names, and all paths may
// lead to that one object; long lists are therefore gone through once (rule R1).
func (r *resolver) contains(list []string, name string) bool {
	const short = 32
	if len(list) <= short {
		return slices.Contains(list, name)
	}
	set, found := r.sets[&list[0]]
	if !found {
		set = sets.New(list...)
		r.sets[&list[0]] = set
	}
	return set.Has(name)
}

// isMap tells whether the values, not the fields, of an object have a schema.
func isMap(s *structuralschema.Structural) bool {
	return s.AdditionalProperties != nil && (s.AdditionalProperties.Structural != nil || s.AdditionalProperties.Bool)
}

func isScalar(s *structuralschema.Structural) bool {
	return s.XIntOrString || (s.Type != "" && s.Type != "object" && s.Type != "array")
}

// describe names the type of a scalar. Types are not judged yet at this point, so that any text may be found.
func describe(s *structuralschema.Structural) string {
	switch {
	case s.XIntOrString:
		return "an integer or a string"
	case slices.Contains([]string{"boolean", "integer", "number", "string"}, s.Type):
		return "of type " + s.Type
	default:
		return "of an unknown type"
	}
}

// describeListType names any list type but map.
func describeListType(listType *string) string {
	switch {
	case listType == nil:
		return "not set and thereby atomic"
	case *listType == "atomic" || *listType == "set":
		return *listType
	default:
		return "unknown"
	}
}

// describePlace names an object, which may be the root.
func describePlace(where fieldpath.Path) string {
	if len(where) == 0 {
		return "the root"
	}
	return where.String()
}
