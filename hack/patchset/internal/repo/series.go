// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/fault"
)

// Series is the order in which patches apply: paths relative to staging/patches.
type Series []string

func readSeries(file string) (Series, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read series: %w", err)
	}
	var series Series
	for i, row := range strings.Split(string(data), "\n") {
		name := uncomment(row)
		if name == "" {
			continue
		}
		if !fs.ValidPath(name) || ModuleOf(name) == "." {
			return nil, fault.New("write: <module path>/<name>.patch",
				"%s:%d: %q is not a path below staging/patches", file, i+1, name)
		}
		series = append(series, name)
	}
	return series, nil
}

var lineName = regexp.MustCompile(`^v[0-9]+\.[0-9]+$`)

// ModuleOf returns the module that a patch is for.
func ModuleOf(name string) string {
	dir := path.Dir(name)
	if lineName.MatchString(path.Base(dir)) {
		return path.Dir(dir)
	}
	return dir
}

// LineOf returns the line that a patch is for by its directory, or "".
func LineOf(name string) string {
	if base := path.Base(path.Dir(name)); lineName.MatchString(base) {
		return base
	}
	return ""
}

// Modules lists the modules that the series patches, sorted.
func (s Series) Modules() []string {
	var modules []string
	for _, name := range s {
		modules = append(modules, ModuleOf(name))
	}
	slices.Sort(modules)
	return slices.Compact(modules)
}

// Until returns the series up to and including a patch; all of it if name is "".
func (s Series) Until(name string) (Series, error) {
	if name == "" {
		return s, nil
	}
	i := slices.Index(s, name)
	if i < 0 {
		return nil, fault.Usage("name a patch as the series does: <module path>/<name>.patch",
			"%s is not in the series", name)
	}
	return s[:i+1], nil
}

// InsertRow returns the text of a series file with one more patch: before the
// patch named before, or at the end.
func InsertRow(text, name, before string) string {
	rows := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if text == "" {
		rows = nil
	}
	at := slices.IndexFunc(rows, func(row string) bool { return before != "" && uncomment(row) == before })
	if at < 0 {
		at = len(rows)
	}
	return strings.Join(slices.Insert(rows, at, name), "\n") + "\n"
}
