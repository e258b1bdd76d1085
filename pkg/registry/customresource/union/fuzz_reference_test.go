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

// This file is the reference implementation of rules U3 to U7 and V3. It walks the schema for each step, regardless of
// speed, and shares no code with the plan.

// refUnion is a union of an object in a request.
type refUnion struct {
	discriminator string
	object        *structuralschema.Structural         // the schema of holder
	members       map[string]apiextensions.MemberField // by value
	holder        map[string]any                       // the object that holds the union
	old           map[string]any                       // the persisted counterpart of holder, or nil
	path          string                               // of holder, as in errors
	schemaPath    string                               // of holder, as in feature gates
	hidden        string                               // a member that is not in the scope, or ""
	inEqualList   bool                                 // whether an atomic or set list around it equals the persisted list
}

// refPosition is a value in a request, with its persisted counterpart and its paths.
type refPosition struct {
	schema           *structuralschema.Structural
	value, old       any
	path, schemaPath string
	inEqualList      bool
}

// refUnions returns the unions of a request in the order of their paths.
func refUnions(schema *structuralschema.Structural, r request) []refUnion {
	var old any
	if r.old != nil {
		old = r.old
	}
	var found []refUnion
	root := refPosition{schema: schema, value: r.object, old: old}
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
	for _, position := range refBelow(root) {
		if r.opts.Scope == scope.Everything || (position.path == "status") == (r.opts.Scope == scope.OnlyStatus) {
			found = append(found, refWalk(position)...)
		}
	}
	return found
}

// refWalk returns the unions in a value.
func refWalk(position refPosition) []refUnion {
	found := refUnionsOf(position)
	for _, below := range refBelow(position) {
		found = append(found, refWalk(below)...)
	}
	return found
}

// refUnionsOf returns the unions of an object, but not those of its fields.
func refUnionsOf(position refPosition) []refUnion {
	holder, ok := position.value.(map[string]any)
	if !ok {
		return nil
	}
	old, _ := position.old.(map[string]any)
	var found []refUnion
	for _, name := range slices.Sorted(maps.Keys(position.schema.Properties)) {
		if declared := position.schema.Properties[name].XUnions; declared != nil {
			found = append(found, refUnion{
				discriminator: name, object: position.schema, members: declared.FieldMembers,
				holder: holder, old: old, path: position.path, schemaPath: position.schemaPath,
				inEqualList: position.inEqualList,
			})
		}
	}
	return found
}

// refBelow returns the fields, values or items of a value that have a schema (rules U5, R1).
func refBelow(position refPosition) []refPosition {
	switch value := position.value.(type) {
	case map[string]any:
		old, _ := position.old.(map[string]any)
		if position.schema.AdditionalProperties != nil {
			return refValues(position, value, old)
		}
		return refFields(position, value, old)
	case []any:
		if position.schema.Items != nil {
			return refItems(position, value)
		}
	}
	return nil
}

func refValues(position refPosition, object, old map[string]any) []refPosition {
	var found []refPosition
	for _, key := range slices.Sorted(maps.Keys(object)) {
		found = append(found, refPosition{
			position.schema.AdditionalProperties.Structural, object[key], old[key],
			refDot(position.path, key), position.schemaPath + "[*]", position.inEqualList,
		})
	}
	return found
}

func refFields(position refPosition, object, old map[string]any) []refPosition {
	var found []refPosition
	for _, name := range slices.Sorted(maps.Keys(position.schema.Properties)) {
		property := position.schema.Properties[name]
		found = append(found, refPosition{
			&property, object[name], old[name],
			refDot(position.path, name), position.schemaPath + "." + name, position.inEqualList,
		})
	}
	return found
}

func refItems(position refPosition, list []any) []refPosition {
	counterparts := make([]any, len(list))
	inEqualList := position.inEqualList
	if position.schema.XListType != nil && *position.schema.XListType == "map" {
		old, _ := position.old.([]any)
		counterparts = refCounterparts(list, old, position.schema.XListMapKeys)
	} else {
		inEqualList = inEqualList || refEqual(list, position.old)
	}
	var found []refPosition
	for i := range list {
		found = append(found, refPosition{
			position.schema.Items, list[i], counterparts[i],
			fmt.Sprintf("%s[%d]", position.path, i), position.schemaPath + "[*]", inEqualList,
		})
	}
	return found
}

func refDot(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// refCounterparts returns for each item the item of another list that has the same keys and is not the counterpart of an
// earlier item. If several have the same keys, the one at the same index is preferred, then the first.
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

// refEqual compares the JSON texts, in which 1.0 is written as 1.
func refEqual(a, b any) bool { return encodeJSON(a) == encodeJSON(b) }

// names returns the members that are in scope. Discriminators are not members (rules U2, F5).
func (u refUnion) names() []string {
	var names []string
	for _, m := range u.members {
		if m.Name != "" && m.Name != u.hidden && u.object.Properties[m.Name].XUnions == nil {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return names
}

// persisted returns the persisted discriminator, or "" if it is absent (rule U3).
func (u refUnion) persisted() any {
	if u.old[u.discriminator] == nil {
		return ""
	}
	return u.old[u.discriminator]
}

// discriminatorChanged implements rules U4.1 and U4.3.
func (u refUnion) discriminatorChanged() bool {
	value, ok := u.holder[u.discriminator].(string)
	return u.old != nil && ok && u.persisted() != value
}

// isLeftOut implements rule U4.3.
func (u refUnion) isLeftOut() bool {
	return u.holder[u.discriminator] == nil && u.old[u.discriminator] != nil && len(u.set()) > 0
}

// set returns the members that are set.
func (u refUnion) set() []string {
	return slices.DeleteFunc(u.names(), func(name string) bool { return u.holder[name] == nil })
}

// unselected returns the members that are set and not selected.
func (u refUnion) unselected() []string {
	return slices.DeleteFunc(u.set(), u.isSelected)
}

func (u refUnion) isSelected(member string) bool {
	value, _ := u.holder[u.discriminator].(string)
	return u.isKnown() && u.members[value].Name == member
}

func (u refUnion) hasMemberAt(path string) bool {
	return slices.ContainsFunc(u.names(), func(name string) bool { return refDot(u.path, name) == path })
}

// refNormalize implements rules U4, U5 and V3.
func refNormalize(schema *structuralschema.Structural, r request) (map[string]any, []string) {
	r.object = runtime.DeepCopyJSON(r.object)
	var warnings []string
	for {
		unions := refUnions(schema, r)
		i := slices.IndexFunc(unions, func(u refUnion) bool { return u.discriminatorChanged() && len(u.toClear()) > 0 })
		if i < 0 {
			return r.object, warnings
		}
		warnings = append(warnings, unions[i].clear())
	}
}

// toClear returns the unselected members that are set, or that are persisted and null in the request although they may
// not be null.
func (u refUnion) toClear() []string {
	return slices.DeleteFunc(u.names(), func(name string) bool {
		value, present := u.holder[name]
		isEmptied := value == nil && u.old[name] != nil && !u.object.Properties[name].Nullable
		return u.isSelected(name) || !present || value == nil && !isEmptied
	})
}

// clear removes the unselected members, and returns the warning.
func (u refUnion) clear() string {
	var paths []string
	for _, name := range u.toClear() {
		delete(u.holder, name)
		paths = append(paths, refDot(u.path, name))
	}
	return fmt.Sprintf("%s: cleared: %s changed from %s to %q",
		strings.Join(paths, ", "), refDot(u.path, u.discriminator), refQuote(u.persisted()), u.holder[u.discriminator])
}

// refQuote formats the value of a discriminator for a message.
func refQuote(value any) string {
	switch value.(type) {
	case string:
		return fmt.Sprintf("%q", value)
	case map[string]any:
		return "object"
	case []any:
		return "array"
	}
	return fmt.Sprint(value)
}

// refValidate implements rules U6 and U7.
func refValidate(schema *structuralschema.Structural, r request) []string {
	var errs []string
	for _, u := range refUnions(schema, r) {
		if !r.opts.Ratchet || !u.inEqualList && (u.old == nil || !u.ownFieldsEqual()) {
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
	if u.isLeftOut() {
		return []string{fmt.Sprintf("%s: Required value: must be given when %s is set: the persisted value is %s",
			refDot(u.path, u.discriminator), refDot(u.path, u.set()[0]), refQuote(u.old[u.discriminator]))}
	}
	if !u.isKnown() {
		return []string{u.unknownError()}
	}
	value, _ := u.holder[u.discriminator].(string)
	var errs []string
	for _, name := range u.unselected() {
		errs = append(errs, fmt.Sprintf("%s: Forbidden: must not be set when %s is %q%s",
			refDot(u.path, name), refDot(u.path, u.discriminator), value, changeToo))
	}
	if text := u.missingError(value); text != "" {
		errs = append(errs, text)
	}
	return errs
}

// isKnown implements rule U6.1. If the discriminator has a default, an absent one does not mean "".
func (u refUnion) isKnown() bool {
	property := u.object.Properties[u.discriminator]
	switch value := u.holder[u.discriminator].(type) {
	case nil:
		_, known := u.members[""]
		return known && property.Default.Object == nil
	case string:
		_, known := u.members[value]
		return known && (value != "" || property.ValueValidation == nil || len(property.ValueValidation.Enum) == 0 ||
			slices.ContainsFunc(property.ValueValidation.Enum, func(v structuralschema.JSON) bool { return v.Object == "" }))
	}
	return false
}

func (u refUnion) unknownError() string {
	kind := "Unsupported value: " + refQuote(u.holder[u.discriminator])
	switch value := u.holder[u.discriminator]; value.(type) {
	case nil:
		kind = "Required value"
	case map[string]any, []any:
		kind = fmt.Sprintf("Unsupported value: %q", refQuote(value))
	}
	values := []string{}
	for _, v := range slices.Sorted(maps.Keys(u.members)) {
		if v != "" || u.holder[u.discriminator] != "" && u.object.Properties[u.discriminator].Default.Object == nil {
			values = append(values, fmt.Sprintf("%q", v))
		}
	}
	return fmt.Sprintf("%s: %s: supported values: %s", refDot(u.path, u.discriminator), kind, strings.Join(values, ", "))
}

func (u refUnion) missingError(value string) string {
	selected := u.members[value]
	if !slices.Contains(u.names(), selected.Name) || selected.Optional || u.holder[selected.Name] != nil {
		return ""
	}
	text := fmt.Sprintf("%s: Required value: must be set when %s is %q",
		refDot(u.path, selected.Name), refDot(u.path, u.discriminator), value)
	if gate := fuzzGates[u.schemaPath+"."+selected.Name]; gate != "" {
		text += fmt.Sprintf(", but is dropped: feature gate %q is disabled", gate)
	}
	return text
}
