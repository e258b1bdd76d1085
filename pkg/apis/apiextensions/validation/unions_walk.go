// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// unionsKey is the key of the extension in a schema.
const unionsKey = "x-kubernetes-unions"

// schemaNode is a schema within the schema of a CRD, and where it stands.
type schemaNode struct {
	schema *apiextensions.JSONSchemaProps
	// old is the schema that stood there before the write; nil if none did, or if nobody asks.
	old  *apiextensions.JSONSchemaProps
	path *field.Path

	// root says that this is the schema of the custom resource itself.
	root bool
	// parent is the object whose property this is; nil if it is anything but a property.
	parent *apiextensions.JSONSchemaProps
	// name is that of the property.
	name string
	// ofResource says that parent is a whole resource, so that its apiVersion, kind and metadata are no fields of
	// the author's.
	ofResource bool
	// misplaced says why nothing here can be a union, in words for the user; empty where it can.
	misplaced string
}

// isResource tells whether a schema describes a whole resource, with apiVersion, kind and metadata.
func (n *schemaNode) isResource() bool {
	return n.root || n.schema.XEmbeddedResource
}

// walkUnions visits every schema that has the extension, those that must not have it included. It goes through
// properties by name, so that the order is always the same.
//
// Not entered are those parts of a schema that upstream rejects wherever they are: definitions, dependencies,
// patternProperties, additionalItems, and items that are a list.
func walkUnions(n *schemaNode, visit func(*schemaNode)) {
	if n.schema == nil {
		return
	}
	if n.schema.XUnions != nil {
		visit(n)
	}
	walkProperties(n, visit)
	walkUnions(n.below(valuesOf(n.schema), valuesOf(n.old), n.path.Child("additionalProperties")), visit)
	walkUnions(n.below(itemsOf(n.schema), itemsOf(n.old), n.path.Child("items")), visit)
	walkJunctors(n, visit)
}

func walkProperties(n *schemaNode, visit func(*schemaNode)) {
	for _, name := range slices.Sorted(maps.Keys(n.schema.Properties)) {
		property := n.below(propertyOf(n.schema, name), propertyOf(n.old, name), n.path.Child("properties").Key(name))
		property.parent, property.name, property.ofResource = n.schema, name, n.isResource()
		if n.isResource() && isTypeOrObjectMeta(name) {
			property.misplace("must not stand in apiVersion, kind or metadata of a resource: set it on a property beside them")
		}
		walkUnions(property, visit)
	}
}

// walkJunctors goes where a schema only judges values and declares nothing.
func walkJunctors(n *schemaNode, visit func(*schemaNode)) {
	walkUnions(n.under("not", n.schema.Not, n.path.Child("not")), visit)
	for _, junctor := range []struct {
		key     string
		schemas []apiextensions.JSONSchemaProps
	}{
		{"allOf", n.schema.AllOf}, {"anyOf", n.schema.AnyOf}, {"oneOf", n.schema.OneOf},
	} {
		for i := range junctor.schemas {
			walkUnions(n.under(junctor.key, &junctor.schemas[i], n.path.Child(junctor.key).Index(i)), visit)
		}
	}
}

// below makes a node in n. Nothing gets to a good place again below a bad one.
func (n *schemaNode) below(schema, old *apiextensions.JSONSchemaProps, path *field.Path) *schemaNode {
	return &schemaNode{schema: schema, old: old, path: path, misplaced: n.misplaced}
}

func (n *schemaNode) under(key string, schema *apiextensions.JSONSchemaProps, path *field.Path) *schemaNode {
	node := n.below(schema, nil, path)
	node.misplace(fmt.Sprintf("must not stand under %s: set it on the property itself", key))
	return node
}

func (n *schemaNode) misplace(reason string) {
	if n.misplaced == "" {
		n.misplaced = reason
	}
}

// propertyOf returns the schema of a property, or nil. So do the functions below for other parts of a schema,
// which may be nil.
func propertyOf(s *apiextensions.JSONSchemaProps, name string) *apiextensions.JSONSchemaProps {
	if s == nil {
		return nil
	}
	property, found := s.Properties[name]
	if !found {
		return nil
	}
	return &property
}

func valuesOf(s *apiextensions.JSONSchemaProps) *apiextensions.JSONSchemaProps {
	if s == nil || s.AdditionalProperties == nil {
		return nil
	}
	return s.AdditionalProperties.Schema
}

func itemsOf(s *apiextensions.JSONSchemaProps) *apiextensions.JSONSchemaProps {
	if s == nil || s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

// hasDefault tells whether a schema has a default that takes effect, which null does not.
func hasDefault(s *apiextensions.JSONSchemaProps) bool {
	return s.Default != nil && *s.Default != nil
}
