// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// unions-table writes KEP-1027's test matrix as a table into docs/unions.md. The matrix is a YAML file that the
// integration test runs; package matrix reads it. hack/update-docs.sh runs this command in the root of the repository.
// Start with table in table.go.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/fairlead-dev/fairlead/hack/unions-table/matrix"
)

const (
	data = "test/integration/testdata/unions/matrix.yaml"
	doc  = "docs/unions.md"

	begin = "<!-- BEGIN unions-table -->\n"
	end   = "<!-- END unions-table -->\n"
)

func main() {
	check := flag.Bool("check", false, "do not write the table, and fail if it is out of date")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "unions-table:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	m, err := matrix.Read(data)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(doc)
	if err != nil {
		return err
	}
	text, err := replace(string(old), table(m))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", doc, err)
	case text == string(old):
		return nil
	case check:
		return fmt.Errorf("the table in %s is out of date: run hack/update-docs.sh", doc)
	}
	return os.WriteFile(doc, []byte(text), 0o644)
}

// replace replaces the table between the markers in a text.
func replace(text, table string) (string, error) {
	before, rest, found := strings.Cut(text, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("the lines %q and %q are missing", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return before + begin + "\n" + table + "\n" + end + after, nil
}
