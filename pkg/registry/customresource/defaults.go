// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"maps"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/jsonvalue"
)

// ignoreDroppedDefaults removes the drops from the outcome that concern defaults of the request's version. The client
// did not send these values: they were filled in before the gates were evaluated (rule G8). A client that sends the
// default value itself cannot be distinguished from one that does not. old is in the storage version.
func (r *Request) ignoreDroppedDefaults(
	requested map[string]any, final *unstructured.Unstructured, old map[string]any,
) error {
	plan := r.endpoint.plan
	version, _ := plan.version(final.GroupVersionKind().Version)
	if version.defaults == nil || !r.outcome.Dropped() {
		return nil
	}
	sent := version.defaults.objectWithoutDefaults(requested, final.Object)
	if !sent.changed || jsonvalue.Equal(sent.value, requested) {
		return nil
	}
	converted, err := plan.convert(&unstructured.Unstructured{Object: sent.value.(map[string]any)}, plan.storage)
	if err != nil {
		return err
	}
	write := fieldgate.Write{Object: converted.Object, Old: old, Scope: r.endpoint.scope}
	r.outcome.RetainDropsOf(plan.gates.Evaluate(write))
	return nil
}

// defaults are the defaults at a position of a schema and below. A default is stored as the fingerprint of the value
// that upstream's defaulting sets: defaults inside of defaults can make a large value from a small schema, which would
// be compared with every value of a map. A nil *defaults has no defaults.
type defaults struct {
	fields   map[string]*defaults
	values   *defaults // of a map
	items    *defaults // of a list
	nullable bool
	// hasDefault reports whether the field at this position has a default. byDefault is the value that defaulting sets if
	// the field is absent.
	hasDefault bool
	byDefault  jsonvalue.Fingerprint
	// added is the sum of the fields that defaulting adds to an empty object at this position.
	added jsonvalue.Fingerprint
}

// compileDefaults returns the defaults of a schema, or nil if there are none.
func compileDefaults(s *structuralschema.Structural) *defaults {
	if s == nil {
		return nil
	}
	d := &defaults{items: compileDefaults(s.Items), nullable: s.Nullable}
	if s.AdditionalProperties != nil {
		d.values = compileDefaults(s.AdditionalProperties.Structural)
	}
	for name, property := range s.Properties {
		if below := compileDefaults(&property); below != nil || d.values != nil {
			d.setField(name, below)
		}
	}
	if s.Default.Object != nil {
		d.hasDefault, d.byDefault = true, d.fingerprint(s.Default.Object)
	}
	if !d.hasDefault && d.fields == nil && d.values == nil && d.items == nil {
		return nil
	}
	return d
}

func (d *defaults) setField(name string, field *defaults) {
	if d.fields == nil {
		d.fields = map[string]*defaults{}
	}
	d.fields[name] = field
	if field != nil && field.hasDefault {
		d.added += jsonvalue.FieldFingerprint(name, field.byDefault)
	}
}

// field returns the defaults of a field of an object, or of a value of a map.
func (d *defaults) field(name string) *defaults {
	if d == nil {
		return nil
	}
	if field, found := d.fields[name]; found {
		return field
	}
	return d.values
}

// item returns the defaults of the items of a list.
func (d *defaults) item() *defaults {
	if d == nil {
		return nil
	}
	return d.items
}

// isDefault reports whether a value is the one that defaulting sets if the field is absent.
func (d *defaults) isDefault(value jsonvalue.Fingerprint) bool {
	return d != nil && d.hasDefault && d.byDefault == value
}

// fingerprint returns the fingerprint of a value after defaulting.
func (d *defaults) fingerprint(value any) jsonvalue.Fingerprint {
	if d == nil {
		return jsonvalue.FingerprintOf(value)
	}
	switch value := value.(type) {
	case map[string]any:
		return d.fingerprintOfObject(value)
	case []any:
		sum := jsonvalue.NoItems
		for i, v := range value {
			sum += jsonvalue.ItemFingerprint(i, d.items.fingerprintOfPresent(v))
		}
		return sum
	default:
		return jsonvalue.FingerprintOf(value)
	}
}

func (d *defaults) fingerprintOfObject(object map[string]any) jsonvalue.Fingerprint {
	sum := jsonvalue.NoFields + d.added
	for name, v := range object {
		if field := d.fields[name]; field != nil && field.hasDefault {
			sum -= jsonvalue.FieldFingerprint(name, field.byDefault)
		}
		sum += jsonvalue.FieldFingerprint(name, d.field(name).fingerprintOfPresent(v))
	}
	return sum
}

// fingerprintOfPresent returns the fingerprint of a field or an item after defaulting, which also replaces a null that
// is not nullable.
func (d *defaults) fingerprintOfPresent(value any) jsonvalue.Fingerprint {
	if value == nil && d != nil && d.hasDefault && !d.nullable {
		return d.byDefault
	}
	return d.fingerprint(value)
}

// stripped is a value without its defaults.
type stripped struct {
	value   any
	changed bool
	// original is the fingerprint of the value with its defaults.
	original jsonvalue.Fingerprint
}

// withoutDefaults returns a copy of a value in which each default is replaced by the value in the final object, or
// removed if the final object has none. So fields that a conversion webhook relies on stay. The value itself is not
// modified. It takes time linear in the size of the value (rule R3).
func (d *defaults) withoutDefaults(value, final any) stripped {
	switch value := value.(type) {
	case map[string]any:
		final, _ := final.(map[string]any)
		return d.objectWithoutDefaults(value, final)
	case []any:
		if final, ok := final.([]any); ok && len(final) == len(value) {
			return d.listWithoutDefaults(value, final)
		}
	}
	return stripped{value: value, original: jsonvalue.FingerprintOf(value)}
}

func (d *defaults) objectWithoutDefaults(object, final map[string]any) stripped {
	out, changed, original := object, false, jsonvalue.NoFields
	for name, v := range object {
		field := d.field(name)
		below := field.withoutDefaults(v, final[name])
		original += jsonvalue.FieldFingerprint(name, below.original)
		isDefault := field.isDefault(below.original)
		if !isDefault && !below.changed {
			continue
		}
		if !changed {
			out, changed = maps.Clone(object), true
		}
		if !isDefault {
			out[name] = below.value
		} else if v, found := final[name]; found {
			out[name] = v
		} else {
			delete(out, name)
		}
	}
	return stripped{out, changed, original}
}

func (d *defaults) listWithoutDefaults(list, final []any) stripped {
	out, changed, original := list, false, jsonvalue.NoItems
	for i, v := range list {
		below := d.item().withoutDefaults(v, final[i])
		original += jsonvalue.ItemFingerprint(i, below.original)
		if !below.changed {
			continue
		}
		if !changed {
			out, changed = slices.Clone(list), true
		}
		out[i] = below.value
	}
	return stripped{out, changed, original}
}
