// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// transition is one request and its effect on the object.
type transition struct {
	*resource
	step   step
	dryRun bool
	guards map[string]guard // the paths of the disabled gates
	// before and after are the persisted object, or nil if there is none. A request that writes nothing leaves after
	// equal to before.
	before, after map[string]any
	answer        answer
	// requested is the object that the request would persist if there were no gates, but without defaults of guarded
	// fields (rule G8); defaulted has those too. Both are nil for an apply.
	requested, defaulted map[string]any
	// config is the applied configuration, or nil if the request is no apply or applies nothing.
	config map[string]any
}

// invariants hold for every request. Each of them returns an error that starts with the id of the rule that is broken.
var invariants = []func(*transition) error{
	checkNoServerError,
	checkNoWarningsIfRefused,
	checkGuardedValues,
	checkUnions,
	checkNoConflictAboutDisabled,
	checkGeneration,
	checkOwnersOfGuarded,
	checkNoOwnersOfAbsent,
	checkWarnings,
	checkDisabledChangeWritesNothing,
}

func (t *transition) check() error {
	for _, invariant := range invariants {
		if err := invariant(t); err != nil {
			return err
		}
	}
	return nil
}

// wrote reports whether the request succeeded and was no dry run.
func (t *transition) wrote() bool { return t.answer.ok() && !t.dryRun }

// checkNoServerError checks rule R1.
func checkNoServerError(t *transition) error {
	if t.answer.code >= http.StatusInternalServerError {
		return fmt.Errorf("R1: the server failed: %s", t.answer.message())
	}
	return nil
}

// checkNoWarningsIfRefused checks rules G10 and V3: a refused request draws no warning about gates or unions.
func checkNoWarningsIfRefused(t *transition) error {
	for _, warning := range t.answer.warnings {
		if !t.answer.ok() && (strings.Contains(warning, "feature gate") || strings.Contains(warning, ": cleared: ")) {
			return fmt.Errorf("G10: a refused request drew a warning: %s", warning)
		}
	}
	return nil
}

// checkGuardedValues checks rule G2 with the exceptions of rules G4, G5 and U9.
func checkGuardedValues(t *transition) error {
	if !t.wrote() {
		return nil
	}
	for text, guard := range t.guards {
		for _, p := range positionsOf(t.after, t.Schema, guard.path) {
			if _, ok := valueAt(t.before, t.Schema, p); !ok {
				return fmt.Errorf("G2: %s was set although its gate %s is disabled (%s)", p, guard.gate, text)
			}
		}
		for _, p := range positionsOf(t.before, t.Schema, guard.path) {
			if err := t.checkPersisted(p); err != nil {
				return fmt.Errorf("%w (%s, gate %s)", err, text, guard.gate)
			}
		}
	}
	return nil
}

// checkPersisted checks a persisted field whose gate is disabled.
func (t *transition) checkPersisted(p position) error {
	old, _ := valueAt(t.before, t.Schema, p)
	now, ok := valueAt(t.after, t.Schema, p)
	switch {
	case isDeselected(t.after, t.Schema, p):
		if ok {
			return fmt.Errorf("U9: %s is set although its union does not select it", p)
		}
	case ok && !equal(old, now):
		return fmt.Errorf("G2: %s changed from %s to %s", p, encode(old), encode(now))
	case !ok && isSet(t.after, t.Schema, p.parent()):
		return fmt.Errorf("G2: %s was removed from its parent", p)
	case !ok:
		return t.checkRemoval(p)
	case t.requested != nil && !isSet(t.requested, t.Schema, p.parent()):
		return fmt.Errorf("G4: %s is set although the request removed its parent", p)
	}
	return nil
}

// checkRemoval checks rule G4 for a guarded field that was removed with an ancestor: the request must have removed the
// ancestor.
func (t *transition) checkRemoval(p position) error {
	if t.requested != nil {
		if isSet(t.requested, t.Schema, p.parent()) {
			return fmt.Errorf("G4: %s was removed with its parent, which the request has", p)
		}
		return nil
	}
	ancestor := t.removedAncestor(p)
	if _, applied := valueAt(t.config, t.Schema, ancestor); applied {
		return fmt.Errorf("G4: %s was removed with %s, which the applied configuration has", p, ancestor)
	}
	own := applyEntry(t.step.By, t.step.Subresource)
	for entry, fields := range ownersOf(t.before) {
		owned := fields.within(ancestor)
		if entry == own && len(owned) == 0 {
			return fmt.Errorf("G4: %s was removed with %s, in which the applier owned nothing", p, ancestor)
		}
		if owned = t.withoutEmpty(owned); entry != own && len(owned) > 0 {
			return fmt.Errorf("G4: %s was removed with %s, in which entry %q owned %v", p, ancestor, entry, owned.texts())
		}
	}
	return nil
}

// withoutEmpty returns the fields whose persisted value is not an empty object or list. Ownership of an empty value
// does not keep its ancestors from being pruned, on a stock server either.
func (t *transition) withoutEmpty(fields fieldSet) fieldSet {
	out := fieldSet{}
	for text, field := range fields {
		if value, _ := valueAt(t.before, t.Schema, field); !isEmpty(value) {
			out[text] = field
		}
	}
	return out
}

// removedAncestor returns the outermost ancestor of p that the request removed, or p if there is none.
func (t *transition) removedAncestor(p position) position {
	for i := 1; i < len(p); i++ {
		if _, ok := valueAt(t.after, t.Schema, p[:i]); !ok {
			return p[:i]
		}
	}
	return p
}

// isDeselected reports whether a position is at or inside a union member that the discriminator does not select.
func isDeselected(object any, s *schemaProps, p position) bool {
	for _, element := range p {
		fields, ok := object.(map[string]any)
		if ok && s != nil && !isAllowed(fields, s, strings.TrimPrefix(element, "f:")) {
			return true
		}
		next, ok := childAt(object, s, element)
		if !ok {
			return false
		}
		object, s = next.value, next.schema
	}
	return false
}

// isAllowed reports whether the unions of an object allow the field: it is no member, or it is the selected one.
func isAllowed(object map[string]any, s *schemaProps, name string) bool {
	for discriminator, property := range s.Properties {
		if property.XUnions == nil {
			continue
		}
		value, _ := object[discriminator].(string)
		for selecting, member := range property.XUnions.FieldMembers {
			if member.Name == name && selecting != value {
				return false
			}
		}
	}
	return true
}

// checkUnions checks rule U6 for the part of the object that the request wrote.
func checkUnions(t *transition) error {
	if !t.wrote() {
		return nil
	}
	return checkUnionsBelow(t.writtenPart(t.step, t.after, map[string]any{}), t.Schema, nil)
}

func checkUnionsBelow(value any, s *schemaProps, at position) error {
	if object, ok := value.(map[string]any); ok && s != nil {
		for discriminator, property := range s.Properties {
			if property.XUnions == nil {
				continue
			}
			if err := checkUnion(object, property, discriminator); err != nil {
				return fmt.Errorf("%w at %s", err, at)
			}
		}
	}
	for _, c := range children(value, s) {
		if err := checkUnionsBelow(c.value, c.schema, at.child(c.element)); err != nil {
			return err
		}
	}
	return nil
}

func checkUnion(object map[string]any, property schemaProps, discriminator string) error {
	value, _ := object[discriminator].(string)
	selected, known := property.XUnions.FieldMembers[value]
	if !known {
		return fmt.Errorf("U6.1: discriminator %s was set to %q, which is not one of its values", discriminator, value)
	}
	for selecting, member := range property.XUnions.FieldMembers {
		if selecting != value && member.Name != "" && object[member.Name] != nil {
			return fmt.Errorf("U6.2: member %s was written although %s is %q", member.Name, discriminator, value)
		}
	}
	if selected.Name != "" && !selected.Optional && object[selected.Name] == nil {
		return fmt.Errorf("U6.3: %s %q was written without its member %s", discriminator, value, selected.Name)
	}
	return nil
}

// checkNoConflictAboutDisabled checks rule G7.3.
func checkNoConflictAboutDisabled(t *transition) error {
	for _, cause := range conflicts(t.answer) {
		for text, guard := range t.guards {
			if t.isAbout(cause, guard) {
				return fmt.Errorf("G7.3: conflict about %s, which is guarded as %s by the disabled gate %s", cause.field, text, guard.gate)
			}
		}
	}
	return nil
}

// isAbout reports whether a conflict is about a guarded field or a field inside it.
func (t *transition) isAbout(cause conflict, guard guard) bool {
	for _, object := range []map[string]any{t.before, t.config} {
		for _, p := range positionsOf(object, t.Schema, guard.path) {
			guarded := p.conflictPath()
			if cause.field == guarded || strings.HasPrefix(cause.field, guarded+".") || strings.HasPrefix(cause.field, guarded+"[") {
				return true
			}
		}
	}
	return false
}

// conflict is a cause of an apply conflict.
type conflict struct{ field, message string }

func conflicts(a answer) []conflict {
	var out []conflict
	causes, _, _ := unstructured.NestedSlice(a.object, "details", "causes")
	for _, cause := range causes {
		cause := cause.(map[string]any)
		if cause["reason"] == "FieldManagerConflict" {
			out = append(out, conflict{cause["field"].(string), cause["message"].(string)})
		}
	}
	return out
}

// checkGeneration checks rule G6: generation counts the changes outside metadata and, if there is a status subresource,
// outside status.
func checkGeneration(t *transition) error {
	if !t.wrote() || t.before == nil {
		return nil
	}
	old, now := body(t.before), body(t.after)
	if t.Status {
		delete(old, "status")
		delete(now, "status")
	}
	want := generation(t.before)
	if !equal(old, now) {
		want++
	}
	if got := generation(t.after); got != want {
		return fmt.Errorf("G6: generation is %d, want %d", got, want)
	}
	return nil
}

func generation(object map[string]any) int64 {
	return (&unstructured.Unstructured{Object: object}).GetGeneration()
}

func resourceVersion(object map[string]any) string {
	return (&unstructured.Unstructured{Object: object}).GetResourceVersion()
}

// checkDisabledChangeWritesNothing checks rule G6: a request that changes nothing but disabled fields writes nothing.
func checkDisabledChangeWritesNothing(t *transition) error {
	if !t.wrote() || t.requested == nil || t.before == nil {
		return nil
	}
	var guarded []position
	for _, guard := range t.guards {
		guarded = append(guarded, positionsOf(t.requested, t.Schema, guard.path)...)
		guarded = append(guarded, positionsOf(t.before, t.Schema, guard.path)...)
	}
	old, requested := body(without(t.before, t.Schema, guarded)), body(without(t.requested, t.Schema, guarded))
	if equal(old, requested) && isRewritten(t.before, t.after) {
		return errors.New("G6: a request that changes nothing but disabled fields was written")
	}
	return nil
}
