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

// unionPlaces are the places of all unions in the schemas of several versions, as a tree. A nil tree has none.
type unionPlaces struct {
	// version is the first version that has a union at this place, or empty if none has.
	version string

	properties    map[string]*unionPlaces
	items, values *unionPlaces
}

// placesOf returns the places of the unions of all versions. It returns nil if there are none, if all versions have the
// same schema, or if a webhook converts: then the same place may be that of another field.
func placesOf(spec *apiextensions.CustomResourceDefinitionSpec) *unionPlaces {
	if spec == nil || (spec.Conversion != nil && spec.Conversion.Strategy != apiextensions.NoneConverter) {
		return nil
	}
	if !apiextensions.HasPerVersionSchema(spec.Versions) {
		return nil
	}
	var places *unionPlaces
	for i := range spec.Versions {
		version := &spec.Versions[i]
		places = places.with(versionSchema(spec, version), version.Name)
	}
	return places
}

// with returns the tree with the unions in the schema of one more version.
func (p *unionPlaces) with(s *apiextensions.JSONSchemaProps, version string) *unionPlaces {
	if s == nil {
		return p
	}
	var sum unionPlaces
	if p != nil {
		sum = *p
	}
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

func (p *unionPlaces) setProperty(name string, below *unionPlaces) {
	if p.properties == nil {
		p.properties = map[string]*unionPlaces{}
	}
	p.properties[name] = below
}

// lacksUnion reports whether a schema, which may be nil, is a discriminator in another version and not here.
func (p *unionPlaces) lacksUnion(s *apiextensions.JSONSchemaProps) bool {
	return p != nil && p.version != "" && s != nil && s.XUnions == nil
}

// orEmpty returns the tree, or an empty one for nil.
func (p *unionPlaces) orEmpty() unionPlaces {
	if p == nil {
		return unionPlaces{}
	}
	return *p
}

// addBypasses adds the warnings on discriminators that a served version has without the extension, so that a write in
// that version goes round the union (rule U2).
func (w *unionWarnings) addBypasses(newSpec, oldSpec *apiextensions.CustomResourceDefinitionSpec, fldPath *field.Path) {
	now, before := placesOf(newSpec), placesOf(oldSpec)
	for i := range newSpec.Versions {
		version := &newSpec.Versions[i]
		if !version.Served {
			continue
		}
		root := versionNode(newSpec, oldSpec, i, fldPath)
		if old := versionByName(oldSpec, version.Name); old != nil && !old.Served {
			root.old = nil // nobody could write in that version
		}
		bypasses{w, version.Name}.walk(root, now, before)
	}
}

// bypasses adds the warnings on one version.
type bypasses struct {
	warnings *unionWarnings
	version  string
}

// walk goes through those parts of a schema that have a union in some version. before are the places of unions before
// the write.
func (b bypasses) walk(n *schemaNode, now, before *unionPlaces) {
	if n.schema == nil || now == nil {
		return
	}
	if now.lacksUnion(n.schema) && !before.lacksUnion(n.old) {
		b.warnings.add(n.path, fmt.Sprintf("has no %s, unlike version %q: a write in version %q goes round the union",
			unionsKey, now.version, b.version))
	}
	old := before.orEmpty()
	b.walk(n.below(itemsOf(n.schema), itemsOf(n.old), n.path.Child("items")), now.items, old.items)
	b.walk(n.below(valuesOf(n.schema), valuesOf(n.old), n.path.Child("additionalProperties")), now.values, old.values)
	for _, name := range slices.Sorted(maps.Keys(n.schema.Properties)) {
		if below := now.properties[name]; below != nil {
			path := n.path.Child("properties").Key(name)
			b.walk(n.below(propertyOf(n.schema, name), propertyOf(n.old, name), path), below, old.properties[name])
		}
	}
}
