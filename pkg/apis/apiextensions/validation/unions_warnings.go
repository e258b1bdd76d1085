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

// maxUnionWarnings is the number of warnings after which further ones are only counted. About this many fit into a
// response before upstream truncates all of them.
const maxUnionWarnings = 20

// WarningsForUnions returns warnings about unions that are legal but probably a mistake (rule U2). oldSpec is nil on
// create. On update it only warns about what the update introduces: there is no warning if the persisted version with
// the same name gives the same warning at the same position. fldPath is the path of spec. Paths lead through
// spec.versions, where the author wrote the schema, even if all versions have the same.
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

// versionNode returns the root of a version's schema, with the persisted schema of the version with the same name.
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

// unionWarnings collects up to maxUnionWarnings warnings.
type unionWarnings struct {
	list []string
	// more is the number of further warnings.
	more int
}

func (w *unionWarnings) add(fldPath *field.Path, text string) {
	if len(w.list) >= maxUnionWarnings {
		w.more++
		return
	}
	w.list = append(w.list, fmt.Sprintf("%s: %s", fldPath, text))
}

// addUnion adds the warnings about one union. There are none about a misplaced union, because validation rejects it.
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

// hadSameDefault reports whether the persisted schema is a discriminator with the same default.
func hadSameDefault(n *schemaNode) bool {
	return n.old != nil && n.old.XUnions != nil && hasDefault(n.old) && jsonOf(*n.old.Default) == jsonOf(*n.schema.Default)
}

// oldFieldMembers returns the persisted fieldMembers of a discriminator, or nil if there are none.
func oldFieldMembers(n *schemaNode) map[string]fairlead.MemberField {
	if n.old == nil || n.old.XUnions == nil {
		return nil
	}
	return n.old.XUnions.FieldMembers
}
