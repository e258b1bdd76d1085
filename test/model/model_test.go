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

// perDeclaration is how many sequences one CRD serves.
const perDeclaration = 10

var (
	sequences = flag.Int("sequences", 2000, "how many random sequences to run")
	shown     = flag.Int("shown", 1, "how many findings to show of each rule")
	replayed  = flag.String("replay", "", "a file with a sequence to replay in place of random ones, with what every step does")
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
	if *replayed != "" {
		tell(t, *replayed)
		return
	}
	start := time.Now()
	findings := runAll(t, *firstSeed, max(1, *sequences/perDeclaration))
	t.Logf("%d sequences in %v: %d requests, of which %d were refused", *sequences,
		time.Since(start).Round(time.Second), requests.Load(), refusals.Load())
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
			if f.err = m.do(f.Steps[len(f.Steps)-1]); f.err == nil {
				continue
			}
			if !isUpstreams(t, f) {
				out = append(out, f)
			}
			break
		}
	}
	return out
}

// tell replays the sequence of a file and logs what every step does.
func tell(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := testyaml.Parse[sequence](t, string(text))
	m := newRun(newServer(t), mustResource(t, s.declaration))
	for _, step := range s.Steps {
		err := m.do(step)
		t.Logf("%s\n%s %q\n%s", encode(step), m.last.message(), m.last.warnings, encode(m.object))
		if err != nil {
			t.Error(err)
		}
	}
}

// isUpstreams reports whether the same requests break the rule also on a CRD without gates and unions: then it is
// upstream's behaviour, which is none of our business.
func isUpstreams(t testing.TB, f finding) bool {
	plain := f.sequence
	plain.Schema, plain.Gates = f.Schema.DeepCopy(), nil
	removeUnions(plain.Schema)
	_, err := replay(t, plain)
	return err != nil && finding{err: err}.rule() == f.rule()
}

// replay takes the steps of a sequence anew and returns which rule they break, if any.
func replay(t testing.TB, s sequence) (*run, error) {
	t.Helper()
	r, err := newResource(s.declaration)
	if err != nil {
		return nil, nil //nolint:nilerr // a declaration that is refused breaks no rule
	}
	m := newRun(newServer(t), r)
	for i, step := range s.Steps {
		if err := m.do(step); err != nil {
			return m, fmt.Errorf("%w (step %d)", err, i+1)
		}
	}
	return m, nil
}
