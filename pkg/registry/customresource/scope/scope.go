// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scope names the part of a custom resource that an endpoint writes: the object with or without its status, or
// only the status. Scope is its only type.
package scope

// Scope is the part of an object that an endpoint writes (rules G9, U7).
type Scope int

const (
	// Everything is the scope of the main endpoint of a resource without the status subresource.
	Everything Scope = iota
	// ExceptStatus is the scope of the main endpoint of a resource with the status subresource, and of the scale
	// subresource.
	ExceptStatus
	// OnlyStatus is the scope of the status subresource.
	OnlyStatus
)

// Includes reports whether a field at the root of the object is in the scope.
func (s Scope) Includes(rootField string) bool {
	switch s {
	case ExceptStatus:
		return rootField != "status"
	case OnlyStatus:
		return rootField == "status"
	default:
		return true
	}
}
