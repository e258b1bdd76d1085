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
		if name != "" && (!fs.ValidPath(name) || ModuleOf(name) == ".") {
			return nil, fmt.Errorf("%s:%d: %q is not a path below staging/patches: write <module path>/<name>.patch", file, i+1, name)
		}
		if name != "" {
			series = append(series, name)
		}
	}
	return series, nil
}

var lineName = regexp.MustCompile(`^v[0-9]+\.[0-9]+$`)

// ModuleOf returns the module that a patch is for.
func ModuleOf(name string) string {
	if dir := path.Dir(name); !lineName.MatchString(path.Base(dir)) {
		return dir
	}
	return path.Dir(path.Dir(name))
}

// Modules returns the modules that the series patches, sorted.
func (s Series) Modules() []string {
	modules := make([]string, 0, len(s))
	for _, name := range s {
		modules = append(modules, ModuleOf(name))
	}
	slices.Sort(modules)
	return slices.Compact(modules)
}

// Of returns the patches of a module, in order.
func (s Series) Of(module string) []string {
	return slices.DeleteFunc(slices.Clone(s), func(name string) bool { return ModuleOf(name) != module })
}

// WithPatches returns the text of a series file in which a module has these patches. Comments stay.
func WithPatches(text, module string, names []string) string {
	var rows []string
	at := -1
	for _, row := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if name := uncomment(row); name == "" || ModuleOf(name) != module {
			rows = append(rows, row)
		} else if at < 0 {
			at = len(rows)
		}
	}
	if at < 0 {
		at = len(rows)
	}
	return strings.TrimLeft(strings.Join(slices.Insert(rows, at, names...), "\n")+"\n", "\n")
}

// Patches returns the patches that the series of a repository name, and the lines that name each.
func Patches(root string) (map[string][]string, error) {
	lines, err := Lines(root)
	if err != nil {
		return nil, err
	}
	patches := map[string][]string{}
	for _, name := range lines {
		line, err := Open(root, name)
		if err != nil {
			return nil, err
		}
		for _, patch := range line.Series {
			patches[patch] = append(patches[patch], name)
		}
	}
	return patches, nil
}
