// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package matrix is KEP-1027's test matrix as data (rule U11). The integration test runs every row of it, and
// docs/unions.md shows it as a table.
package matrix

import (
	"fmt"
	"os"
	"slices"

	"sigs.k8s.io/yaml"
)

// The words of the data, in the order in which they are shown.
var (
	// Clients are told apart by what they know of the union.
	Clients = []string{"all", "some", "none"}
	// Servers are told apart by what their schema has of it.
	Servers = []string{"all", "some"}
	// Unions may be empty if they are optional.
	Unions = []string{"required", "optional"}
	// Changes are what a client does to the union.
	Changes = []string{"none", "existing", "new"}
	// Writers are the ways to write.
	Writers = []string{"PUT", "JSON patch", "merge patch", "server-side apply", "kubectl apply"}
	// KEP are the cases that KEP-1027 names.
	KEP = []int{12, 16, 22, 23, 27, 28, 34, 39}
)

// Matrix is all of it.
type Matrix struct {
	Rows    []Row     `json:"rows"`
	LeftOut []LeftOut `json:"leftOut"`
}

// Where says for which clients, servers and unions something holds: for each combination of them.
type Where struct {
	Client []string `json:"client"`
	Server []string `json:"server"`
	Union  []string `json:"union"`
	Change string   `json:"change"`
}

// Row is a case.
type Row struct {
	// Name is what the client does.
	Name string `json:"name"`
	// KEP are the numbers that the case has in KEP-1027.
	KEP   []int `json:"kep,omitempty"`
	Where `json:",inline"`
	// Persisted is the spec that is stored, written while the server's schema had everything.
	Persisted map[string]any `json:"persisted"`
	// Changes is what the client makes of the spec that it read, as a merge patch: null is what it unsets.
	Changes map[string]any `json:"changes"`
	// Want is the outcome, but for some writers.
	Want Outcome     `json:"want"`
	But  []Exception `json:"but,omitempty"`
	// Note is what else to know.
	Note string `json:"note,omitempty"`
}

// Outcome is what becomes of a request: it is stored as Spec, or refused with Errors and nothing changes.
type Outcome struct {
	Spec     map[string]any `json:"spec,omitempty"`
	Warnings []string       `json:"warnings,omitempty"`
	// Errors are fields and reasons as in the text of the error.
	Errors []string `json:"errors,omitempty"`
}

// Exception is another outcome of some writers.
type Exception struct {
	Writers []string `json:"writers"`
	Why     string   `json:"why"`
	Want    Outcome  `json:"want"`
}

// LeftOut are cases that are none.
type LeftOut struct {
	Where `json:",inline"`
	Why   string `json:"why"`
}

// Cell is a combination of client, server, union and change.
type Cell struct {
	Client, Server, Union, Change string
}

// Read reads the matrix and checks that it is complete and makes sense.
func Read(file string) (*Matrix, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var m Matrix
	if err := yaml.UnmarshalStrict(text, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &m, nil
}

// Cells returns the combinations.
func (w Where) Cells() []Cell {
	var cells []Cell
	for _, union := range w.Union {
		for _, server := range w.Server {
			for _, client := range w.Client {
				cells = append(cells, Cell{Client: client, Server: server, Union: union, Change: w.Change})
			}
		}
	}
	return cells
}

// WantOf returns the outcome of a writer.
func (r Row) WantOf(writer string) Outcome {
	for _, exception := range r.But {
		if slices.Contains(exception.Writers, writer) {
			return exception.Want
		}
	}
	return r.Want
}
