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

// schemaNode is a schema within the schema of a CRD, with its position.
type schemaNode struct {
	schema *apiextensions.JSONSchemaProps
	// old is the persisted schema at the same position. It is nil if there is none, or if it is not needed.
	old  *apiextensions.JSONSchemaProps
	path *field.Path

	// root is true for the schema of the custom resource itself.
	root bool
	// parent is the object that has this schema as a property, or nil if this is not a property.
	parent *apiextensions.JSONSchemaProps
	// name is the name of the property.
	name string
	// parentIsResource is true if parent is a whole resource. Its apiVersion, kind and metadata cannot be members.
	parentIsResource bool
	// misplaced is the reason why there can be no union at this position, as the detail of an error. It is empty if
	// there can be one.
	misplaced string
}

// isResource reports whether a schema describes a whole resource, with apiVersion, kind and metadata.
func (n *schemaNode) isResource() bool {
	return n.root || n.schema.XEmbeddedResource
}

// walkUnions visits every schema that has x-kubernetes-unions, including those where it is not allowed. It visits
// properties in the order of their names, so that the order of errors and warnings is always the same.
//
// It does not enter definitions, dependencies, patternProperties, additionalItems and items that are a list, because
// upstream rejects any schema that has them.
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
		property.parent, property.name, property.parentIsResource = n.schema, name, n.isResource()
		if n.isResource() && isTypeOrObjectMeta(name) {
			property.setMisplaced(
				"must not stand in apiVersion, kind or metadata of a resource: set it on a property beside them")
		}
		walkUnions(property, visit)
	}
}

// walkJunctors visits the schemas under not, allOf, anyOf and oneOf, which only validate values and declare nothing.
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

// below returns a node for a schema in n. It is misplaced if n is.
func (n *schemaNode) below(schema, old *apiextensions.JSONSchemaProps, path *field.Path) *schemaNode {
	return &schemaNode{schema: schema, old: old, path: path, misplaced: n.misplaced}
}

// under returns a node for a schema under a junctor of n, where there can be no union.
func (n *schemaNode) under(key string, schema *apiextensions.JSONSchemaProps, path *field.Path) *schemaNode {
	node := n.below(schema, nil, path)
	node.setMisplaced(fmt.Sprintf("must not stand under %s: set it on the property itself", key))
	return node
}

// setMisplaced sets the reason why there can be no union at n, unless there already is one.
func (n *schemaNode) setMisplaced(reason string) {
	if n.misplaced == "" {
		n.misplaced = reason
	}
}
