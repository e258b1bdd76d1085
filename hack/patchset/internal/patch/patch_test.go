// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"fmt"
	"strings"
	"testing"
)

func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		_, _ = fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestDiffRoundTrip(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"an insertion":                  {numbered(1, 9), numbered(1, 4) + "x\n" + numbered(5, 9)},
		"an insertion at the start":     {numbered(1, 9), "x\n" + numbered(1, 9)},
		"an insertion at the end":       {numbered(1, 9), numbered(1, 9) + "x\n"},
		"all lines change":              {numbered(1, 9), numbered(11, 19)},
		"the file is emptied":           {numbered(1, 9), ""},
		"an empty file gets text":       {"", "x\n"},
		"the last new line is removed":  {"a\nb\n", "a\nb"},
		"the last new line is added":    {"a\nb", "a\nb\n"},
		"lines that look like a header": {"a\n", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n"},
		"lines that look like removed":  {"-- a\n++ b\n", "++ b\n"},
		"carriage returns":              {"a\r\nb\r\n", "a\r\nc\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := Diff("dir/file.go", []byte(c.before), []byte(c.after))
			if err != nil {
				t.Fatal(err)
			}
			p, err := Parse("m/p.patch", []byte("Seam: x\n\n"+text))
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			got, err := ApplyFile(p.Name, p.Files[0], []byte(c.before))
			if err != nil || string(got) != c.after {
				t.Errorf("got %q (%v), want %q", got, err, c.after)
			}
			if p.Header.Raw != "Seam: x\n\n" {
				t.Errorf("header is %q", p.Header.Raw)
			}
		})
	}
}

func TestShift(t *testing.T) {
	const diff = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -5,2 +5,3 @@\n line 5\n+x\n line 6\n"
	for name, c := range map[string]struct {
		now  string
		want int64
	}{
		"lines inserted above move it down":    {"new\nnew\n" + numbered(1, 9), 7},
		"lines removed above move it up":       {numbered(3, 9), 3},
		"an insertion right above is no clash": {numbered(1, 4) + "new\n" + numbered(5, 9), 6},
		"an insertion right below is no clash": {numbered(1, 6) + "new\n" + numbered(7, 9), 5},
		"changes below do not matter":          {numbered(1, 7), 5},
		"an insertion inside is a clash":       {numbered(1, 5) + "new\n" + numbered(6, 9), 0},
		"a changed line is a clash":            {numbered(1, 5) + "six\n" + numbered(7, 9), 0},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Parse("m/p.patch", []byte(diff))
			if err != nil {
				t.Fatal(err)
			}
			err = Shift(p.Name, p.Files[0], []byte(numbered(1, 9)), []byte(c.now))
			if (err != nil) != (c.want == 0) {
				t.Fatalf("error %v", err)
			}
			if got := p.Files[0].Hunks[0].OldPosition; err == nil && got != c.want {
				t.Errorf("moved to line %d, want %d", got, c.want)
			}
		})
	}
}

// Whatever is in a patch file, reading it must not panic.
func FuzzParse(f *testing.F) {
	f.Add("Seam: x\n\ndiff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -5,2 +5,3 @@\n line 5\n+x\n line 6\n")
	f.Add("diff --git a/f b/f\nnew file mode 100644\n")
	f.Add("@@ -1 +1 @@\n")
	f.Fuzz(func(_ *testing.T, text string) {
		p, err := Parse("m/p.patch", []byte(text))
		if err != nil {
			return
		}
		for _, file := range p.Files {
			_, _ = ApplyFile(p.Name, file, []byte("a\nb\n"))
		}
	})
}
