// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpath

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		claim     string
		text      string
		path      Path
		canonical string // text, if empty
	}{
		{claim: "C5: a field of the root", text: ".spec", path: Path{Field("spec")}},
		{claim: "C5: a nested field", text: ".spec.replicas", path: Path{Field("spec"), Field("replicas")}},
		{claim: "C5: [*] steps into items", text: ".spec.list[*].image", path: Path{Field("spec"), Field("list"), Each(), Field("image")}},
		{claim: "C5: [*] may follow [*]", text: ".spec.map[*][*].a", path: Path{Field("spec"), Field("map"), Each(), Each(), Field("a")}},
		{claim: "C5: a path may end in [*], since only validation rejects it", text: ".spec[*]", path: Path{Field("spec"), Each()}},
		{claim: "C5: unnecessary quotes make no difference", text: ".spec['a']", path: Path{Field("spec"), Field("a")}, canonical: ".spec.a"},
		{claim: "C5: the first name may be quoted", text: "['spec'].a", path: Path{Field("spec"), Field("a")}, canonical: ".spec.a"},
		{claim: "C5: a quoted name may contain a dot", text: ".spec['a.b']", path: Path{Field("spec"), Field("a.b")}},
		{claim: "C5: a quoted name may contain brackets", text: ".spec['a[0]']", path: Path{Field("spec"), Field("a[0]")}},
		{claim: "C5: a quoted star is a name", text: ".spec['*']", path: Path{Field("spec"), Field("*")}},
		{claim: "C5: a quoted name may have white space around it", text: "[' a ']", path: Path{Field(" a ")}},
		{claim: "C5: a quoted name may contain double quotes", text: `['a"b']`, path: Path{Field(`a"b`)}},
		{claim: "C5: a quoted name may be empty, as in upstream's fieldPath", text: ".spec['']", path: Path{Field("spec"), Field("")}},
		{claim: "C5: all escapes of upstream's fieldPath are allowed", text: `['\a\b\f\n\r\t\v\'\\']`, path: Path{Field("\a\b\f\n\r\t\v'\\")}},
		{claim: "C5: an unnecessary escape makes no difference", text: `['it\'s']`, path: Path{Field("it's")}, canonical: ".it's"},
		{claim: "C5: a quoted name may end in a backslash", text: `['a.\\']`, path: Path{Field(`a.\`)}},
		{claim: "C5: .name may contain a dash", text: ".a-b", path: Path{Field("a-b")}},
		{claim: "C5: .name may consist of digits", text: ".34", path: Path{Field("34")}},
		{claim: "C5: .name may contain white space", text: ".white space", path: Path{Field("white space")}},
		{claim: "C5: .name may contain a single quote", text: ".foo's", path: Path{Field("foo's")}},
		{claim: "C5: a backslash in .name is literal", text: `.\n`, path: Path{Field(`\n`)}},
		{claim: "C5: .name may contain $ and @", text: ".$ref.@id", path: Path{Field("$ref"), Field("@id")}},
		{claim: "C5: .name may contain a star beside other characters", text: ".a*", path: Path{Field("a*")}},
		{claim: "C5: .name may contain letters of all scripts", text: ".größe.数", path: Path{Field("größe"), Field("数")}},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			got, err := Parse(tc.text)
			if err != nil {
				t.Fatalf("Parse(%q): %v", tc.text, err)
			}
			if !got.Equal(tc.path) {
				t.Errorf("Parse(%q) = %#v, want %#v", tc.text, got, tc.path)
			}
			canonical := tc.canonical
			if canonical == "" {
				canonical = tc.text
			}
			if got.String() != canonical {
				t.Errorf("String() = %q, want %q", got.String(), canonical)
			}
			again, err := Parse(got.String())
			if err != nil || !again.Equal(got) {
				t.Errorf("Parse(%q) = %#v, %v; want the original path", got.String(), again, err)
			}
		})
	}
}

func TestParseRejects(t *testing.T) {
	const (
		unopened   = "must not have ] without [ before it"
		noIndex    = "must not use indexes: write [*] for all values of a map or items of a list"
		noFilter   = "must not use filters or expressions: write [*] for all values of a map or items of a list"
		noDouble   = "must not use double quotes: write ['name']"
		noControl  = `must not contain line breaks or control characters: escape them, as in ['a\nb']`
		noSpace    = "must not have white space around it"
		noSpaceIn  = "must not have white space around a name: write ['name'] if it belongs to the name"
		noRoot     = "must name a field, as in .spec.replicas: the root cannot be guarded"
		noStart    = "must start with a dot, as in .spec.replicas"
		badBracket = "must have * or a name in single quotes between [ and ]"
		badEscape  = `must only use the escapes \a \b \f \n \r \t \v \' and \\`
		badClose   = "must have ] after the closing quote, or a backslash before a quote that belongs to the name"
		noDescent  = "must not use recursive descent (..): write out every field on the way"
	)
	at := func(pos int, problem string) string { return fmt.Sprintf("%s (at byte %d)", problem, pos) }
	for _, tc := range []struct {
		claim, text, err string
	}{
		{"C5: an empty path", "", "must not be empty: name a field, as in .spec.replicas"},
		{"C5: the root", ".", noRoot},
		{"C5: the root as $", "$", noRoot},
		{"C5: a path that starts with $", "$.spec", noStart + ": leave out $"},
		{"C5: no leading dot", "spec.a", noStart},
		{"C5: a slash", "/spec/a", noStart},
		{"C5: braces", "{.spec.a}", noStart},
		{"C5: a star alone", "*", noStart},
		{"C5: a trailing dot", ".spec.", at(5, "must not end in a dot")},
		{"C5: recursive descent at the root", "..a", at(0, noDescent)},
		{"C5: recursive descent", ".spec..a", at(5, noDescent)},
		{"C5: recursive descent at the end", ".spec..", at(5, noDescent)},
		{"C5: a dot before a bracket", ".spec.['a']", at(5, "must not have a dot before [")},
		{"C5: a closing bracket after a dot", ".]", at(1, unopened)},
		{"C5: a closing bracket after a name", ".spec]", at(5, unopened)},
		{"C5: two closing brackets", ".spec['a']]", at(10, unopened)},
		{"C5: a name right after a bracket", ".spec['a']b", at(10, "must have a dot or [ after ]")},
		{"C5: the wildcard .*", ".spec.*", at(6, "must not use the wildcard .*: write [*] for the values of a map or the items of a list")},
		{"C5: [*] at the root", "[*].a", "must not start with [*]: the root has fields, not values or items"},
		{"C5: an index", ".list[0]", at(5, noIndex)},
		{"C5: a negative index", ".list[-1]", at(5, noIndex)},
		{"C5: a slice", ".list[:2]", at(5, noIndex)},
		{"C5: a filter", ".list[?(@.a==1)]", at(5, noFilter)},
		{"C5: an expression", ".list[(@.length-1)]", at(5, noFilter)},
		{"C5: double quotes in brackets", `.spec["a"]`, at(5, noDouble)},
		{"C5: double quotes after a dot", `.spec."a"`, at(6, noDouble)},
		{"C5: single quotes after a dot", ".spec.'a'", at(6, "must not have a quote after a dot: write ['name']")},
		{"C5: no quotes in brackets", ".spec[a]", at(5, badBracket)},
		{"C5: empty brackets", ".spec[]", at(5, badBracket)},
		{"C5: two stars", ".spec[**]", at(5, badBracket)},
		{"C5: white space in brackets", ".spec[ * ]", at(5, badBracket)},
		{"C5: a star that is not closed", ".spec[*", at(5, badBracket)},
		{"C5: a bracket that is not closed", ".spec[", at(5, "must close [")},
		{"C5: a quote that is not closed", ".spec['a", at(5, "must close ['")},
		{"C5: an open quote at the end", ".spec['", at(5, "must close ['")},
		{"C5: an escaped closing quote", `.spec['a\']`, at(5, "must close ['")},
		{"C5: an escape at the end", `.spec['a\`, at(5, "must close ['")},
		{"C5: no bracket after the quote", ".spec['a'", at(8, badClose)},
		{"C5: two names in brackets", ".spec['a','b']", at(8, badClose)},
		{"C5: a quote in a quoted name that is not escaped", ".spec['it's']", at(9, badClose)},
		{"C5: an escape that upstream does not support", `.spec['\x41']`, at(7, badEscape)},
		{"C5: an escaped double quote", `.spec['\"']`, at(7, badEscape)},
		{"C5: white space before", " .spec", noSpace},
		{"C5: white space after", ".spec ", noSpace},
		{"C5: white space before a name", ". spec", at(1, noSpaceIn)},
		{"C5: white space after a name", ".spec .a", at(1, noSpaceIn)},
		{"C5: white space that is not ASCII", ".spec.\u00a0a", at(6, noSpaceIn)},
		{"C5: a line break", ".spec\n.a", at(5, noControl)},
		{"C5: a line break at the end", ".spec\n", at(5, noControl)},
		{"C5: a line break in quotes", "['a\nb']", at(3, noControl)},
		{"C5: a line separator", "['a\u2028b']", at(3, noControl)},
		{"C5: a tab", ".a\tb", at(2, noControl)},
		{"C5: a zero byte", ".a\x00", at(2, noControl)},
		{"C5: invalid UTF-8", ".a\xff", "must be valid UTF-8"},
	} {
		t.Run(tc.claim+" is rejected", func(t *testing.T) {
			got, err := Parse(tc.text)
			if err == nil {
				t.Fatalf("Parse(%q) = %#v, want error %q", tc.text, got, tc.err)
			}
			if err.Error() != tc.err {
				t.Errorf("Parse(%q): %q, want %q", tc.text, err, tc.err)
			}
			if got != nil {
				t.Errorf("Parse(%q) = %#v together with an error", tc.text, got)
			}
		})
	}
}

func TestEqualAndHasPrefix(t *testing.T) {
	for _, tc := range []struct {
		claim         string
		path, other   string
		equal, prefix bool // whether other is equal to path, and a prefix of it
	}{
		{"C4: .spec.a equals .spec['a']", ".spec.a", ".spec['a']", true, true},
		{"C4: a quoted name with a dot is one name", ".spec['a.b']", ".spec.a.b", false, false},
		{"C4: a name that is a star is not [*]", ".spec['*']", ".spec[*]", false, false},
		{"C8: a parent is a prefix", ".spec.a.b", ".spec['a']", false, true},
		{"C8: a child is not a prefix", ".spec.a", ".spec.a.b", false, false},
		{"C8: part of a name is not a prefix", ".spec.ab", ".spec.a", false, false},
		{"C8: a path that ends in [*] is a prefix", ".l[*].a", ".l[*]", false, true},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			path, other := mustParse(t, tc.path), mustParse(t, tc.other)
			if got := path.Equal(other); got != tc.equal {
				t.Errorf("Equal() = %v, want %v", got, tc.equal)
			}
			if got := path.String() == other.String(); got != tc.equal {
				t.Errorf("equal canonical forms: %v, want %v: %q and %q", got, tc.equal, path, other)
			}
			if got := path.HasPrefix(other); got != tc.prefix {
				t.Errorf("HasPrefix() = %v, want %v", got, tc.prefix)
			}
			if !path.HasPrefix(nil) {
				t.Errorf("the root is not a prefix")
			}
		})
	}
}

func TestParseIsLinear(t *testing.T) {
	const size = 1 << 20
	for _, tc := range []struct {
		claim, text string
	}{
		{"R1: one long name", "." + strings.Repeat("a", size)},
		{"R1: one long quoted name", "['" + strings.Repeat(`\'`, size/2) + "']"},
		{"R1: many names", strings.Repeat(".a", size/2)},
		{"R1: many quoted names", strings.Repeat("['.']", size/5)},
		{"R1: many open brackets", ".a" + strings.Repeat("[", size)},
		{"R1: many open quotes", ".a" + strings.Repeat("['", size/2)},
		{"R1: many stars", ".a" + strings.Repeat("[*]", size/3)},
		{"R1: many dots", strings.Repeat(".", size)},
		{"R1: much white space", strings.Repeat(" ", size)},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			start := time.Now()
			if path, err := Parse(tc.text); err == nil {
				if again, err := Parse(path.String()); err != nil || !again.Equal(path) {
					t.Errorf("parsing the canonical form gives another path or an error: %v", err)
				}
			} else if len(err.Error()) > 200 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			// A quadratic algorithm would take minutes.
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

// FuzzParse has its seeds in testdata/fuzz.
func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		path, err := Parse(text)
		if err != nil {
			return
		}
		if len(path) == 0 {
			t.Fatalf("Parse(%q) returned the root", text)
		}
		canonical := path.String()
		if len(canonical) > len(text) {
			t.Errorf("canonical form %q is longer than %q", canonical, text)
		}
		again, err := Parse(canonical)
		if err != nil {
			t.Fatalf("Parse(%q), from %q: %v", canonical, text, err)
		}
		if !again.Equal(path) || again.String() != canonical {
			t.Errorf("%q became %#v, then %q, then %#v", text, path, canonical, again)
		}
	})
}

func mustParse(t *testing.T, text string) Path {
	t.Helper()
	path, err := Parse(text)
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	return path
}
