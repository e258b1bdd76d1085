// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"fmt"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// The reference implementation follows the text of rules C1, C8, G2 to G5 and G10: gate by gate, path by path and
// position by position, regardless of speed. The parser of paths is all that it has in common with Plan.Evaluate.

type refGuard struct {
	gate *apiextensions.CustomResourceDefinitionFeatureGate
	text string
	path fieldpath.Path
}

// reference returns the object after an evaluation, and the warnings in the order of the paths in the CRD.
func reference(gates *apiextensions.CustomResourceDefinitionFeatureGates, request Write) (map[string]any, []string) {
	guards := refGuards(gates)
	request.Object = runtime.DeepCopyJSON(request.Object)
	for _, guard := range guards {
		if !refIsEnabled(guard.gate) && !refIsBelowDisabled(guard, guards) && refIsInScope(guard, request.Scope) {
			refRestoreApplied(guard.path, request)
		}
	}
	result := runtime.DeepCopyJSON(request.Object)
	effects := make([]string, len(guards))
	// Disabled fields come first, since a deprecated field around them may be unchanged after that.
	for _, enabled := range []bool{false, true} {
		for i, guard := range guards {
			if refIsEnabled(guard.gate) == enabled && !refIsBelowDisabled(guard, guards) && refIsInScope(guard, request.Scope) {
				effects[i] = refApply(guard, request, result)
			}
		}
	}
	return result, refWarnings(gates, guards, effects)
}

func refWarnings(gates *apiextensions.CustomResourceDefinitionFeatureGates, guards []refGuard, effects []string) []string {
	var warnings []string
	warned := map[string]bool{}
	for i, guard := range guards {
		warning := refWarning(gates, guard, effects[i])
		if own := guard.gate.FieldDeprecationWarning; effects[i] == "deprecated" && own != nil {
			if warned[guard.gate.Name] {
				continue // once per gate
			}
			warning, warned[guard.gate.Name] = *own, true
		}
		if warning != "" {
			warnings = append(warnings, warning)
		}
	}
	return warnings
}

func refGuards(gates *apiextensions.CustomResourceDefinitionFeatureGates) []refGuard {
	var guards []refGuard
	for i := range gates.FeatureGates {
		for _, text := range gates.FeatureGates[i].FieldPaths {
			if path, err := fieldpath.Parse(text); err == nil {
				guards = append(guards, refGuard{gate: &gates.FeatureGates[i], text: text, path: path})
			}
		}
	}
	return guards
}

// refIsEnabled is rule C1.
func refIsEnabled(gate *apiextensions.CustomResourceDefinitionFeatureGate) bool {
	if gate.PreRelease == "stable" {
		return true
	}
	if gate.Enabled != nil {
		return *gate.Enabled
	}
	if gate.Default != nil {
		return *gate.Default
	}
	return gate.PreRelease == "beta"
}

// refIsBelowDisabled is rule C8: the gate has no effect.
func refIsBelowDisabled(guard refGuard, guards []refGuard) bool {
	for _, other := range guards {
		if len(other.path) < len(guard.path) && guard.path.HasPrefix(other.path) && !refIsEnabled(other.gate) {
			return true
		}
	}
	return false
}

// refIsInScope is rule G9.
func refIsInScope(guard refGuard, written scope.Scope) bool {
	isStatus := guard.path[0].Name == "status"
	return written == scope.Everything || isStatus == (written == scope.OnlyStatus)
}

func refWarning(gates *apiextensions.CustomResourceDefinitionFeatureGates, guard refGuard, effect string) string {
	name := guard.gate.Name
	if gates.Component != nil && *gates.Component != "" {
		name = *gates.Component + "/" + name
	}
	switch effect {
	case "kept":
		return fmt.Sprintf(`%s: not updated: feature gate "%s" is disabled`, guard.text, name)
	case "dropped":
		return fmt.Sprintf(`%s: dropped: feature gate "%s" is disabled`, guard.text, name)
	case "":
		return ""
	case "deprecated":
		return guard.text + ": deprecated field"
	}
	return fmt.Sprintf(`%s: %s: feature gate "%s" is disabled`, guard.text, effect, name)
}

// refPosition is an object that may have the guarded field: its position in the request, and the objects at this
// position in the persisted object and in the applied configuration, nil if there are none.
type refPosition struct {
	address      []any // names and indexes
	old, applied map[string]any
}

// refApply applies one guard to result. It returns the effect to report.
func refApply(guard refGuard, request Write, result map[string]any) string {
	removedWith := ""
	if !refIsEnabled(guard.gate) {
		removedWith = refRemovedWith(guard.path, request)
	}
	parent, name := guard.path[:len(guard.path)-1], guard.path[len(guard.path)-1].Name
	effects := map[string]bool{}
	for _, position := range refPositions(parent, request) {
		requested, target := refAt(request.Object, position.address), refAt(result, position.address)
		if refIsEnabled(guard.gate) {
			effects[refDeprecated(guard, requested[name], target[name], position.old[name])] = true
			continue
		}
		effects[refEffect(guard, name, position, requested, request.Schema)] = true
		delete(target, name)
		if value, present := position.old[name]; present {
			target[name] = runtime.DeepCopyJSONValue(value) // exactly as persisted, even if null
		}
	}
	if removedWith != "" {
		return "removed with " + removedWith
	}
	for _, effect := range []string{"kept", "dropped", "deprecated"} {
		if effects[effect] {
			return effect
		}
	}
	return ""
}

// refDeprecated is rule G10 for an enabled field at one position: the request changes it, and it changes.
func refDeprecated(guard refGuard, requested, value, old any) string {
	if guard.gate.PreRelease == "deprecated" && value != nil && !refEqual(value, old) && !refEqual(requested, old) {
		return "deprecated"
	}
	return ""
}

// refEffect is rule G10 for a disabled field at one position.
func refEffect(guard refGuard, name string, position refPosition, parent map[string]any, schema *structuralschema.Structural) string {
	value, old := parent[name], position.old[name]
	applied, isApplied := position.applied[name]
	switch {
	case old != nil && isApplied && refEqual(applied, old):
		return ""
	case old != nil:
		isAttempt := isApplied && !refIsPart(refSchema(schema, guard.path), applied, old)
		if !refEqual(value, old) || isAttempt {
			return "kept"
		}
	case value != nil || applied != nil:
		return "dropped"
	}
	return ""
}

func refSchema(schema *structuralschema.Structural, path fieldpath.Path) *structuralschema.Structural {
	for _, step := range path {
		if schema == nil {
			return nil
		}
		property, isProperty := schema.Properties[step.Name]
		switch {
		case isProperty:
			schema = &property
		case schema.Items != nil:
			schema = schema.Items
		case schema.AdditionalProperties != nil:
			schema = schema.AdditionalProperties.Structural
		default:
			schema = nil
		}
	}
	return schema
}

// refIsPart reports whether an applied value is the persisted value or a part of it, as field management sees it: it
// may lack fields of objects, items of list maps and items of sets.
func refIsPart(schema *structuralschema.Structural, applied, old any) bool {
	if schema == nil {
		schema = &structuralschema.Structural{}
	}
	oldObject, isObject := old.(map[string]any)
	oldList, isList := old.([]any)
	switch applied := applied.(type) {
	case map[string]any:
		if isObject && (schema.XMapType == nil || *schema.XMapType != "atomic") {
			return refHasFields(schema, applied, oldObject)
		}
	case []any:
		if isList && schema.XListType != nil && *schema.XListType == "map" {
			return refHasItems(schema, applied, oldList)
		}
		if isList && schema.XListType != nil && *schema.XListType == "set" {
			return refHasValues(applied, oldList)
		}
	}
	return refEqual(applied, old)
}

func refHasFields(schema *structuralschema.Structural, applied, old map[string]any) bool {
	for name, value := range applied {
		persisted, isPersisted := old[name]
		if !isPersisted || !refIsPart(refSchema(schema, fieldpath.Path{fieldpath.Field(name)}), value, persisted) {
			return false
		}
	}
	return true
}

func refHasItems(schema *structuralschema.Structural, applied, old []any) bool {
	for i, counterpart := range refCounterparts(applied, old, schema.XListMapKeys) {
		if counterpart == nil || !refIsPart(schema.Items, applied[i], counterpart) {
			return false
		}
	}
	return true
}

func refHasValues(applied, old []any) bool {
	for _, value := range applied {
		if !slices.ContainsFunc(old, func(o any) bool { return refEqual(o, value) }) {
			return false
		}
	}
	return true
}

// refRestoreApplied is rule G4 for server-side apply: an object that the configuration sets stays if it has the guarded
// field, even if field management removed it.
func refRestoreApplied(path fieldpath.Path, request Write) {
	trios := []refTrio{{value: request.Object, old: request.Old, applied: request.Applied}}
	for i, step := range path[:len(path)-1] {
		var next []refTrio
		for _, trio := range trios {
			trio.restoreApplied(step, path, i)
			next = append(next, trio.follow(step, fuzzListKeys[path[:i].String()])...)
		}
		trios = next
	}
}

// restoreApplied restores the objects that a step leads to. position is the index of the step in path.
func (trio refTrio) restoreApplied(step fieldpath.Step, path fieldpath.Path, position int) {
	value, _ := trio.value.(map[string]any)
	old, _ := trio.old.(map[string]any)
	applied, _ := trio.applied.(map[string]any)
	if value == nil {
		return
	}
	for key := range old {
		_, wasObject := old[key].(map[string]any)
		_, isApplied := applied[key].(map[string]any)
		if (step.Each || key == step.Name) && value[key] == nil && wasObject && isApplied && refHolds(old[key], path, position+1) {
			value[key] = map[string]any{}
		}
	}
}

// refHolds reports whether the steps of a path from a position on lead to a field that is set.
func refHolds(value any, path fieldpath.Path, position int) bool {
	pairs := []refPair{{old: value}}
	for i := position; i < len(path); i++ {
		var next []refPair
		for _, pair := range pairs {
			next = append(next, pair.follow(path[i], fuzzListKeys[path[:i].String()])...)
		}
		pairs = next
	}
	return slices.ContainsFunc(pairs, func(pair refPair) bool { return pair.old != nil })
}

// refRemovedWith is rules G4 and G5. It returns what the request removed the guarded fields with, as the warning names
// it, or "" if it removed none that were set.
func refRemovedWith(path fieldpath.Path, request Write) string {
	pairs := []refPair{{old: request.Old, value: request.Object}}
	for i, step := range path {
		var next []refPair
		for _, pair := range pairs {
			if pair.gone == 0 && !refIsSameKind(pair.old, pair.value) {
				pair.gone = i
			}
			next = append(next, pair.follow(step, fuzzListKeys[path[:i].String()])...)
		}
		pairs = next
	}
	first := len(path)
	for _, pair := range pairs {
		if pair.old != nil && pair.gone > 0 {
			first = min(first, pair.gone)
		}
	}
	switch {
	case first == len(path):
		return ""
	case path[first-1].Each:
		return "an item of " + path[:first-1].String()
	}
	return path[:first].String()
}

// refPair is a persisted value and its counterpart in the request. gone is the number of steps from the root to the
// value that the request removed, or 0 if it removed none.
type refPair struct {
	old, value any
	gone       int
}

func refIsSameKind(a, b any) bool {
	_, aIsObject := a.(map[string]any)
	_, bIsObject := b.(map[string]any)
	_, aIsList := a.([]any)
	_, bIsList := b.([]any)
	return aIsObject && bIsObject || aIsList && bIsList
}

// follow takes one step in the persisted value.
func (pair refPair) follow(step fieldpath.Step, keys []string) []refPair {
	var out []refPair
	switch old := pair.old.(type) {
	case map[string]any:
		value, _ := pair.value.(map[string]any)
		for key := range old {
			if step.Each || key == step.Name {
				out = append(out, refPair{old[key], value[key], pair.gone})
			}
		}
	case []any:
		if !step.Each || keys == nil {
			break
		}
		value, _ := pair.value.([]any)
		counterparts := map[int]any{}
		for i, j := range refMatches(value, old, keys) {
			counterparts[j] = value[i]
		}
		for j := range old {
			if _, isObject := old[j].(map[string]any); isObject {
				out = append(out, refPair{old[j], counterparts[j], pair.gone})
			}
		}
	}
	return out
}

// refEqual compares values by their JSON, in which 1.0 is 1.
func refEqual(a, b any) bool {
	return encodeJSON(a) == encodeJSON(b)
}

func refAt(root map[string]any, address []any) map[string]any {
	var value any = root
	for _, step := range address {
		switch step := step.(type) {
		case string:
			value = value.(map[string]any)[step]
		case int:
			value = value.([]any)[step]
		}
	}
	return value.(map[string]any)
}

// refTrio is a value in the request, and its counterparts in the persisted object and in the applied configuration.
type refTrio struct {
	address             []any
	value, old, applied any
}

// refPositions follows the path to the parent of a field.
func refPositions(parent fieldpath.Path, request Write) []refPosition {
	trios := []refTrio{{value: request.Object, old: request.Old, applied: request.Applied}}
	for i, step := range parent {
		var next []refTrio
		for _, trio := range trios {
			next = append(next, trio.follow(step, fuzzListKeys[parent[:i].String()])...)
		}
		trios = next
	}
	var positions []refPosition
	for _, trio := range trios {
		if _, ok := trio.value.(map[string]any); ok {
			old, _ := trio.old.(map[string]any)
			applied, _ := trio.applied.(map[string]any)
			positions = append(positions, refPosition{trio.address, old, applied})
		}
	}
	return positions
}

// follow takes one step. A step from a value of a wrong type leads nowhere (rule R1).
func (trio refTrio) follow(step fieldpath.Step, keys []string) []refTrio {
	var out []refTrio
	add := func(at, value, old, applied any) {
		out = append(out, refTrio{append(slices.Clone(trio.address), at), value, old, applied})
	}
	switch value := trio.value.(type) {
	case map[string]any:
		old, _ := trio.old.(map[string]any)
		applied, _ := trio.applied.(map[string]any)
		for key := range value {
			if step.Each || key == step.Name {
				add(key, value[key], old[key], applied[key])
			}
		}
	case []any:
		if !step.Each || keys == nil {
			break
		}
		old, _ := trio.old.([]any)
		applied, _ := trio.applied.([]any)
		olds, applieds := refCounterparts(value, old, keys), refCounterparts(value, applied, keys)
		for i := range value {
			add(i, value[i], olds[i], applieds[i])
		}
	}
	return out
}

// refCounterparts is rule G5. It returns, for each item of list, the item of the other list with the same keys, or nil.
func refCounterparts(list, other []any, keys []string) []any {
	out := make([]any, len(list))
	for i, j := range refMatches(list, other, keys) {
		out[i] = other[j]
	}
	return out
}

// refMatches returns the index in the other list of the item with the same keys, by the index of the item in list. If
// several have the same keys, which is not valid, the one at the same index is taken, or else the first that is not
// taken yet.
func refMatches(list, other []any, keys []string) map[int]int {
	out, used := map[int]int{}, map[int]bool{}
	for i, item := range list {
		candidates := []int{i}
		for j := range other {
			candidates = append(candidates, j)
		}
		for _, j := range candidates {
			if _, matched := out[i]; !matched && j < len(other) && !used[j] && refSameKeys(item, other[j], keys) {
				out[i], used[j] = j, true
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
		aKey, bKey := refKey(aObject, key), refKey(bObject, key)
		switch aKey.(type) {
		case map[string]any, []any:
			return false
		}
		if !refEqual(aKey, bKey) {
			return false
		}
	}
	return true
}

// refKey returns the value of a key of an item, or its default.
func refKey(item map[string]any, key string) any {
	if item[key] != nil {
		return item[key]
	}
	return fuzzKeyDefaults[key]
}

// refMerge returns a value after server-side apply by a manager that applied nothing before: field management adds
// fields and items, and replaces values. at is the path of the value.
func refMerge(schema *structuralschema.Structural, at string, old, applied any) any {
	if schema == nil {
		schema = &structuralschema.Structural{}
	}
	switch applied := applied.(type) {
	case map[string]any:
		old, ok := old.(map[string]any)
		if !ok || schema.XMapType != nil {
			return applied
		}
		for name, value := range applied {
			step := fieldpath.Field(name)
			if _, isProperty := schema.Properties[name]; !isProperty {
				step = fieldpath.Each()
			}
			path := fieldpath.Path{step}
			old[name] = refMerge(refSchema(schema, fieldpath.Path{fieldpath.Field(name)}), at+path.String(), old[name], value)
		}
		return old
	case []any:
		old, ok := old.([]any)
		if keys := fuzzListKeys[at]; ok && keys != nil {
			return refMergeItems(schema, at, old, applied, keys)
		}
	}
	return applied
}

func refMergeItems(schema *structuralschema.Structural, at string, old, applied []any, keys []string) []any {
	out := slices.Clone(old)
	matches := refMatches(applied, old, keys)
	for i, item := range applied {
		if j, found := matches[i]; found {
			out[j] = refMerge(schema.Items, at+"[*]", old[j], item)
		} else {
			out = append(out, item)
		}
	}
	return out
}
