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

// Plan is the compiled form of a CRD's feature gates. It is immutable and safe for concurrent use. The nil Plan has
// no effect on anything.
type Plan struct {
	root   node
	guards []guard // in the order in which the CRD names the paths
	gates  *apiextensions.CustomResourceDefinitionFeatureGates
}

// guard is a gate at one of its paths.
type guard struct {
	gate                 *apiextensions.CustomResourceDefinitionFeatureGate
	path                 string // as written in the gate
	disabled, deprecated bool   // the gate
}

// parsed returns the path of the guard. A Plan has only paths that parse.
func (g *guard) parsed() fieldpath.Path {
	path, _ := fieldpath.Parse(g.path)
	return path
}

// node stands for a position in the schema. A server holds many of them, and few have elements.
type node struct {
	guard    int       // of the field at this position, as an index into Plan.guards; noGuard if there is none
	fields   []child   // by name
	elements *elements // nil where the value is neither a map nor a list that gates look into
	// atomic reports whether the object at this position is applied as a whole: it, or an object around it, is of
	// x-kubernetes-map-type: atomic.
	atomic bool
}

// elements are the values of a map or the items of a list map.
type elements struct {
	node
	keys        []string       // of a list map
	keyDefaults map[string]any // of those keys that have one
}

type child struct {
	name   string
	node   node
	member *membership // nil if the field belongs to no union, or without Options.Unions
}

const noGuard = -1

// Options are those of a Plan.
type Options struct {
	// Unions says that the unions of the schema are in force: a gate then never restores a member that the discriminator
	// does not select (rule U9).
	Unions bool
}

// Compile is CompileWithOptions without options.
func Compile(gates *apiextensions.CustomResourceDefinitionFeatureGates, schema *structuralschema.Structural) *Plan {
	return CompileWithOptions(gates, schema, Options{})
}

// CompileWithOptions returns the Plan for the feature gates of a CRD. schema is the structural schema of its storage
// version, which has the keys of list maps. It returns nil if no gate can have an effect: all are enabled, and those that
// are deprecated guard nothing. Paths that do not parse are left out: validation has refused them (rule C5), and
// serving must not fail (rule F5). The Plan refers to gates, which must not be modified afterwards.
func CompileWithOptions(gates *apiextensions.CustomResourceDefinitionFeatureGates, schema *structuralschema.Structural, opts Options) *Plan {
	if gates == nil {
		return nil
	}
	p := &Plan{root: node{guard: noGuard}, gates: gates}
	for _, d := range p.declare() {
		if n := p.root.grow(d.path, schema); n.guard == noGuard {
			n.guard = d.gate
		}
	}
	if !p.prune(&p.root) {
		return nil
	}
	p.guards = slices.Clone(p.guards)
	if opts.Unions {
		p.root.findMembers(schema)
	}
	return p
}

// declare makes the guards, and returns the path of each with its index. They are sorted: to grow a node in the order of
// its fields takes time linear in their number (rule R3).
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
	slices.SortStableFunc(declared, compareDeclarations)
	return declared
}

// grow returns the node at path, making those that are missing.
func (n *node) grow(path fieldpath.Path, schema *structuralschema.Structural) *node {
	for _, step := range path {
		if step.Each {
			n, schema = n.growEach(schema)
		} else {
			n, schema = n.growField(step.Name, schema)
		}
	}
	return n
}

func (n *node) growField(name string, schema *structuralschema.Structural) (*node, *structuralschema.Structural) {
	var below *structuralschema.Structural
	if schema != nil {
		if property, ok := schema.Properties[name]; ok {
			below = &property
		}
	}
	atomic := n.atomic || isAtomicMap(below)
	i, found := slices.BinarySearchFunc(n.fields, name, func(c child, name string) int { return cmp.Compare(c.name, name) })
	if !found {
		n.fields = slices.Insert(n.fields, i, child{name: name, node: node{guard: noGuard, atomic: atomic}})
	}
	return &n.fields[i].node, below
}

func (n *node) growEach(schema *structuralschema.Structural) (*node, *structuralschema.Structural) {
	if n.elements == nil {
		n.elements = newElements(n, schema)
	}
	return n.each(), schemaBelow(schema, fieldpath.Each())
}

func newElements(of *node, schema *structuralschema.Structural) *elements {
	e := &elements{node: node{guard: noGuard, atomic: of.atomic || isAtomicMap(schemaBelow(schema, fieldpath.Each()))}}
	if schema != nil && schema.Items != nil {
		e.keys, e.keyDefaults = schema.XListMapKeys, keyDefaults(schema)
	}
	return e
}

// each returns the node of the values of a map or the items of a list map, nil if gates do not look into them.
func (n *node) each() *node {
	if n.elements == nil {
		return nil
	}
	return &n.elements.node
}

// DisabledPaths returns the paths of the disabled fields that an endpoint of that scope would write, but for those
// below another disabled field, in no particular order.
func (p *Plan) DisabledPaths(written scope.Scope) []fieldpath.Path {
	if p == nil {
		return nil
	}
	var paths []fieldpath.Path
	for i := range p.root.fields {
		if c := &p.root.fields[i]; written.Includes(c.name) {
			paths = p.disabledPaths(paths, &c.node, fieldpath.Path{fieldpath.Field(c.name)})
		}
	}
	return paths
}

func (p *Plan) disabledPaths(paths []fieldpath.Path, n *node, at fieldpath.Path) []fieldpath.Path {
	if p.isDisabled(n) {
		return append(paths, slices.Clone(at)) // at is the same for all paths
	}
	for i := range n.fields {
		c := &n.fields[i]
		paths = p.disabledPaths(paths, &c.node, append(at, fieldpath.Field(c.name)))
	}
	if each := n.each(); each != nil {
		paths = p.disabledPaths(paths, each, append(at, fieldpath.Each()))
	}
	return paths
}

// prune removes what can have no effect and tells whether anything remains at or below n. Below a disabled field no
// other gate is looked at (rule C8). What remains takes no more memory than it needs.
func (p *Plan) prune(n *node) bool {
	if p.isDisabled(n) {
		n.fields, n.elements = nil, nil
		return true
	}
	kept := n.fields[:0]
	for i := range n.fields {
		if p.prune(&n.fields[i].node) {
			kept = append(kept, n.fields[i])
		}
	}
	if n.fields = kept; cap(kept) > len(kept) {
		n.fields = slices.Clone(kept)
	}
	if each := n.each(); each != nil && !p.prune(each) {
		n.elements = nil
	}
	return len(n.fields) > 0 || n.elements != nil || p.isDeprecated(n)
}

// Covers tells whether a gate can have an effect on what an endpoint of that scope writes.
func (p *Plan) Covers(written scope.Scope) bool {
	return p != nil && slices.ContainsFunc(p.root.fields, func(c child) bool { return written.Includes(c.name) })
}

func (p *Plan) isDisabled(n *node) bool {
	return n.guard != noGuard && p.guards[n.guard].disabled
}

func (p *Plan) isDeprecated(n *node) bool {
	return n.guard != noGuard && p.guards[n.guard].deprecated
}
