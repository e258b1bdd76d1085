// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpath

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// delimiters end a name that is written as .name.
const delimiters = ".[]"

// Parse parses a path (rule C5). Names are written as in the fieldPath of upstream's validation rules (ValidFieldPath
// in k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel): .name takes every character up to the next dot or
// bracket literally, ['name'] takes any character and the escapes \a \b \f \n \r \t \v \' and \\.
//
// Parse is stricter than upstream in these cases:
//   - .name is rejected if the name starts with a single quote, contains a double quote, is *, or has white space
//     around it. All of these can be written as ['name'].
//   - Control characters and line breaks must be escaped.
//   - A backslash in quotes always escapes the next character, so that a name may end in a backslash.
//
// Errors describe what a path must look like and do not repeat the path. Time and memory are linear in the length of
// the text.
func Parse(text string) (Path, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	var path Path
	for pos := 0; pos < len(text); {
		step, next, err := parseStep(text, pos)
		if err != nil {
			return nil, err
		}
		path, pos = append(path, step), next
	}
	return path, nil
}

// checkText checks the text as a whole.
func checkText(text string) error {
	switch {
	case text == "":
		return errors.New("must not be empty: name a field, as in .spec.replicas")
	case text == "." || text == "$":
		return errors.New("must name a field, as in .spec.replicas: the root cannot be guarded")
	case !utf8.ValidString(text):
		return errors.New("must be valid UTF-8")
	}
	if pos := strings.IndexFunc(text, isForbidden); pos >= 0 {
		return errorAt(pos, "must not contain line breaks or control characters: escape them, as in ['a\\nb']")
	}
	if strings.TrimSpace(text) != text {
		return errors.New("must not have white space around it")
	}
	return nil
}

// parseStep parses the step that starts at pos and returns the position after it.
func parseStep(text string, pos int) (Step, int, error) {
	switch {
	case text[pos] == '.':
		return parseBare(text, pos)
	case text[pos] == '[':
		return parseBracket(text, pos)
	case text[pos] == ']':
		return Step{}, 0, errorAt(pos, "must not have ] without [ before it")
	case pos > 0:
		return Step{}, 0, errorAt(pos, "must have a dot or [ after ]")
	case text[pos] == '$':
		return Step{}, 0, errors.New("must start with a dot, as in .spec.replicas: leave out $")
	default:
		return Step{}, 0, errors.New("must start with a dot, as in .spec.replicas")
	}
}

// parseBare parses .name.
func parseBare(text string, pos int) (Step, int, error) {
	start, end := pos+1, len(text)
	if n := strings.IndexAny(text[start:], delimiters); n >= 0 {
		end = start + n
	}
	name := text[start:end]
	if name == "" {
		return Step{}, 0, missingNameError(text, pos)
	}
	if problem := checkBare(name); problem != "" {
		return Step{}, 0, errorAt(start, problem)
	}
	return Field(name), end, nil
}

// missingNameError returns the error for a dot at pos that is not followed by a name.
func missingNameError(text string, pos int) error {
	switch next := text[pos+1:]; {
	case next == "":
		return errorAt(pos, "must not end in a dot")
	case next[0] == '.':
		return errorAt(pos, "must not use recursive descent (..): write out every field on the way")
	case next[0] == '[':
		return errorAt(pos, "must not have a dot before [")
	default:
		return errorAt(pos+1, "must not have ] without [ before it")
	}
}

// checkBare returns the reason why a name without delimiters cannot be written as .name, or "" if it can.
func checkBare(name string) string {
	switch {
	case name == "":
		return "must have a name after the dot"
	case name == "*":
		return "must not use the wildcard .*: write [*] for the values of a map or the items of a list"
	case name[0] == '\'':
		return "must not have a quote after a dot: write ['name']"
	case strings.Contains(name, `"`):
		return "must not use double quotes: write ['name']"
	case startsOrEndsWithSpace(name):
		return "must not have white space around a name: write ['name'] if it belongs to the name"
	}
	return ""
}

func startsOrEndsWithSpace(name string) bool {
	first, _ := utf8.DecodeRuneInString(name)
	last, _ := utf8.DecodeLastRuneInString(name)
	return unicode.IsSpace(first) || unicode.IsSpace(last)
}

// parseBracket parses [*] or ['name'].
func parseBracket(text string, pos int) (Step, int, error) {
	inner := text[pos+1:]
	switch {
	case inner == "":
		return Step{}, 0, errorAt(pos, "must close [")
	case inner[0] == '\'':
		return parseQuoted(text, pos)
	case strings.HasPrefix(inner, "*]") && pos == 0:
		return Step{}, 0, errors.New("must not start with [*]: the root has fields, not values or items")
	case strings.HasPrefix(inner, "*]"):
		return Each(), pos + len("[*]"), nil
	default:
		return Step{}, 0, errorAt(pos, bracketProblem(inner[0]))
	}
}

// bracketProblem returns what is wrong with brackets that contain neither * nor a quoted name. first is the first byte
// in them.
func bracketProblem(first byte) string {
	switch {
	case first == '"':
		return "must not use double quotes: write ['name']"
	case first == '?' || first == '(' || first == '@':
		return "must not use filters or expressions: write [*] for all values of a map or items of a list"
	case first == '-' || first == ':' || ('0' <= first && first <= '9'):
		return "must not use indexes: write [*] for all values of a map or items of a list"
	default:
		return "must have * or a name in single quotes between [ and ]"
	}
}

// parseQuoted parses ['name'].
func parseQuoted(text string, pos int) (Step, int, error) {
	var name strings.Builder
	for i := pos + len("['"); i < len(text); i++ {
		switch text[i] {
		case '\'':
			if !strings.HasPrefix(text[i+1:], "]") {
				return Step{}, 0, errorAt(i,
					"must have ] after the closing quote, or a backslash before a quote that belongs to the name")
			}
			return Field(name.String()), i + len("']"), nil
		case '\\':
			i++
			if i == len(text) {
				continue // nothing follows the backslash: the quote is never closed
			}
			char, ok := unescape(text[i])
			if !ok {
				return Step{}, 0, errorAt(i-1, `must only use the escapes \a \b \f \n \r \t \v \' and \\`)
			}
			name.WriteByte(char)
		default:
			name.WriteByte(text[i])
		}
	}
	return Step{}, 0, errorAt(pos, "must close ['")
}

func errorAt(pos int, problem string) error {
	return fmt.Errorf("%s (at byte %d)", problem, pos)
}
