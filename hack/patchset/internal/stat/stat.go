// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stat counts what the patches of a line change.
package stat

import (
	"fmt"
	"strings"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/replay"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
)

// row counts the patches of one kind, in one module or in all.
type row struct {
	module, kind                   string
	patches, hunks, added, removed int
	files                          map[string]bool
}

const (
	handWritten = "hand-written"
	generated   = "generated"
)

// Table returns the counts of a line as text: modules first, totals last.
func Table(line *repo.Line) (string, error) {
	var rows []*row
	for _, module := range append(line.Series.Modules(), "total") {
		for _, kind := range []string{handWritten, generated} {
			rows = append(rows, newRow(module, kind))
		}
	}
	all := newRow("total", "all")
	rows = append(rows, all)
	for _, name := range line.Series {
		if err := count(line, name, rows); err != nil {
			return "", err
		}
	}
	return format(line, rows), nil
}

func newRow(module, kind string) *row {
	return &row{module: module, kind: kind, files: map[string]bool{}}
}

func count(line *repo.Line, name string, rows []*row) error {
	p, err := replay.Load(line.Root, name)
	if err != nil {
		return err
	}
	kind, module := handWritten, repo.ModuleOf(name)
	if p.Generated() {
		kind = generated
	}
	for _, r := range rows {
		if (r.module != module && r.module != "total") || (r.kind != kind && r.kind != "all") {
			continue
		}
		r.patches++
		for _, f := range p.Files {
			r.files[module+"/"+f.Path] = true
			r.hunks += len(f.Hunks)
			for _, hunk := range f.Hunks {
				r.added += int(hunk.LinesAdded)
				r.removed += int(hunk.LinesDeleted)
			}
		}
	}
	return nil
}

func format(line *repo.Line, rows []*row) string {
	width := len("MODULE")
	for _, r := range rows {
		width = max(width, len(r.module))
	}
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "Patches of line %s\n", line.Name)
	_, _ = fmt.Fprintf(&b, "%-*s  %-12s  %7s  %5s  %5s  %6s  %7s\n",
		width, "MODULE", "KIND", "PATCHES", "FILES", "HUNKS", "ADDED", "REMOVED")
	for _, r := range rows {
		if r.patches == 0 && r.module != "total" {
			continue
		}
		_, _ = fmt.Fprintf(&b, "%-*s  %-12s  %7d  %5d  %5d  %6d  %7d\n",
			width, r.module, r.kind, r.patches, len(r.files), r.hunks, r.added, r.removed)
	}
	return b.String()
}
