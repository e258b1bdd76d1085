// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/hack/unions-table/matrix"
)

// union returns the union in a spec: the value of its discriminator and the names of its members.
func union(spec map[string]any) string {
	source, ok := spec["source"].(map[string]any)
	if !ok {
		return "absent"
	}
	var fields []string
	if value, ok := source["type"]; ok {
		fields = append(fields, "type: "+discriminator(value))
	}
	for _, name := range slices.Sorted(maps.Keys(source)) {
		if name != "type" {
			fields = append(fields, name)
		}
	}
	return "`{" + strings.Join(fields, ", ") + "}`"
}

func discriminator(value any) string {
	if value == "" {
		return `""`
	}
	return fmt.Sprint(value)
}

// outcome returns the result of a request with its warnings.
func outcome(o matrix.Outcome, row matrix.Row) string {
	return state(o, row) + warned(o)
}

// difference returns how an outcome differs from that of the row.
func difference(o matrix.Outcome, row matrix.Row) string {
	if state(o, row) != state(row.Want, row) {
		return outcome(o, row)
	}
	if o.Warnings == nil {
		return "without a warning"
	}
	return "with a warning"
}

// state returns the result of a request without its warnings: the errors, or the persisted union.
func state(o matrix.Outcome, row matrix.Row) string {
	switch {
	case o.Errors != nil:
		return "refused: `" + strings.Join(o.Errors, "`, `") + "`"
	case reflect.DeepEqual(o.Spec["source"], row.Persisted["source"]):
		return "unchanged"
	default:
		return union(o.Spec)
	}
}

// warned returns the warnings without their details.
func warned(o matrix.Outcome) string {
	var out strings.Builder
	for _, warning := range o.Warnings {
		parts := strings.SplitN(warning, ": ", 3)
		fmt.Fprintf(&out, "; warning `%s`", strings.Join(parts[:min(len(parts), 2)], ": "))
	}
	return out.String()
}
