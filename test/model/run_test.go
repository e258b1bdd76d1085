// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
)

// objects counts the objects of all tests, which share an etcd. requests and refusals count what runs sent and how much
// of it was refused.
var objects, requests, refusals atomic.Int64

// run executes the steps of a sequence on one object.
type run struct {
	*resource
	server *server
	name   string
	states states
	// object is the persisted object in the storage version, or nil if there is none.
	object map[string]any
	// applies are the last successful applies, by manager and subresource.
	applies map[string]step
	// executed counts the steps.
	executed int
	// last is the answer to the last request of a step. Repetitions of the request do not count.
	last answer
}

func newName() string { return fmt.Sprintf("o%d", objects.Add(1)) }

func newRun(s *server, r *resource) *run {
	m := &run{name: newName(), applies: map[string]step{}}
	m.serveOn(s, r)
	return m
}

// serveOn continues the run on another server, with another CRD whose gates are all enabled.
func (m *run) serveOn(s *server, r *resource) {
	m.server, m.resource, m.states = s, r, states{}
	for gate := range r.paths {
		m.states[gate] = true
	}
	m.server.serve(m.with(m.states))
}

// do executes a step and returns an error if the server broke a rule. The error starts with the rule's id.
func (m *run) do(s step) (err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("R1: panic: %v", problem)
		}
	}()
	m.executed++
	switch s.Do {
	case doFlip:
		return m.flip(s.Gates)
	case doOffOn:
		return m.offAndOn(s.Gates)
	}
	return m.request(s)
}

// flip sets the states of gates. It must not make the object unreadable (rule F5) or rewrite it (rule G11).
func (m *run) flip(to states) error {
	maps.Copy(m.states, to)
	m.server.serve(m.with(m.states))
	before := m.object
	if err := m.read(); err != nil {
		return fmt.Errorf("F5: %w", err)
	}
	if resourceVersion(before) != resourceVersion(m.object) {
		return errors.New("G11: a flip rewrote the object")
	}
	return nil
}

// read gets the object in the storage version.
func (m *run) read() error {
	got := m.server.send(call{method: http.MethodGet, path: "/apis/" + group + "/" + storageVersion + "/" + plural + "/" + m.name})
	switch {
	case got.ok():
		m.object = got.object
	case got.code == http.StatusNotFound && m.object == nil:
	default:
		return fmt.Errorf("get: %s", got.message())
	}
	return nil
}

// request sends a step's request, and sends it again if it succeeded.
func (m *run) request(s step) error {
	var dry *transition
	if s.DryRun {
		var err error
		if dry, err = m.send(s, true); err != nil {
			m.last = dry.answer
			return err
		}
	}
	t, err := m.send(s, false)
	m.last = t.answer
	if err != nil {
		return err
	}
	if err := checkDryRun(dry, t); err != nil {
		return err
	}
	if t.wrote() && t.isRepeatable() {
		return m.repeat(s, t)
	}
	return nil
}

// send sends a request and checks its effect.
func (m *run) send(s step, dryRun bool) (*transition, error) {
	t := m.transition(s, dryRun)
	t.answer = m.server.send(s.call(m.name, m.object, dryRun))
	requests.Add(1)
	if !t.answer.ok() {
		refusals.Add(1)
	}
	if t.answer.ok() && (dryRun || resourceVersion(t.answer.object) != resourceVersion(m.object)) {
		if err := m.read(); err != nil {
			return t, err
		}
	}
	t.after = m.object
	if dryRun && resourceVersion(t.before) != resourceVersion(t.after) {
		return t, errors.New("G13: a dry run was written")
	}
	if t.wrote() && s.Do == doApply {
		m.applies[s.By+" "+s.Subresource] = s
	}
	return t, t.check()
}

// transition returns what is known of a request before it is sent.
func (m *run) transition(s step, dryRun bool) *transition {
	t := &transition{
		resource: m.resource, step: s, guards: m.disabled(m.states), before: m.object, dryRun: dryRun,
	}
	requested := m.requestedObject(s, m.object)
	t.defaulted = m.defaulted(requested)
	t.requested = m.withoutGuardedDefaults(t.defaulted, requested, t.guards)
	if s.Do == doApply {
		t.config = decode[map[string]any](encode(m.writtenPart(s, s.Body, nil)))
	}
	return t
}

// checkDryRun checks rule G13: the answer to a dry run is the answer to the request.
func checkDryRun(dry, t *transition) error {
	if dry == nil {
		return nil
	}
	if dry.answer.code != t.answer.code || !slices.Equal(dry.answer.warnings, t.answer.warnings) {
		return fmt.Errorf("G13: the dry run was answered with %d %q, the request with %d %q",
			dry.answer.code, dry.answer.warnings, t.answer.code, t.answer.warnings)
	}
	if t.answer.ok() && !equal(withoutVolatile(dry.answer.object), withoutVolatile(t.answer.object)) {
		return fmt.Errorf("G13: the dry run was answered with\n%s\nthe request with\n%s",
			encode(withoutVolatile(dry.answer.object)), encode(withoutVolatile(t.answer.object)))
	}
	return nil
}

// isRepeatable reports whether a stock server writes nothing if the same request is sent again. A JSON patch may remove
// a field that is absent then. An apply of an empty configuration leaves no entry, so each one is a first apply.
func (t *transition) isRepeatable() bool {
	switch t.step.Do {
	case doApply:
		return len(t.config) > 0
	case doUpdate, doMerge:
		return true
	}
	return false
}

// repeat sends a request that succeeded once more. It must not write anything (rules G4, G6). It may be refused if the
// first request cleared a union member: the second one does not change the discriminator, so it clears nothing.
func (m *run) repeat(s step, first *transition) error {
	t, err := m.send(s, false)
	if err != nil {
		return fmt.Errorf("%w (the request sent again)", err)
	}
	cleared := slices.ContainsFunc(first.answer.warnings, func(w string) bool { return strings.Contains(w, ": cleared: ") })
	switch {
	case !t.answer.ok() && !cleared:
		return fmt.Errorf("G4: the request was refused when it was sent again: %s", t.answer.message())
	case t.answer.ok() && isRewritten(t.before, t.after):
		return fmt.Errorf("G6: the request was written when it was sent again:\n%s\n%s", encode(t.before), encode(t.after))
	}
	return nil
}

// offAndOn switches gates off and on again while every applier goes on to apply its configuration. Afterwards the
// object, its owners and the conflicts must be as before (rules G4, G7.2).
func (m *run) offAndOn(gates states) error {
	on, off := states{}, states{}
	for gate := range gates {
		on[gate], off[gate] = true, false
	}
	if err := m.flip(on); err != nil || m.object == nil {
		return err
	}
	applies, err := m.appliesWithoutEffect()
	if err != nil {
		return err
	}
	before, conflictsBefore := m.object, m.conflictsWithProbe(gates)
	if err := m.applyAgainWhile(off, applies); err != nil {
		return fmt.Errorf("%w (gates off)", err)
	}
	if err := m.flip(on); err != nil {
		return err
	}
	if now := m.conflictsWithProbe(gates); !slices.Equal(conflictsBefore, now) {
		return fmt.Errorf("G7.2: conflicts before %q, after off and on %q", conflictsBefore, now)
	}
	if err := m.applyAgainWhile(on, applies); err != nil {
		return fmt.Errorf("%w (gates on again)", err)
	}
	if !equal(withoutVolatile(before), withoutVolatile(m.object)) {
		return fmt.Errorf("G7.2: the object before\n%s\nafter off and on\n%s",
			encode(withoutVolatile(before)), encode(withoutVolatile(m.object)))
	}
	return nil
}

// noopApply is an apply that changes nothing, with its warnings, which are about other gates.
type noopApply struct {
	step     step
	warnings []string
}

// appliesWithoutEffect applies every configuration until nothing changes, and returns those applies that then have no
// effect, by applier. Appliers that are refused, or that revert each other, are left out.
func (m *run) appliesWithoutEffect() (map[string]noopApply, error) {
	var noops map[string]noopApply
	for range 3 {
		noops = map[string]noopApply{}
		for _, applier := range slices.Sorted(maps.Keys(m.applies)) {
			s := m.applies[applier]
			s.DryRun = false
			t, err := m.send(s, false)
			if err != nil {
				return nil, err
			}
			if t.wrote() && t.isRepeatable() && !isRewritten(t.before, t.after) {
				noops[applier] = noopApply{s, t.answer.warnings}
			}
		}
		if len(noops) == len(m.applies) {
			break
		}
	}
	return noops, nil
}

// applyAgainWhile sets the states of gates and sends applies that must have no effect.
func (m *run) applyAgainWhile(gates states, noops map[string]noopApply) error {
	if err := m.flip(gates); err != nil {
		return err
	}
	for _, applier := range slices.Sorted(maps.Keys(noops)) {
		if err := m.applyAgain(noops[applier]); err != nil {
			return err
		}
	}
	return nil
}

// applyAgain sends an apply that must have no effect and draw no additional warnings.
func (m *run) applyAgain(noop noopApply) error {
	by := noop.step.By
	t, err := m.send(noop.step, false)
	if err != nil {
		return err
	}
	if !t.answer.ok() {
		return fmt.Errorf("G4: the configuration of %s was refused when it was applied again: %s", by, t.answer.message())
	}
	if isRewritten(t.before, t.after) {
		return fmt.Errorf("G4: the configuration of %s was written when it was applied again:\n%s\n%s", by, encode(t.before), encode(t.after))
	}
	for _, warning := range t.answer.warnings {
		if t.persistedHasApplied(nil) && !slices.Contains(noop.warnings, warning) {
			return fmt.Errorf("G4: the configuration of %s drew a warning when it was applied again: %s", by, warning)
		}
	}
	return nil
}

// conflictsWithProbe returns the conflicts of another manager that applies another value to each field that the gates
// guard.
func (m *run) conflictsWithProbe(gates states) []string {
	var out []string
	for gate := range gates {
		for _, path := range m.paths[gate] {
			for _, p := range positionsOf(m.object, m.Schema, path) {
				value, _ := valueAt(m.object, m.Schema, p)
				s := step{Do: doApply, By: "probe", Body: configOf(p, otherThan(value)).(map[string]any)}
				if m.Status && p[0] == "f:status" {
					s.Subresource = "status"
				}
				for _, cause := range conflicts(m.server.send(s.call(m.name, nil, true))) {
					out = append(out, p.String()+": "+cause.field+": "+cause.message)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// configOf returns the configuration that applies one value at a position.
func configOf(p position, value any) any {
	if len(p) == 0 {
		return value
	}
	inner := configOf(p[1:], value)
	switch element := p[0]; element[:2] {
	case "f:":
		return map[string]any{element[2:]: inner}
	case "k:":
		item := inner.(map[string]any)
		maps.Copy(item, decode[map[string]any](element[2:]))
		return []any{item}
	}
	return []any{inner}
}

// otherThan returns a copy of a value with another value for each scalar. Lists stay as they are.
func otherThan(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, v := range value {
			out[name] = otherThan(v)
		}
		return out
	case []any:
		return value
	case string:
		return value + "0"
	case int64:
		return value + 10
	case bool:
		return !value
	}
	return value
}
