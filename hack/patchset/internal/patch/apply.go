// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/fault"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/overlay"
)

// Move is a hunk that did not apply at its line but elsewhere.
type Move struct {
	Patch, File string
	Hunk, Of    int
	From, To    int64
}

// String tells the move in one line.
func (m Move) String() string {
	return fmt.Sprintf("%s: %s: hunk %d of %d: moved from line %d to %d",
		m.Patch, m.File, m.Hunk, m.Of, m.From, m.To)
}

// Apply applies a patch: every line exactly where the patch says. With
// relocate, a hunk whose text is not there goes to the only place that has it.
func Apply(p *Patch, o *overlay.Overlay, relocate bool) ([]Move, error) {
	var moves []Move
	for _, f := range p.Files {
		old, err := o.Get(f.Path)
		if err != nil {
			return nil, err
		}
		if err := checkExists(p, f, old); err != nil {
			return nil, err
		}
		if relocate {
			moved, err := relocateHunks(p, f, old)
			if err != nil {
				return nil, err
			}
			moves = append(moves, moved...)
		}
		changed, err := ApplyFile(p.Name, f, old)
		if err != nil {
			return nil, err
		}
		o.Set(f.Path, changed)
	}
	return moves, nil
}

func checkExists(p *Patch, f *File, old []byte) error {
	const help = "compare with upstream; then repair the patch"
	if f.Add && old != nil {
		return fault.New(help, "%s: %s: the patch adds the file, but it is already there", p.Name, f.Path)
	}
	if !f.Add && old == nil {
		return fault.New(help, "%s: %s: the patch changes the file, but there is none", p.Name, f.Path)
	}
	return nil
}

// ApplyFile returns what a file becomes; nil if it is deleted.
func ApplyFile(patch string, f *File, old []byte) ([]byte, error) {
	lines := splitLines(old)
	for i, hunk := range f.Hunks {
		if err := checkHunk(hunk, lines); err != nil {
			return nil, fault.New("if upstream moved the code, try `patchset stage --relocate`; else repair the patch",
				"%s: %s: hunk %d of %d, %w", patch, f.Path, i+1, len(f.Hunks), err)
		}
	}
	// Not nil: an empty file is a file.
	out := bytes.NewBuffer([]byte{})
	err := gitdiff.Apply(out, bytes.NewReader(old), &gitdiff.File{TextFragments: f.Hunks})
	if err != nil {
		at := &gitdiff.ApplyError{}
		errors.As(err, &at)
		return nil, fault.New("repair the patch",
			"%s: %s: hunk %d of %d, at line %d: %w", patch, f.Path, at.Fragment, len(f.Hunks), at.Line, err)
	}
	if f.Delete {
		if out.Len() > 0 {
			return nil, fault.New("repair the patch",
				"%s: %s: the patch deletes the file, but not all its lines", patch, f.Path)
		}
		return nil, nil
	}
	return out.Bytes(), nil
}

// checkHunk compares the old lines of a hunk with the file, to tell the first
// line that differs.
func checkHunk(hunk *gitdiff.TextFragment, lines []string) error {
	at := max(hunk.OldPosition-1, 0)
	for _, want := range oldLines(hunk) {
		if at >= int64(len(lines)) {
			return fmt.Errorf("at line %d: expected %q, found the end of the file", at+1, want)
		}
		if lines[at] != want {
			return fmt.Errorf("at line %d: expected %q, found %q", at+1, want, lines[at])
		}
		at++
	}
	return nil
}

func relocateHunks(p *Patch, f *File, old []byte) ([]Move, error) {
	lines := splitLines(old)
	var moves []Move
	for i, hunk := range f.Hunks {
		if checkHunk(hunk, lines) == nil {
			continue
		}
		places := find(oldLines(hunk), lines)
		if len(places) != 1 {
			return nil, fault.New("find the new place by hand and repair the patch",
				"%s: %s: hunk %d of %d, %w; the old text occurs %d times, so it cannot be relocated",
				p.Name, f.Path, i+1, len(f.Hunks), checkHunk(hunk, lines), len(places))
		}
		moves = append(moves, Move{p.Name, f.Path, i + 1, len(f.Hunks), hunk.OldPosition, places[0]})
		hunk.OldPosition = places[0]
	}
	return moves, nil
}

// find returns the positions of a text in a file, counted from one.
func find(text, lines []string) []int64 {
	var places []int64
	joined := strings.Join(text, "")
	for i := 0; i+len(text) <= len(lines) && len(text) > 0; i++ {
		if lines[i] == text[0] && strings.Join(lines[i:i+len(text)], "") == joined {
			places = append(places, int64(i+1))
		}
	}
	return places
}

func oldLines(hunk *gitdiff.TextFragment) []string {
	var lines []string
	for _, line := range hunk.Lines {
		if line.Old() {
			lines = append(lines, line.Line)
		}
	}
	return lines
}

func splitLines(content []byte) []string {
	lines := strings.SplitAfter(string(content), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
