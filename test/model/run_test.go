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

// objects counts the objects of all tests, which share an etcd; requests and refusals count what was sent.
var objects, requests, refusals atomic.Int64

// run is a sequence of steps on one object.
type run struct {
	*resource
	server *server
	name   string
	states states
	// object is what is persisted, as the storage version serves it; nil if there is no object.
	object map[string]any
	// applies are the last applies that succeeded, by applier.
	applies map[string]step
	// last is the answer to the last request of a step.
	last answer
}

func newName() string { return fmt.Sprintf("o%d", objects.Add(1)) }

func newRun(s *server, r *resource) *run {
	m := &run{
		resource: r, server: s, name: newName(), states: states{}, applies: map[string]step{},
	}
	for gate := range r.paths {
		m.states[gate] = true
	}
	m.server.serve(m.with(m.states))
	return m
}

// do takes a step and returns which rule it broke, if any.
func (m *run) do(s step) (err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("R1: panic: %v", problem)
		}
	}()
	switch s.Do {
	case doFlip:
		return m.flip(s.Gates)
	case doOffOn:
		return m.offAndOn(s.Gates)
	}
	return m.request(s)
}

// flip sets the states of gates. Reading never fails because of it (rule F5).
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
			return err
		}
	}
	t, err := m.send(s, false)
	if err != nil {
		return err
	}
	m.last = t.answer
	if err := checkDryRun(dry, t); err != nil {
		return err
	}
	if t.wrote() && t.repeatable() {
		return m.again(s, t)
	}
	return nil
}

// send sends a request and checks what it did.
func (m *run) send(s step, dryRun bool) (*transition, error) {
	t := &transition{
		resource: m.resource, step: s, guards: m.disabled(m.states), before: m.object, dryRun: dryRun,
	}
	sent := m.sent(s, m.object)
	t.defaulted = m.defaulted(sent)
	t.asked = m.withoutGuardedDefaults(t.defaulted, sent, t.guards)
	if s.Do == doApply {
		t.config = decode[map[string]any](encode(m.part(s, s.Body, nil)))
	}
	t.answer = m.server.send(s.call(m.name, m.object, dryRun))
	requests.Add(1)
	if !t.answer.ok() {
		refusals.Add(1)
	}
	if t.answer.ok() && (dryRun || resourceVersion(t.answer.object) != resourceVersion(m.object)) {
		if err := m.read(); err != nil {
			return nil, err
		}
	}
	t.after = m.object
	if dryRun && resourceVersion(t.before) != resourceVersion(t.after) {
		return nil, errors.New("G13: a dry run was written")
	}
	if t.wrote() && s.Do == doApply {
		m.applies[s.By+" "+s.Subresource] = s
	}
	return t, t.check()
}

// checkDryRun is rule G13: a dry run answers what the request then does.
func checkDryRun(dry, t *transition) error {
	if dry == nil {
		return nil
	}
	if dry.answer.code != t.answer.code || !slices.Equal(dry.answer.warnings, t.answer.warnings) {
		return fmt.Errorf("G13: a dry run answered %d with %q, the request %d with %q",
			dry.answer.code, dry.answer.warnings, t.answer.code, t.answer.warnings)
	}
	if t.answer.ok() && !equal(settled(dry.answer.object), settled(t.answer.object)) {
		return fmt.Errorf("G13: a dry run answered\n%s\nthe request\n%s",
			encode(settled(dry.answer.object)), encode(settled(t.answer.object)))
	}
	return nil
}

// repeatable reports whether a stock server writes nothing when it gets the request again. A JSON patch may remove what
// then is not there; an applier of nothing becomes a first applier with every request.
func (t *transition) repeatable() bool {
	switch t.step.Do {
	case doApply:
		return len(t.config) > 0
	case doUpdate, doMerge:
		return true
	}
	return false
}

// again sends a request that succeeded once more: it writes nothing (rules G4, G6). Where it cleared members of a union
// it may be refused: the discriminator changes no more.
func (m *run) again(s step, first *transition) error {
	t, err := m.send(s, false)
	if err != nil {
		return fmt.Errorf("%w (the same request again)", err)
	}
	cleared := slices.ContainsFunc(first.answer.warnings, func(w string) bool { return strings.Contains(w, ": cleared: ") })
	switch {
	case !t.answer.ok() && !cleared:
		return fmt.Errorf("G4: the same request again was refused: %s", t.answer.message())
	case t.answer.ok() && isRewritten(t.before, t.after):
		return fmt.Errorf("G6: the same request again was written:\n%s\n%s", encode(t.before), encode(t.after))
	}
	return nil
}

// offAndOn switches gates off and on again and checks that nothing is different then, although every applier applied
// its configuration while they were off (rules G4, G7.2).
func (m *run) offAndOn(gates states) error {
	on, off := states{}, states{}
	for gate := range gates {
		on[gate], off[gate] = true, false
	}
	if err := m.flip(on); err != nil || m.object == nil {
		return err
	}
	appliers, err := m.settle()
	if err != nil {
		return err
	}
	before, conflictsBefore := m.object, m.probe(gates)
	if err := m.resyncWhile(off, appliers); err != nil {
		return fmt.Errorf("%w (gates off)", err)
	}
	if err := m.flip(on); err != nil {
		return err
	}
	if now := m.probe(gates); !slices.Equal(conflictsBefore, now) {
		return fmt.Errorf("G7.2: conflicts before %q, after off and on %q", conflictsBefore, now)
	}
	if err := m.resyncWhile(on, appliers); err != nil {
		return fmt.Errorf("%w (gates on again)", err)
	}
	if !equal(settled(before), settled(m.object)) {
		return fmt.Errorf("G7.2: before\n%s\nafter off and on\n%s", encode(settled(before)), encode(settled(m.object)))
	}
	return nil
}

// settle applies every configuration until nothing changes and returns the applies that then are without effect, by
// applier. Appliers that are refused or undo each other's work are left out.
func (m *run) settle() (map[string]quietApply, error) {
	var quiet map[string]quietApply
	for range 3 {
		quiet = map[string]quietApply{}
		for _, applier := range slices.Sorted(maps.Keys(m.applies)) {
			s := m.applies[applier]
			s.DryRun = false
			t, err := m.send(s, false)
			if err != nil {
				return nil, err
			}
			if t.wrote() && t.repeatable() && !isRewritten(t.before, t.after) {
				quiet[applier] = quietApply{s, t.answer.warnings}
			}
		}
		if len(quiet) == len(m.applies) {
			break
		}
	}
	return quiet, nil
}

// quietApply is an apply that changes nothing, with the warnings that it draws: about other gates.
type quietApply struct {
	step     step
	warnings []string
}

// resyncWhile sends applies that must have no effect while gates are in these states.
func (m *run) resyncWhile(gates states, quiet map[string]quietApply) error {
	if err := m.flip(gates); err != nil {
		return err
	}
	return m.resync(quiet)
}

// resync sends applies that must have no effect and draw no other warnings than before.
func (m *run) resync(quiet map[string]quietApply) error {
	for _, applier := range slices.Sorted(maps.Keys(quiet)) {
		s := quiet[applier].step
		t, err := m.send(s, false)
		if err != nil {
			return err
		}
		if !t.answer.ok() {
			return fmt.Errorf("G4: the configuration of %s was refused: %s", s.By, t.answer.message())
		}
		if isRewritten(t.before, t.after) {
			return fmt.Errorf("G4: the configuration of %s was written:\n%s\n%s", s.By, encode(t.before), encode(t.after))
		}
		for _, warning := range t.answer.warnings {
			if t.holds(nil) && !slices.Contains(quiet[applier].warnings, warning) {
				return fmt.Errorf("G4: the configuration of %s drew a warning: %s", s.By, warning)
			}
		}
	}
	return nil
}

// probe returns who conflicts with a stranger who applies another value to a field that one of the gates guards.
func (m *run) probe(gates states) []string {
	var out []string
	for gate := range gates {
		for _, path := range m.paths[gate] {
			for _, p := range find(m.object, m.Schema, path) {
				value, _ := at(m.object, m.Schema, p)
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

// configOf returns the configuration that names one value at a place.
func configOf(p place, value any) any {
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

// otherThan returns a value that differs from another in all its scalars.
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
