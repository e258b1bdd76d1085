// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"maps"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// Compile returns the Plan for the unions of a structural schema, or nil if it has none.
//
// disabledGate returns the name of the disabled feature gate that guards the field at a schema path, or "" if there is
// none. It is used in the error for a missing member that the gate drops (rule U6.3). It may be nil.
//
// Validation of the CRD rejects unsound unions (rule U2). If such a CRD is persisted nevertheless, it must be served
// (rule F5): Compile accepts every schema, and ignores what it cannot use.
func Compile(schema *structuralschema.Structural, disabledGate func(fieldpath.Path) string) *Plan {
	if schema == nil {
		return nil
	}
	c := compiler{disabledGate: disabledGate}
	// The root is always an object: if it were a map, apiVersion and kind would be among its values.
	root := c.object(schema, nil)
	if root == nil {
		return nil
	}
	return &Plan{
		everything:   root,
		exceptStatus: root.within(scope.ExceptStatus),
		onlyStatus:   root.within(scope.OnlyStatus),
		hasDefaults:  c.hasDefaults,
	}
}

type compiler struct {
	disabledGate func(fieldpath.Path) string
	unions       int  // the number of unions compiled so far
	hasDefaults  bool // whether any discriminator has a default
}

// value returns the node for the schema at path, or nil if the schema contains no union.
func (c *compiler) value(schema *structuralschema.Structural, path fieldpath.Path) *node {
	switch {
	case schema.Items != nil:
		return c.list(schema, path)
	case schema.AdditionalProperties != nil && schema.AdditionalProperties.Structural != nil:
		return c.withElements(&node{kind: mapNode}, schema.AdditionalProperties.Structural, path)
	default:
		return c.object(schema, path)
	}
}

func (c *compiler) list(schema *structuralschema.Structural, path fieldpath.Path) *node {
	n := &node{kind: listNode}
	if schema.XListType != nil && *schema.XListType == "map" && len(schema.XListMapKeys) > 0 {
		n.kind, n.keys = listMapNode, schema.XListMapKeys
	}
	return c.withElements(n, schema.Items, path)
}

// withElements compiles the schema of the items or values of n. It returns n, or nil if the schema contains no union.
func (c *compiler) withElements(n *node, schema *structuralschema.Structural, path fieldpath.Path) *node {
	if n.elements = c.value(schema, append(path, fieldpath.Each())); n.elements == nil {
		return nil
	}
	return n
}

func (c *compiler) object(schema *structuralschema.Structural, path fieldpath.Path) *node {
	n := &node{kind: objectNode}
	names := slices.Sorted(maps.Keys(schema.Properties))
	for _, name := range names {
		if declared := schema.Properties[name].XUnions; declared != nil && len(declared.FieldMembers) > 0 {
			n.unions = append(n.unions, c.union(name, schema, path))
		}
	}
	for _, name := range names {
		property := schema.Properties[name]
		if below := c.value(&property, append(path, fieldpath.Field(name))); below != nil {
			n.fields = append(n.fields, child{name: name, node: below})
		}
	}
	return n.orNil()
}

// orNil returns the object n, or nil if it contains no union.
func (n *node) orNil() *node {
	if len(n.unions) == 0 && len(n.fields) == 0 {
		return nil
	}
	return n
}

// within returns the root n restricted to ExceptStatus or OnlyStatus, or nil if no union is left:
//
//   - Fields that are not in the scope are removed.
//   - In ExceptStatus, a union at the root does not have status as a member, and is removed if status is its
//     discriminator.
//   - In OnlyStatus, the unions at the root are removed.
func (n *node) within(s scope.Scope) *node {
	root := &node{kind: objectNode}
	for _, c := range n.fields {
		if s.Includes(c.name) {
			root.fields = append(root.fields, c)
		}
	}
	for i := range n.unions {
		if u := n.unions[i]; s == scope.ExceptStatus && u.discriminator != "status" {
			root.unions = append(root.unions, u.withoutMember("status"))
		}
	}
	if len(root.fields) == len(n.fields) && len(n.unions) == 0 {
		return n // nothing was removed
	}
	return root.orNil()
}
