// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint checks that patches, series and lock are in order. Each failure says what to write.
package lint

import (
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/patch"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
)

// most is the number of lines that the hand-written patches of a line may add: a patch is a seam, the logic is in pkg.
const most = 300

type linter struct {
	line *repo.Line
	// lines names the lines whose series has a patch.
	lines    map[string][]string
	added    int64
	failures []string
}

// Run returns what is wrong with a line.
func Run(line *repo.Line) ([]string, error) {
	patches, err := repo.Patches(line.Root)
	if err != nil {
		return nil, err
	}
	l := &linter{line: line, lines: patches}
	if err := l.files(); err != nil {
		return nil, err
	}
	for _, name := range line.Series {
		l.patch(name)
	}
	if l.added > most {
		l.fail(line.Name, "hand-written patches add %d lines, at most %d may be: move logic to pkg", l.added, most)
	}
	return l.failures, nil
}

func (l *linter) fail(at, format string, args ...any) {
	l.failures = append(l.failures, at+": "+fmt.Sprintf(format, args...))
}

// files checks the files below staging/patches, and that a series names each.
func (l *linter) files() error {
	dir := l.line.PatchesDir()
	return filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		name = filepath.ToSlash(name)
		if l.lines[name] == nil {
			l.fail(name, "no series names it; add to staging/lines/%s/series: %s", l.line.Name, name)
		}
		return err
	})
}

func (l *linter) patch(name string) {
	text, err := l.line.ReadPatch(name)
	if err != nil {
		l.fail(name, "%v", err)
		return
	}
	p, err := patch.Parse(name, text)
	if err != nil {
		l.fail(name, "%v", err)
		return
	}
	l.message(name, p)
	l.trailers(name, p.Trailers())
	for _, f := range p.Files {
		l.file(name, p, f)
	}
}

// message checks subject and reasons.
func (l *linter) message(name string, p *patch.Patch) {
	subject, body, _ := strings.Cut(p.Message, "\n")
	if patch.NameOf(subject) != p.Name {
		l.fail(name, "the subject is %q; start it with the name of the patch: %s: <what it does>", subject, p.Name)
	}
	if strings.Count(strings.TrimSpace(body), "\n\n") == 0 || !strings.HasPrefix(body, "\n") {
		l.fail(name, "write an empty line, the reasons for the patch, an empty line, and the trailers")
	}
	if strings.Contains(p.Message, "<") {
		l.fail(name, "fill in what stands in angle brackets")
	}
	if p.IsGenerated() != patch.IsGeneratedName(p.Name) {
		l.fail(name, "a patch of generated files is named generated.patch, and has the trailer Generated-By: hack/update-codegen.sh")
	}
}

var (
	required  = []string{"Lines", "Forwarded", "Drop-When"}
	forwarded = regexp.MustCompile(`^(no|no, .+|https?://\S+.*|not-needed, .+)$`)
)

func (l *linter) trailers(name string, trailers map[string]string) {
	for _, trailer := range required {
		if trailers[trailer] == "" {
			l.fail(name, "no %s; see docs/patches.md for the trailers", trailer)
		}
	}
	for _, trailer := range slices.Sorted(maps.Keys(trailers)) {
		if !slices.Contains(required, trailer) && trailer != "Generated-By" {
			l.fail(name, "unknown trailer %s", trailer)
		}
	}
	if want := strings.Join(l.lines[name], " "); trailers["Lines"] != want {
		l.fail(name, "Lines is %q, but the series that name the patch are those of: %s", trailers["Lines"], want)
	}
	if f := trailers["Forwarded"]; f != "" && !forwarded.MatchString(f) {
		l.fail(name, "Forwarded is %q; write: Forwarded: no, <why> | <URL> | not-needed, <why>", f)
	}
}

// file checks the diff of a file.
func (l *linter) file(name string, p *patch.Patch, f *gitdiff.File) {
	file := f.NewName
	if file == "" {
		file = f.OldName
	}
	if patch.IsGeneratedFile(file) != p.IsGenerated() {
		l.fail(name, "%s: generated files and others do not share a patch", file)
	}
	for i, hunk := range f.TextFragments {
		if !p.IsGenerated() {
			l.added += hunk.LinesAdded
		}
		for _, line := range hunk.Lines {
			if text := strings.TrimSuffix(line.Line, "\n"); line.New() && !line.Old() && strings.TrimRight(text, " \t\r") != text {
				l.fail(name, "%s: hunk %d adds a line that ends in white space: %q", file, i+1, text)
			}
		}
	}
}
