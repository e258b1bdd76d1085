// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
)

// TestG8AgreesWithOnePathAfterTheOther compares WithoutDisabledDefaults, which drops the defaults of all paths in one
// walk, with a simple implementation that takes one path after the other, on random schemas.
func TestG8AgreesWithOnePathAfterTheOther(t *testing.T) {
	changed := 0
	for seed := range uint64(2000) {
		r := randomDefaults{rand.New(rand.NewPCG(seed, 8))}
		schema := r.object(3)
		gates := r.gates(&schema)
		original := schema.DeepCopy()
		plan := Compile(gates, &schema, Options{})
		want := schema.DeepCopy()
		for _, path := range disabledPaths(plan, scope.Everything) {
			dropDefaultAt(want, path)
		}
		got := plan.WithoutDisabledDefaults(&schema)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
		if diff := cmp.Diff(original, &schema); diff != "" {
			t.Fatalf("seed %d: the schema was modified:\n%s", seed, diff)
		}
		if isCopy := got != &schema; isCopy != (cmp.Diff(original, want) != "") {
			t.Fatalf("R2: seed %d: copied: %v", seed, isCopy)
		}
		if got != &schema {
			changed++
		}
	}
	if changed < 500 {
		t.Errorf("only %d random schemas have a default to drop", changed)
	}
}

// dropDefaultAt drops the defaults of the field at path from schema, in place.
func dropDefaultAt(schema *structuralschema.Structural, path fieldpath.Path) {
	if len(path) == 0 {
		all := structuralschema.Visitor{Structural: func(s *structuralschema.Structural) bool {
			s.Default.Object = nil
			return true
		}}
		all.Visit(schema)
		return
	}
	removeAt(schema.Default.Object, path)
	step, rest := path[0], path[1:]
	switch {
	case step.Each && schema.Items != nil:
		dropDefaultAt(schema.Items, rest)
	case step.Each && schema.AdditionalProperties != nil:
		dropDefaultAt(schema.AdditionalProperties.Structural, rest)
	case !step.Each:
		if property, found := schema.Properties[step.Name]; found {
			dropDefaultAt(&property, rest)
			schema.Properties[step.Name] = property
		}
	}
}

// removeAt removes the field at path from a JSON value, in all items and values that the path leads to.
func removeAt(value any, path fieldpath.Path) {
	step, rest := path[0], path[1:]
	switch value := value.(type) {
	case map[string]any:
		switch {
		case step.Each:
			for _, v := range value {
				removeAt(v, rest)
			}
		case len(rest) == 0:
			delete(value, step.Name)
		default:
			removeAt(value[step.Name], rest)
		}
	case []any:
		for _, v := range value {
			if step.Each {
				removeAt(v, rest)
			}
		}
	}
}

// randomDefaults generates schemas of objects, maps and list maps, with defaults of any type.
type randomDefaults struct{ *rand.Rand }

var randomNames = []string{"a", "b", "c"}

func (r randomDefaults) object(depth int) structuralschema.Structural {
	s := structuralschema.Structural{
		Generic:    structuralschema.Generic{Type: "object"},
		Properties: map[string]structuralschema.Structural{},
	}
	for _, name := range randomNames {
		if r.IntN(3) > 0 {
			s.Properties[name] = r.schema(depth - 1)
		}
	}
	s.Default.Object = r.defaultValue(depth)
	return s
}

func (r randomDefaults) schema(depth int) structuralschema.Structural {
	if depth <= 0 {
		s := structuralschema.Structural{Generic: structuralschema.Generic{Type: "string"}}
		s.Default.Object = r.defaultValue(0)
		return s
	}
	below := r.object(depth - 1)
	s := structuralschema.Structural{}
	switch r.IntN(4) {
	case 0:
		s.Type, s.Items, s.XListMapKeys = "array", &below, []string{"k"}
	case 1:
		s.Type, s.AdditionalProperties = "object", &structuralschema.StructuralOrBool{Structural: &below}
	default:
		return below
	}
	s.Default.Object = r.defaultValue(depth)
	return s
}

func (r randomDefaults) defaultValue(depth int) any {
	if r.IntN(3) > 0 {
		return nil
	}
	return r.value(depth)
}

func (r randomDefaults) value(depth int) any {
	switch kind := r.IntN(8); {
	case kind == 0:
		return nil
	case kind == 1 || depth <= 0:
		return "x"
	case kind < 4:
		var list []any
		for range r.IntN(3) {
			list = append(list, r.value(depth-1))
		}
		return list
	default:
		object := map[string]any{}
		for _, name := range randomNames {
			if r.IntN(2) > 0 {
				object[name] = r.value(depth - 1)
			}
		}
		return object
	}
}

// gates returns enabled and disabled gates at random paths of a schema.
func (r randomDefaults) gates(schema *structuralschema.Structural) *apiextensions.CustomResourceDefinitionFeatureGates {
	gates := &apiextensions.CustomResourceDefinitionFeatureGates{}
	for i := range 1 + r.IntN(4) {
		stage := apiextensions.PreReleaseAlpha
		if r.IntN(4) == 0 {
			stage = apiextensions.PreReleaseBeta
		}
		gates.FeatureGates = append(gates.FeatureGates, apiextensions.CustomResourceDefinitionFeatureGate{
			Name: fmt.Sprintf("G%d", i), PreRelease: stage, FieldPaths: []string{r.path(schema).String()},
		})
	}
	return gates
}

func (r randomDefaults) path(schema *structuralschema.Structural) fieldpath.Path {
	var path fieldpath.Path
	for {
		switch {
		case schema.Items != nil:
			path, schema = append(path, fieldpath.Each()), schema.Items
		case schema.AdditionalProperties != nil:
			path, schema = append(path, fieldpath.Each()), schema.AdditionalProperties.Structural
		default:
			name := randomNames[r.IntN(len(randomNames))]
			path = append(path, fieldpath.Field(name))
			property, found := schema.Properties[name]
			if !found || r.IntN(3) == 0 {
				return path
			}
			schema = &property
		}
	}
}
