// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// transition is what one request did to the object.
type transition struct {
	*resource
	step   step
	guards map[string]guard // of the disabled gates, by path
	// before and after are what is persisted, nil if there is no object. They differ only after a write.
	before, after map[string]any
	answer        answer
	// asked is the object that the request asks for, with defaults except for guarded fields; defaulted has all defaults.
	// Both are nil for an apply.
	asked, defaulted map[string]any
	// config is what an apply names, nil for other requests.
	config map[string]any
	dryRun bool
}

// invariants hold for every request.
var invariants = []func(*transition) error{
	checkNoServerError,
	checkRefusedIsSilent,
	checkGuardedValues,
	checkUnions,
	checkNoDisabledConflict,
	checkGeneration,
	checkOwnersOfGuarded,
	checkOwnersOfGone,
	checkWarnings,
	checkGuardedChangeWritesNothing,
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

// checkNoServerError is rule R1.
func checkNoServerError(t *transition) error {
	if t.answer.code >= http.StatusInternalServerError {
		return fmt.Errorf("R1: the server failed: %s", t.answer.message())
	}
	return nil
}

// checkRefusedIsSilent is rules G10 and V3: what is refused draws no warning.
func checkRefusedIsSilent(t *transition) error {
	for _, warning := range t.answer.warnings {
		if !t.answer.ok() && (strings.Contains(warning, "feature gate") || strings.Contains(warning, ": cleared: ")) {
			return fmt.Errorf("G10: a refused request drew a warning: %s", warning)
		}
	}
	return nil
}

// checkGuardedValues is rule G2, with what G4, G5 and U9 except.
func checkGuardedValues(t *transition) error {
	if !t.wrote() {
		return nil
	}
	for text, guard := range t.guards {
		for _, p := range find(t.after, t.Schema, guard.path) {
			if _, ok := at(t.before, t.Schema, p); !ok {
				return fmt.Errorf("G2: %s: set at %s although its gate %s is disabled", text, p, guard.gate)
			}
		}
		for _, p := range find(t.before, t.Schema, guard.path) {
			if err := t.checkKept(p); err != nil {
				return fmt.Errorf("%w (%s, gate %s)", err, text, guard.gate)
			}
		}
	}
	return nil
}

// checkKept checks a persisted field whose gate is disabled.
func (t *transition) checkKept(p place) error {
	old, _ := at(t.before, t.Schema, p)
	now, ok := at(t.after, t.Schema, p)
	switch {
	case deselected(t.after, t.Schema, p):
		if ok {
			return fmt.Errorf("U9: %s is there although its union does not select it", p)
		}
	case ok && !equal(old, now):
		return fmt.Errorf("G2: %s changed from %s to %s", p, encode(old), encode(now))
	case !ok && isThere(t.after, t.Schema, p.parent()):
		return fmt.Errorf("G2: %s was removed from its parent", p)
	case !ok:
		return t.checkRemoval(p)
	case t.asked != nil && !isThere(t.asked, t.Schema, p.parent()):
		return fmt.Errorf("G4: %s is there although the request removed its parent", p)
	}
	return nil
}

// checkRemoval checks a guarded field that went with an ancestor: the request must have removed it (rule G4).
func (t *transition) checkRemoval(p place) error {
	if t.asked != nil {
		if isThere(t.asked, t.Schema, p.parent()) {
			return fmt.Errorf("G4: %s went with its parent, which the request has", p)
		}
		return nil
	}
	ancestor := t.goneAncestor(p)
	if _, named := at(t.config, t.Schema, ancestor); named {
		return fmt.Errorf("G4: %s went with %s, which the configuration names", p, ancestor)
	}
	own := applied(t.step.By, t.step.Subresource)
	for entry, fields := range ownersOf(t.before) {
		owned := t.withoutEmpty(fields.in(ancestor))
		if entry == own && len(owned) == 0 {
			return fmt.Errorf("G4: %s went with %s, of which the applier owned nothing", p, ancestor)
		}
		if entry != own && len(owned) > 0 {
			return fmt.Errorf("G4: %s went with %s, of which %q owned %v", p, ancestor, entry, owned.texts())
		}
	}
	return nil
}

// withoutEmpty returns the fields whose value is no empty object or list: to prune one of these takes what is around it
// along, on a stock server too.
func (t *transition) withoutEmpty(fields fieldSet) fieldSet {
	out := fieldSet{}
	for text, field := range fields {
		if value, _ := at(t.before, t.Schema, field); !isEmpty(value) {
			out[text] = field
		}
	}
	return out
}

// goneAncestor returns the outermost place around p that the request removed.
func (t *transition) goneAncestor(p place) place {
	for i := 1; i < len(p); i++ {
		if _, ok := at(t.after, t.Schema, p[:i]); !ok {
			return p[:i]
		}
	}
	return p
}

// deselected reports whether a place is, or is inside of, a member of a union that its discriminator does not select.
func deselected(object any, s *schemaProps, p place) bool {
	for _, element := range p {
		fields, ok := object.(map[string]any)
		if ok && s != nil && !selects(fields, s, strings.TrimPrefix(element, "f:")) {
			return true
		}
		i := slices.IndexFunc(children(object, s), func(c child) bool { return c.element == element })
		if i < 0 {
			return false
		}
		next := children(object, s)[i]
		object, s = next.value, next.schema
	}
	return false
}

// selects reports whether the unions of an object allow a field.
func selects(object map[string]any, s *schemaProps, name string) bool {
	for discriminator, property := range s.Properties {
		if property.XUnions == nil {
			continue
		}
		value, _ := object[discriminator].(string)
		for of, member := range property.XUnions.FieldMembers {
			if member.Name == name && of != value {
				return false
			}
		}
	}
	return true
}

// checkUnions is rule U6 for what the request wrote.
func checkUnions(t *transition) error {
	if !t.wrote() {
		return nil
	}
	return walkUnions(t.part(t.step, t.after, map[string]any{}), t.Schema, nil)
}

func walkUnions(value any, s *schemaProps, where place) error {
	if object, ok := value.(map[string]any); ok && s != nil {
		for discriminator, property := range s.Properties {
			if property.XUnions == nil {
				continue
			}
			if err := checkUnion(object, property, discriminator); err != nil {
				return fmt.Errorf("%w at %s", err, where)
			}
		}
	}
	for _, c := range children(value, s) {
		if err := walkUnions(c.value, c.schema, where.child(c.element)); err != nil {
			return err
		}
	}
	return nil
}

func checkUnion(object map[string]any, property schemaProps, discriminator string) error {
	value, _ := object[discriminator].(string)
	selected, known := property.XUnions.FieldMembers[value]
	if !known {
		return fmt.Errorf("U6.1: %q was written to a discriminator", value)
	}
	for of, member := range property.XUnions.FieldMembers {
		if of != value && member.Name != "" && object[member.Name] != nil {
			return fmt.Errorf("U6.2: %s was written beside %s %q", member.Name, discriminator, value)
		}
	}
	if selected.Name != "" && !selected.Optional && object[selected.Name] == nil {
		return fmt.Errorf("U6.3: %s %q was written without %s", discriminator, value, selected.Name)
	}
	return nil
}

// checkNoDisabledConflict is rule G7.3.
func checkNoDisabledConflict(t *transition) error {
	for _, cause := range conflicts(t.answer) {
		for text, guard := range t.guards {
			for _, object := range []map[string]any{t.before, t.config} {
				for _, p := range find(object, t.Schema, guard.path) {
					if of := p.conflictPath(); cause.field == of || strings.HasPrefix(cause.field, of+".") || strings.HasPrefix(cause.field, of+"[") {
						return fmt.Errorf("G7.3: conflict about %s, which %s guards with the disabled gate %s", cause.field, text, guard.gate)
					}
				}
			}
		}
	}
	return nil
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

// checkGeneration is rule G6: generation counts the changes of what is no metadata and, with the status subresource,
// no status.
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
		return fmt.Errorf("G6: generation %d, want %d", got, want)
	}
	return nil
}

func generation(object map[string]any) int64 {
	return (&unstructured.Unstructured{Object: object}).GetGeneration()
}

func resourceVersion(object map[string]any) string {
	return (&unstructured.Unstructured{Object: object}).GetResourceVersion()
}

// checkGuardedChangeWritesNothing is rule G6: a request of which only disabled fields differ writes nothing.
func checkGuardedChangeWritesNothing(t *transition) error {
	if !t.wrote() || t.asked == nil || t.before == nil {
		return nil
	}
	var guarded []place
	for _, guard := range t.guards {
		guarded = append(guarded, find(t.asked, t.Schema, guard.path)...)
		guarded = append(guarded, find(t.before, t.Schema, guard.path)...)
	}
	old, asked := body(without(t.before, t.Schema, guarded)), body(without(t.asked, t.Schema, guarded))
	if equal(old, asked) && isRewritten(t.before, t.after) {
		return errors.New("G6: a request that differs in disabled fields only was written")
	}
	return nil
}
