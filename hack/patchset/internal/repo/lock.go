// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"golang.org/x/mod/module"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/fault"
)

// Locked is an upstream module at a version, with the sum of its content.
type Locked struct {
	module.Version
	Sum string
	// Row is the line of the lock file, counted from one.
	Row int
}

// Lock lists the upstream modules of a line in file order.
type Lock struct {
	File    string
	Modules []Locked
	rows    []string
}

func readLock(file string) (Lock, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Lock{}, fmt.Errorf("read lock: %w", err)
	}
	lock := Lock{File: file, rows: strings.Split(string(data), "\n")}
	for i, row := range lock.rows {
		fields := strings.Fields(uncomment(row))
		if len(fields) == 0 {
			continue
		}
		// A missing sum is let through: `sum --write` fills it.
		if len(fields) < 2 || len(fields) > 3 {
			return Lock{}, fault.New("write: <module> <version> <h1 sum>",
				"%s:%d: %d fields", file, i+1, len(fields))
		}
		fields = append(fields, "")
		lock.Modules = append(lock.Modules, Locked{
			Version: module.Version{Path: fields[0], Version: fields[1]}, Sum: fields[2], Row: i + 1,
		})
	}
	return lock, nil
}

// Get returns the lock entry of a module.
func (l Lock) Get(path string) (Locked, bool) {
	for _, m := range l.Modules {
		if m.Path == path {
			return m, true
		}
	}
	return Locked{}, false
}

// WithSums returns the text of the lock file with other sums, by module path.
func (l Lock) WithSums(sums map[string]string) string {
	rows := append([]string(nil), l.rows...)
	for _, m := range l.Modules {
		row := m.Path + " " + m.Version.Version + " " + sums[m.Path]
		if _, comment, ok := strings.Cut(rows[m.Row-1], "#"); ok {
			row += " #" + comment
		}
		rows[m.Row-1] = row
	}
	return strings.Join(rows, "\n")
}

var h1 = regexp.MustCompile(`^h1:[A-Za-z0-9+/]{43}=$`)

// Problems tells what is wrong with the entries and their order.
func (l Lock) Problems() []string {
	var problems []string
	for i, m := range l.Modules {
		at := fmt.Sprintf("%s:%d: ", l.File, m.Row)
		if err := module.Check(m.Path, m.Version.Version); err != nil {
			problems = append(problems, at+err.Error())
		}
		if !h1.MatchString(m.Sum) {
			problems = append(problems, at+"no h1 sum; fill it with `patchset sum --write`")
		}
		if i > 0 && m.Path == l.Modules[i-1].Path {
			problems = append(problems, at+m.Path+" is there twice")
		} else if i > 0 && m.Path < l.Modules[i-1].Path {
			problems = append(problems, at+m.Path+" is out of order; sort the modules by path")
		}
	}
	return problems
}

func uncomment(row string) string {
	row, _, _ = strings.Cut(row, "#")
	return strings.TrimSpace(row)
}
