// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/line"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
)

// correction corrects the fields of one entry, or of a part of it. after are the fields after field management, and
// before those before it.
type correction struct {
	after, before *line.Set
}

// correct returns the corrected fields of the entry. applier is nil unless the entry is that of the applier.
func (c correction) correct(objects states, applier *Applier) *line.Set {
	root := position{states: objects}
	if applier != nil {
		root.applier = &configurations{
			sent: newValue(applier.Configuration), adjusted: newValue(applier.Adjusted),
			pathsApply: applier.DisabledFields != nil,
		}
		root.applier.cursor = ptr.Deref(applier.DisabledFields, fieldgate.Cursor{})
	}
	return c.fields(root)
}

// states are the values at one position of Objects.
type states struct{ old, requested, final value }

func statesOf(objects *Objects) states {
	return states{old: newValue(objects.Old), requested: newValue(objects.Requested), final: newValue(objects.Final)}
}

func (s states) below(pe line.PathElement) states {
	return states{old: s.old.below(pe), requested: s.requested.below(pe), final: s.final.below(pe)}
}

// position is a position in the object, with the values there.
type position struct {
	states
	applier *configurations // nil unless the entry is that of the applier
}

// configurations are the values at one position of the applied configurations.
type configurations struct {
	sent, adjusted value
	// pathsApply reports whether the paths of the gates apply in the version of the configuration. If not, cursor is
	// empty.
	pathsApply bool
	cursor     fieldgate.Cursor
	// disabled reports whether the position is at or below a disabled field.
	disabled bool
}

// isGuarded reports whether a disabled gate guards a field whose configuration was adjusted. If the paths of the gates
// do not apply, every adjusted leaf counts as guarded.
func (c *configurations) isGuarded(leaf bool) bool {
	return c.disabled || (!c.pathsApply && leaf)
}

// areExact reports whether field management applied the configuration in the request, except for disabled fields. Then
// the applier owns exactly the fields in its configuration.
func (c *configurations) areExact() bool {
	return c != nil && c.pathsApply
}

func (p position) below(pe line.PathElement) position {
	below := position{states: p.states.below(pe)}
	if c := p.applier; c != nil {
		cursor := c.cursor.Item()
		if pe.FieldName != nil {
			cursor = c.cursor.Field(*pe.FieldName)
		}
		below.applier = &configurations{
			sent: c.sent.below(pe), adjusted: c.adjusted.below(pe), pathsApply: c.pathsApply,
			cursor: cursor, disabled: c.disabled || cursor.IsDisabled(),
		}
	}
	return below
}

// isUnchanged reports whether field management saw the final value at this position, and applied the value in the
// request.
func (p position) isUnchanged() bool {
	return p.requested.equal(p.final) && !p.isAdjusted()
}

// isAdjusted reports whether the configuration at this position was adjusted.
func (p position) isAdjusted() bool {
	return p.applier != nil && !p.applier.sent.equal(p.applier.adjusted)
}

// owns reports whether the entry owns the field at this position. after and before report whether it did so after and
// before field management. leaf reports whether the entry has no fields below this one.
func (p position) owns(after, before, leaf bool) bool {
	retained := before && (p.applier == nil || p.applier.sent.isSet())
	switch {
	case p.isAdjusted() && (p.applier.isGuarded(leaf) || !p.applier.sent.present):
		return retained && p.final.present // the request did not change it, so nobody becomes its owner (rule G7.1)
	case p.requested.equal(p.final):
		return after
	case !p.final.present, p.final.isZero() && !p.old.present:
		return false // rules G7.4, U8
	case p.final.equal(p.old) && !p.applier.areExact():
		return retained // rules G7.1, G7.2
	}
	return after
}

// fields returns the corrected fields of the entry below a position.
func (c correction) fields(p position) *line.Set {
	out := line.NewSet()
	c.elements().Iterate(func(pe line.PathElement) {
		below := p.below(pe)
		inside := correction{after: childOf(c.after, pe), before: childOf(c.before, pe)}
		wasMember, isMember := c.before.Members.Has(pe), c.after.Members.Has(pe)
		if (wasMember || isMember) && below.owns(isMember, wasMember, inside.after.Empty()) {
			out.Members.Insert(pe)
		}
		if fields := inside.fieldsIfChanged(below); !fields.Empty() {
			*out.Children.Descend(pe) = *fields
		} else if !inside.after.Empty() && below.isEmptied() {
			out.Members.Insert(pe)
		}
	})
	return out
}

// fieldsIfChanged returns the corrected fields, or those after field management if there is nothing to correct.
func (c correction) fieldsIfChanged(p position) *line.Set {
	if c.after.Empty() && c.before.Empty() || p.isUnchanged() {
		return c.after
	}
	return c.fields(p)
}

// isEmptied reports whether the request wrote an object that the gates or normalization emptied. The manager that wrote
// it owns it, as if the request had an empty object (rule G3). An update writes an object only if none was persisted.
func (p position) isEmptied() bool {
	return p.final.isEmptyObject() && !p.requested.equal(p.final) && (p.applier != nil || !p.old.isObject())
}

// elements returns the path elements of both sets. Sets are sorted, so this takes linear time.
func (c correction) elements() *line.PathElementSet {
	return elementsOf(c.after).Union(elementsOf(c.before))
}

func elementsOf(set *line.Set) *line.PathElementSet {
	var parents line.PathElementSet
	set.Children.Iterate(parents.Insert)
	return set.Members.Union(&parents)
}

func childOf(set *line.Set, pe line.PathElement) *line.Set {
	if child, found := set.Children.Get(pe); found {
		return child
	}
	return line.NewSet()
}
