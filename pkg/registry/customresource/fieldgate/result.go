// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"fmt"

	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
)

// effect is what an evaluation did at a guard, a set of bits: items under one path may differ.
type effect uint8

const (
	dropped    effect = 1 << iota // the field was not persisted and is not set
	kept                          // the field stays as it was persisted
	deprecated                    // the field is enabled, deprecated, and was set or changed
	removed                       // the field was persisted and went with what was around it
)

// Action is what became of a guarded field, in the words of metrics and audit annotations (rules V1, V2).
type Action string

// The actions. A path has one of them: where items under one path were both kept and dropped they count as kept, and
// where one was removed as removed, since that cannot be undone while the gate is disabled (rule G10).
const (
	Dropped    Action = "dropped"
	Kept       Action = "kept"
	Removed    Action = "removed"
	Deprecated Action = "deprecated"
)

// Result is what an evaluation did, by guarded path.
type Result struct {
	plan    *Plan
	effects []effect // of the guard with the same index
	// ancestors has, by guard, how many steps above a removed field the value is that was removed.
	ancestors map[int]int
	// root is the object, changes are those that were made to it.
	root    map[string]any
	changes []change
}

// Outcome is what became of the fields under one guarded path.
type Outcome struct {
	// Path is as written in the gate.
	Path string
	// Gate is the name of the gate.
	Gate string
	// QualifiedName is how warnings name the gate.
	QualifiedName string
	// Action is what was done.
	Action Action

	gate *apiextensions.CustomResourceDefinitionFeatureGate
	// steps is how far above the field the value is that was removed.
	steps int
}

// Outcomes returns what there is to report, at most one per path, in the order of the paths in the CRD. The nil
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

// With returns what two evaluations of the same write by the same plan did. The object of the write is that of r.
func (r *Result) With(other *Result) *Result {
	switch {
	case other == nil:
		return r
	case r == nil:
		r = &Result{plan: other.plan, effects: make([]effect, len(other.effects))}
	}
	for i, what := range other.effects {
		r.effects[i] |= what
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
	for _, what := range r.effects {
		if what&dropped != 0 {
			return true
		}
	}
	return false
}

// RetainDropsOf removes from the result the drops that are not in sent, the result of an evaluation of what the client
// sent by the same plan.
func (r *Result) RetainDropsOf(sent *Result) {
	for i, what := range r.effects {
		if sent == nil || sent.effects[i]&dropped == 0 {
			r.effects[i] = what &^ dropped
		}
	}
}

// Warnings returns what the client is told, in the order of the paths in the CRD and at most once per path
// (rule G10), without the prefix that clients add. The nil Result has none.
func (r *Result) Warnings() []string {
	return Warnings(r.Outcomes())
}

// Warnings returns what the client is told of outcomes.
func Warnings(outcomes []Outcome) []string {
	var warnings []string
	// The gate whose own deprecation warning was given last; the paths of a gate are neighbors.
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

// ancestor returns what the field was removed with: the path of an object around it, or an item or value of one.
func (o *Outcome) ancestor() string {
	path, err := fieldpath.Parse(o.Path)
	if err != nil || o.steps >= len(path) {
		return o.Path // no plan has such an outcome
	}
	path = path[:len(path)-o.steps]
	if last := len(path) - 1; path[last].Each {
		return "an item of " + path[:last].String()
	}
	return path.String()
}
