// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
)

// checkOwnersOfGuarded checks rules G7.1 and G7.2 for persisted fields whose gates are disabled: a write changes none
// of their owners. An apply may change the entry of its own manager.
func checkOwnersOfGuarded(t *transition) error {
	if !t.wrote() || t.before == nil {
		return nil
	}
	before, after := ownersOf(t.before), ownersOf(t.after)
	for text, guard := range t.guards {
		// Upstream drops entries of other versions with fields that the endpoint does not write.
		if t.TwoVersions && !t.writes(guard) {
			continue
		}
		for _, p := range positionsOf(t.after, t.Schema, guard.path) {
			for entry := range entriesOf(before, after) {
				if err := t.checkEntry(entry, before[entry].within(p), after[entry].within(p), p); err != nil {
					return fmt.Errorf("%w (%s, gate %s)", err, text, guard.gate)
				}
			}
		}
	}
	return nil
}

// writes reports whether the endpoint of the request writes a guarded field.
func (t *transition) writes(g guard) bool {
	return !t.Status || (g.path[0].Name == "status") == (t.step.Subresource == "status")
}

// checkEntry compares what an entry lists of a kept field before and after the write.
func (t *transition) checkEntry(entry string, before, after fieldSet, p position) error {
	lost, won := before.minus(after), after.minus(before)
	if t.config != nil && entry == applyEntry(t.step.By, t.step.Subresource) {
		return t.checkApplier(lost, won, after, p)
	}
	if len(lost) > 0 {
		return fmt.Errorf("G7.2: entry %q lost %v", entry, lost.texts())
	}
	// Upstream makes an entry before-first-apply of all that is in the object.
	if len(won) > 0 && !strings.HasPrefix(entry, "before-first-apply ") {
		return fmt.Errorf("G7.1: entry %q became owner of %v", entry, won.texts())
	}
	return nil
}

// checkApplier checks the entry of the manager that applies. It may become owner of fields that it applies with their
// persisted value. It stays owner exactly of the fields that it still applies.
func (t *transition) checkApplier(lost, won, after fieldSet, p position) error {
	for _, field := range won {
		old, _ := valueAt(t.before, t.Schema, field)
		if value, applied := valueAt(t.config, t.Schema, field); !applied || !jsonvalue.Contains(old, value) && !isEmpty(value) {
			return fmt.Errorf("G7.1: the applier became owner of %s without applying the persisted value", field)
		}
	}
	for _, field := range lost {
		value, applied := valueAt(t.config, t.Schema, field)
		if applied && isOwnable(value, schemaAt(t.config, t.Schema, field)) && len(after.within(field)) == 0 {
			return fmt.Errorf("G7.2: the applier lost %s, which it applies", field)
		}
	}
	if _, applied := valueAt(t.config, t.Schema, p); !applied && len(after) > 0 {
		return fmt.Errorf("G7.2: the applier left %s out and still owns %v", p, after.texts())
	}
	return nil
}

// isOwnable reports whether an entry lists the value or a field inside it, if the value is applied. Upstream lists the
// items of a list map or set, but not the list itself, so an empty one is not ownable.
func isOwnable(value any, s *schemaProps) bool {
	switch value := value.(type) {
	case []any:
		isAtomic := s == nil || s.XListType == nil || *s.XListType == "atomic"
		return isAtomic || len(value) > 0
	case map[string]any:
		isAtomic := s != nil && s.XMapType != nil && *s.XMapType == "atomic"
		return isAtomic || len(value) == 0 || slices.ContainsFunc(children(value, s), func(c child) bool {
			return isOwnable(c.value, c.schema)
		})
	}
	return true
}

// entriesOf returns the keys of the entries in either of two sets.
func entriesOf(a, b owners) map[string]bool {
	out := map[string]bool{}
	for entry := range a {
		out[entry] = true
	}
	for entry := range b {
		out[entry] = true
	}
	return out
}

// checkNoOwnersOfAbsent checks rules G7.4 and U8: no entry lists a field that the write removed, or a guarded field
// that is absent.
func checkNoOwnersOfAbsent(t *transition) error {
	if !t.wrote() {
		return nil
	}
	for entry, fields := range ownersOf(t.after) {
		for _, field := range fields {
			if _, ok := valueAt(t.after, t.Schema, field); ok {
				continue
			}
			if _, was := valueAt(t.before, t.Schema, field); was {
				return fmt.Errorf("G7.4: entry %q owns %s, which the write removed", entry, field)
			}
			for text, guard := range t.guards {
				if field.isAtOrBelow(guard.path) {
					return fmt.Errorf("G7.4: entry %q owns %s, which is absent and guarded as %s by gate %s", entry, field, text, guard.gate)
				}
			}
		}
	}
	return nil
}
