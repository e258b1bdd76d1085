// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// Plan is the compiled form of the unions of a schema. It is immutable and safe for concurrent use. The nil Plan has
// no effect on anything (rule R2).
type Plan struct {
	// The roots of the object, as the scopes see it; nil where a scope has no union. What is below is shared.
	everything, exceptStatus, onlyStatus *node

	hasDefaults bool // whether the discriminator of a union has a default
}

// node stands for a position in the schema that holds unions, or has some below.
type node struct {
	kind   kind
	unions []union  // of an object, in alphabetical order of the discriminators
	fields []child  // of an object, in alphabetical order
	each   *node    // the values of a map or the items of a list
	keys   []string // of a list map
}

type kind int

const (
	anObject kind = iota
	aMap
	aListMap
	aList // atomic, or a set: its items have no identity (rule U5)
)

type child struct {
	name string
	node *node
}

// Covers reports whether the plan has a union in a scope.
func (p *Plan) Covers(s scope.Scope) bool {
	return p.root(s) != nil
}

// root returns where to start in an object, nil if there is nothing to do.
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
