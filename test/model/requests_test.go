// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"slices"
)

// step returns a random next step for a run.
func (g generator) step(m *run) step {
	if m.object == nil {
		if g.chance(30) {
			return step{Do: doCreate, By: "creator", Body: g.object(m.Schema), DryRun: g.chance(15)}
		}
		return g.apply(m, "")
	}
	switch n := g.IntN(100); {
	case n < 14:
		return step{Do: doFlip, Gates: g.flips(m)}
	case n < 24:
		return step{Do: doOffOn, Gates: g.gates(m)}
	case n < 62:
		return g.apply(m, g.subresource(m))
	default:
		return g.rewrite(m, g.subresource(m))
	}
}

func (g generator) subresource(m *run) string {
	if _, ok := m.Schema.Properties["status"]; ok && m.Status && g.chance(25) {
		return "status"
	}
	return ""
}

func (g generator) version(m *run) string {
	if m.TwoVersions && g.chance(35) {
		return otherVersion
	}
	return ""
}

// flips returns new states for some gates.
func (g generator) flips(m *run) states {
	out := states{}
	for _, gate := range slices.Sorted(maps.Keys(m.paths)) {
		if g.chance(60) {
			out[gate] = g.chance(40)
		}
	}
	return out
}

// gates returns one or more gates to switch off.
func (g generator) gates(m *run) states {
	all := slices.Sorted(maps.Keys(m.paths))
	out := states{pick(g, all): false}
	for _, gate := range all {
		if g.chance(30) {
			out[gate] = false
		}
	}
	return out
}

// apply returns an apply by one of three appliers: of its last configuration, of a changed one, or of a new one.
func (g generator) apply(m *run, subresource string) step {
	s := step{Do: doApply, By: pick(g, []string{"a", "b", "c"}), Subresource: subresource}
	last, ok := m.applies[s.By+" "+subresource]
	switch {
	case ok && g.chance(35):
		s.Body, s.Version = last.Body, last.Version
	case ok && g.chance(75):
		s.Body, s.Version = g.changeObject(last.Body, m.Schema), last.Version
	default:
		s.Body, s.Version = g.object(m.Schema), g.version(m)
	}
	s.Body = m.writtenPart(s, s.Body, nil)
	s.Force, s.DryRun = g.chance(30), g.chance(15)
	return s
}

// rewrite returns a PUT or a patch that makes up to three changes to the object.
func (g generator) rewrite(m *run, subresource string) step {
	old := body(m.object)
	now := old
	for range 1 + g.IntN(3) {
		now = g.changeObject(now, m.Schema)
	}
	s := step{Subresource: subresource, Version: g.version(m), DryRun: g.chance(15)}
	switch g.IntN(4) {
	case 0, 1:
		s.Do, s.By, s.Body = doUpdate, "updater", now
	case 2:
		s.Do, s.By, s.Body = doMerge, "patcher", mergeDiff(old, now)
	default:
		s.Do, s.By, s.Patch = doJSON, "patcher", jsonDiff(old, now, "")
	}
	return s
}
