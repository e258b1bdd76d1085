// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package patch reads and writes patch files. A patch file is a mail that "git am" takes, less all that changes by
// itself: dates, hashes, numbers and signatures. The subject starts with the name of the file.
package patch

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

const (
	// from is the author of all commits; "git am" wants one.
	from = "From: fairlead <fairlead@localhost>\n"
	// separator is the line between message and diff.
	separator = "\n---\n"
)

// Patch is a patch file.
type Patch struct {
	// Name is that of the file without its extension.
	Name string
	// Message is that of the commit: subject, empty line, reasons, empty line, trailers.
	Message string
	Diff    string
	// Files are those of the diff.
	Files []*gitdiff.File
}

// Parse reads the text of a patch file, of which file is the name in error messages.
func Parse(file, text string) (*Patch, error) {
	mail, isOurs := strings.CutPrefix(text, from+"Subject: ")
	message, diff, found := strings.Cut(mail, separator)
	if !isOurs || !found {
		return nil, fmt.Errorf("%s: a patch starts with %q and a subject, and has a line --- before the diff: see docs/patches.md", file, from)
	}
	files, _, err := gitdiff.Parse(strings.NewReader(diff))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	name := strings.TrimSuffix(path.Base(file), ".patch")
	return &Patch{Name: name, Message: message + "\n", Diff: diff, Files: files}, nil
}

// Text returns the text of the patch file.
func (p *Patch) Text() string {
	return from + "Subject: " + strings.TrimRight(p.Message, "\n") + separator + p.Diff
}

var subject = regexp.MustCompile(`^([a-z0-9]+(-[a-z0-9]+)*): .`)

// NameOf returns the name of the patch of a commit with that message, or "" if its subject does not start with one:
// lower-case words with dashes and a colon.
func NameOf(message string) string {
	if m := subject.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	return ""
}

// Trailers returns the trailers of the message by name: the "Name: value" lines of its last paragraph. A value goes
// on in lines that start with a space.
func (p *Patch) Trailers() map[string]string {
	paragraphs := strings.Split(strings.TrimSpace(p.Message), "\n\n")
	trailers := map[string]string{}
	name := ""
	for _, line := range strings.Split(paragraphs[len(paragraphs)-1], "\n") {
		key, value, found := strings.Cut(line, ": ")
		switch {
		case strings.HasPrefix(line, " ") && name != "":
			trailers[name] += line
		case found:
			name, trailers[key] = key, value
		}
	}
	return trailers
}

// IsGenerated reports whether the patch is made by a generator.
func (p *Patch) IsGenerated() bool { return p.Trailers()["Generated-By"] != "" }

// IsGeneratedName reports whether a patch of that name is one for generated files.
func IsGeneratedName(name string) bool {
	return name == "generated" || strings.HasSuffix(name, "-generated")
}

var generatedFile = regexp.MustCompile(`(^|/)(zz_generated\.[^/]*|generated\.(pb\.go|proto))$|^pkg/client/`)

// IsGeneratedFile reports whether a file of a module is made by a generator.
func IsGeneratedFile(file string) bool { return generatedFile.MatchString(file) }
