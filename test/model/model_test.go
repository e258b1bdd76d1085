// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
)

// sequencesPerSeed is how many sequences share the CRD of a seed.
const sequencesPerSeed = 10

var (
	sequences  = flag.Int("sequences", 2000, "how many random sequences to run")
	shown      = flag.Int("shown", 1, "how many findings of each rule to reduce and print")
	replayFile = flag.String("replay", "", "replay the sequence in this file, and log what each step does, instead of running random sequences")
	firstSeed  = flag.Uint64("seed", 1, "the seed of the first ten sequences; the next ten have the next seed")
)

// sequence is a CRD and the steps to execute. A finding is printed in this form.
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
	if *replayFile != "" {
		logReplay(t, *replayFile)
		return
	}
	start := time.Now()
	findings := runAll(t, *firstSeed, max(1, *sequences/sequencesPerSeed))
	t.Logf("%d sequences in %v: %d requests, of which %d were refused", *sequences,
		time.Since(start).Round(time.Second), requests.Load(), refusals.Load())
	byRule := map[string]int{}
	for _, f := range findings {
		if byRule[f.rule()]++; byRule[f.rule()] <= *shown {
			report(t, f)
		}
	}
	if len(findings) > 0 {
		t.Errorf("%d of %d sequences break rules: %v. To replay a sequence above, see doc_test.go", len(findings), *sequences, byRule)
	}
}

// report prints a finding in its smallest form.
func report(t *testing.T, f finding) {
	small := shrink(t, f)
	text, err := yaml.Marshal(small.sequence)
	if err != nil {
		t.Fatal(err)
	}
	t.Errorf("-seed %d: %v\n%s", f.seed, small.err, text)
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

// runSeed runs the sequences of a seed: one CRD, and an object for each sequence.
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
	for range sequencesPerSeed {
		m := newRun(s, r)
		f := finding{seed: seed, sequence: sequence{declaration: d}}
		for range 4 + g.IntN(8) {
			f.Steps = append(f.Steps, g.step(m))
			if f.err = m.do(f.Steps[len(f.Steps)-1]); f.err == nil {
				continue
			}
			if !isUpstream(t, f) {
				out = append(out, f)
			}
			break
		}
	}
	return out
}

// logReplay replays the sequence in a file and logs each step, the answer and the persisted object.
func logReplay(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := testyaml.Parse[sequence](t, string(text))
	m := newRun(newServer(t), mustResource(t, s.declaration))
	for i, step := range s.Steps {
		m.last = answer{}
		err := m.do(step)
		t.Logf("step %d: %s", i+1, encode(step))
		if m.last.code != 0 { // a flip sends no request
			t.Logf("answer: %s, warnings %q", m.last.message(), m.last.warnings)
		}
		t.Logf("persisted: %s", encode(m.object))
		if err != nil {
			t.Error(err)
		}
	}
}

// replay executes the steps of a sequence and returns an error if a rule is broken. The run is nil if the server
// refuses the CRD, which breaks no rule.
func replay(t testing.TB, s sequence) (*run, error) {
	t.Helper()
	r, err := newResource(s.declaration)
	if err != nil {
		return nil, nil //nolint:nilerr // see above
	}
	m := newRun(newServer(t), r)
	for i, step := range s.Steps {
		if err := m.do(step); err != nil {
			return m, fmt.Errorf("%w (step %d)", err, i+1)
		}
	}
	return m, nil
}
