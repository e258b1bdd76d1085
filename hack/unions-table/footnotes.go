// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/hack/unions-table/matrix"
)

// footnotes are numbered as they come; the same text has one number.
type footnotes struct {
	texts []string
}

// of returns the marks of a row's footnotes.
func (f *footnotes) of(row matrix.Row) string {
	var found []int
	for _, exception := range row.But {
		found = append(found, f.number(fmt.Sprintf("%s: %s. %s.",
			strings.Join(exception.Writers, ", "), difference(exception.Want, row), upper(exception.Why))))
	}
	if row.Note != "" {
		found = append(found, f.number(upper(row.Note)+"."))
	}
	if found == nil {
		return ""
	}
	return " <sup>" + numbers(found) + "</sup>"
}

func (f *footnotes) number(text string) int {
	i := slices.Index(f.texts, text)
	if i < 0 {
		i = len(f.texts)
		f.texts = append(f.texts, text)
	}
	return i + 1
}

func (f *footnotes) list() string {
	var out strings.Builder
	for i, text := range f.texts {
		fmt.Fprintf(&out, "%d. %s\n", i+1, text)
	}
	return out.String()
}

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
