// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"slices"
	"testing"
)

// shrink reduces a finding as long as it breaks the same rule.
func shrink(t *testing.T, f finding) finding {
	for {
		smaller, err := firstBreaking(t, candidates(f.sequence), f.rule())
		if err == nil {
			return f
		}
		f.sequence, f.err = smaller, err
	}
}

// firstBreaking returns the first sequence that breaks the rule, up to the step that does, with the error. The error is
// nil if there is none.
func firstBreaking(t *testing.T, all []sequence, rule string) (sequence, error) {
	for _, s := range all {
		m, err := replay(t, s)
		if !breaks(err, rule) {
			continue
		}
		s.Steps = s.Steps[:m.executed]
		if !isUpstream(t, finding{sequence: s, err: err}) {
			return s, err
		}
	}
	return sequence{}, nil
}

// candidates returns the sequences that lack one thing: a step, a gate, a property of the schema, or a field of a body.
func candidates(s sequence) []sequence {
	var out []sequence
	for i := range s.Steps {
		less := s
		less.Steps = slices.Delete(slices.Clone(s.Steps), i, i+1)
		out = append(out, less)
	}
	for _, gate := range slices.Sorted(maps.Keys(s.Gates)) {
		less := s
		less.Gates = maps.Clone(s.Gates)
		delete(less.Gates, gate)
		out = append(out, less)
	}
	for _, p := range properties(s.Schema, nil) {
		less := s
		less.Schema = s.Schema.DeepCopy()
		removeProperty(less.Schema, p)
		out = append(out, less)
	}
	for i, step := range s.Steps {
		for _, p := range fields(step.Body, s.Schema) {
			less := s
			less.Steps = slices.Clone(s.Steps)
			less.Steps[i].Body = without(step.Body, s.Schema, []position{p})
			out = append(out, less)
		}
	}
	return out
}

// fields returns the positions of all fields in an object, outer ones before inner ones, without the keys of list maps.
func fields(value any, s *schemaProps) []position {
	var out []position
	for _, c := range children(value, s) {
		if c.element[:2] == "f:" && c.element != "f:key" && c.element != "f:port" {
			out = append(out, position{c.element})
		}
		for _, rest := range fields(c.value, c.schema) {
			out = append(out, append(position{c.element}, rest...))
		}
	}
	return out
}

// properties returns the paths of all properties in a schema. A step "" stands for the items of a list or the values of
// a map.
func properties(s *schemaProps, at []string) [][]string {
	var out [][]string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		path := append(slices.Clip(at), name)
		out = append(append(out, path), properties(&property, path)...)
	}
	if inner := innerSchema(s); inner != nil {
		out = append(out, properties(inner, append(slices.Clip(at), ""))...)
	}
	return out
}

func innerSchema(s *schemaProps) *schemaProps {
	switch {
	case s.AdditionalProperties != nil:
		return s.AdditionalProperties.Schema
	case s.Items != nil:
		return s.Items.Schema
	}
	return nil
}

func removeProperty(s *schemaProps, path []string) {
	switch {
	case path[0] == "":
		removeProperty(innerSchema(s), path[1:])
	case len(path) == 1:
		delete(s.Properties, path[0])
	default:
		property := s.Properties[path[0]]
		removeProperty(&property, path[1:])
		s.Properties[path[0]] = property
	}
}
