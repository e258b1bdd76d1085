// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"cmp"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// Plan is the compiled form of a CRD's feature gates. It is immutable and safe for concurrent use. All methods accept
// the nil Plan, which has no effect.
type Plan struct {
	root   node
	guards []guard // in the order of the paths in the CRD
	gates  *apiextensions.CustomResourceDefinitionFeatureGates
}

// guard is a gate at one of its paths.
type guard struct {
	gate       *apiextensions.CustomResourceDefinitionFeatureGate
	path       string // as written in the gate
	disabled   bool   // the gate is disabled
	deprecated bool   // the gate is deprecated
}

// parsed returns the parsed path of the guard. All guards have paths that parse.
func (g *guard) parsed() fieldpath.Path {
	path, _ := fieldpath.Parse(g.path)
	return path
}

// node is a position in the schema. A server holds many nodes, of which few have elements.
type node struct {
	guard    int       // the index in Plan.guards of the guard at this position, or noGuard
	fields   []child   // sorted by name
	elements *elements // nil if there are no guards below the elements of the value
	// atomic reports whether the object at this position is applied as a whole: it or an object around it has
	// x-kubernetes-map-type: atomic.
	atomic bool
}

// elements is the position of the values of a map or of the items of a list map.
type elements struct {
	node
	keys        []string       // the keys of a list map
	keyDefaults map[string]any // the defaults of these keys
}

type child struct {
	name   string
	node   node
	member *membership // nil if the field is not a member of a union, or without Options.Unions
}

const noGuard = -1

// Options are the options of a Plan.
type Options struct {
	// Unions is whether unions are validated. If so, a disabled gate does not restore a member that the discriminator
	// does not select (rule U9).
	Unions bool
}

// Compile returns the Plan for the feature gates of a CRD. schema is the structural schema of the storage version. The
// Plan refers to gates, which must not be modified afterwards.
//
// Compile returns nil if no gate can have an effect, because none of those with paths is disabled or deprecated. Paths
// that do not parse are ignored: validation rejects them (rule C5), and serving must not fail (rule F5).
func Compile(gates *apiextensions.CustomResourceDefinitionFeatureGates, schema *structuralschema.Structural, opts Options) *Plan {
	if gates == nil {
		return nil
	}
	p := &Plan{root: node{guard: noGuard}, gates: gates}
	for _, d := range p.declare() {
		if n := p.root.add(d.path, schema); n.guard == noGuard {
			n.guard = d.gate
		}
	}
	if !p.trim(&p.root) {
		return nil
	}
	p.guards = slices.Clone(p.guards)
	if opts.Unions {
		p.root.setMembers(schema)
	}
	return p
}

// declare creates the guards, and returns the path of each guard with its index, sorted. Adding the fields of a node in
// their order takes linear time (rule R3).
func (p *Plan) declare() []declaration {
	var declared []declaration
	for i := range p.gates.FeatureGates {
		gate := &p.gates.FeatureGates[i]
		disabled, deprecated := !gate.IsEnabled(), gate.PreRelease == apiextensions.PreReleaseDeprecated
		for _, written := range gate.FieldPaths {
			if path, err := fieldpath.Parse(written); err == nil {
				declared = append(declared, declaration{path, len(p.guards)})
				p.guards = append(p.guards, guard{gate: gate, path: written, disabled: disabled, deprecated: deprecated})
			}
		}
	}
	sortDeclarations(declared)
	return declared
}

// add returns the node at a path below n. It adds the nodes that are missing.
func (n *node) add(path fieldpath.Path, schema *structuralschema.Structural) *node {
	for _, step := range path {
		if step.Each {
			n, schema = n.addElements(schema)
		} else {
			n, schema = n.addField(step.Name, schema)
		}
	}
	return n
}

func (n *node) addField(name string, schema *structuralschema.Structural) (*node, *structuralschema.Structural) {
	var below *structuralschema.Structural
	if schema != nil {
		if property, ok := schema.Properties[name]; ok {
			below = &property
		}
	}
	atomic := n.atomic || isAtomicMap(below)
	i, found := slices.BinarySearchFunc(n.fields, name, compareName)
	if !found {
		n.fields = slices.Insert(n.fields, i, child{name: name, node: node{guard: noGuard, atomic: atomic}})
	}
	return &n.fields[i].node, below
}

func (n *node) addElements(schema *structuralschema.Structural) (*node, *structuralschema.Structural) {
	if n.elements == nil {
		n.elements = newElements(n, schema)
	}
	return n.each(), schemaBelow(schema, fieldpath.Each())
}

// newElements returns the elements of parent. schema is the schema of parent.
func newElements(parent *node, schema *structuralschema.Structural) *elements {
	e := &elements{node: node{guard: noGuard, atomic: parent.atomic || isAtomicMap(schemaBelow(schema, fieldpath.Each()))}}
	if schema != nil && schema.Items != nil {
		e.keys, e.keyDefaults = schema.XListMapKeys, keyDefaults(schema)
	}
	return e
}

// field returns the field of n with a name, or nil if there is none.
func (n *node) field(name string) *child {
	i, found := slices.BinarySearchFunc(n.fields, name, compareName)
	if !found {
		return nil
	}
	return &n.fields[i]
}

func compareName(c child, name string) int { return cmp.Compare(c.name, name) }

// each returns the node of the elements, or nil if there is none.
func (n *node) each() *node {
	if n.elements == nil {
		return nil
	}
	return &n.elements.node
}

// trim removes the nodes that have no effect from n, and reports whether n has an effect. Nodes below a disabled field
// have none (rule C8). What remains is copied if that saves memory.
func (p *Plan) trim(n *node) bool {
	if p.isDisabled(n) {
		n.fields, n.elements = nil, nil
		return true
	}
	kept := n.fields[:0]
	for i := range n.fields {
		if p.trim(&n.fields[i].node) {
			kept = append(kept, n.fields[i])
		}
	}
	if n.fields = kept; cap(kept) > len(kept) {
		n.fields = slices.Clone(kept)
	}
	if each := n.each(); each != nil && !p.trim(each) {
		n.elements = nil
	}
	return len(n.fields) > 0 || n.elements != nil || p.isDeprecated(n)
}

// Covers reports whether a gate can have an effect on the fields that an endpoint of the scope writes.
func (p *Plan) Covers(written scope.Scope) bool {
	return p != nil && slices.ContainsFunc(p.root.fields, func(c child) bool { return written.Includes(c.name) })
}

func (p *Plan) isDisabled(n *node) bool {
	return n.guard != noGuard && p.guards[n.guard].disabled
}

func (p *Plan) isDeprecated(n *node) bool {
	return n.guard != noGuard && p.guards[n.guard].deprecated
}
