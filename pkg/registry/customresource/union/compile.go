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

// Compile returns the Plan for the unions of a structural schema, nil where it has none. disabledGate may be nil; it
// returns the name of the disabled feature gate that guards the field at a path of the schema, or "": where such a
// gate drops the selected member the error says so (rule U6).
//
// Validation of the CRD has refused what makes no sense (rule U2), but serving must not fail (rule F5): Compile takes
// every schema, and ignores what it cannot use.
func Compile(schema *structuralschema.Structural, disabledGate func(fieldpath.Path) string) *Plan {
	if schema == nil {
		return nil
	}
	c := compiler{disabledGate: disabledGate}
	// The values of a map at the root would be apiVersion and kind too: no object could be valid.
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
	unions       int  // the unions so far
	hasDefaults  bool // whether a discriminator has a default
}

// value returns the node for the values of a schema, nil if they can hold no union. path leads to them.
func (c *compiler) value(schema *structuralschema.Structural, path fieldpath.Path) *node {
	switch {
	case schema.Items != nil:
		return c.list(schema, path)
	case schema.AdditionalProperties != nil && schema.AdditionalProperties.Structural != nil:
		return c.each(&node{kind: aMap}, schema.AdditionalProperties.Structural, path)
	default:
		return c.object(schema, path)
	}
}

func (c *compiler) list(schema *structuralschema.Structural, path fieldpath.Path) *node {
	n := &node{kind: aList}
	if schema.XListType != nil && *schema.XListType == "map" && len(schema.XListMapKeys) > 0 {
		n.kind, n.keys = aListMap, schema.XListMapKeys
	}
	return c.each(n, schema.Items, path)
}

func (c *compiler) each(n *node, schema *structuralschema.Structural, path fieldpath.Path) *node {
	if n.each = c.value(schema, append(path, fieldpath.Each())); n.each == nil {
		return nil
	}
	return n
}

func (c *compiler) object(schema *structuralschema.Structural, path fieldpath.Path) *node {
	n := &node{kind: anObject}
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

func (n *node) orNil() *node {
	if len(n.unions) == 0 && len(n.fields) == 0 {
		return nil
	}
	return n
}

// within returns the root of an object as a scope other than Everything sees it: without fields that the endpoint does
// not write, with none of the unions at the root under the status subresource, and else without status as a member.
func (n *node) within(s scope.Scope) *node {
	root := &node{kind: anObject}
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
		return n // it is the same
	}
	return root.orNil()
}
