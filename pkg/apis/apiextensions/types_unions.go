// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apiextensions

// Unions is the extension x-kubernetes-unions of the schema of a property. It makes the property the discriminator of
// a union: the property's value selects which one of its siblings, the members, may be set (KEP-1027, OpenAPI).
type Unions struct {
	// fieldMembers maps each value of the discriminator to the member that it selects. Its keys are the values of the
	// discriminator's enum, and "" if the discriminator may be absent. A value without a member is given as {}.
	// Required.
	// +optional
	FieldMembers map[string]MemberField `json:"fieldMembers,omitempty" protobuf:"bytes,1,rep,name=fieldMembers"`
}

// MemberField is the member of a union that a value of the discriminator selects.
type MemberField struct {
	// name of the property that is the member, a sibling of the discriminator. Empty if the value selects no member.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// optional says that the member may be left out when it is selected. By default it must be set then.
	// +optional
	Optional bool `json:"optional,omitempty" protobuf:"varint,2,opt,name=optional"`
}
