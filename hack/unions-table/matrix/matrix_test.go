// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var data = filepath.Join("..", "..", "..", "test", "integration", "testdata", "unions", "matrix.yaml")

func TestU11TheMatrixIsComplete(t *testing.T) {
	if _, err := Read(data); err != nil {
		t.Error(err)
	}
}

func TestReadFindsMistakes(t *testing.T) {
	text, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, old, new, want string }{
		{"an unknown field", "\n  change: none", "\n  changed: none", `unknown field "changed"`},
		{"an unknown word", "server: [all, some]", "server: [all, most]", `server "most" is not one of`},
		{"no word", "client: [all, some, none]", "client: []", "no client"},
		{"a cell without a row that is not left out", "\nleftOut:\n- client: [some]", "\nleftOut:\n- client: [none]",
			"{Client:some Server:all Union:required Change:new} has rows: false, is left out: false"},
		{"a cell with a row that is left out", "\nleftOut:\n- client: [some]", "\nleftOut:\n- client: [some, all]",
			"{Client:all Server:all Union:required Change:new} has rows: true, is left out: true"},
		{"a case of the KEP that is missing", "kep: [22, 27]", "kep: [22]", "want [12 16 22 23 27 28 34 39]"},
		{"an exception without a reason", "    why: ", "    why: '' #", "no why"},
		{"two exceptions for a writer", "writers: [PUT]", "writers: [PUT, PUT]", "a writer has two exceptions"},
		{"no outcome", `want: {errors: ["spec.source.git: Forbidden"]}`, "want: {}", "must have either a spec or errors"},
		{"a duplicate cell", "client: [all, some, none]", "client: [all, some, none, none]", "duplicate"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "matrix.yaml")
			broken := strings.Replace(string(text), tc.old, tc.new, 1)
			if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(file); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v\nwant %s", err, tc.want)
			}
		})
	}
}
