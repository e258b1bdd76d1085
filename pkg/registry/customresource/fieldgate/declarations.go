// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"cmp"
	"iter"
	"slices"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
)

// declaration is a path that a gate guards. Unlike a Plan, declarations include all gates, also those that have no
// effect on requests.
type declaration struct {
	path fieldpath.Path
	gate int // the index of the gate in the CRD; in Plan.declare, the index of the guard
}

// declarationsOf returns the declarations of the gates, sorted. Paths that do not parse are left out. Metrics need the
// declarations of all CRDs on every scrape. So no tree is built from the paths, of which each may have 256 steps.
func declarationsOf(gates *apiextensions.CustomResourceDefinitionFeatureGates) []declaration {
	var declared []declaration
	for i := range gates.FeatureGates {
		for _, written := range gates.FeatureGates[i].FieldPaths {
			if path, err := fieldpath.Parse(written); err == nil {
				declared = append(declared, declaration{path, i})
			}
		}
	}
	sortDeclarations(declared)
	return declared
}

// sortDeclarations sorts by path, so that a path comes right before the paths that it is a prefix of. Declarations of
// the same path stay in the order of the CRD. The first one counts.
func sortDeclarations(declared []declaration) {
	slices.SortStableFunc(declared, func(a, b declaration) int {
		return slices.CompareFunc(a.path, b.path, compareSteps)
	})
}

func compareSteps(a, b fieldpath.Step) int {
	switch {
	case a.Each == b.Each:
		return cmp.Compare(a.Name, b.Name)
	case b.Each:
		return -1
	default:
		return 1
	}
}

// byNextStep groups declarations whose paths have the same first steps, depth of them, by the step that follows. It
// leaves out the paths that have no more steps. The declarations are sorted, so each group is a part of the slice.
func byNextStep(declared []declaration, depth int) iter.Seq2[fieldpath.Step, []declaration] {
	return func(yield func(fieldpath.Step, []declaration) bool) {
		start := 0
		for start < len(declared) && len(declared[start].path) == depth {
			start++
		}
		for start < len(declared) {
			step, end := declared[start].path[depth], start+1
			for end < len(declared) && declared[end].path[depth] == step {
				end++
			}
			if !yield(step, declared[start:end]) {
				return
			}
			start = end
		}
	}
}
