// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// CheckUnique returns an error if a file has the text that a hunk replaces more than once: "git apply" takes the nearest
// one, which may be the wrong one once upstream has moved the text. Generated files repeat themselves, and are made anew
// for each release: they are not checked.
func CheckUnique(f *gitdiff.File, content string) error {
	if IsGeneratedFile(f.OldName) {
		return nil
	}
	for i, hunk := range f.TextFragments {
		if occurrences(content, oldText(hunk)) > 1 {
			return fmt.Errorf("%s: hunk %d: the text that it replaces is there more than once, so it needs more context", f.OldName, i+1)
		}
	}
	return nil
}

func oldText(hunk *gitdiff.TextFragment) string {
	var b strings.Builder
	for _, line := range hunk.Lines {
		if line.Old() {
			b.WriteString(line.Line)
		}
	}
	return b.String()
}

// IsUnique reports whether CheckUnique accepts a diff of one file, for each content that the file may have.
func IsUnique(diff string, contents []string) bool {
	files, _, err := gitdiff.Parse(strings.NewReader(diff))
	return err != nil || len(files) != 1 || !slices.ContainsFunc(contents, func(content string) bool {
		return CheckUnique(files[0], content) != nil
	})
}

// occurrences counts where a text, which is not empty, starts at the start of a line.
func occurrences(content, text string) int {
	count := 0
	for at := 0; text != ""; at++ {
		next := strings.Index(content[at:], text)
		if next < 0 {
			break
		}
		at += next
		if at == 0 || content[at-1] == '\n' {
			count++
		}
	}
	return count
}

// Canonical returns a diff of git without the lines that change by themselves: blob ids, and names of functions.
func Canonical(diff string) string {
	var b strings.Builder
	for _, line := range strings.SplitAfter(diff, "\n") {
		switch {
		case strings.HasPrefix(line, "index "):
			continue
		case strings.HasPrefix(line, "@@ "):
			at := strings.Index(line[2:], "@@") + len("@@@@")
			line = line[:at] + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

var positions = regexp.MustCompile(`(?m)^@@ -[0-9,]+ \+[0-9,]+ @@$`)

// Equal reports whether two texts of a patch file say the same. The line numbers of hunks are those of one Kubernetes
// line: the text of a hunk alone decides where it applies.
func Equal(a, b string) bool {
	return positions.ReplaceAllLiteralString(a, "@@") == positions.ReplaceAllLiteralString(b, "@@")
}
