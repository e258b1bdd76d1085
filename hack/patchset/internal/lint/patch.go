// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/patch"
)

var kebab = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*\.patch$`)

func (l *linter) fileName(name string) {
	base := path.Base(name)
	switch {
	case !strings.HasSuffix(base, ".patch"):
		l.fail("%s: not a patch; remove it, or name it <name>.patch", name)
	case !kebab.MatchString(base):
		l.fail("%s: not a kebab-case name; write lower-case words with dashes: openapi-definitions.patch", name)
	}
}

// checker checks one patch.
type checker struct {
	patch *patch.Patch
	fail  func(format string, args ...any)
}

// header checks the fields; lines are those whose series name the patch.
func (c *checker) header(lines []string) {
	for _, example := range patch.Examples {
		c.field(example)
	}
	for _, stray := range c.patch.Header.Stray {
		c.fail("the header line %q belongs to no field; indent continuation lines by one space", stray)
	}
	c.unknownFields()
	c.lines(lines)
	c.forwarded()
	if raw := c.patch.Header.Raw; !strings.HasSuffix(raw, "\n\n") || strings.Contains(strings.TrimSuffix(raw, "\n\n"), "\n\n") {
		c.fail("write exactly one empty line, between header and diff")
	}
}

func (c *checker) field(example patch.Example) {
	value, ok := c.patch.Header.Get(example.Name)
	line := example.Name + ": " + example.Text
	switch {
	case !ok && example.Required:
		c.fail("no %s; write: %s", example.Name, line)
	case ok && (value == "" || strings.HasPrefix(value, patch.Unfilled) || strings.HasPrefix(value, "<")):
		c.fail("%s is not filled; write: %s", example.Name, line)
	}
}

func (c *checker) unknownFields() {
	seen := map[string]bool{}
	for _, f := range c.patch.Header.Fields {
		if !slices.ContainsFunc(patch.Examples, func(e patch.Example) bool { return e.Name == f.Name }) {
			c.fail("unknown field %s; the fields are Seam, Why, Lines, Forwarded, Drop-When, Generated-By", f.Name)
		}
		if seen[f.Name] {
			c.fail("%s is there twice; remove one", f.Name)
		}
		seen[f.Name] = true
	}
}

func (c *checker) lines(want []string) {
	value, ok := c.patch.Header.Get("Lines")
	if got := strings.Fields(value); ok && value != "" {
		slices.Sort(got)
		if !slices.Equal(got, want) {
			c.fail("Lines is %q, but the series that name the patch are others; write: Lines: %s", value, strings.Join(want, " "))
		}
	}
}

var forwarded = regexp.MustCompile(`^(no\b[^-].*|no|https?://\S+.*|not-needed\W+\w.*)$`)

func (c *checker) forwarded() {
	value, ok := c.patch.Header.Get("Forwarded")
	if !ok || value == "" || strings.HasPrefix(value, patch.Unfilled) || forwarded.MatchString(value) {
		return
	}
	c.fail("Forwarded is %q; write: Forwarded: no | <URL> | not-needed, <a few words>", value)
}

func (c *checker) diff() {
	if len(c.patch.Files) == 0 {
		c.fail("no diff; edit the staged tree, then: patchset export --into %s", c.patch.Name)
	}
	for _, f := range c.patch.Files {
		switch generated := patch.IsGeneratedFile(f.Path); {
		case generated && !c.patch.Generated():
			c.fail("%s is generated; move it to the module's generated patch, whose header has: Generated-By: hack/update-codegen.sh", f.Path)
		case !generated && c.patch.Generated():
			c.fail("%s is written by hand; move it to another patch, or remove the header line Generated-By", f.Path)
		}
		c.whitespace(f)
	}
}

// whitespace looks at the first bad line of a file only: the rest is alike.
func (c *checker) whitespace(f *patch.File) {
	for i, hunk := range f.Hunks {
		for _, line := range hunk.Lines {
			text := strings.TrimSuffix(line.Line, "\n")
			if line.Op == gitdiff.OpAdd && text != strings.TrimRight(text, " \t\r") {
				c.fail("%s: hunk %d of %d adds a line that ends in white space: %q; remove it", f.Path, i+1, len(f.Hunks), text)
				return
			}
		}
	}
}
