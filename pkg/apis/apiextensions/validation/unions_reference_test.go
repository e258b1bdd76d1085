// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"maps"
	"slices"
)

// This file is a reference implementation of rule U2 for the fuzz test. It is independent of package validation: it
// works on plain JSON, has no paths and stops at the first error.

// position is the position of a schema within the schema of a CRD.
type position struct {
	root bool
	// object has the schema as a property; nil if the schema is not a property.
	object map[string]any
	// name is the name of the property.
	name string
	// resource is true if object is a resource.
	resource bool
	// misplaced is true if there can be no union here.
	misplaced bool
}

var reserved = []string{"apiVersion", "kind", "metadata"}

// flawOf returns what is wrong with the first invalid union in a schema, or "" if there is none.
func flawOf(schema map[string]any, at position) string {
	if extension, found := schema["x-kubernetes-unions"].(map[string]any); found {
		if at.misplaced || at.object == nil {
			return "position"
		}
		if flaw := flawOfUnion(schema, extension, at); flaw != "" {
			return flaw
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf", "not"} {
		for _, branch := range objectsOf(schema[key]) {
			if flawOf(branch, position{misplaced: true}) != "" {
				return "junctor"
			}
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if child, isObject := schema[key].(map[string]any); isObject {
			if flaw := flawOf(child, position{misplaced: at.misplaced}); flaw != "" {
				return flaw
			}
		}
	}
	return flawOfProperties(schema, at)
}

func flawOfProperties(schema map[string]any, at position) string {
	resource := at.root || schema["x-kubernetes-embedded-resource"] == true
	properties, _ := schema["properties"].(map[string]any)
	named := map[any]int{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property := properties[name].(map[string]any)
		misplaced := at.misplaced || (resource && slices.Contains(reserved, name))
		at := position{object: schema, name: name, resource: resource, misplaced: misplaced}
		if flaw := flawOf(property, at); flaw != "" {
			return flaw
		}
		extension, _ := property["x-kubernetes-unions"].(map[string]any)
		members, _ := extension["fieldMembers"].(map[string]any)
		for _, member := range members {
			if member := member.(map[string]any)["name"]; member != nil {
				named[member]++
			}
		}
	}
	for _, times := range named {
		if times > 1 {
			return "member named twice"
		}
	}
	return ""
}

// flawOfUnion returns what is wrong with a union that is not misplaced, or "".
func flawOfUnion(schema, extension map[string]any, at position) string {
	members, _ := extension["fieldMembers"].(map[string]any)
	enums := enumsOf(schema)
	switch {
	case schema["type"] != "string":
		return "type"
	case len(members) == 0:
		return "no members"
	case len(enums) == 0:
		return "no enum"
	}
	required, _ := at.object["required"].([]any)
	if _, empty := members[""]; !empty && schema["default"] == nil && !slices.Contains(required, any(at.name)) {
		return "may be absent without a value for that"
	}
	if flaw := flawOfEnums(enums, members, schema["nullable"] == true); flaw != "" {
		return flaw
	}
	for _, member := range members {
		if flaw := flawOfMember(member.(map[string]any), required, at); flaw != "" {
			return flaw
		}
	}
	return ""
}

func flawOfEnums(enums [][]any, members map[string]any, nullable bool) string {
	common := map[string]bool{}
	for _, value := range enums[0] {
		inAll := true
		for _, enum := range enums {
			inAll = inAll && slices.ContainsFunc(enum, func(other any) bool { return textOf(other) == textOf(value) })
		}
		text, isString := value.(string)
		switch {
		case !inAll || (value == nil && nullable):
		case !isString:
			return "not a string"
		default:
			common[text] = true
		}
	}
	for value := range members {
		if value != "" && !common[value] {
			return "not in enum"
		}
		delete(common, value)
	}
	if len(common) > 0 {
		return "no key"
	}
	return ""
}

func flawOfMember(member map[string]any, required []any, at position) string {
	name, _ := member["name"].(string)
	properties := at.object["properties"].(map[string]any)
	property, found := properties[name].(map[string]any)
	switch {
	case name == "" && member["optional"] == true:
		return "optional without name"
	case name == "":
		return ""
	case property["x-kubernetes-unions"] != nil:
		return "discriminator"
	case name == at.name, !found, slices.Contains(required, any(name)), property["default"] != nil:
		return "member"
	case at.resource && slices.Contains(reserved, name):
		return "reserved member"
	}
	return ""
}

// enumsOf returns the enum of a schema and those under its allOf.
func enumsOf(schema map[string]any) [][]any {
	var enums [][]any
	if enum, _ := schema["enum"].([]any); len(enum) > 0 {
		enums = append(enums, enum)
	}
	for _, branch := range objectsOf(schema["allOf"]) {
		enums = append(enums, enumsOf(branch)...)
	}
	return enums
}

// objectsOf returns the objects in a list, or a single object as a list.
func objectsOf(value any) []map[string]any {
	var objects []map[string]any
	switch value := value.(type) {
	case map[string]any:
		objects = append(objects, value)
	case []any:
		for _, item := range value {
			objects = append(objects, item.(map[string]any))
		}
	}
	return objects
}
