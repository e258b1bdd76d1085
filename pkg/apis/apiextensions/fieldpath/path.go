// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpath

import (
	"slices"
	"strings"
	"unicode"
)

// Step is one step of a Path: into the field of that name or, where Each is set, into every value of a map or
// every item of a list. Steps compare with ==.
type Step struct {
	// Name is the name of a field. It has no meaning where Each is set.
	Name string
	// Each stands for [*].
	Each bool
}

// Path leads from the root of an object to a field (rule C5).
type Path []Step

// Field returns the step into the named field.
func Field(name string) Step {
	return Step{Name: name}
}

// Each returns the step [*].
func Each() Step {
	return Step{Each: true}
}

// Equal tells whether both paths consist of the same steps, however they were written.
func (p Path) Equal(other Path) bool {
	return slices.Equal(p, other)
}

// HasPrefix tells whether the path is prefix, or leads on from where prefix ends.
func (p Path) HasPrefix(prefix Path) bool {
	return len(p) >= len(prefix) && slices.Equal(p[:len(prefix)], prefix)
}

// String returns the canonical form of the path: .name for every field whose name allows it, else ['name'].
// Two paths are equal exactly if their canonical forms are. Parse reads it back, provided that the path came
// from Parse in the first place.
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

// isBare tells whether a name can be written as .name.
func isBare(name string) bool {
	return !strings.ContainsAny(name, delimiters) && !strings.ContainsFunc(name, isForbidden) && checkBare(name) == ""
}

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

// escapes pairs the letter of every escape sequence that upstream's fieldPath knows with what it stands for.
var escapes = [...]struct{ letter, char byte }{
	{'a', '\a'}, {'b', '\b'}, {'f', '\f'}, {'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'v', '\v'}, {'\'', '\''}, {'\\', '\\'},
}

// escapeLetter returns the letter that stands for a character that must be escaped.
func escapeLetter(char byte) (byte, bool) {
	for _, e := range escapes {
		if e.char == char {
			return e.letter, true
		}
	}
	return 0, false
}

// unescape returns the character that the letter after a backslash stands for.
func unescape(letter byte) (byte, bool) {
	for _, e := range escapes {
		if e.letter == letter {
			return e.char, true
		}
	}
	return 0, false
}

// isForbidden tells whether a character may not appear in the text of a path. Control characters and line
// breaks would garble the warnings that quote the path; escape sequences can stand for most of them.
func isForbidden(r rune) bool {
	const lineSeparator, paragraphSeparator = '\u2028', '\u2029'
	return unicode.IsControl(r) || r == lineSeparator || r == paragraphSeparator
}
