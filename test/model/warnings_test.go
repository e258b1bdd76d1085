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

// action is what the server says that it did about a path of a gate (rule G10).
type action string

const (
	kept    action = "not updated"
	dropped action = "dropped"
	removed action = "removed with"
)

// expectation is what must be said of a path: one of the actions, or also nothing if it may be silent.
type expectation struct {
	actions map[action]bool
	silent  bool
}

func (e *expectation) must(a action) { e.actions[a], e.silent = true, false }

// may allows an action where the contract leaves open whether the client is told.
func (e *expectation) may(a action) {
	e.silent = e.silent || len(e.actions) == 0
	e.actions[a] = true
}

// checkWarnings is rule G10: one warning for each path where the request and the outcome differ, and no other.
func checkWarnings(t *transition) error {
	if !t.answer.ok() || t.dryRun {
		return nil
	}
	said, err := t.said()
	if err != nil {
		return err
	}
	for _, text := range slices.Sorted(maps.Keys(t.guards)) {
		want, got := t.expectation(t.guards[text]), said[text]
		switch {
		case got == "" && len(want.actions) > 0 && !want.silent:
			return fmt.Errorf("G10: no warning about %s, want %v", text, slices.Sorted(maps.Keys(want.actions)))
		case got != "" && !want.actions[got]:
			return fmt.Errorf("G10: a warning that %s was %s, want %v", text, got, slices.Sorted(maps.Keys(want.actions)))
		case got == dropped && want.actions[kept] && !want.silent:
			return fmt.Errorf("G10: a warning that %s was dropped, though a persisted value was kept", text)
		}
	}
	return nil
}

// said returns the actions that the warnings tell of, by the path of the gate.
func (t *transition) said() (map[string]action, error) {
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
			return nil, fmt.Errorf("G10: a warning in other words: %s", warning)
		}
		for _, a := range []action{kept, dropped, removed} {
			if strings.HasPrefix(text, string(a)) {
				out[path] = a
			}
		}
	}
	return out, nil
}

// expectation returns what must be said of a path.
func (t *transition) expectation(g guard) *expectation {
	want := &expectation{actions: map[action]bool{}}
	for _, p := range find(t.before, t.Schema, g.path) {
		switch {
		case deselected(t.after, t.Schema, p) && !deselected(t.after, t.Schema, p.parent()): // rule U9
		case !isThere(t.after, t.Schema, p.parent()):
			want.must(removed)
		case t.config != nil:
			t.expectOfApply(want, p)
		default:
			t.expectOfUpdate(want, p)
		}
	}
	for _, object := range []map[string]any{t.asked, t.config} {
		for _, p := range find(object, t.Schema, g.path) {
			switch _, ok := at(t.before, t.Schema, p); {
			case ok:
			case deselected(t.after, t.Schema, p):
				want.may(dropped) // unless its union cleared it
			default:
				want.must(dropped)
			}
		}
	}
	return want
}

// expectOfUpdate adds what must be said of a field that an update or a patch left as it is.
func (t *transition) expectOfUpdate(want *expectation, p place) {
	value, sent := at(t.asked, t.Schema, p)
	defaulted, _ := at(t.defaulted, t.Schema, p)
	switch {
	case sent && equal(value, t.valueBefore(p)):
	case sent && equal(defaulted, t.valueBefore(p)):
		want.may(kept) // it differs by defaults inside of it
	default:
		want.must(kept)
	}
}

// expectOfApply adds what must be said of a field that an apply left as it is.
func (t *transition) expectOfApply(want *expectation, p place) {
	owners := ownersOf(t.before)
	own := owners[applied(t.step.By, t.step.Subresource)].in(p)
	value, named := at(t.config, t.Schema, p)
	switch {
	case named && equal(value, t.valueBefore(p)):
	case named && t.holds(p):
		want.may(kept) // it leaves out a part, which it may or may not own alone
	case named, len(own) > 0 && !t.hasOtherOwner(owners, p):
		want.must(kept)
	case len(own) > 0:
		want.may(kept) // it stops to share the field
	}
}

func (t *transition) valueBefore(p place) any {
	value, _ := at(t.before, t.Schema, p)
	return value
}

// holds reports whether the persisted field has all that the configuration names of it.
func (t *transition) holds(p place) bool {
	value, _ := at(t.config, t.Schema, p)
	schema := schemaAt(t.before, t.Schema, p)
	for _, leaf := range leaves(value, schema) {
		old, ok := at(t.valueBefore(p), schema, leaf)
		now, _ := at(value, schema, leaf)
		if !ok || !jsonvalue.Contains(old, now) && !isEmpty(now) { // what is in one value may lack its defaults
			return false
		}
	}
	return true
}

func isEmpty(value any) bool {
	object, isObject := value.(map[string]any)
	list, isList := value.([]any)
	return isObject && len(object) == 0 || isList && len(list) == 0
}

// schemaAt returns the schema of what is at a place.
func schemaAt(object any, s *schemaProps, p place) *schemaProps {
	for _, element := range p {
		for _, c := range children(object, s) {
			if c.element == element {
				object, s = c.value, c.schema
				break
			}
		}
	}
	return s
}

func (t *transition) hasOtherOwner(all owners, p place) bool {
	for entry, fields := range all {
		if entry != applied(t.step.By, t.step.Subresource) && len(fields.in(p)) > 0 {
			return true
		}
	}
	return false
}
