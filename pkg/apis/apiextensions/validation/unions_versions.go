// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// unionTree has the positions of all unions in the schemas of several versions. It has the shape of those schemas, but
// only the parts that have unions. A nil tree has no unions.
type unionTree struct {
	// version is the first version with a union at this position, or empty if there is none.
	version string

	properties    map[string]*unionTree
	items, values *unionTree
}

// unionTreeOf returns the positions of the unions of all versions. It returns nil if there are none, or if all versions
// have the same schema. It also returns nil if a webhook converts, because then the same position may be another field
// in another version.
func unionTreeOf(spec *apiextensions.CustomResourceDefinitionSpec) *unionTree {
	if spec == nil || (spec.Conversion != nil && spec.Conversion.Strategy != apiextensions.NoneConverter) {
		return nil
	}
	if !apiextensions.HasPerVersionSchema(spec.Versions) {
		return nil
	}
	var tree *unionTree
	for i := range spec.Versions {
		version := &spec.Versions[i]
		tree = tree.with(versionSchema(spec, version), version.Name)
	}
	return tree
}

// with adds the unions in the schema of one more version and returns the resulting tree. The schema may be nil.
func (t *unionTree) with(s *apiextensions.JSONSchemaProps, version string) *unionTree {
	if s == nil {
		return t
	}
	sum := t.orEmpty()
	if s.XUnions != nil && sum.version == "" {
		sum.version = version
	}
	sum.items = sum.items.with(itemsOf(s), version)
	sum.values = sum.values.with(valuesOf(s), version)
	for name := range s.Properties {
		if below := sum.properties[name].with(propertyOf(s, name), version); below != nil {
			sum.setProperty(name, below)
		}
	}
	if sum.version == "" && sum.items == nil && sum.values == nil && len(sum.properties) == 0 {
		return nil
	}
	return &sum
}

func (t *unionTree) setProperty(name string, below *unionTree) {
	if t.properties == nil {
		t.properties = map[string]*unionTree{}
	}
	t.properties[name] = below
}

// lacksUnion reports whether a schema at this position has no union although another version has one. Both may be nil.
func (t *unionTree) lacksUnion(s *apiextensions.JSONSchemaProps) bool {
	return t != nil && t.version != "" && s != nil && s.XUnions == nil
}

// orEmpty returns the tree, or an empty one if it is nil.
func (t *unionTree) orEmpty() unionTree {
	if t == nil {
		return unionTree{}
	}
	return *t
}

// addBypasses adds the warnings about discriminators that a served version has without x-kubernetes-unions. A write in
// that version is not checked against the union (rule U2).
func (w *unionWarnings) addBypasses(newSpec, oldSpec *apiextensions.CustomResourceDefinitionSpec, fldPath *field.Path) {
	newTree, oldTree := unionTreeOf(newSpec), unionTreeOf(oldSpec)
	for i := range newSpec.Versions {
		version := &newSpec.Versions[i]
		if !version.Served {
			continue
		}
		root := versionNode(newSpec, oldSpec, i, fldPath)
		if old := versionByName(oldSpec, version.Name); old != nil && !old.Served {
			root.old = nil // no write was possible in that version, so the warning is new
		}
		bypassWalker{w, version.Name}.walk(root, newTree, oldTree)
	}
}

// bypassWalker adds the warnings of addBypasses about one version.
type bypassWalker struct {
	warnings *unionWarnings
	version  string
}

// walk visits the parts of a schema that have a union in any version. newTree and oldTree are for the position of n,
// and oldTree is made from the persisted CRD.
func (b bypassWalker) walk(n *schemaNode, newTree, oldTree *unionTree) {
	if n.schema == nil || newTree == nil {
		return
	}
	if newTree.lacksUnion(n.schema) && !oldTree.lacksUnion(n.old) {
		b.warnings.add(n.path, fmt.Sprintf("has no %s, unlike version %q: a write in version %q goes round the union",
			unionsKey, newTree.version, b.version))
	}
	old := oldTree.orEmpty()
	b.walk(n.below(itemsOf(n.schema), itemsOf(n.old), n.path.Child("items")), newTree.items, old.items)
	b.walk(n.below(valuesOf(n.schema), valuesOf(n.old), n.path.Child("additionalProperties")), newTree.values, old.values)
	for _, name := range slices.Sorted(maps.Keys(n.schema.Properties)) {
		if below := newTree.properties[name]; below != nil {
			path := n.path.Child("properties").Key(name)
			b.walk(n.below(propertyOf(n.schema, name), propertyOf(n.old, name), path), below, old.properties[name])
		}
	}
}
