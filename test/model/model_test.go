// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// perDeclaration is how many sequences one CRD serves.
const perDeclaration = 10

var (
	sequences = flag.Int("sequences", 3000, "how many random sequences to run")
	shown     = flag.Int("shown", 1, "how many findings to show of each rule")
	firstSeed = flag.Uint64("seed", 1, "the seed of the first ten sequences; the next ten have the next seed")
)

// sequence is what a finding consists of.
type sequence struct {
	declaration
	Steps []step `json:"steps"`
}

// finding is a sequence whose last step breaks a rule.
type finding struct {
	seed uint64
	sequence
	err error
}

// rule returns the id of the rule that is broken.
func (f finding) rule() string {
	id, _, _ := strings.Cut(f.err.Error(), ":")
	return id
}

// TestModel runs random sequences of requests (rules G2, G4 to G7, G10, G11, G13, U4, U6, U8, U9).
func TestModel(t *testing.T) {
	start := time.Now()
	findings := runAll(t, *firstSeed, max(1, *sequences/perDeclaration))
	t.Logf("%d sequences in %v", *sequences, time.Since(start).Round(time.Second))
	byRule := map[string]int{}
	for _, f := range findings {
		if byRule[f.rule()]++; byRule[f.rule()] <= *shown {
			small := shrink(t, f)
			text, err := yaml.Marshal(small.sequence)
			if err != nil {
				t.Fatal(err)
			}
			t.Errorf("-seed %d: %v\n%s", f.seed, small.err, text)
		}
	}
	if len(findings) > 0 {
		t.Errorf("%d of %d sequences break rules, some of each rule are above: %v", len(findings), *sequences, byRule)
	}
}

// runAll runs the sequences of that many seeds on all CPUs and returns the findings in the order of the seeds.
func runAll(t *testing.T, first uint64, seeds int) []finding {
	var wait sync.WaitGroup
	found := make([][]finding, seeds)
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range next {
				found[i] = runSeed(t, first+uint64(i))
			}
		})
	}
	for i := range seeds {
		next <- i
	}
	close(next)
	wait.Wait()
	return slices.Concat(found...)
}

// runSeed runs the sequences of a seed: one declaration, some objects.
func runSeed(t *testing.T, seed uint64) []finding {
	g := newGenerator(seed)
	d := g.declaration()
	r, err := newResource(d)
	if err != nil {
		t.Error(err)
		return nil
	}
	s := newServer(t)
	var out []finding
	for range perDeclaration {
		m := newRun(s, r)
		f := finding{seed: seed, sequence: sequence{declaration: d}}
		for range 4 + g.IntN(8) {
			f.Steps = append(f.Steps, g.step(m))
			if f.err = m.do(f.Steps[len(f.Steps)-1]); f.err != nil {
				out = append(out, f)
				break
			}
		}
	}
	return out
}

// replay takes the steps of a sequence anew and returns which rule they break, if any.
func replay(t testing.TB, s sequence) (*run, error) {
	t.Helper()
	r, err := newResource(s.declaration)
	if err != nil {
		return nil, nil
	}
	m := newRun(newServer(t), r)
	for i, step := range s.Steps {
		if err := m.do(step); err != nil {
			return m, fmt.Errorf("%w (step %d)", err, i+1)
		}
	}
	return m, nil
}
