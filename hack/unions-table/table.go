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

// legend explains the columns.
//
//go:embed legend.md
var legend string

// titles are the headings of the parts, by what the client changes.
var titles = map[string]string{
	"none":     "changes nothing in the union",
	"existing": "changes what the union always had",
	"new":      "sets what was added later",
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

func count(m *matrix.Matrix) string {
	cases := 0
	for _, row := range m.Rows {
		cases += len(row.Cells())
	}
	last := len(matrix.Writers) - 1
	writers := strings.Join(matrix.Writers[:last], ", ") + " and " + matrix.Writers[last]
	return fmt.Sprintf("A row is true of each combination of what it names. These are %d cases, each tested with %s.\n",
		cases, writers)
}

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

// words lists words, but says that all are meant.
func words(used, all []string) string {
	if len(used) == len(all) {
		return "any"
	}
	return strings.Join(used, ", ")
}

func numbers(list []int) string {
	texts := make([]string, len(list))
	for i, number := range list {
		texts[i] = strconv.Itoa(number)
	}
	return strings.Join(texts, ", ")
}
