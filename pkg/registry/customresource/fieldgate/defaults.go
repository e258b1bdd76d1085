// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// WithoutDisabledDefaults returns the schema without what would default a disabled field (rule G8): its own default,
// those of fields inside it, and its part of the default of an enclosing object. The schema itself is left alone, and
// returned where nothing in it could default a disabled field.
func (p *Plan) WithoutDisabledDefaults(schema *structuralschema.Structural) *structuralschema.Structural {
	if schema == nil {
		return nil
	}
	// Most gates guard fields without a default. A copy of a schema is as large as all that a CRD costs besides.
	paths := slices.DeleteFunc(p.DisabledPaths(scope.Everything), func(path fieldpath.Path) bool {
		return !hasDefaultOf(schema, path)
	})
	if len(paths) == 0 {
		return schema
	}
	schema = schema.DeepCopy()
	for _, path := range paths {
		dropDefault(schema, path)
	}
	return schema
}

// hasDefaultOf tells whether anything might default the field at path below schema: also a default of an enclosing
// object, whatever is in it.
func hasDefaultOf(schema *structuralschema.Structural, path fieldpath.Path) bool {
	if schema == nil {
		return false
	}
	if len(path) == 0 {
		return HasDefaults(schema)
	}
	if schema.Default.Object != nil {
		return true
	}
	step, rest := path[0], path[1:]
	if step.Each {
		return hasDefaultOf(schema.Items, rest) ||
			schema.AdditionalProperties != nil && hasDefaultOf(schema.AdditionalProperties.Structural, rest)
	}
	property, ok := schema.Properties[step.Name]
	return ok && hasDefaultOf(&property, rest)
}

// HasDefaults tells whether there is a default at or below schema.
func HasDefaults(schema *structuralschema.Structural) bool {
	if schema == nil {
		return false
	}
	if schema.Default.Object != nil || HasDefaults(schema.Items) {
		return true
	}
	if schema.AdditionalProperties != nil && HasDefaults(schema.AdditionalProperties.Structural) {
		return true
	}
	for _, property := range schema.Properties {
		if HasDefaults(&property) {
			return true
		}
	}
	return false
}

// dropDefault drops what would default the field at path below schema.
func dropDefault(schema *structuralschema.Structural, path fieldpath.Path) {
	if len(path) == 0 {
		dropDefaults(schema)
		return
	}
	if schema.Default.Object != nil {
		// The default is shared with the original, since a deep copy of a schema does not copy it.
		schema.Default.Object = runtime.DeepCopyJSONValue(schema.Default.Object)
		removeValue(schema.Default.Object, path)
	}
	step, rest := path[0], path[1:]
	switch {
	case step.Each && schema.Items != nil:
		dropDefault(schema.Items, rest)
	case step.Each && schema.AdditionalProperties != nil && schema.AdditionalProperties.Structural != nil:
		dropDefault(schema.AdditionalProperties.Structural, rest)
	case !step.Each:
		if property, ok := schema.Properties[step.Name]; ok {
			dropDefault(&property, rest)
			schema.Properties[step.Name] = property
		}
	}
}

// dropDefaults drops all defaults at and below schema.
func dropDefaults(schema *structuralschema.Structural) {
	schema.Default.Object = nil
	if schema.Items != nil {
		dropDefaults(schema.Items)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Structural != nil {
		dropDefaults(schema.AdditionalProperties.Structural)
	}
	for name, property := range schema.Properties {
		dropDefaults(&property)
		schema.Properties[name] = property
	}
}

// removeValue removes the field at path from a JSON value, wherever it is there.
func removeValue(value any, path fieldpath.Path) {
	step, rest := path[0], path[1:]
	switch value := value.(type) {
	case map[string]any:
		switch {
		case step.Each:
			for _, v := range value {
				removeValue(v, rest)
			}
		case len(rest) == 0:
			delete(value, step.Name)
		default:
			removeValue(value[step.Name], rest)
		}
	case []any:
		if step.Each {
			for _, v := range value {
				removeValue(v, rest)
			}
		}
	}
}
