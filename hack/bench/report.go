// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	_ "embed" // for the report
	"os"
	"path/filepath"
	"text/template"
	"time"
)

//go:embed report.md.tmpl
var reportTemplate string

// results are those of all parts; a part that was not run is nil.
type results struct {
	Quick                 bool
	Took                  time.Duration
	Machine               string
	Micro, EndToEnd, CRDs *set
	Requests, NumCRDs     int      // in EndToEnd to each arm in a round, and in CRDs
	Charts                []string // names
}

// work is what is compared for an HTTPRoute, by the name of the benchmark.
type work struct {
	Name, Title string
	Ours        bool
}

var works = []work{
	{"union", "union checks", true}, {"gates", "evaluation of 10 gates", true}, {"walk", "hand-written walk", false},
	{"deepcopy", "deep copy", false}, {"decode", "decoding JSON", false}, {"cel", "CEL rules", false},
	{"schema", "schema validation", false}, {"managedfields", "managed fields", false},
}

// compiled is what is made once for a CRD, by the name of the benchmark.
var compiled = [][2]string{
	{"unions", "unions"}, {"gates", "10 gates"}, {"unions+gates", "**unions and 10 gates**"}, {"cel", "20 CEL rules"},
	{"structural", "structural schema"}, {"schema", "schema validator"},
}

// lists are what the report iterates over.
var lists = template.FuncMap{
	"list": func(name string) any {
		return map[string]any{
			"works": works, "sizes": times, "compiled": compiled, "growths": growths, "loads": loads,
			"arms": endToEndArms, "crdArms": crdArms,
		}[name]
	},
}

// write writes the charts and the report into a directory, and the report to standard output.
func (r *results) write(dir string) error {
	for _, c := range r.charts() {
		image, err := execute(chartTemplate, c.image())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, c.name+".svg"), image, 0o644); err != nil {
			return err
		}
		r.Charts = append(r.Charts, c.name)
	}
	report, err := execute(reportTemplate, r)
	if err != nil {
		return err
	}
	if _, err := os.Stdout.Write(report); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "report.md"), report, 0o644)
}

func execute(text string, data any) ([]byte, error) {
	t, err := template.New("").Funcs(lists).Parse(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, data)
	return out.Bytes(), err
}
