// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/hack/unions-table/matrix"
)

// footnotes numbers footnotes in the order in which they are added. The same text has the same number.
type footnotes struct {
	texts []string
}

// of adds the footnotes of a row and returns the marks for them.
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

// number returns the number of a footnote, and adds it if it is new.
func (f *footnotes) number(text string) int {
	i := slices.Index(f.texts, text)
	if i < 0 {
		i = len(f.texts)
		f.texts = append(f.texts, text)
	}
	return i + 1
}

// list returns the footnotes in Markdown.
func (f *footnotes) list() string {
	var out strings.Builder
	for i, text := range f.texts {
		fmt.Fprintf(&out, "%d. %s\n", i+1, text)
	}
	return out.String()
}

// upper returns a text with an upper-case first letter.
func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
