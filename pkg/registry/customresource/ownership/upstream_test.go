// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/line"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// These tests compare corrected entries with those that upstream's field manager makes from the final object.

// upstreamSchemaYAML has every kind of field that a path of managedFields can lead to or through. All values are
// integers, except for the keys of list maps.
const upstreamSchemaYAML = `
type: object
properties:
  apiVersion: {type: string}
  kind: {type: string}
  metadata: {type: object}
  spec:
    type: object
    properties:
      image: {type: integer}
      replicas: {type: integer}
      foo: {type: object, properties: {baz: {type: integer}, qux: {type: integer}, deep: {type: object, properties: {a: {type: integer}, b: {type: integer}}}}}
      pools: {type: object, additionalProperties: {type: object, properties: {size: {type: integer}, image: {type: integer}}}}
      items:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items:
          type: object
          required: [name]
          properties: {name: {type: string}, size: {type: integer}, extra: {type: object, properties: {a: {type: integer}, b: {type: integer}}}}
      tags: {type: array, x-kubernetes-list-type: set, items: {type: integer}}
      args: {type: array, x-kubernetes-list-type: atomic, items: {type: integer}}
      whole: {type: object, x-kubernetes-map-type: atomic, properties: {x: {type: integer}, z: {type: integer}}}
`

var upstreamPaths = []string{
	".spec.replicas", ".spec.foo", ".spec.foo.qux", ".spec.foo.deep", ".spec.foo.deep.a", ".spec.pools", ".spec.pools[*].size",
	".spec.items", ".spec.items[*].size", ".spec.items[*].extra", ".spec.items[*].extra.a", ".spec.tags", ".spec.args", ".spec.whole", ".spec.whole.x",
}

var upstreamKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "CronTab"}

func upstreamManager(t testing.TB) *managedfields.FieldManager {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(upstreamSchemaYAML))
	if err != nil {
		t.Fatal(err)
	}
	model := &spec.Schema{}
	if err := json.Unmarshal(text, model); err != nil {
		t.Fatal(err)
	}
	model.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{
		"group": upstreamKind.Group, "version": upstreamKind.Version, "kind": upstreamKind.Kind,
	}})
	converter, err := managedfields.NewTypeConverter(map[string]*spec.Schema{"com.example.v1.CronTab": model}, false)
	if err != nil {
		t.Fatal(err)
	}
	return managedfieldstest.NewFakeFieldManager(converter, upstreamKind)
}

// random creates and changes objects.
type random struct{ *rand.Rand }

func (r random) often() bool  { return r.IntN(4) != 0 }
func (r random) seldom() bool { return r.IntN(4) == 0 }

func (r random) object(fields map[string]func() any) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if value := fields[name]; r.often() {
			out[name] = value()
		}
	}
	return out
}

func (r random) number() any { return int64(r.IntN(3)) }

func (r random) pair() any {
	return r.object(map[string]func() any{"a": r.number, "b": r.number})
}

func (r random) spec() any {
	foo := func() any {
		return r.object(map[string]func() any{"baz": r.number, "qux": r.number, "deep": r.pair})
	}
	pool := func() any { return r.object(map[string]func() any{"size": r.number, "image": r.number}) }
	pools := func() any { return r.object(map[string]func() any{"x": pool, "y": pool, "z": pool}) }
	whole := func() any { return r.object(map[string]func() any{"x": r.number, "z": r.number}) }
	numbers := func() any {
		out := []any{}
		for _, n := range r.Perm(4)[:r.IntN(4)] {
			out = append(out, int64(n))
		}
		return out
	}
	return r.object(map[string]func() any{
		"image": r.number, "replicas": r.number, "foo": foo, "pools": pools, "items": r.items, "tags": numbers, "args": numbers, "whole": whole,
	})
}

func (r random) items() any {
	out := []any{}
	for _, n := range r.Perm(3)[:r.IntN(4)] {
		item := r.object(map[string]func() any{"size": r.number, "extra": r.pair})
		item["name"] = string(rune('a' + n))
		out = append(out, item)
	}
	return out
}

// write returns an object with some fields of the persisted one.
func (r random) write(persisted map[string]any) map[string]any {
	fresh, _ := r.spec().(map[string]any)
	old, _ := persisted["spec"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(old)) {
		switch {
		case r.often():
			fresh[name] = runtime.DeepCopyJSONValue(old[name])
		case r.seldom():
			delete(fresh, name)
		}
	}
	return map[string]any{"spec": fresh}
}

func (r random) paths() []string {
	paths := slices.Clone(upstreamPaths)
	r.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	return paths[:1+r.IntN(6)]
}

// crontab returns a persisted object.
func crontab(object map[string]any, managed []metav1.ManagedFieldsEntry) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(object)}
	u.SetGroupVersionKind(upstreamKind)
	u.SetName("a")
	u.SetUID("uid")
	u.SetManagedFields(managed)
	return u
}

// entriesOf describes entries in an order that does not depend on times.
func entriesOf(t testing.TB, from []metav1.ManagedFieldsEntry) []string {
	out := described(t, from)
	slices.Sort(out)
	return out
}

// history returns a persisted object that several managers wrote.
func (r random) history(t testing.TB, m *managedfields.FieldManager) *unstructured.Unstructured {
	empty := &unstructured.Unstructured{Object: map[string]any{}}
	empty.SetGroupVersionKind(upstreamKind)
	live, ok := m.UpdateNoErrors(empty, crontab(r.write(nil), nil), "creator").(*unstructured.Unstructured)
	if !ok {
		t.Fatal("no object")
	}
	for range r.IntN(6) {
		manager := string(rune('a' + r.IntN(3)))
		configuration := crontab(r.write(live.Object), nil)
		if r.seldom() {
			configuration.SetManagedFields(live.GetManagedFields())
			live = m.UpdateNoErrors(live, configuration, manager).(*unstructured.Unstructured)
			continue
		}
		configuration.SetUID("")
		applied, err := m.Apply(live, configuration, manager, true)
		if err != nil {
			t.Fatal(err)
		}
		live = withoutNulls(applied.(*unstructured.Unstructured))
	}
	return withoutRemovedFields(t, live)
}

// withoutRemovedFields removes from managedFields the fields that the object does not have: upstream keeps owners of
// fields that its merge set to null.
func withoutRemovedFields(t testing.TB, u *unstructured.Unstructured) *unstructured.Unstructured {
	var kept []metav1.ManagedFieldsEntry
	for _, entry := range u.GetManagedFields() {
		fields, err := decode(entry)
		if err != nil {
			t.Fatal(err)
		}
		present := line.NewSet()
		fields.Iterate(func(path line.Path) {
			if isPresent(u.Object, path) {
				present.Insert(path.Copy())
			}
		})
		raw, err := present.ToJSON()
		if err != nil {
			t.Fatal(err)
		}
		if entry.FieldsV1 = line.NewFields(string(raw)); !present.Empty() {
			kept = append(kept, entry)
		}
	}
	u.SetManagedFields(kept)
	return u
}

// withoutNulls removes the nulls that upstream's merge leaves in place of removed objects and lists.
func withoutNulls(u *unstructured.Unstructured) *unstructured.Unstructured {
	if stripNulls(u.Object["spec"]); u.Object["spec"] == nil {
		delete(u.Object, "spec")
	}
	return u
}

func stripNulls(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			if stripNulls(v); v == nil {
				delete(value, name)
			}
		}
	case []any:
		for _, v := range value {
			stripNulls(v)
		}
	}
}

// TestG7UpdatesHaveUpstreamsEntries has random updates: the corrected entries are those that upstream makes if the
// request has the final object.
func TestG7UpdatesHaveUpstreamsEntries(t *testing.T) {
	m := upstreamManager(t)
	changed := 0
	for seed := range uint64(1000) {
		r := random{rand.New(rand.NewPCG(seed, 1))}
		live, paths := r.history(t, m), r.paths()
		plan := planOf(t, upstreamSchemaYAML, paths...)
		requested := crontab(r.write(live.Object), live.GetManagedFields())
		final := requested.DeepCopy()
		if plan.Evaluate(fieldgate.Write{Object: final.Object, Old: live.Object}).Requested() == nil {
			continue
		}
		changed++
		after := m.UpdateNoErrors(live.DeepCopy(), requested.DeepCopy(), "writer").(*unstructured.Unstructured)
		got := mustCorrect(t, Write{
			Before: live.GetManagedFields(), After: after.GetManagedFields(),
			Objects: inAllVersions(&Objects{Old: live.Object, Requested: requested.Object, Final: final.Object}),
		})
		want := m.UpdateNoErrors(live.DeepCopy(), final.DeepCopy(), "writer").(*unstructured.Unstructured)
		if diff := cmp.Diff(entriesOf(t, want.GetManagedFields()), entriesOf(t, got)); diff != "" {
			t.Fatalf("seed %d: G7: (-upstream +got):\n%s\ndisabled: %q\nbefore: %s\nold: %s\nrequested: %s\nfinal: %s", seed, diff, paths,
				strings.Join(entriesOf(t, live.GetManagedFields()), "\n"), asJSON(t, live.Object["spec"]), asJSON(t, requested.Object["spec"]), asJSON(t, final.Object["spec"]))
		}
	}
	if changed < 300 {
		t.Errorf("only %d updates were changed by the gates", changed)
	}
}

// TestG7AppliesKeepOwnersOfDisabledFields has random applies: no entry has a field that the object does not have, and a
// disabled field keeps its owners, except for the applier (see applierProblems).
func TestG7AppliesKeepOwnersOfDisabledFields(t *testing.T) {
	m := upstreamManager(t)
	corrected := 0
	for seed := range uint64(1500) {
		r := random{rand.New(rand.NewPCG(seed, 2))}
		live, paths := r.history(t, m), r.paths()
		plan, structural := planOf(t, upstreamSchemaYAML, paths...), testyaml.Structural(t, upstreamSchemaYAML)
		sent := crontab(r.write(live.Object), nil)
		sent.SetUID("")
		adjusted, _ := plan.AdjustConfiguration(sent.Object, live.Object, structural, scope.Everything)
		merged, err := m.Apply(live.DeepCopy(), &unstructured.Unstructured{Object: runtime.DeepCopyJSON(adjusted)}, "a", true)
		if err != nil {
			t.Fatal(err)
		}
		requested := merged.(*unstructured.Unstructured)
		final := requested.DeepCopy()
		plan.Evaluate(fieldgate.Write{Object: final.Object, Old: live.Object, Applied: sent.Object, Schema: structural})
		got := mustCorrect(t, Write{
			Before: live.GetManagedFields(), After: requested.GetManagedFields(),
			Objects: inAllVersions(&Objects{Old: live.Object, Requested: requested.Object, Final: final.Object}),
			Applier: &Applier{Manager: "a", Configuration: sent.Object, Adjusted: adjusted, DisabledFields: disabledFields(plan)},
		})
		corrected += count(!cmp.Equal(entriesOf(t, requested.GetManagedFields()), entriesOf(t, got)))
		problems := applyProblems(t, disabledFields(plan), live, requested, got, final.Object)
		problems = append(problems, applierProblems(t, disabledFields(plan), live, sent, got)...)
		if len(problems) > 0 {
			t.Fatalf("seed %d: %s\ndisabled: %q\nbefore: %s\nold: %s\nsent: %s\nafter: %s\nfinal: %s\ngot: %s", seed, strings.Join(problems, "\n"), paths,
				strings.Join(entriesOf(t, live.GetManagedFields()), "\n"), asJSON(t, live.Object["spec"]), asJSON(t, sent.Object["spec"]),
				strings.Join(entriesOf(t, requested.GetManagedFields()), "\n"), asJSON(t, final.Object["spec"]), strings.Join(entriesOf(t, got), "\n"))
		}
	}
	if corrected < 100 {
		t.Errorf("only %d applies had entries to correct", corrected)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// applyProblems returns the problems of the entries after an apply by manager a. Upstream keeps owners of fields that
// its merge removed, so these are no problem.
func applyProblems(t testing.TB, root *fieldgate.Cursor, live, requested *unstructured.Unstructured, after []metav1.ManagedFieldsEntry, object map[string]any) []string {
	var problems []string
	had, has := ownersOf(t, live.GetManagedFields()), ownersOf(t, after)
	for path, owners := range has {
		for name := range owners.names {
			switch {
			case !isPresent(object, owners.path) && isPresent(requested.Object, owners.path):
				problems = append(problems, fmt.Sprintf("G7.4: %s owns %s, which the object does not have", name, path))
			case name != "a Apply" && isDisabled(*root, owners.path) && !had[path].names[name]:
				problems = append(problems, fmt.Sprintf("G7.1: %s became owner of %s", name, path))
			}
		}
	}
	for path, owners := range had {
		for name := range owners.names {
			if name != "a Apply" && isDisabled(*root, owners.path) && isPresent(object, owners.path) && !has[path].names[name] {
				problems = append(problems, fmt.Sprintf("G7.2: %s does not own %s any more", name, path))
			}
		}
	}
	return problems
}

// applierProblems returns the problems of the entry of manager a after it applied a configuration: it owns a disabled
// field if it owned it before and applies it, and may own one whose persisted value it applies.
func applierProblems(t testing.TB, root *fieldgate.Cursor, live, sent *unstructured.Unstructured, after []metav1.ManagedFieldsEntry) []string {
	const applier = "a Apply"
	var problems []string
	had, has := ownersOf(t, live.GetManagedFields()), ownersOf(t, after)
	for path, owners := range has {
		old, _ := valueAt(live.Object, owners.path)
		applied, _ := valueAt(sent.Object, owners.path)
		if isDisabled(*root, owners.path) && owners.names[applier] && !had[path].names[applier] && !isSame(path, applied, old) {
			problems = append(problems, fmt.Sprintf("G7.1: the applier became owner of %s: %v is persisted, %v is applied", path, old, applied))
		}
	}
	for path, owners := range had {
		old, _ := valueAt(live.Object, owners.path)
		if isContainer(old) || !owners.names[applier] || !isDisabled(*root, owners.path) {
			continue // an applier owns the fields of an object, and the object itself only if it is empty
		}
		if _, isApplied := valueAt(sent.Object, owners.path); isApplied != has[path].names[applier] {
			problems = append(problems, fmt.Sprintf("G7.2: the applier applies %s: %v, and owns it: %v", path, isApplied, has[path].names[applier]))
		}
	}
	return problems
}

// isSame compares the values of a field that an entry owns. Owning an object or a list that is not atomic says nothing
// about its content.
func isSame(path string, a, b any) bool {
	isAtomic := path == ".spec.args" || path == ".spec.whole"
	return isContainer(a) && isContainer(b) && !isAtomic || jsonvalue.Equal(a, b)
}

func isContainer(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// owned is a field with its owners.
type owned struct {
	path  line.Path
	names map[string]bool
}

func ownersOf(t testing.TB, entries []metav1.ManagedFieldsEntry) map[string]owned {
	t.Helper()
	out := map[string]owned{}
	for _, entry := range entries {
		fields, err := decode(entry)
		if err != nil {
			t.Fatal(err)
		}
		fields.Iterate(func(path line.Path) {
			if _, known := out[path.String()]; !known {
				out[path.String()] = owned{path: path.Copy(), names: map[string]bool{}}
			}
			out[path.String()].names[entry.Manager+" "+string(entry.Operation)] = true
		})
	}
	return out
}

func isDisabled(cursor fieldgate.Cursor, path line.Path) bool {
	for _, pe := range path {
		if cursor.IsDisabled() {
			return true
		}
		if pe.FieldName != nil {
			cursor = cursor.Field(*pe.FieldName)
		} else {
			cursor = cursor.Item()
		}
	}
	return cursor.IsDisabled()
}

// isPresent reports whether an object has a value at a path of managedFields.
func isPresent(object map[string]any, path line.Path) bool {
	_, found := valueAt(object, path)
	return found
}

func valueAt(object map[string]any, path line.Path) (any, bool) {
	var at any = object
	for _, pe := range path {
		next, found := follow(at, pe)
		if !found {
			return nil, false
		}
		at = next
	}
	return at, true
}

func follow(at any, pe line.PathElement) (any, bool) {
	if pe.FieldName != nil {
		object, _ := at.(map[string]any)
		next, found := object[*pe.FieldName]
		return next, found
	}
	list, _ := at.([]any)
	for _, item := range list {
		if pe.Value != nil && line.ValueEquals(*pe.Value, line.NewValueInterface(item)) {
			return item, true
		}
		if pe.Key != nil && hasKeys(item, *pe.Key) {
			return item, true
		}
	}
	return nil, false
}

func hasKeys(item any, keys line.FieldList) bool {
	object, ok := item.(map[string]any)
	for _, key := range keys {
		ok = ok && line.ValueEquals(key.Value, line.NewValueInterface(object[key.Name]))
	}
	return ok
}

// TestG7BeforeIsUpstreams compares Before with the entries that upstream makes for an update that changes nothing.
func TestG7BeforeIsUpstreams(t *testing.T) {
	m := upstreamManager(t)
	persisted := entries{`alice Update v1: {f:spec: {f:image: {}}}`}.parse(t)
	broken := entries{`bob Update v1: {f:spec: {f:items: {"k:{name}": {}}}}`}.parse(t)
	untyped := entries{`bob Update v1: {f:spec: {f:image: {}}}`}.parse(t)
	untyped[0].FieldsType = ""
	for name, sent := range map[string][]metav1.ManagedFieldsEntry{
		"G7: no entries":                   nil,
		"G7: other entries":                entries{`bob Apply v1: {f:spec: {f:image: {}}}`}.parse(t),
		"G7: an empty list":                {},
		"G7: an empty entry":               {{}},
		"G7: two empty entries":            {{}, {}},
		"G7: a key that is no JSON":        broken,
		"G7: no fieldsType":                untyped,
		"G7: one of two cannot be decoded": append(entries{`bob Apply v1: {f:spec: {f:image: {}}}`}.parse(t), broken...),
	} {
		t.Run(name, func(t *testing.T) {
			object := testyaml.Object(t, `spec: {image: 1}`)
			updated := m.UpdateNoErrors(crontab(object, persisted), crontab(object, sent), "writer").(*unstructured.Unstructured)
			if diff := cmp.Diff(described(t, updated.GetManagedFields()), described(t, Before(persisted, sent, false))); diff != "" {
				t.Errorf("(-upstream +got):\n%s", diff)
			}
		})
	}
}
