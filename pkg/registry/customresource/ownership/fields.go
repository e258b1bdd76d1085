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
			sent: newValue(applier.Configuration), settled: newValue(applier.Settled), known: applier.Guarded != nil,
		}
		root.applier.guarded = ptr.Deref(applier.Guarded, fieldgate.Place{})
	}
	return c.fields(root)
}

// states are the values at the same place of Objects.
type states struct{ old, asked, final value }

func statesOf(objects *Objects) states {
	return states{old: newValue(objects.Old), asked: newValue(objects.Asked), final: newValue(objects.Final)}
}

func (s states) below(pe fairleadline.PathElement) states {
	return states{old: s.old.below(pe), asked: s.asked.below(pe), final: s.final.below(pe)}
}

// at is the same place in all objects.
type at struct {
	states
	applier *configurationAt // nil unless the entry is that of the request
}

// configurationAt is the same place in the applied configurations.
type configurationAt struct {
	sent, settled value
	// known reports whether disabled fields are known by their places in this version.
	known   bool
	guarded fieldgate.Place
	// disabled reports whether the place is, or is in, a disabled field.
	disabled bool
}

// isGuarded reports whether a disabled gate guards the field at this place, for a field whose configuration was settled.
// Where places are not known it is a field that the configuration names with a value.
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
		guarded := c.guarded.Item()
		if pe.FieldName != nil {
			guarded = c.guarded.Field(*pe.FieldName)
		}
		below.applier = &configurationAt{
			sent: c.sent.below(pe), settled: c.settled.below(pe), known: c.known,
			guarded: guarded, disabled: c.disabled || guarded.IsDisabled(),
		}
	}
	return below
}

// isUntouched reports whether field management saw at this place what will be persisted, and what its manager sent.
func (a at) isUntouched() bool {
	return a.asked.equal(a.final) && !a.isSettled()
}

// isSettled reports whether field management applied something else for a disabled field than the manager sent.
func (a at) isSettled() bool {
	return a.applier != nil && !a.applier.sent.equal(a.applier.settled)
}

// owns reports whether the entry owns the field at this place, given whether it did before and after field management,
// and whether it is a leaf: one that has no fields below it in the entry.
func (a at) owns(after, before, leaf bool) bool {
	kept := before && (a.applier == nil || a.applier.sent.isSet())
	switch {
	case a.isSettled() && (a.applier.isGuarded(leaf) || !a.applier.sent.present):
		return kept && a.final.present // the request did not change it, so nobody becomes its owner (rule G7.1)
	case a.asked.equal(a.final):
		return after
	case !a.final.present, a.final.isZero() && !a.old.present:
		return false // rules G7.4, U8
	case a.final.equal(a.old) && !a.applier.namesExactly():
		return kept // rules G7.1, G7.2
	}
	return after
}

// fields returns the fields of the entry below a place.
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
	return a.final.isEmptyObject() && !a.asked.equal(a.final) && (a.applier != nil || !a.old.isObject())
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
