// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scope says which fields of a custom resource an endpoint writes.
package scope

// Scope is the part of an object that an endpoint writes (rules G9, U7).
type Scope int

const (
	// Everything is the scope of a resource without status subresource.
	Everything Scope = iota
	// ExceptStatus is the scope of a resource that has one, and of scale.
	ExceptStatus
	// OnlyStatus is the scope of the status subresource.
	OnlyStatus
)

// Includes tells whether a field at the root of the object belongs to the scope.
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
