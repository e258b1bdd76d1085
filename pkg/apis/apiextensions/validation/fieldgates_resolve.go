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

// resolver resolves field paths in the structural schema of the storage version (rules C5 and C6).
type resolver struct {
	root *structuralschema.Structural
	// sets has the long lists that contains was called with, as sets by the address of their first element.
	sets map[*string]sets.Set[string]
}

// newResolver returns the resolver for the storage version. If the CRD has no suitable schema, it returns nil and the
// problem, as the detail of an error.
func newResolver(spec *apiextensions.CustomResourceDefinitionSpec) (*resolver, string) {
	if spec.PreserveUnknownFields != nil && *spec.PreserveUnknownFields {
		return nil, "must not be given with preserveUnknownFields: true: " +
			"set it to false and give the storage version a structural schema"
	}
	storage := storageVersion(spec)
	if storage == nil {
		return nil, "must not be given without a storage version: mark one version with storage: true"
	}
	props := versionSchema(spec, storage)
	if props == nil {
		return nil, fmt.Sprintf("must not be given without a schema: give storage version %q a structural schema",
			storage.Name)
	}
	if props.XPreserveUnknownFields != nil && *props.XPreserveUnknownFields {
		return nil, fmt.Sprintf("must not be given with x-kubernetes-preserve-unknown-fields at the root: "+
			"in the schema of storage version %q set it on fields only", storage.Name)
	}
	root, err := newStructural(props)
	if err != nil {
		return nil, fmt.Sprintf("must not be given without a structural schema: "+
			"that of storage version %q is not structural: %v", storage.Name, err)
	}
	return &resolver{root: root, sets: map[*string]sets.Set[string]{}}, ""
}

func newStructural(props *apiextensions.JSONSchemaProps) (*structuralschema.Structural, error) {
	structural, err := structuralschema.NewStructural(props)
	if err != nil {
		return nil, err
	}
	if errs := structuralschema.ValidateStructural(field.NewPath("openAPIV3Schema"), structural); len(errs) > 0 {
		return nil, errs[0] // the errors are sorted, and upstream's validation reports all of them
	}
	return structural, nil
}

// checkShape checks those parts of rule C5 that need no schema.
func checkShape(path fieldpath.Path) error {
	if first := path[0]; isTypeOrObjectMeta(first.Name) {
		return fmt.Errorf("must not guard apiVersion, kind or anything in metadata: guard a field beside .%s", first.Name)
	}
	if last := len(path) - 1; path[last].Each {
		return fmt.Errorf("must not end in [*]: guard the list or map itself, %s, or a field below", path[:last])
	}
	return nil
}

// cursor is the position in the schema that the steps of a path lead to.
type cursor struct {
	// schema is nil for an undeclared field below x-kubernetes-preserve-unknown-fields.
	schema *structuralschema.Structural
	// preserve is true if undeclared fields are not pruned here.
	preserve bool
	// mapKeys has the keys of the list map if the cursor is at its items.
	mapKeys []string
}

// at returns the cursor for a field or map value with a schema.
func at(schema *structuralschema.Structural) cursor {
	if schema == nil {
		// This is a value of additionalProperties: true, in which upstream prunes all fields.
		schema = &structuralschema.Structural{}
	}
	return cursor{schema: schema, preserve: schema.XPreserveUnknownFields}
}

// check resolves a path that has passed checkShape, and checks whether its field may be guarded.
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

// enter returns the cursor after one more step. path leads to the cursor here.
func enter(here cursor, path fieldpath.Path, step fieldpath.Step) (cursor, error) {
	if step.Each {
		return enterEach(here, path)
	}
	return enterField(here, path, step.Name)
}

// enterField returns the cursor after the step .name.
func enterField(here cursor, path fieldpath.Path, name string) (cursor, error) {
	s := here.schema
	switch {
	case s == nil:
		return cursor{}, nil
	case s.XEmbeddedResource && isTypeOrObjectMeta(name):
		return cursor{}, fmt.Errorf(
			"must not guard apiVersion, kind or anything in metadata of %s, which is an embedded resource", path)
	case s.Type == "array":
		return cursor{}, fmt.Errorf("must step through %s with [*]: it is a list, not an object", path)
	case isScalar(s):
		return cursor{}, fmt.Errorf("must resolve in the schema of the storage version: %s is %s and has no field %q",
			path, describeScalar(s), name)
	}
	if property, found := s.Properties[name]; found {
		return at(&property), nil
	}
	switch {
	case isMap(s):
		return cursor{}, fmt.Errorf(
			"must step through %s with [*]: it is a map, of which single values such as %q cannot be guarded", path, name)
	case here.preserve:
		return cursor{}, nil
	default:
		return cursor{}, fmt.Errorf("must resolve in the schema of the storage version: %s has no field %q",
			describeObject(path), name)
	}
}

// enterEach returns the cursor after the step [*].
func enterEach(here cursor, path fieldpath.Path) (cursor, error) {
	s := here.schema
	switch {
	case s == nil:
		return cursor{}, undeclaredError(path)
	case s.Type == "array":
		return enterItems(here, path)
	case isScalar(s):
		return cursor{}, fmt.Errorf("must not have [*] after %s: it is %s, neither a map nor a list",
			path, describeScalar(s))
	case isMap(s):
		return at(s.AdditionalProperties.Structural), nil
	case here.preserve:
		return cursor{}, undeclaredError(path)
	default:
		return cursor{}, fmt.Errorf(
			"must not have [*] after %s: it is an object with named fields, neither a map nor a list", path)
	}
}

func undeclaredError(path fieldpath.Path) error {
	return fmt.Errorf("must not have [*] after %s: the schema declares neither a map nor a list there, "+
		"only x-kubernetes-preserve-unknown-fields", path)
}

// enterItems returns the cursor for the items of a list. The list must be a list map, because only its items can be
// matched between the persisted object and the requested object.
func enterItems(here cursor, path fieldpath.Path) (cursor, error) {
	if listType := here.schema.XListType; listType == nil || *listType != "map" {
		return cursor{}, fmt.Errorf("must not step through %s with [*]: its x-kubernetes-list-type is %s, "+
			"so that its items have no identity: make it map, or guard %s itself", path, describeListType(listType), path)
	}
	items := at(here.schema.Items)
	// As in upstream's pruning, the items of a list that preserves unknown fields preserve them, too.
	items.preserve = items.preserve || here.preserve
	items.mapKeys = here.schema.XListMapKeys
	return items, nil
}

// checkGuarded checks whether the field at the end of a path may be guarded: by its kind (rule C5), and because it is
// optional (rule C6).
func (r *resolver) checkGuarded(parent, guarded cursor, path fieldpath.Path) error {
	name, parentPath := path[len(path)-1].Name, path[:len(path)-1]
	switch {
	case guarded.schema != nil && guarded.schema.XEmbeddedResource:
		// Rule C5 also applies to embedded resources: neither their root nor apiVersion, kind and metadata can be
		// guarded.
		return errors.New(
			"must not guard an embedded resource as a whole: guard the fields in it, or the field that it is in")
	case r.contains(parent.mapKeys, name):
		return fmt.Errorf("must not guard a key of the items of %s: x-kubernetes-list-map-keys has %q",
			parentPath[:len(parentPath)-1], name)
	case guarded.schema != nil && guarded.schema.XUnions != nil:
		// Dropping or keeping the discriminator would contradict the members in the request.
		return fmt.Errorf("must not guard %q of %s, which is the discriminator of a union: guard its members",
			name, describeObject(parentPath))
	case r.contains(requiredOf(parent.schema), name):
		return fmt.Errorf("must be optional, as every guarded field: remove %q from required of %s",
			name, describeObject(parentPath))
	}
	return nil
}

// requiredOf returns the required properties of an object. s may be nil.
func requiredOf(s *structuralschema.Structural) []string {
	if s == nil || s.ValueValidation == nil {
		return nil
	}
	return s.ValueValidation.Required
}

// contains is slices.Contains for a list of the schema. A schema may require very many names, and all paths may lead to
// the same object. Therefore a long list is turned into a set once (rule R1).
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

// isMap reports whether an object is a map, whose additionalProperties describe its values.
func isMap(s *structuralschema.Structural) bool {
	return s.AdditionalProperties != nil && (s.AdditionalProperties.Structural != nil || s.AdditionalProperties.Bool)
}

func isScalar(s *structuralschema.Structural) bool {
	return s.XIntOrString || (s.Type != "" && s.Type != "object" && s.Type != "array")
}

// describeScalar returns the type of a scalar for an error. The type has not been validated yet, and an invalid one is
// not quoted, because it may be long.
func describeScalar(s *structuralschema.Structural) string {
	switch {
	case s.XIntOrString:
		return "an integer or a string"
	case slices.Contains([]string{"boolean", "integer", "number", "string"}, s.Type):
		return "of type " + s.Type
	default:
		return "of an unknown type"
	}
}

// describeListType returns a list type other than map for an error.
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

// describeObject returns the path of an object, which may be the root, for an error.
func describeObject(path fieldpath.Path) string {
	if len(path) == 0 {
		return "the root"
	}
	return path.String()
}
