// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

// membership is what makes a field the member of a union.
type membership struct {
	discriminator string
	value         string // that selects the field
}

// isSelected reports whether the union of an object selects the field. An absent discriminator means "" (rule U3).
func (m *membership) isSelected(obj map[string]any) bool {
	value, _ := obj[m.discriminator].(string)
	return value == m.value
}

// findMembers sets child.member of the fields at n and below that are members of unions. schema is that of n.
func (n *node) findMembers(schema *structuralschema.Structural) {
	if schema == nil {
		return
	}
	for discriminator, property := range schema.Properties {
		if property.XUnions == nil {
			continue
		}
		for value, member := range property.XUnions.FieldMembers {
			if c := n.field(member.Name); c != nil {
				c.member = &membership{discriminator: discriminator, value: value}
			}
		}
	}
	for i := range n.fields {
		if property, ok := schema.Properties[n.fields[i].name]; ok {
			n.fields[i].node.findMembers(&property)
		}
	}
	each := n.each()
	if each == nil {
		return
	}
	if schema.Items != nil {
		each.findMembers(schema.Items)
	} else if schema.AdditionalProperties != nil {
		each.findMembers(schema.AdditionalProperties.Structural)
	}
}
