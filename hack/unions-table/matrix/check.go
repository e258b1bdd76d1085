// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"errors"
	"fmt"
	"slices"
)

// check returns an error if a row is invalid, if two rows are the same, or if the matrix is not complete. Without it, a
// mistake in the file could leave a case untested.
func (m *Matrix) check() error {
	var errs []error
	seen := map[string]bool{}
	for _, row := range m.Rows {
		if err := row.check(); err != nil {
			errs = append(errs, fmt.Errorf("row %q: %w", row.Name, err))
		}
		for _, cell := range row.Cells() {
			what := fmt.Sprintf("row %q of %v, persisted as %v", row.Name, cell, row.Persisted)
			if seen[what] {
				errs = append(errs, fmt.Errorf("%s: duplicate", what))
			}
			seen[what] = true
		}
	}
	for _, left := range m.LeftOut {
		if err := left.check(); err != nil {
			errs = append(errs, fmt.Errorf("left out %q: %w", left.Why, err))
		}
	}
	return errors.Join(append(errs, m.checkComplete(), m.checkKEP())...)
}

// checkComplete returns an error for every cell that has no row and is not left out, or that has a row and is left out.
func (m *Matrix) checkComplete() error {
	rows, leftOut := map[Cell]bool{}, map[Cell]bool{}
	for _, row := range m.Rows {
		for _, cell := range row.Cells() {
			rows[cell] = true
		}
	}
	for _, left := range m.LeftOut {
		for _, cell := range left.Cells() {
			leftOut[cell] = true
		}
	}
	var errs []error
	for _, change := range Changes {
		for _, cell := range (Where{Client: Clients, Server: Servers, Union: Unions, Change: change}).Cells() {
			if rows[cell] == leftOut[cell] {
				errs = append(errs, fmt.Errorf("%+v has rows: %t, is left out: %t", cell, rows[cell], leftOut[cell]))
			}
		}
	}
	return errors.Join(errs...)
}

// checkKEP returns an error unless the rows have exactly the cases of KEP-1027.
func (m *Matrix) checkKEP() error {
	var named []int
	for _, row := range m.Rows {
		named = append(named, row.KEP...)
	}
	slices.Sort(named)
	if named = slices.Compact(named); !slices.Equal(named, KEP) {
		return fmt.Errorf("the rows name KEP-1027's cases %v, want %v", named, KEP)
	}
	return nil
}

func (r Row) check() error {
	errs := []error{present("name", r.Name), r.Where.check(), r.Want.check()}
	if r.Persisted == nil || r.Changes == nil {
		errs = append(errs, errors.New("persisted or changes are missing"))
	}
	var writers []string
	for _, exception := range r.But {
		errs = append(errs, known("writer", Writers, exception.Writers), present("why", exception.Why))
		errs = append(errs, exception.Want.check())
		writers = append(writers, exception.Writers...)
	}
	if slices.Sort(writers); len(slices.Compact(writers)) != len(writers) {
		errs = append(errs, errors.New("a writer has two exceptions"))
	}
	return errors.Join(errs...)
}

func (l LeftOut) check() error {
	return errors.Join(l.Where.check(), present("why", l.Why))
}

func (w Where) check() error {
	return errors.Join(
		known("client", Clients, w.Client),
		known("server", Servers, w.Server),
		known("union", Unions, w.Union),
		known("change", Changes, []string{w.Change}),
	)
}

func (o Outcome) check() error {
	if (o.Spec == nil) == (o.Errors == nil) {
		return errors.New("an outcome must have either a spec or errors")
	}
	return nil
}

// known returns an error if a word is unknown, or if there is none.
func known(what string, words, used []string) error {
	if len(used) == 0 {
		return fmt.Errorf("no %s", what)
	}
	for _, word := range used {
		if !slices.Contains(words, word) {
			return fmt.Errorf("%s %q is not one of %q", what, word, words)
		}
	}
	return nil
}

// present returns an error if a text is empty.
func present(what, text string) error {
	if text == "" {
		return fmt.Errorf("no %s", what)
	}
	return nil
}
