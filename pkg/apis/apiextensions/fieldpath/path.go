// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpath

import (
	"slices"
	"strings"
	"unicode"
)

// Step is one step of a Path: into the field with a name or, if Each is set, into every value of a map or every item of
// a list. Steps can be compared with ==.
type Step struct {
	// Name is the name of a field. It is not used if Each is set.
	Name string
	// Each stands for [*].
	Each bool
}

// Path consists of the steps from the root of an object to a field (rule C5).
type Path []Step

// Field returns the step into the named field.
func Field(name string) Step {
	return Step{Name: name}
}

// Each returns the step [*].
func Each() Step {
	return Step{Each: true}
}

// Equal reports whether both paths consist of the same steps. How the paths were written does not matter.
func (p Path) Equal(other Path) bool {
	return slices.Equal(p, other)
}

// HasPrefix reports whether the path begins with all steps of prefix, or is equal to it.
func (p Path) HasPrefix(prefix Path) bool {
	return len(p) >= len(prefix) && slices.Equal(p[:len(prefix)], prefix)
}

// String returns the canonical form of the path: .name for every field whose name allows it, else ['name']. Two paths
// are equal if and only if their canonical forms are. Parse accepts the canonical form of every path that it returned.
func (p Path) String() string {
	var b strings.Builder
	for _, step := range p {
		switch {
		case step.Each:
			b.WriteString("[*]")
		case isBare(step.Name):
			b.WriteByte('.')
			b.WriteString(step.Name)
		default:
			writeQuoted(&b, step.Name)
		}
	}
	return b.String()
}

// isBare reports whether a name can be written as .name.
func isBare(name string) bool {
	return !strings.ContainsAny(name, delimiters) && !strings.ContainsFunc(name, isForbidden) && checkBare(name) == ""
}

// writeQuoted writes ['name'].
func writeQuoted(b *strings.Builder, name string) {
	b.WriteString("['")
	for i := 0; i < len(name); i++ {
		if letter, ok := escapeLetter(name[i]); ok {
			b.WriteByte('\\')
			b.WriteByte(letter)
		} else {
			b.WriteByte(name[i])
		}
	}
	b.WriteString("']")
}

// escapes has the letter of every escape sequence that upstream's fieldPath allows, and the character it stands for.
var escapes = [...]struct{ letter, char byte }{
	{'a', '\a'}, {'b', '\b'}, {'f', '\f'}, {'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'v', '\v'}, {'\'', '\''}, {'\\', '\\'},
}

// escapeLetter returns the letter to write after a backslash for a character, and whether it must be escaped.
func escapeLetter(char byte) (byte, bool) {
	for _, e := range escapes {
		if e.char == char {
			return e.letter, true
		}
	}
	return 0, false
}

// unescape returns the character that the letter after a backslash stands for, and whether there is such an escape.
func unescape(letter byte) (byte, bool) {
	for _, e := range escapes {
		if e.letter == letter {
			return e.char, true
		}
	}
	return 0, false
}

// isForbidden reports whether a character must not appear in the text of a path. Control characters and line breaks
// would garble the warnings that quote the path. Most of them can be written as escape sequences.
func isForbidden(r rune) bool {
	const lineSeparator, paragraphSeparator = '\u2028', '\u2029'
	return unicode.IsControl(r) || r == lineSeparator || r == paragraphSeparator
}
