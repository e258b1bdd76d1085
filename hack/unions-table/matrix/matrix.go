// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package matrix reads KEP-1027's test matrix from YAML (rule U11). The integration test runs every row of it, and
// docs/unions.md shows it as a table. Start with Read and Row.
package matrix

import (
	"fmt"
	"os"
	"slices"

	"sigs.k8s.io/yaml"
)

// The values in the matrix, in the order of the table.
var (
	// Clients has the kinds of clients: their types have all members of the union, some of them, or none.
	Clients = []string{"all", "some", "none"}
	// Servers has the kinds of servers: their schemas have all members of the union, or some of them.
	Servers = []string{"all", "some"}
	// Unions has the kinds of unions: the discriminator is required, or may be absent or empty.
	Unions = []string{"required", "optional"}
	// Changes has what a client changes: nothing in the union, values or members that it always had, or later ones.
	Changes = []string{"none", "existing", "new"}
	// Writers has the verbs and patch types of requests.
	Writers = []string{"PUT", "JSON patch", "merge patch", "server-side apply", "kubectl apply"}
	// KEP has the numbers of all cases in KEP-1027 that the matrix must have.
	KEP = []int{12, 16, 22, 23, 27, 28, 34, 39}
)

// Matrix has the cases that are tested, and those that are left out.
type Matrix struct {
	Rows    []Row     `json:"rows"`
	LeftOut []LeftOut `json:"leftOut"`
}

// Where selects every combination of its clients, servers and unions.
type Where struct {
	Client []string `json:"client"`
	Server []string `json:"server"`
	Union  []string `json:"union"`
	Change string   `json:"change"`
}

// Row is a test case for every combination that it selects.
type Row struct {
	// Name is what the client does.
	Name string `json:"name"`
	// KEP has the numbers of the case in KEP-1027.
	KEP   []int `json:"kep,omitempty"`
	Where `json:",inline"`
	// Persisted is the spec that is stored before the request. It was written when the schema had all members.
	Persisted map[string]any `json:"persisted"`
	// Changes is what the client changes in the spec that it has read, as a merge patch.
	Changes map[string]any `json:"changes"`
	// Want is the outcome for all writers that But does not have.
	Want Outcome     `json:"want"`
	But  []Exception `json:"but,omitempty"`
	// Note is a footnote to the row.
	Note string `json:"note,omitempty"`
}

// Outcome is the result of a request: it is persisted as Spec, or rejected with Errors, so that nothing changes.
type Outcome struct {
	Spec     map[string]any `json:"spec,omitempty"`
	Warnings []string       `json:"warnings,omitempty"`
	// Errors has the field and the type of every error, as in the text of the error.
	Errors []string `json:"errors,omitempty"`
}

// Exception is a different outcome for some writers.
type Exception struct {
	Writers []string `json:"writers"`
	Why     string   `json:"why"`
	Want    Outcome  `json:"want"`
}

// LeftOut selects combinations that are not tested, for a reason.
type LeftOut struct {
	Where `json:",inline"`
	Why   string `json:"why"`
}

// Cell is one combination of client, server, union and change.
type Cell struct {
	Client, Server, Union, Change string
}

// Read reads the matrix from a file and checks that it is valid and complete.
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

// Cells returns all combinations that w selects.
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

// WantOf returns the outcome for a writer.
func (r Row) WantOf(writer string) Outcome {
	for _, exception := range r.But {
		if slices.Contains(exception.Writers, writer) {
			return exception.Want
		}
	}
	return r.Want
}
