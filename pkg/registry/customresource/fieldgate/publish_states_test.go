// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
)

// TestC8EffectiveStatesAreThoseOfThePathsAround (rules C1, C8) compares EffectiveStates with the rule, read literally, on
// random gates, of which several may guard one path.
func TestC8EffectiveStatesAreThoseOfThePathsAround(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 1))
	steps := []string{".a", ".b", "[*]", "['']", "['*']"}
	for range 3000 {
		gates := &apiextensions.CustomResourceDefinitionFeatureGates{}
		for i := range 1 + random.IntN(6) {
			gate := apiextensions.CustomResourceDefinitionFeatureGate{Name: fmt.Sprintf("G%d", i), PreRelease: apiextensions.PreReleaseBeta}
			if random.IntN(3) == 0 {
				gate.PreRelease = apiextensions.PreReleaseAlpha
			}
			for range random.IntN(4) {
				path := []string{".x"}
				for range random.IntN(4) {
					path = append(path, steps[random.IntN(len(steps))])
				}
				gate.FieldPaths = append(gate.FieldPaths, strings.Join(path, ""))
			}
			gates.FeatureGates = append(gates.FeatureGates, gate)
		}
		if diff := cmp.Diff(statesByPrefix(gates), EffectiveStates(gates)); diff != "" {
			t.Fatalf("%v (-want +got):\n%s", gates.FeatureGates, diff)
		}
	}
}

// statesByPrefix looks for a path of each gate such that the first gate of no path that it begins with is disabled.
func statesByPrefix(gates *apiextensions.CustomResourceDefinitionFeatureGates) []bool {
	enabled := map[string]bool{}
	for i := range gates.FeatureGates {
		for _, path := range gates.FeatureGates[i].FieldPaths {
			if _, found := enabled[path]; !found {
				enabled[path] = gates.FeatureGates[i].IsEnabled()
			}
		}
	}
	states := make([]bool, len(gates.FeatureGates))
	for i := range gates.FeatureGates {
		for _, path := range gates.FeatureGates[i].FieldPaths {
			open := gates.FeatureGates[i].IsEnabled()
			for around, isEnabled := range enabled {
				leadsOn := path == around || strings.HasPrefix(path, around+".") || strings.HasPrefix(path, around+"[")
				open = open && (isEnabled || !leadsOn)
			}
			states[i] = states[i] || open
		}
	}
	return states
}

// TestR3LongPathsCostNoMoreThanTheirText: metrics ask for the states of all gates of all CRDs, and a path of 512 bytes may
// have 256 steps.
func TestR3LongPathsCostNoMoreThanTheirText(t *testing.T) {
	const paths, steps, perPath = 128, 250, 16
	gate := apiextensions.CustomResourceDefinitionFeatureGate{Name: "G", PreRelease: apiextensions.PreReleaseBeta}
	for i := range paths {
		gate.FieldPaths = append(gate.FieldPaths, fmt.Sprintf(".x%03d", i)+strings.Repeat(".a", steps))
	}
	gates := &apiextensions.CustomResourceDefinitionFeatureGates{
		FeatureGates: []apiextensions.CustomResourceDefinitionFeatureGate{gate},
	}
	if got := testing.AllocsPerRun(5, func() { EffectiveStates(gates) }); got > paths*perPath {
		t.Errorf("%.0f allocations for %d paths of %d steps", got, paths, steps+1)
	}
}
