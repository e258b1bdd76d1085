// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
)

// action is the start of a warning about a path of a disabled gate, after the path (rule G10).
type action string

const (
	kept    action = "not updated"
	dropped action = "dropped"
	removed action = "removed with"
)

// expectation is the warning about one path: with one of the actions. A warning is required if must has an action.
type expectation struct{ must, may map[action]bool }

func (e *expectation) allows(a action) bool { return e.must[a] || e.may[a] }

func (e *expectation) String() string {
	must, may := slices.Sorted(maps.Keys(e.must)), slices.Sorted(maps.Keys(e.may))
	if len(must) == 0 {
		return fmt.Sprintf("none or one of %q", may)
	}
	return fmt.Sprintf("one of %q", append(must, may...))
}

// checkWarnings checks rule G10: there is one warning for each path of a disabled gate whose fields differ in the
// request and the outcome, and no other warning.
func checkWarnings(t *transition) error {
	if !t.answer.ok() || t.dryRun {
		return nil
	}
	warned, err := t.warnedActions()
	if err != nil {
		return err
	}
	for _, text := range slices.Sorted(maps.Keys(t.guards)) {
		want, got := t.expectation(t.guards[text]), warned[text]
		switch {
		case got == "" && len(want.must) > 0:
			return fmt.Errorf("G10: no warning about %s, want %s", text, want)
		case got != "" && !want.allows(got):
			return fmt.Errorf("G10: a warning that %s was %q, want %s", text, got, want)
		case got == dropped && want.must[kept]:
			return fmt.Errorf("G10: a warning that %s was dropped, although a persisted value was kept", text)
		}
	}
	return nil
}

// warnedActions returns the actions in the warnings of the answer, by the path of the gate.
func (t *transition) warnedActions() (map[string]action, error) {
	out := map[string]action{}
	for _, warning := range t.answer.warnings {
		path, text, _ := strings.Cut(warning, ": ")
		guard, disabled := t.guards[path]
		if !disabled {
			if strings.Contains(warning, "feature gate") {
				return nil, fmt.Errorf("G10: a warning about a gate that has no effect: %s", warning)
			}
			continue
		}
		if out[path] != "" {
			return nil, fmt.Errorf("G10: two warnings about %s: %q", path, t.answer.warnings)
		}
		if !strings.HasSuffix(text, fmt.Sprintf(": feature gate %q is disabled", guard.gate)) {
			return nil, fmt.Errorf("G10: a warning about gate %s in other words: %s", guard.gate, warning)
		}
		for _, a := range []action{kept, dropped, removed} {
			if strings.HasPrefix(text, string(a)) {
				out[path] = a
			}
		}
	}
	return out, nil
}

// expectation returns the warning that a path must get.
func (t *transition) expectation(g guard) *expectation {
	want := &expectation{must: map[action]bool{}, may: map[action]bool{}}
	for _, p := range positionsOf(t.before, t.Schema, g.path) {
		t.expectForPersisted(want, p)
	}
	for _, object := range []map[string]any{t.requested, t.config} {
		for _, p := range positionsOf(object, t.Schema, g.path) {
			if _, persisted := valueAt(t.before, t.Schema, p); !persisted {
				t.expectForDropped(want, p)
			}
		}
	}
	return want
}

// expectForPersisted adds the warning about a persisted field.
func (t *transition) expectForPersisted(want *expectation, p position) {
	switch {
	case isDeselected(t.after, t.Schema, p) && !isDeselected(t.after, t.Schema, p.parent()): // no warning by rule U9
	case !isSet(t.after, t.Schema, p.parent()):
		want.must[removed] = true
	case t.config != nil:
		t.expectForApply(want, p)
	default:
		t.expectForUpdate(want, p)
	}
}

// expectForDropped adds the warning about a field that only the request has. If its union cleared it there is none.
func (t *transition) expectForDropped(want *expectation, p position) {
	if isDeselected(t.after, t.Schema, p) {
		want.may[dropped] = true
	} else {
		want.must[dropped] = true
	}
}

// expectForUpdate adds the warning about a field that an update or a patch kept.
func (t *transition) expectForUpdate(want *expectation, p position) {
	value, requested := valueAt(t.requested, t.Schema, p)
	defaulted, _ := valueAt(t.defaulted, t.Schema, p)
	switch {
	case requested && equal(value, t.valueBefore(p)):
	case requested && equal(defaulted, t.valueBefore(p)):
		want.may[kept] = true // it differs only by the defaults inside it
	default:
		want.must[kept] = true
	}
}

// expectForApply adds the warning about a field that an apply kept.
func (t *transition) expectForApply(want *expectation, p position) {
	owners := ownersOf(t.before)
	own := owners[applyEntry(t.step.By, t.step.Subresource)].within(p)
	value, applied := valueAt(t.config, t.Schema, p)
	switch {
	case applied && equal(value, t.valueBefore(p)):
	case applied && t.persistedHasApplied(p):
		want.may[kept] = true // the applier leaves out a part of the field, and may or may not be its only owner
	case applied, len(own) > 0 && !t.hasOtherOwner(owners, p):
		want.must[kept] = true
	case len(own) > 0:
		want.may[kept] = true // the applier gives up a field that it shares
	case !isOwnable(t.valueBefore(p), schemaAt(t.before, t.Schema, p)):
		want.may[kept] = true // without the gate the field is pruned with its ancestors, since nobody can own it
	}
}

func (t *transition) valueBefore(p position) any {
	value, _ := valueAt(t.before, t.Schema, p)
	return value
}

// persistedHasApplied reports whether the persisted field has every value that the applied configuration sets in it.
func (t *transition) persistedHasApplied(p position) bool {
	value, _ := valueAt(t.config, t.Schema, p)
	schema := schemaAt(t.before, t.Schema, p)
	for _, leaf := range leaves(value, schema) {
		old, ok := valueAt(t.valueBefore(p), schema, leaf)
		now, _ := valueAt(value, schema, leaf)
		if !ok || !jsonvalue.Contains(old, now) && !isEmpty(now) { // an atomic value may lack its defaults
			return false
		}
	}
	return true
}

// isEmpty reports whether the value is an empty object or list.
func isEmpty(value any) bool {
	object, isObject := value.(map[string]any)
	list, isList := value.([]any)
	return isObject && len(object) == 0 || isList && len(list) == 0
}

func (t *transition) hasOtherOwner(all owners, p position) bool {
	for entry, fields := range all {
		if entry != applyEntry(t.step.By, t.step.Subresource) && len(fields.within(p)) > 0 {
			return true
		}
	}
	return false
}
