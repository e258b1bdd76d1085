// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import "fmt"

// effect is what an evaluation did at a guard, a set of bits: items under one path may differ.
type effect uint8

const (
	dropped    effect = 1 << iota // the field was not persisted and is not set
	kept                          // the field stays as it was persisted
	deprecated                    // the field is enabled, deprecated, and was set or changed
)

// Result is what an evaluation did, by guarded path.
type Result struct {
	guards  []guard
	effects []effect // of the guard with the same index
}

// Warnings returns what the client is told, in the order of the paths in the CRD and at most once per path
// (rule G10), without the prefix that clients add. The nil Result has none.
func (r *Result) Warnings() []string {
	if r == nil {
		return nil
	}
	var warnings []string
	var warned *gate // the gate whose own deprecation warning was given last; the paths of a gate are neighbors
	for i, g := range r.guards {
		switch what := r.effects[i]; {
		case what&kept != 0:
			warnings = append(warnings, fmt.Sprintf("%s: not updated: feature gate %q is disabled", g.path, g.gate.name))
		case what&dropped != 0:
			warnings = append(warnings, fmt.Sprintf("%s: dropped: feature gate %q is disabled", g.path, g.gate.name))
		case what&deprecated != 0 && g.gate.deprecationWarning == "":
			warnings = append(warnings, g.path+": deprecated field")
		case what&deprecated != 0 && g.gate != warned:
			warnings = append(warnings, g.gate.deprecationWarning)
			warned = g.gate
		}
	}
	return warnings
}
