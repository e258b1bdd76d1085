// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// The reference implementation: the words of rules U3 to U7 and V3, union by union over the schema itself, without a
// thought to speed. It shares nothing with the plan.

// refUnion is a union of an object in a request.
type refUnion struct {
	discriminator string
	members       map[string]apiextensions.MemberField // by value
	holder        map[string]any                       // the object that holds it
	old           map[string]any                       // its counterpart, nil if there is none
	path          string                               // of the holder, as in errors
	schemaPath    string                               // as of feature gates
	hidden        string                               // a member that is out of scope
}

// refPlace is a value in a request, with its counterpart in old and its paths.
type refPlace struct {
	schema           *structuralschema.Structural
	value, old       any
	path, schemaPath string
}

// refUnions returns the unions of a request in the order of their places.
func refUnions(schema *structuralschema.Structural, r request) []refUnion {
	var old any
	if r.old != nil {
		old = r.old
	}
	var found []refUnion
	root := refPlace{schema: schema, value: r.object, old: old}
	if r.opts.Scope != scope.OnlyStatus {
		for _, u := range refUnionsOf(root) {
			if r.opts.Scope == scope.ExceptStatus {
				u.hidden = "status"
			}
			if u.discriminator != u.hidden {
				found = append(found, u)
			}
		}
	}
	for _, place := range refBelow(root) {
		if r.opts.Scope == scope.Everything || (place.path == "status") == (r.opts.Scope == scope.OnlyStatus) {
			found = append(found, refWalk(place)...)
		}
	}
	return found
}

func refWalk(place refPlace) []refUnion {
	found := refUnionsOf(place)
	for _, below := range refBelow(place) {
		found = append(found, refWalk(below)...)
	}
	return found
}

// refUnionsOf returns the unions that an object holds: by the length of the chain of unions that it is in.
func refUnionsOf(place refPlace) []refUnion {
	holder, ok := place.value.(map[string]any)
	if !ok {
		return nil
	}
	old, _ := place.old.(map[string]any)
	var found []refUnion
	for _, name := range slices.Sorted(maps.Keys(place.schema.Properties)) {
		if declared := place.schema.Properties[name].XUnions; declared != nil {
			found = append(found, refUnion{
				discriminator: name, members: declared.FieldMembers,
				holder: holder, old: old, path: place.path, schemaPath: place.schemaPath,
			})
		}
	}
	return refChain(found)
}

// refChain puts unions whose discriminator is a member of another directly after it, if that was not earlier.
func refChain(unions []refUnion) []refUnion {
	var out []refUnion
	has := func(name string) bool {
		return slices.ContainsFunc(out, func(u refUnion) bool { return u.discriminator == name })
	}
	var add func(u refUnion)
	add = func(u refUnion) {
		for _, other := range unions {
			if slices.Contains(other.names(), u.discriminator) && !has(other.discriminator) {
				add(other)
			}
		}
		if !has(u.discriminator) {
			out = append(out, u)
		}
	}
	for _, u := range unions {
		add(u)
	}
	return out
}

// refBelow returns the values in a value that the schema knows (rules U5, R1).
func refBelow(place refPlace) []refPlace {
	var found []refPlace
	switch value := place.value.(type) {
	case map[string]any:
		old, _ := place.old.(map[string]any)
		if place.schema.AdditionalProperties != nil {
			for _, key := range slices.Sorted(maps.Keys(value)) {
				found = append(found, refPlace{place.schema.AdditionalProperties.Structural, value[key], old[key], refDot(place.path, key), place.schemaPath + "[*]"})
			}
			return found
		}
		for _, name := range slices.Sorted(maps.Keys(place.schema.Properties)) {
			property := place.schema.Properties[name]
			found = append(found, refPlace{&property, value[name], old[name], refDot(place.path, name), place.schemaPath + "." + name})
		}
	case []any:
		if place.schema.Items == nil {
			return nil
		}
		counterparts := make([]any, len(value))
		if place.schema.XListType != nil && *place.schema.XListType == "map" {
			old, _ := place.old.([]any)
			counterparts = refCounterparts(value, old, place.schema.XListMapKeys)
		}
		for i := range value {
			found = append(found, refPlace{place.schema.Items, value[i], counterparts[i], fmt.Sprintf("%s[%d]", place.path, i), place.schemaPath + "[*]"})
		}
	}
	return found
}

func refDot(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// refCounterparts returns the items of another list with the keys of each item. Of several with the same keys, which
// no valid list has, it is the one at the same position, or else the first.
func refCounterparts(list, other []any, keys []string) []any {
	out, used := make([]any, len(list)), map[int]bool{}
	for i, item := range list {
		candidates := []int{i}
		for j := range other {
			candidates = append(candidates, j)
		}
		for _, j := range candidates {
			if out[i] == nil && j < len(other) && !used[j] && refSameKeys(item, other[j], keys) {
				out[i], used[j] = other[j], true
			}
		}
	}
	return out
}

func refSameKeys(a, b any, keys []string) bool {
	aObject, aOK := a.(map[string]any)
	bObject, bOK := b.(map[string]any)
	if !aOK || !bOK {
		return false
	}
	for _, key := range keys {
		switch aObject[key].(type) {
		case map[string]any, []any:
			return false
		}
		if !refEqual(aObject[key], bObject[key]) {
			return false
		}
	}
	return true
}

// refEqual compares as JSON text does, where 1.0 is written 1.
func refEqual(a, b any) bool { return encodeJSON(a) == encodeJSON(b) }

// names returns the members in scope.
func (u refUnion) names() []string {
	var names []string
	for _, m := range u.members {
		if m.Name != "" && m.Name != u.hidden {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return names
}

// refValue is rule U3.
func refValue(value any) (string, bool) {
	if value == nil {
		return "", true
	}
	text, ok := value.(string)
	return text, ok
}

func (u refUnion) discriminatorChanged() bool {
	value, ok := refValue(u.holder[u.discriminator])
	old, oldOK := refValue(u.old[u.discriminator])
	return u.old != nil && ok && oldOK && value != old
}

// unselected returns the members that are set and not selected.
func (u refUnion) unselected() []string {
	value, _ := refValue(u.holder[u.discriminator])
	var names []string
	for _, name := range u.names() {
		if u.holder[name] != nil && u.members[value].Name != name {
			names = append(names, name)
		}
	}
	return names
}

func (u refUnion) hasMemberAt(path string) bool {
	return slices.ContainsFunc(u.names(), func(name string) bool { return refDot(u.path, name) == path })
}

// refNormalize is rules U4, U5 and V3.
func refNormalize(schema *structuralschema.Structural, r request) (map[string]any, []string) {
	r.object = runtime.DeepCopyJSON(r.object)
	var warnings []string
	for {
		unions := refUnions(schema, r)
		i := slices.IndexFunc(unions, func(u refUnion) bool { return u.discriminatorChanged() && len(u.unselected()) > 0 })
		if i < 0 {
			return r.object, refInOrder(schema, r, warnings)
		}
		warnings = append(warnings, unions[i].clear())
	}
}

func (u refUnion) clear() string {
	from, _ := refValue(u.old[u.discriminator])
	to, _ := refValue(u.holder[u.discriminator])
	var paths []string
	for _, name := range u.unselected() {
		delete(u.holder, name)
		paths = append(paths, refDot(u.path, name))
	}
	return fmt.Sprintf("%s: cleared: %s changed from %q to %q", strings.Join(paths, ", "), refDot(u.path, u.discriminator), from, to)
}

// refInOrder orders warnings as the unions are in the schema: by the names of the discriminators in one object.
func refInOrder(schema *structuralschema.Structural, r request, warnings []string) []string {
	position := map[string]int{}
	for i, u := range refUnions(schema, r) {
		position[refDot(u.path, u.discriminator)] = i
	}
	slices.SortStableFunc(warnings, func(a, b string) int {
		aPath, bPath := refPathIn(a), refPathIn(b)
		if aObject, bObject := aPath[:strings.LastIndex(aPath, ".")+1], bPath[:strings.LastIndex(bPath, ".")+1]; aObject == bObject {
			return strings.Compare(aPath, bPath)
		}
		return position[aPath] - position[bPath]
	})
	return warnings
}

// refPathIn returns the path of the discriminator in a warning.
func refPathIn(warning string) string {
	_, rest, _ := strings.Cut(warning, ": cleared: ")
	path, _, _ := strings.Cut(rest, " changed from ")
	return path
}

// refValidate is rules U6 and U7.
func refValidate(schema *structuralschema.Structural, r request) []string {
	var errs []string
	for _, u := range refUnions(schema, r) {
		if !r.opts.Ratchet || u.old == nil || !u.ownFieldsEqual() {
			errs = append(errs, u.errors()...)
		}
	}
	return errs[:min(len(errs), maxErrors)]
}

func (u refUnion) ownFieldsEqual() bool {
	for _, name := range append(u.names(), u.discriminator) {
		if !refEqual(u.holder[name], u.old[name]) {
			return false
		}
	}
	return true
}

func (u refUnion) errors() []string {
	discriminator := refDot(u.path, u.discriminator)
	value, ok := refValue(u.holder[u.discriminator])
	if !ok {
		return nil
	}
	selected, known := u.members[value]
	if !known {
		kind := fmt.Sprintf("Unsupported value: %q", value)
		if u.holder[u.discriminator] == nil {
			kind = "Required value"
		}
		values := []string{}
		for _, v := range slices.Sorted(maps.Keys(u.members)) {
			values = append(values, fmt.Sprintf("%q", v))
		}
		return []string{fmt.Sprintf("%s: %s: supported values: %s", discriminator, kind, strings.Join(values, ", "))}
	}
	var errs []string
	for _, name := range u.unselected() {
		errs = append(errs, fmt.Sprintf("%s: Forbidden: must not be set when %s is %q%s", refDot(u.path, name), discriminator, value, changeToo))
	}
	if selected.Name != "" && selected.Name != u.hidden && !selected.Optional && u.holder[selected.Name] == nil {
		text := fmt.Sprintf("%s: Required value: must be set when %s is %q", refDot(u.path, selected.Name), discriminator, value)
		if gate := fuzzGates[u.schemaPath+"."+selected.Name]; gate != "" {
			text += fmt.Sprintf(", but is dropped: feature gate %q is disabled", gate)
		}
		errs = append(errs, text)
	}
	return errs
}
