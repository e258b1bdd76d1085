// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxUnionWarnings is the number of warnings after which the rest is counted: about what fits into a response before
// upstream cuts off the ends of all of them.
const maxUnionWarnings = 20

// WarningsForUnions returns what a write of a CustomResourceDefinition introduces in x-kubernetes-unions that is legal
// but hardly meant (rule U2). oldSpec is nil on create. A place in the schema that gave the same warning before the
// write, in a version of the same name, gives none again. fldPath is the path of spec. Paths are those of the author,
// who writes a schema into every version.
func WarningsForUnions(newSpec, oldSpec *apiextensions.CustomResourceDefinitionSpec, fldPath *field.Path) []string {
	if newSpec == nil {
		return nil
	}
	var w unionWarnings
	for i := range newSpec.Versions {
		walkUnions(versionNode(newSpec, oldSpec, i, fldPath), w.addUnion)
	}
	w.addBypasses(newSpec, oldSpec, fldPath)
	if w.more > 0 {
		w.list = append(w.list, fmt.Sprintf("%s: further warnings on %s: %d", fldPath, unionsKey, w.more))
	}
	return w.list
}

// versionNode returns the root of the schema of a version, beside the one that the version of that name had before.
func versionNode(newSpec, oldSpec *apiextensions.CustomResourceDefinitionSpec, i int, fldPath *field.Path) *schemaNode {
	version := &newSpec.Versions[i]
	n := &schemaNode{
		schema: versionSchema(newSpec, version),
		path:   fldPath.Child("versions").Index(i).Child("schema", "openAPIV3Schema"),
		root:   true,
	}
	if old := versionByName(oldSpec, version.Name); old != nil {
		n.old = versionSchema(oldSpec, old)
	}
	return n
}

// versionByName returns a version, or nil if there is none of that name.
func versionByName(
	spec *apiextensions.CustomResourceDefinitionSpec, name string,
) *apiextensions.CustomResourceDefinitionVersion {
	if spec == nil {
		return nil
	}
	for i := range spec.Versions {
		if spec.Versions[i].Name == name {
			return &spec.Versions[i]
		}
	}
	return nil
}

// unionWarnings gathers warnings.
type unionWarnings struct {
	list []string
	// more is the number of those that did not fit.
	more int
}

func (w *unionWarnings) add(fldPath *field.Path, text string) {
	if len(w.list) >= maxUnionWarnings {
		w.more++
		return
	}
	w.list = append(w.list, fmt.Sprintf("%s: %s", fldPath, text))
}

// addUnion adds the warnings on one union. A misplaced one is rejected, and could not have been there before.
func (w *unionWarnings) addUnion(n *schemaNode) {
	if n.misplaced != "" {
		return
	}
	if hasDefault(n.schema) && !hadSameDefault(n) {
		w.add(n.path.Child("default"),
			"a client that leaves out the discriminator of a union selects "+jsonOf(*n.schema.Default))
	}
	members, oldMembers := n.schema.XUnions.FieldMembers, oldFieldMembers(n)
	for _, value := range slices.Sorted(maps.Keys(members)) {
		name := members[value].Name
		if name == "" || strings.EqualFold(name, value) || name == oldMembers[value].Name {
			continue
		}
		w.add(n.path.Child(unionsKey, "fieldMembers").Key(value).Child("name"), fmt.Sprintf(
			"member %q does not match its value %q: by convention only case differs", name, value))
	}
}

// hadSameDefault tells whether a discriminator was one before the write, with the same default.
func hadSameDefault(n *schemaNode) bool {
	return n.old != nil && n.old.XUnions != nil && hasDefault(n.old) && jsonOf(*n.old.Default) == jsonOf(*n.schema.Default)
}

func oldFieldMembers(n *schemaNode) map[string]fairlead.MemberField {
	if n.old == nil || n.old.XUnions == nil {
		return nil
	}
	return n.old.XUnions.FieldMembers
}
