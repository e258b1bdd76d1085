// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/sets"
)

// jsonNull is null as JSON, as in enumValues.
const jsonNull = "null"

// enumValues are the values that the enums of a schema allow.
type enumValues struct {
	strings sets.Set[string]
	// others has the values that are not strings, as JSON.
	others sets.Set[string]
}

// enumOf returns the values that all enums of a schema have in common: its own enum and those under its allOf, where
// generators put the enum of a named type (rule U2). It returns nil if there is no enum. As in upstream's validation,
// an empty enum counts as none.
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

// intersectEnums returns the values that both enums have. An enum that is nil allows all values.
func intersectEnums(a, b *enumValues) *enumValues {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return &enumValues{strings: a.strings.Intersection(b.strings), others: a.others.Intersection(b.others)}
}

// jsonOf returns a value of a schema as JSON.
func jsonOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		// This does not happen, because values of a schema were decoded from JSON.
		return fmt.Sprint(value)
	}
	return string(text)
}
