// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint checks that patches, series and lock are in good order. Each
// failure shows what to write.
package lint

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/fault"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/replay"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
)

// Run returns what is wrong with a line, a failure a string.
func Run(line *repo.Line) ([]string, error) {
	l := &linter{line: line, series: map[string]repo.Series{}}
	if err := l.readSeries(); err != nil {
		return nil, err
	}
	files, err := l.patchFiles()
	if err != nil {
		return nil, err
	}
	l.failures = append(l.failures, line.Lock.Problems()...)
	l.seriesAndFiles(files)
	l.modules()
	for _, name := range unique(line.Series) {
		if slices.Contains(files, name) {
			l.patch(name)
		}
	}
	l.oneGenerated()
	return l.failures, nil
}

type linter struct {
	line *repo.Line
	// series are those of all lines.
	series map[string]repo.Series
	// generated are the generated patches of this line.
	generated []string
	failures  []string
}

func (l *linter) fail(format string, args ...any) {
	l.failures = append(l.failures, fmt.Sprintf(format, args...))
}

func (l *linter) readSeries() error {
	lines, err := l.line.Root.Lines()
	if err != nil {
		return err
	}
	for _, name := range lines {
		line, err := l.line.Root.Open(name)
		if err != nil {
			return err
		}
		l.series[name] = line.Series
	}
	return nil
}

func (l *linter) patchFiles() ([]string, error) {
	var files []string
	dir := l.line.Root.PatchesDir()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err == nil && rel != "README.md" {
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list patches: %w", err)
	}
	return files, nil
}

// seriesAndFiles checks that files and the entries of all series are the same.
func (l *linter) seriesAndFiles(files []string) {
	var named []string
	for _, line := range sortedKeys(l.series) {
		for i, name := range l.series[line] {
			if slices.Contains(l.series[line][:i], name) {
				l.fail("%s: the series of %s names it twice; remove one line", name, line)
			} else if !slices.Contains(files, name) {
				l.fail("%s: the series of %s names it, but there is no such file; remove the line: %s", name, line, name)
			}
			if dir := repo.LineOf(name); dir != "" && dir != line {
				l.fail("%s: the series of %s names a patch of %s; move it to %s/", name, line, dir, repo.ModuleOf(name))
			}
			named = append(named, name)
		}
	}
	for _, file := range files {
		l.fileName(file)
		if !slices.Contains(named, file) {
			l.fail("%s: no series names it; add to staging/lines/%s/series: %s", file, l.line.Name, file)
		}
	}
}

// modules checks that the line locks each module that it patches.
func (l *linter) modules() {
	for _, module := range l.line.Series.Modules() {
		if _, ok := l.line.Lock.Get(module); !ok {
			l.fail("%s: patched, but not in upstream.lock; add: %s <version> <h1 sum>", module, module)
		}
	}
}

func (l *linter) patch(name string) {
	p, err := replay.Load(l.line.Root, name)
	if err != nil {
		l.fail("%s (%s)", err.Error(), fault.Help(err))
		return
	}
	c := &checker{patch: p, fail: func(format string, args ...any) { l.fail(name+": "+format, args...) }}
	c.header(l.linesNaming(name))
	c.diff()
	if p.Generated() {
		l.generated = append(l.generated, name)
	}
}

func (l *linter) linesNaming(name string) []string {
	var lines []string
	for _, line := range sortedKeys(l.series) {
		if slices.Contains(l.series[line], name) {
			lines = append(lines, line)
		}
	}
	return lines
}

func (l *linter) oneGenerated() {
	first := map[string]string{}
	for _, name := range l.generated {
		module := repo.ModuleOf(name)
		if other, ok := first[module]; ok {
			l.fail("%s: %s is generated too; a module has one generated patch: join them", name, other)
			continue
		}
		first[module] = name
	}
}

func unique(list []string) []string {
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

func sortedKeys(m map[string]repo.Series) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, strings.Compare)
	return keys
}
