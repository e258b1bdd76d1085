// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"fmt"

	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
)

// effect is a set of bits that says what an evaluation did to the fields of a guard. Fields of different items may
// differ.
type effect uint8

const (
	dropped    effect = 1 << iota // the field was not persisted, and is not set
	kept                          // the field stays as it was persisted
	deprecated                    // the field is enabled and deprecated, and the request set or changed it
	removed                       // the field was persisted, and was removed along with a value around it
)

// Action is what an evaluation did to the fields under a guarded path, as metrics and audit annotations show it (rules
// V1, V2).
type Action string

// The actions. A path has one action, even if the fields of different items were treated differently. Removed comes
// first, since it cannot be undone while the gate is disabled. Then comes Kept, then Dropped (rule G10).
const (
	Dropped    Action = "dropped"
	Kept       Action = "kept"
	Removed    Action = "removed"
	Deprecated Action = "deprecated"
)

// Result is the result of an evaluation.
type Result struct {
	plan    *Plan
	effects []effect // by the index of the guard
	// ancestors has, by the index of the guard, how many steps above the removed field the value is that the request
	// removed.
	ancestors map[int]int
	root      map[string]any // Write.Object
	changes   []change       // the changes to Write.Object
}

// Outcome says what happened to the fields under one guarded path.
type Outcome struct {
	// Path is the path as written in the gate.
	Path string
	// Gate is the name of the gate.
	Gate string
	// QualifiedName is the name of the gate in warnings.
	QualifiedName string
	// Action is what the evaluation did.
	Action Action

	gate *apiextensions.CustomResourceDefinitionFeatureGate
	// steps is how many steps above the field the value is that the request removed.
	steps int
}

// Outcomes returns the outcomes to report, at most one for each path, in the order of the paths in the CRD. The nil
// Result has none.
func (r *Result) Outcomes() []Outcome {
	if r == nil {
		return nil
	}
	var outcomes []Outcome
	for i, g := range r.plan.guards {
		if action := r.effects[i].action(); action != "" {
			outcomes = append(outcomes, Outcome{
				Path: g.path, Gate: g.gate.Name, QualifiedName: r.plan.gates.QualifiedName(g.gate), Action: action,
				gate: g.gate, steps: r.ancestors[i],
			})
		}
	}
	return outcomes
}

// action returns the action for a set of effects, or "" if it is empty.
func (e effect) action() Action {
	switch {
	case e&removed != 0:
		return Removed
	case e&kept != 0:
		return Kept
	case e&dropped != 0:
		return Dropped
	case e&deprecated != 0:
		return Deprecated
	default:
		return ""
	}
}

// With adds the effects of another evaluation of the same write, by the same plan, and returns the sum. Either Result
// may be nil. The Requested object stays that of r.
func (r *Result) With(other *Result) *Result {
	switch {
	case other == nil:
		return r
	case r == nil:
		r = &Result{plan: other.plan, effects: make([]effect, len(other.effects))}
	}
	for i, effect := range other.effects {
		r.effects[i] |= effect
	}
	if r.ancestors == nil {
		r.ancestors = other.ancestors
	}
	return r
}

// Dropped reports whether any field was dropped.
func (r *Result) Dropped() bool {
	if r == nil {
		return false
	}
	for _, effect := range r.effects {
		if effect&dropped != 0 {
			return true
		}
	}
	return false
}

// RetainDropsOf removes the effect dropped from r at each path at which sent does not have it. sent is the result of
// the same plan for the object as the client sent it, or nil.
func (r *Result) RetainDropsOf(sent *Result) {
	for i, effect := range r.effects {
		if sent == nil || sent.effects[i]&dropped == 0 {
			r.effects[i] = effect &^ dropped
		}
	}
}

// Warnings returns the warnings for outcomes, at most one for each path, in the order of the paths in the CRD (rule
// G10). They are without the prefix that clients add.
func Warnings(outcomes []Outcome) []string {
	var warnings []string
	// The last gate whose own deprecation warning was added. The paths of a gate are adjacent, so each comes once.
	var warned *apiextensions.CustomResourceDefinitionFeatureGate
	for _, o := range outcomes {
		own := ptr.Deref(o.gate.FieldDeprecationWarning, "")
		switch {
		case o.Action == Kept:
			warnings = append(warnings, fmt.Sprintf("%s: not updated: feature gate %q is disabled", o.Path, o.QualifiedName))
		case o.Action == Dropped:
			warnings = append(warnings, fmt.Sprintf("%s: dropped: feature gate %q is disabled", o.Path, o.QualifiedName))
		case o.Action == Removed:
			warnings = append(warnings, fmt.Sprintf("%s: removed with %s: feature gate %q is disabled", o.Path, o.ancestor(), o.QualifiedName))
		case own == "":
			warnings = append(warnings, o.Path+": deprecated field")
		case o.gate != warned:
			warnings = append(warnings, own)
			warned = o.gate
		}
	}
	return warnings
}

// ancestor returns the value that the field was removed with, as warnings name it: by its path, or as an item of the
// list or map around it.
func (o *Outcome) ancestor() string {
	path, err := fieldpath.Parse(o.Path)
	if err != nil || o.steps >= len(path) {
		return o.Path // not reached: paths of a plan parse, and are longer than steps
	}
	path = path[:len(path)-o.steps]
	if last := len(path) - 1; path[last].Each {
		return "an item of " + path[:last].String()
	}
	return path.String()
}
