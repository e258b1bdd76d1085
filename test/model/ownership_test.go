// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"strings"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
)

// checkOwnersOfGuarded is rules G7.1 and G7.2 for persisted fields whose gates are disabled: who owned them owns them
// still, and nobody else does, except for the applier.
func checkOwnersOfGuarded(t *transition) error {
	if !t.wrote() || t.before == nil {
		return nil
	}
	before, after := ownersOf(t.before), ownersOf(t.after)
	for text, guard := range t.guards {
		for _, p := range find(t.after, t.Schema, guard.path) {
			for entry := range union(before, after) {
				if err := t.checkOwner(entry, before[entry].in(p), after[entry].in(p), p); err != nil {
					return fmt.Errorf("%w (%s, gate %s)", err, text, guard.gate)
				}
			}
		}
	}
	return nil
}

// checkOwner checks what an entry named of a kept field before and what it names after.
func (t *transition) checkOwner(entry string, before, after fieldSet, p place) error {
	lost, won := before.minus(after), after.minus(before)
	if t.config == nil || entry != applied(t.step.By, t.step.Subresource) {
		if len(lost) > 0 {
			return fmt.Errorf("G7.2: %q owned %v and does no more", entry, lost.texts())
		}
		if len(won) > 0 && !strings.HasPrefix(entry, "before-first-apply ") { // which upstream makes of all that is there
			return fmt.Errorf("G7.1: %q became owner of %v", entry, won.texts())
		}
		return nil
	}
	for _, field := range won {
		old, _ := at(t.before, t.Schema, field)
		if value, named := at(t.config, t.Schema, field); !named || !jsonvalue.Contains(old, value) && !isEmpty(value) {
			return fmt.Errorf("G7.1: the applier became owner of %s, which it does not name with the persisted value", field)
		}
	}
	for _, field := range lost {
		if _, named := at(t.config, t.Schema, field); named && len(after.in(field)) == 0 {
			return fmt.Errorf("G7.2: the applier owned %s, names it and owns it no more", field)
		}
	}
	if _, named := at(t.config, t.Schema, p); !named && len(after) > 0 {
		return fmt.Errorf("G7.2: the applier left %s out and owns %v still", p, after.texts())
	}
	return nil
}

func union(a, b owners) map[string]bool {
	out := map[string]bool{}
	for entry := range a {
		out[entry] = true
	}
	for entry := range b {
		out[entry] = true
	}
	return out
}

// checkOwnersOfGone is rules G7.4 and U8: no entry names a field that the write removed, or a guarded one that is not
// there.
func checkOwnersOfGone(t *transition) error {
	if !t.wrote() {
		return nil
	}
	for entry, fields := range ownersOf(t.after) {
		for _, field := range fields {
			if _, ok := at(t.after, t.Schema, field); ok {
				continue
			}
			if _, was := at(t.before, t.Schema, field); was {
				return fmt.Errorf("G7.4: %q owns %s, which the write removed", entry, field)
			}
			for text, guard := range t.guards {
				if field.below(guard.path) {
					return fmt.Errorf("G7.4: %q owns %s, which is not there; %s is guarded by %s", entry, field, text, guard.gate)
				}
			}
		}
	}
	return nil
}
