// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"encoding/json"
	"strings"
	"testing"
)

func schema(t *testing.T) Schema {
	t.Helper()
	s, err := ReadSchema("../../../../test/benchmark/testdata/httproute-schema.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func crd(t *testing.T, v Variant) string {
	t.Helper()
	crd, err := schema(t).CRD(Group, Plural, v)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestVariants(t *testing.T) {
	for name, c := range map[string]struct {
		variant              Variant
		unions, rules, gates int
	}{
		"plain":  {Variant{}, 0, 0, 0},
		"unions": {Variant{Unions: true}, 2, 0, 0},
		"rules":  {Variant{Rules: true}, 0, 20, 0},
		"gates":  {Variant{Unions: true, Gates: true}, 2, 0, 10},
	} {
		text := crd(t, c.variant)
		for what, want := range map[string]int{"x-kubernetes-unions": c.unions, `"rule":`: c.rules, "fieldPaths": c.gates} {
			if got := strings.Count(text, what); got != want {
				t.Errorf("%s: %d times %s, want %d", name, got, what, want)
			}
		}
	}
}

func TestObject(t *testing.T) {
	good := Object("a")
	text, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) < 4_500 || len(text) > 5_500 {
		t.Errorf("the object has %d bytes", len(text))
	}
	if n := invalid(good); n != 0 {
		t.Errorf("%d unions are invalid", n)
	}
	bad := Object("a")
	if Spoil(bad); invalid(bad) != 1 {
		t.Error("the bad object is good")
	}
	stale := Object("a")
	if Switch(stale); !HasStaleMember(stale) || invalid(stale) != 1 {
		t.Error("the stale update is not stale")
	}
	got := FilterUnion.Stale(Filter(stale, 1, 1), Filter(good, 1, 1))
	if len(got) != 1 || got[0] != "requestMirror" {
		t.Errorf("stale: %v", got)
	}
	if HasGated(good) {
		t.Error("a gated field is set")
	}
	if SetGated(good); !HasGated(good) {
		t.Error("a gated field is not set")
	}
}

func invalid(object map[string]any) int {
	n := 0
	for _, rule := range Rules(object) {
		if !RuleUnion.IsValid(rule) {
			n++
		}
		for _, filter := range Objects(rule, "filters") {
			if !FilterUnion.IsValid(filter) {
				n++
			}
		}
	}
	return n
}
