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

// union shows the union in a spec: its discriminator, and which members it has.
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

// outcome says what becomes of a request.
func outcome(o matrix.Outcome, row matrix.Row) string {
	return state(o, row) + warned(o)
}

// difference says what an outcome has that is not the row's.
func difference(o matrix.Outcome, row matrix.Row) string {
	if state(o, row) != state(row.Want, row) {
		return outcome(o, row)
	}
	if o.Warnings == nil {
		return "without a warning"
	}
	return "with a warning"
}

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

// warned shows the beginnings of the warnings.
func warned(o matrix.Outcome) string {
	var out strings.Builder
	for _, warning := range o.Warnings {
		parts := strings.SplitN(warning, ": ", 3)
		fmt.Fprintf(&out, "; warning `%s`", strings.Join(parts[:min(len(parts), 2)], ": "))
	}
	return out.String()
}
