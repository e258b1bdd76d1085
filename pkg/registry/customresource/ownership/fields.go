// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"k8s.io/apiextensions-apiserver/pkg/fairleadline"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
)

// correction is a walk over what an entry said before the request and what field management made of it.
type correction struct {
	after, before *fairleadline.Set
}

// correct returns the fields that the entry should have. applier is nil unless the entry is that of the request.
func (c correction) correct(objects states, applier *Applier) *fairleadline.Set {
	root := at{states: objects}
	if applier != nil {
		root.applier = &configurationAt{
			sent: newValue(applier.Configuration), adjusted: newValue(applier.Adjusted), known: applier.DisabledFields != nil,
		}
		root.applier.cursor = ptr.Deref(applier.DisabledFields, fieldgate.Cursor{})
	}
	return c.fields(root)
}

// states are the values at the same position of Objects.
type states struct{ old, requested, final value }

func statesOf(objects *Objects) states {
	return states{old: newValue(objects.Old), requested: newValue(objects.Requested), final: newValue(objects.Final)}
}

func (s states) below(pe fairleadline.PathElement) states {
	return states{old: s.old.below(pe), requested: s.requested.below(pe), final: s.final.below(pe)}
}

// at is the same position in all objects.
type at struct {
	states
	applier *configurationAt // nil unless the entry is that of the request
}

// configurationAt is the same position in the applied configurations.
type configurationAt struct {
	sent, adjusted value
	// known reports whether the paths of the gates apply in this version, so that cursor is known.
	known  bool
	cursor fieldgate.Cursor
	// disabled reports whether the position is at or below a disabled field.
	disabled bool
}

// isGuarded reports whether a disabled gate guards the field, given that its configuration was adjusted. If the paths of
// the gates do not apply in this version, any field is taken for guarded that the configuration sets to a value.
func (c *configurationAt) isGuarded(leaf bool) bool {
	return c.disabled || (!c.known && leaf)
}

// namesExactly reports whether field management applied what the manager sent, but for disabled fields: then who named a
// field owns it, and who did not does not.
func (c *configurationAt) namesExactly() bool {
	return c != nil && c.known
}

func (a at) below(pe fairleadline.PathElement) at {
	below := at{states: a.states.below(pe)}
	if c := a.applier; c != nil {
		cursor := c.cursor.Item()
		if pe.FieldName != nil {
			cursor = c.cursor.Field(*pe.FieldName)
		}
		below.applier = &configurationAt{
			sent: c.sent.below(pe), adjusted: c.adjusted.below(pe), known: c.known,
			cursor: cursor, disabled: c.disabled || cursor.IsDisabled(),
		}
	}
	return below
}

// isUntouched reports whether field management saw at this position what will be persisted, and what its manager sent.
func (a at) isUntouched() bool {
	return a.requested.equal(a.final) && !a.isAdjusted()
}

// isAdjusted reports whether field management applied something else for a disabled field than the manager sent.
func (a at) isAdjusted() bool {
	return a.applier != nil && !a.applier.sent.equal(a.applier.adjusted)
}

// owns reports whether the entry owns the field at this position, given whether it did before and after field management,
// and whether it is a leaf: one that has no fields below it in the entry.
func (a at) owns(after, before, leaf bool) bool {
	kept := before && (a.applier == nil || a.applier.sent.isSet())
	switch {
	case a.isAdjusted() && (a.applier.isGuarded(leaf) || !a.applier.sent.present):
		return kept && a.final.present // the request did not change it, so nobody becomes its owner (rule G7.1)
	case a.requested.equal(a.final):
		return after
	case !a.final.present, a.final.isZero() && !a.old.present:
		return false // rules G7.4, U8
	case a.final.equal(a.old) && !a.applier.namesExactly():
		return kept // rules G7.1, G7.2
	}
	return after
}

// fields returns the fields of the entry below a position.
func (c correction) fields(here at) *fairleadline.Set {
	out := fairleadline.NewSet()
	for pe := range c.elements().All() {
		below := here.below(pe)
		inside := correction{after: childOf(c.after, pe), before: childOf(c.before, pe)}
		wasMember, isMember := c.before.Members.Has(pe), c.after.Members.Has(pe)
		if (wasMember || isMember) && below.owns(isMember, wasMember, inside.after.Empty()) {
			out.Members.Insert(pe)
		}
		if fields := inside.fieldsOf(below); !fields.Empty() {
			*out.Children.Descend(pe) = *fields
		} else if !inside.after.Empty() && below.isEmptied() {
			out.Members.Insert(pe)
		}
	}
	return out
}

func (c correction) fieldsOf(here at) *fairleadline.Set {
	if c.after.Empty() && c.before.Empty() || here.isUntouched() {
		return c.after
	}
	return c.fields(here)
}

// isEmptied reports whether the request wrote an object of which nothing remained but the object itself. Who wrote it
// owns it, as if the client had written it empty (rule G3). An update writes an object only where there was none.
func (a at) isEmptied() bool {
	return a.final.isEmptyObject() && !a.requested.equal(a.final) && (a.applier != nil || !a.old.isObject())
}

// elements returns the path elements of both sets, each of them once. Sets are sorted, so that this takes linear time.
func (c correction) elements() *fairleadline.PathElementSet {
	return elementsOf(c.after).Union(elementsOf(c.before))
}

func elementsOf(set *fairleadline.Set) *fairleadline.PathElementSet {
	var parents fairleadline.PathElementSet
	set.Children.Iterate(parents.Insert)
	return set.Members.Union(&parents)
}

func childOf(set *fairleadline.Set, pe fairleadline.PathElement) *fairleadline.Set {
	if child, found := set.Children.Get(pe); found {
		return child
	}
	return fairleadline.NewSet()
}
