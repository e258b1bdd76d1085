// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/fairlead-dev/fairlead/hack/unions-table/matrix"
)

// legend is the text above the table that explains the columns.
//
//go:embed legend.md
var legend string

// titles has the headings of the tables, by what the client changes.
var titles = map[string]string{
	"none":     "changes nothing in the union",
	"existing": "changes values or members that the union always had",
	"new":      "sets values or members that were added later",
}

const header = `| client | server | union | stored | the client … | outcome | KEP |
|---|---|---|---|---|---|---|
`

// table returns the matrix in Markdown.
func table(m *matrix.Matrix) string {
	var out strings.Builder
	out.WriteString(legend + count(m))
	var notes footnotes
	for _, change := range matrix.Changes {
		fmt.Fprintf(&out, "\n**The client %s**\n\n%s", titles[change], header)
		for _, row := range m.Rows {
			if row.Change == change {
				out.WriteString(line(row, &notes))
			}
		}
	}
	out.WriteString("\n" + notes.list() + "\n**Left out**\n\n")
	for _, left := range m.LeftOut {
		fmt.Fprintf(&out, "- Client %s, server %s, union %s, where the client %s: %s.\n",
			words(left.Client, matrix.Clients), words(left.Server, matrix.Servers), words(left.Union, matrix.Unions),
			titles[left.Change], left.Why)
	}
	return out.String()
}

// count returns a sentence with the number of cases.
func count(m *matrix.Matrix) string {
	cases := 0
	for _, row := range m.Rows {
		cases += len(row.Cells())
	}
	last := len(matrix.Writers) - 1
	writers := strings.Join(matrix.Writers[:last], ", ") + " and " + matrix.Writers[last]
	return fmt.Sprintf("A row holds for every combination of its clients, servers and unions. "+
		"These are %d cases, and each is tested with %s.\n", cases, writers)
}

// line returns a row of the table.
func line(row matrix.Row, notes *footnotes) string {
	cells := []string{
		words(row.Client, matrix.Clients),
		words(row.Server, matrix.Servers),
		words(row.Union, matrix.Unions),
		union(row.Persisted),
		row.Name,
		outcome(row.Want, row) + notes.of(row),
		numbers(row.KEP),
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// words returns a list of words, or "any" if it has all words.
func words(used, all []string) string {
	if len(used) == len(all) {
		return "any"
	}
	return strings.Join(used, ", ")
}

// numbers returns a list of numbers.
func numbers(list []int) string {
	texts := make([]string, len(list))
	for i, number := range list {
		texts[i] = strconv.Itoa(number)
	}
	return strings.Join(texts, ", ")
}
