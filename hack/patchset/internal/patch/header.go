// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"regexp"
	"strings"
)

// Field is one field of a header; the value joins continuation lines.
type Field struct {
	Name, Value string
}

// Header is what stands above the diff: the reasons for the patch.
type Header struct {
	// Raw is the header as it stands in the file.
	Raw    string
	Fields []Field
	// Stray are lines that belong to no field.
	Stray []string
}

var fieldLine = regexp.MustCompile(`^([A-Z][A-Za-z-]*):(.*)$`)

func parseHeader(raw string) Header {
	h := Header{Raw: raw}
	for _, line := range strings.Split(raw, "\n") {
		m := fieldLine.FindStringSubmatch(line)
		switch {
		case m != nil:
			h.Fields = append(h.Fields, Field{m[1], strings.TrimSpace(m[2])})
		case strings.TrimSpace(line) == "":
		case line[0] == ' ' && len(h.Fields) > 0:
			last := &h.Fields[len(h.Fields)-1]
			last.Value = strings.TrimSpace(last.Value + " " + strings.TrimSpace(line))
		default:
			h.Stray = append(h.Stray, line)
		}
	}
	return h
}

// Get returns the value of a field, and whether it is there.
func (h Header) Get(name string) (string, bool) {
	for _, f := range h.Fields {
		if f.Name == name {
			return f.Value, true
		}
	}
	return "", false
}

// Example shows how to write a field.
type Example struct {
	Name, Text string
	Required   bool
}

// Examples are the fields of a header in their order.
var Examples = []Example{
	{"Seam", "<one line: which call or field this seam is>", true},
	{"Why", "<one or more lines; indent continuation lines by one space>", true},
	{"Lines", "<lines it serves, separated by spaces>", true},
	{"Forwarded", "no | <URL> | not-needed, <a few words>", true},
	{"Drop-When", "<a condition that can be checked>", true},
	{"Generated-By", "hack/update-codegen.sh", false},
}

// Unfilled marks a header value that someone has yet to write.
const Unfilled = "TODO"

// Template returns the header of a new patch, to be filled by hand.
func Template(line string, generated bool) string {
	var b strings.Builder
	for _, e := range Examples {
		switch {
		case e.Name == "Lines":
			b.WriteString("Lines: " + line + "\n")
		case e.Required:
			b.WriteString(e.Name + ": " + Unfilled + " " + e.Text + "\n")
		case generated:
			b.WriteString(e.Name + ": " + e.Text + "\n")
		}
	}
	return b.String() + "\n"
}
