// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/sets"
)

// jsonNull is how enumValues writes null.
const jsonNull = "null"

// enumValues are the values that the enums of a schema allow.
type enumValues struct {
	strings sets.Set[string]
	// others are the values that are no strings, as JSON.
	others sets.Set[string]
}

// enumOf returns the values that all enums of a schema have in common, its own and those under its allOf, where
// generators put them for a type with markers of its own (rule U2). It returns nil if there is no enum; upstream takes
// an empty one for none.
func enumOf(s *apiextensions.JSONSchemaProps) *enumValues {
	var values *enumValues
	if len(s.Enum) > 0 {
		values = newEnumValues(s.Enum)
	}
	for i := range s.AllOf {
		values = intersectEnums(values, enumOf(&s.AllOf[i]))
	}
	return values
}

func newEnumValues(list []apiextensions.JSON) *enumValues {
	values := &enumValues{strings: sets.New[string](), others: sets.New[string]()}
	for _, value := range list {
		if text, isString := value.(string); isString {
			values.strings.Insert(text)
		} else {
			values.others.Insert(jsonOf(value))
		}
	}
	return values
}

// intersectEnums intersects two enums, either of which may be nil for none.
func intersectEnums(a, b *enumValues) *enumValues {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return &enumValues{strings: a.strings.Intersection(b.strings), others: a.others.Intersection(b.others)}
}

func jsonOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		// Nothing that was JSON once gets here.
		return fmt.Sprint(value)
	}
	return string(text)
}
