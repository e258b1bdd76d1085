// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"testing"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
)

// isUpstream reports whether the finding is upstream's behaviour: the same rule is broken if the CRD has no gates and
// unions. It is enough if the last step is executed without them, on the object that the other steps persist with them:
// without gates and unions, earlier requests may have other outcomes, so that the last one does something else.
func isUpstream(t testing.TB, f finding) bool {
	if _, err := replay(t, sequence{f.withoutFeatures(), f.Steps}); breaks(err, f.rule()) {
		return true
	}
	last := len(f.Steps) - 1
	m, err := replay(t, sequence{f.declaration, f.Steps[:last]})
	if m == nil || err != nil {
		return false
	}
	m.serveOn(newServer(t), mustResource(t, f.withoutFeatures()))
	return breaks(m.do(f.Steps[last]), f.rule())
}

// breaks reports whether the error says that the rule is broken.
func breaks(err error, rule string) bool {
	return err != nil && finding{err: err}.rule() == rule
}

// emptyListCRD has a union and a list map.
var emptyListCRD = specCRD("{}", `
source:
  type: object
  required: [type]
  properties:
    type: {type: string, enum: [Git, None], x-kubernetes-unions: {fieldMembers: {Git: {name: git}, None: {}}}}
    git: {type: object}
items:
  type: array
  x-kubernetes-list-type: map
  x-kubernetes-list-map-keys: [name]
  items: {type: object, required: [name], properties: {name: {type: string}}}
`)

// emptyListSteps break rule G6 at the last step: upstream leaves no managedFields entry for an applied empty list if it is
// the only field of the object, so the same apply sent again is a first apply. Without unions the update is accepted, so
// there are other fields.
const emptyListSteps = `
- {do: apply, by: a}
- {do: update, by: u, body: {spec: {source: {type: None, git: {}}}}}
- {do: apply, by: a, body: {spec: {items: []}}}`

func TestUpstreamBehaviourIsNoFinding(t *testing.T) {
	s := sequence{testyaml.Parse[declaration](t, emptyListCRD), testyaml.Parse[[]step](t, emptyListSteps)}
	_, err := replay(t, s)
	if !breaks(err, "G6") {
		t.Fatalf("the sequence does not break rule G6: %v", err)
	}
	if _, err := replay(t, sequence{s.withoutFeatures(), s.Steps}); err != nil {
		t.Errorf("the sequence breaks a rule without unions: %v", err)
	}
	if !isUpstream(t, finding{sequence: s, err: err}) {
		t.Error("upstream's behaviour is reported as a finding")
	}
	if isUpstream(t, finding{sequence: s, err: errors.New("G2: another rule")}) {
		t.Error("a finding about another rule is taken for upstream's behaviour")
	}
}
