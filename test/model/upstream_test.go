// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"testing"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
)

// isUpstream reports whether the finding is upstream's behaviour: the same rule is broken if the CRD has no gates and
// unions. It is enough if that is so for the last step alone, on the object that the other steps persist with gates and
// unions, since without them earlier requests may have other outcomes. And it is enough if that is so for the last
// request without the disabled fields, since gates drop them.
func isUpstream(t testing.TB, f finding) bool {
	if _, err := replay(t, sequence{f.withoutFeatures(), f.Steps}); breaks(err, f.rule()) {
		return true
	}
	return lastStepBreaks(t, f, func(_ *run, s step) step { return s }) || lastStepBreaks(t, f, (*run).withoutDisabled)
}

// lastStepBreaks reports whether the last step, after the edit, breaks the rule of the finding on a CRD without gates and
// unions. The other steps are executed with them.
func lastStepBreaks(t testing.TB, f finding, edit func(*run, step) step) bool {
	last := len(f.Steps) - 1
	m, err := replay(t, sequence{f.declaration, f.Steps[:last]})
	if m == nil || err != nil {
		return false
	}
	edited := edit(m, f.Steps[last])
	m.serveOn(newServer(t), mustResource(t, f.withoutFeatures()))
	return breaks(m.do(edited), f.rule())
}

// withoutDisabled returns the step without the disabled fields in its body.
func (m *run) withoutDisabled(s step) step {
	var disabled []position
	for _, guard := range m.disabled(m.states) {
		disabled = append(disabled, positionsOf(s.Body, m.Schema, guard.path)...)
	}
	if len(disabled) > 0 {
		s.Body = without(s.Body, m.Schema, disabled)
	}
	return s
}

// breaks reports whether the error says that the rule is broken.
func breaks(err error, rule string) bool {
	return err != nil && finding{err: err}.rule() == rule
}

// upstreamCases are sequences whose last step breaks rule G6, as it also does upstream.
var upstreamCases = []struct{ name, crd, steps string }{
	{
		// Upstream leaves no managedFields entry for an applied empty list if it is the only field of the object, so the same
		// apply sent again is a first apply. Without unions the update is accepted, so there are other fields.
		name: "an earlier step has another outcome without unions",
		crd: specCRD("{}", `
source:
  type: object
  required: [type]
  properties:
    type: {type: string, enum: [Git, None], x-kubernetes-unions: {fieldMembers: {Git: {name: git}, None: {}}}}
    git: {type: object}
items: {type: array, x-kubernetes-list-type: set, items: {type: string}}
`),
		steps: `
- {do: apply, by: a}
- {do: update, by: u, body: {spec: {source: {type: None, git: {}}}}}
- {do: apply, by: a, body: {spec: {items: []}}}`,
	},
	{
		// The same. Without gates the guarded field is another field of the object.
		name: "the last request has a disabled field",
		crd:  specCRD("{G: [.spec.a]}", "\na: {type: integer}\nitems: {type: array, x-kubernetes-list-type: set, items: {type: string}}\n"),
		steps: `
- {do: flip, gates: {G: false}}
- {do: apply, by: a, body: {spec: {a: 1, items: []}}}`,
	},
}

func TestUpstreamBehaviourIsNoFinding(t *testing.T) {
	for _, tc := range upstreamCases {
		t.Run(tc.name, func(t *testing.T) {
			s := sequence{testyaml.Parse[declaration](t, tc.crd), testyaml.Parse[[]step](t, tc.steps)}
			_, err := replay(t, s)
			if !breaks(err, "G6") {
				t.Fatalf("the sequence does not break rule G6: %v", err)
			}
			if _, err := replay(t, sequence{s.withoutFeatures(), s.Steps}); err != nil {
				t.Errorf("the sequence breaks a rule without gates and unions: %v", err)
			}
			if !isUpstream(t, finding{sequence: s, err: err}) {
				t.Error("upstream's behaviour is reported as a finding")
			}
			if isUpstream(t, finding{sequence: s, err: errors.New("G2: another rule")}) {
				t.Error("a finding about another rule is taken for upstream's behaviour")
			}
		})
	}
}
