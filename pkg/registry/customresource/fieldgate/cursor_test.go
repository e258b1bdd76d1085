// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// disabledAlong returns which parts of a path are disabled fields; [] is an item of a list.
func disabledAlong(at Cursor, path string) (disabled []string) {
	for part := range strings.SplitSeq(path, " ") {
		if part == "[]" {
			at = at.Item()
		} else {
			at = at.Field(part)
		}
		if at.IsDisabled() {
			disabled = append(disabled, part)
		}
	}
	return disabled
}

func TestG7CursorsOfDisabledFields(t *testing.T) {
	for path, want := range map[string][]string{
		"spec replicas":                  {"replicas"},
		"spec foo":                       {"foo"},
		"spec foo baz":                   {"foo"},
		"spec image":                     nil,
		"spec":                           nil,
		"replicas":                       nil,
		"spec spec replicas":             nil,
		"spec containers":                nil,
		"spec containers []":             nil,
		"spec containers [] name":        nil,
		"spec containers [] size":        {"size"},
		"spec containers [] extra":       nil,
		"spec containers [] extra a":     {"a"},
		"spec containers [] extra b":     nil,
		"spec pools":                     nil,
		"spec pools anything":            nil,
		"spec pools anything size":       {"size"},
		"spec pools anything image":      nil,
		"spec replicas [] below nothing": {"replicas"},
		"status ready":                   {"ready"},
	} {
		root, _ := compile(t).DisabledFields(scope.Everything)
		if diff := cmp.Diff(want, disabledAlong(root, path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestG9CursorsOfAnEndpoint(t *testing.T) {
	for _, tc := range []struct {
		scope                    scope.Scope
		replicasAreOff, readyIs  bool
		anyWithReady, anyWithout bool
	}{
		{scope.Everything, true, true, true, true},
		{scope.ExceptStatus, true, false, true, true},
		{scope.OnlyStatus, false, true, true, false},
	} {
		root, found := compile(t).DisabledFields(tc.scope)
		if got := root.Field("spec").Field("replicas").IsDisabled(); got != tc.replicasAreOff {
			t.Errorf("scope %v: .spec.replicas: %v", tc.scope, got)
		}
		if got := root.Field("status").Field("ready").IsDisabled(); got != tc.readyIs {
			t.Errorf("scope %v: .status.ready: %v", tc.scope, got)
		}
		if found != tc.anyWithReady {
			t.Errorf("scope %v: any: %v", tc.scope, found)
		}
		if _, found := compile(t, "Ready").DisabledFields(tc.scope); found != tc.anyWithout {
			t.Errorf("scope %v, without the gate in status: any: %v", tc.scope, found)
		}
	}
	if _, found := (*Plan)(nil).DisabledFields(scope.Everything); found { // rule R2
		t.Error("no plan has a disabled field")
	}
}

func TestR2CursorsAllocateNothing(t *testing.T) {
	root, _ := compile(t).DisabledFields(scope.Everything)
	if n := testing.AllocsPerRun(100, func() { root.Field("spec").Field("containers").Item().Field("size").IsDisabled() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// disabledPaths returns the paths of the disabled fields that an endpoint of a scope writes, except those below another
// disabled field.
func disabledPaths(p *Plan, written scope.Scope) []fieldpath.Path {
	if p == nil {
		return nil
	}
	var paths []fieldpath.Path
	for i := range p.root.fields {
		if c := &p.root.fields[i]; written.Includes(c.name) {
			paths = append(paths, disabledBelow(p, &c.node, fieldpath.Path{fieldpath.Field(c.name)})...)
		}
	}
	return paths
}

// disabledBelow returns those at n, whose path is at, and below.
func disabledBelow(p *Plan, n *node, at fieldpath.Path) []fieldpath.Path {
	if p.isDisabled(n) {
		return []fieldpath.Path{at}
	}
	var paths []fieldpath.Path
	for i := range n.fields {
		c := &n.fields[i]
		paths = append(paths, disabledBelow(p, &c.node, append(slices.Clone(at), fieldpath.Field(c.name)))...)
	}
	if each := n.each(); each != nil {
		paths = append(paths, disabledBelow(p, each, append(slices.Clone(at), fieldpath.Each()))...)
	}
	return paths
}
