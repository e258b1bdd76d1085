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

// TestC8EffectiveStatesAreThoseOfThePathsAround compares EffectiveStates with a literal implementation of rules C1 and
// C8, on random gates. Several of them may guard the same path.
func TestC8EffectiveStatesAreThoseOfThePathsAround(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 1))
	for range 3000 {
		gates := &apiextensions.CustomResourceDefinitionFeatureGates{}
		for i := range 1 + random.IntN(6) {
			gates.FeatureGates = append(gates.FeatureGates, randomGate(random, fmt.Sprintf("G%d", i)))
		}
		if diff := cmp.Diff(statesByPrefix(gates), EffectiveStates(gates)); diff != "" {
			t.Fatalf("%v (-want +got):\n%s", gates.FeatureGates, diff)
		}
	}
}

func randomGate(random *rand.Rand, name string) apiextensions.CustomResourceDefinitionFeatureGate {
	steps := []string{".a", ".b", "[*]", "['']", "['*']"}
	gate := apiextensions.CustomResourceDefinitionFeatureGate{Name: name, PreRelease: apiextensions.PreReleaseBeta}
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
	return gate
}

// statesByPrefix returns the effective states. A gate is enabled if for one of its paths, the first gate of each prefix
// of the path is enabled.
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
			isEffective := gates.FeatureGates[i].IsEnabled()
			for other, isEnabled := range enabled {
				isPrefix := path == other || strings.HasPrefix(path, other+".") || strings.HasPrefix(path, other+"[")
				isEffective = isEffective && (isEnabled || !isPrefix)
			}
			states[i] = states[i] || isEffective
		}
	}
	return states
}

// TestR3LongPathsCostNoMoreThanTheirText bounds the allocations for the longest paths. Metrics need the states of all
// gates of all CRDs on every scrape, and a path of 512 bytes may have 256 steps.
func TestR3LongPathsCostNoMoreThanTheirText(t *testing.T) {
	const paths, steps, perPath = 128, 250, 16
	gates := alphaGate()
	gate := &gates.FeatureGates[0]
	gate.PreRelease = apiextensions.PreReleaseBeta
	for i := range paths {
		gate.FieldPaths = append(gate.FieldPaths, fmt.Sprintf(".x%03d", i)+strings.Repeat(".a", steps))
	}
	if got := testing.AllocsPerRun(5, func() { EffectiveStates(gates) }); got > paths*perPath {
		t.Errorf("R3: %.0f allocations for %d paths of %d steps", got, paths, steps+1)
	}
}
