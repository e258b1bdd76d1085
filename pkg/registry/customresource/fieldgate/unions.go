// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
)

// membership is the membership of a field in a union.
type membership struct {
	discriminator string
	value         string // the value of the discriminator that selects the field
}

// isSelected reports whether the discriminator in an object selects the field. An absent discriminator means "" (rule
// U3).
func (m *membership) isSelected(obj map[string]any) bool {
	value, _ := obj[m.discriminator].(string)
	return value == m.value
}

// setMembers sets child.member of all fields below n that are members of unions. schema is the schema of n.
func (n *node) setMembers(schema *structuralschema.Structural) {
	if schema == nil {
		return
	}
	for discriminator, property := range schema.Properties {
		if property.XUnions != nil {
			n.setMembersOf(discriminator, property.XUnions)
		}
	}
	for i := range n.fields {
		if property, ok := schema.Properties[n.fields[i].name]; ok {
			n.fields[i].node.setMembers(&property)
		}
	}
	if each := n.each(); each != nil {
		each.setMembers(schemaBelow(schema, fieldpath.Each()))
	}
}

// setMembersOf sets child.member of the members of one union.
func (n *node) setMembersOf(discriminator string, union *apiextensions.Unions) {
	for value, member := range union.FieldMembers {
		if c := n.field(member.Name); c != nil {
			c.member = &membership{discriminator: discriminator, value: value}
		}
	}
}
