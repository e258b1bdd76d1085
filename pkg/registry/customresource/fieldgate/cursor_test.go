// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// disabledAlong follows a path from a cursor, and returns the parts of it that lead to a disabled field. The part [] is
// an item of a list.
func disabledAlong(cursor Cursor, path string) (disabled []string) {
	for part := range strings.SplitSeq(path, " ") {
		if part == "[]" {
			cursor = cursor.Item()
		} else {
			cursor = cursor.Field(part)
		}
		if cursor.IsDisabled() {
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
		checkEqual(t, path, want, disabledAlong(root, path))
	}
}

func TestG9CursorsOfAnEndpoint(t *testing.T) {
	for _, tc := range []struct {
		scope              scope.Scope
		replicas, ready    bool // disabled: .spec.replicas, .status.ready
		any, anyOtherField bool // disabled: any field, any field but .status.ready
	}{
		{scope.Everything, true, true, true, true},
		{scope.ExceptStatus, true, false, true, true},
		{scope.OnlyStatus, false, true, true, false},
	} {
		root, found := compile(t).DisabledFields(tc.scope)
		if got := root.Field("spec").Field("replicas").IsDisabled(); got != tc.replicas {
			t.Errorf("G9: scope %v: .spec.replicas: disabled is %v", tc.scope, got)
		}
		if got := root.Field("status").Field("ready").IsDisabled(); got != tc.ready {
			t.Errorf("G9: scope %v: .status.ready: disabled is %v", tc.scope, got)
		}
		if found != tc.any {
			t.Errorf("G9: scope %v: disabled fields: found is %v", tc.scope, found)
		}
		if _, found := compile(t, "Ready").DisabledFields(tc.scope); found != tc.anyOtherField {
			t.Errorf("G9: scope %v, gate of .status.ready enabled: disabled fields: found is %v", tc.scope, found)
		}
	}
	if _, found := (*Plan)(nil).DisabledFields(scope.Everything); found {
		t.Error("R2: the nil plan has a disabled field")
	}
}

func TestR2CursorsAllocateNothing(t *testing.T) {
	root, _ := compile(t).DisabledFields(scope.Everything)
	if n := testing.AllocsPerRun(100, func() { root.Field("spec").Field("containers").Item().Field("size").IsDisabled() }); n != 0 {
		t.Errorf("R2: %v allocations", n)
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

// disabledBelow returns the paths of the disabled fields at and below n. at is the path of n.
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
