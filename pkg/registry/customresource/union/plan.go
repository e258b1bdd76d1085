// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// Plan is the compiled form of the unions of a schema. It is immutable and safe for concurrent use. A nil Plan has no
// unions, and all its methods are no-ops (rule R2).
type Plan struct {
	// The root for each scope, or nil if the scope has no union. The nodes below the root are shared.
	everything, exceptStatus, onlyStatus *node

	hasDefaults bool // whether any discriminator has a default
}

// node is a position in the schema: an object that has unions, or a value that contains such objects at any depth.
type node struct {
	kind     kind
	unions   []union  // of an object, sorted by discriminator
	fields   []child  // of an object, those that lead to unions, sorted by name
	elements *node    // of a map or list, its values or items
	keys     []string // of a list map, its keys
}

type kind int

const (
	objectNode kind = iota
	mapNode
	listMapNode
	listNode // atomic or set: its items cannot be matched with persisted ones (rule U5)
)

type child struct {
	name string
	node *node
}

// Covers reports whether the plan has a union in the scope.
func (p *Plan) Covers(s scope.Scope) bool {
	return p.root(s) != nil
}

// root returns the root node for a scope, or nil if the scope has no union.
func (p *Plan) root(s scope.Scope) *node {
	switch {
	case p == nil:
		return nil
	case s == scope.ExceptStatus:
		return p.exceptStatus
	case s == scope.OnlyStatus:
		return p.onlyStatus
	default:
		return p.everything
	}
}
