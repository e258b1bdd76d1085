// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	smdfieldpath "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// ownedFields reads a set as managedFields have it, in YAML.
func ownedFields(t testing.TB, text string) *smdfieldpath.Set {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	set := smdfieldpath.NewSet()
	if err := set.FromJSON(strings.NewReader(string(asJSON))); err != nil {
		t.Fatal(err)
	}
	return set
}

func setJSON(t testing.TB, set *smdfieldpath.Set) (out any) {
	t.Helper()
	text, err := set.ToJSON()
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestG7ResetFilter(t *testing.T) {
	// All of compile's gates are disabled: .spec.replicas, .spec.foo, .spec.containers[*].size and .extra.a,
	// .spec.pools[*].size and .status.ready.
	plan := compile(t)
	for _, tc := range []struct {
		claim       string
		scope       scope.Scope
		owned, want string
	}{
		{"a field", scope.Everything, `f:spec: {f:image: {}, f:replicas: {}}`, `f:spec: {f:image: {}}`},
		{"a field with all inside", scope.Everything, `f:spec: {f:image: {}, f:foo: {.: {}, f:baz: {}}}`, `f:spec: {f:image: {}}`},
		{
			"an object stays its owner's, whatever goes from it", scope.Everything,
			`f:spec: {.: {}, f:replicas: {}}`, `f:spec: {}`,
		},
		{"nothing is left of what has nothing else", scope.Everything, `f:spec: {f:replicas: {}}`, `{}`},
		{
			"several fields of the items of a list, in all of them, and the items stay", scope.Everything,
			`f:spec: {f:containers: {.: {}, 'k:{"name":"a"}': {.: {}, f:name: {}, f:size: {}, f:extra: {.: {}, f:a: {}, f:b: {}}},
  'k:{"name":"b"}': {.: {}, f:name: {}, f:size: {}}}}`,
			`f:spec: {f:containers: {.: {}, 'k:{"name":"a"}': {.: {}, f:name: {}, f:extra: {.: {}, f:b: {}}},
  'k:{"name":"b"}': {.: {}, f:name: {}}}}`,
		},
		{
			"the values of a map", scope.Everything,
			`f:spec: {f:pools: {.: {}, f:x: {.: {}, f:size: {}, f:image: {}}, f:y: {.: {}, f:size: {}}}}`,
			`f:spec: {f:pools: {.: {}, f:x: {.: {}, f:image: {}}, f:y: {}}}`,
		},
		{"R4: what is not guarded is the same set", scope.Everything, `f:spec: {f:image: {}}`, ``},
		{"R4: a field of that name elsewhere", scope.Everything, `f:replicas: {}`, ``},
		{"R1: parts of a path that no list map has", scope.Everything, `f:spec: {f:containers: {'i:0': {}, 'v:1': {}}}`, ``},
		{"G9: beside a status subresource status stays", scope.ExceptStatus, `{f:spec: {f:replicas: {}}, f:status: {f:ready: {}}}`, `f:status: {f:ready: {}}`},
		{"G9: the status subresource leaves the rest alone", scope.OnlyStatus, `{f:spec: {f:replicas: {}}, f:status: {f:ready: {}}}`, `f:spec: {f:replicas: {}}`},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			owned := ownedFields(t, tc.owned)
			got := plan.ResetFilter(tc.scope).Filter(owned)
			if tc.want == "" {
				if got != owned {
					t.Errorf("not the set itself: %v", got)
				}
				return
			}
			if diff := cmp.Diff(setJSON(t, ownedFields(t, tc.want)), setJSON(t, got)); diff != "" {
				t.Errorf("owned (-want +got):\n%s", diff)
			}
			if !owned.Equals(ownedFields(t, tc.owned)) {
				t.Error("R4: the set was modified")
			}
		})
	}
}

func TestR2ResetFilterIsNilWhereNothingIsDisabled(t *testing.T) {
	for name, filter := range map[string]smdfieldpath.Filter{
		"no plan":           (*Plan)(nil).ResetFilter(scope.Everything),
		"nothing in status": compile(t, "Ready").ResetFilter(scope.OnlyStatus),
	} {
		if filter != nil {
			t.Errorf("%s: %v", name, filter)
		}
	}
}

func TestR2ResetFilterAllocatesNothingWhereNothingGoes(t *testing.T) {
	filter := compile(t).ResetFilter(scope.Everything)
	owned := ownedFields(t, `f:spec: {f:image: {}, f:containers: {'k:{"name":"a"}': {f:name: {}}, 'k:{"name":"b"}': {f:name: {}}}}`)
	if n := testing.AllocsPerRun(100, func() { filter.Filter(owned) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
