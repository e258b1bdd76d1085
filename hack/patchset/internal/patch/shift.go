// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/fault"
)

// Shift moves the hunks of f, which apply to before, to where their lines are
// in after. Lines that the step from before to after changed cannot move.
func Shift(patch string, f *File, before, after []byte) error {
	text, err := hunks(before, after, 0)
	if err != nil || text == "" {
		return err
	}
	head := fileHeader(f.Path, before, after, true)
	steps, _, err := gitdiff.Parse(strings.NewReader(head + text))
	if err != nil {
		return err
	}
	for i, hunk := range f.Hunks {
		shift, ok := shiftOf(hunk, steps[0].TextFragments)
		if !ok {
			return fault.New("repair that patch by hand, or undo the edit of those lines",
				"%s: %s: hunk %d of %d, at line %d: an earlier patch now changes these lines",
				patch, f.Path, i+1, len(f.Hunks), hunk.OldPosition)
		}
		hunk.OldPosition += shift
	}
	return nil
}

func shiftOf(hunk *gitdiff.TextFragment, steps []*gitdiff.TextFragment) (shift int64, ok bool) {
	first, last := hunk.OldPosition, hunk.OldPosition+hunk.OldLines-1
	for _, s := range steps {
		from, to := s.OldPosition, s.OldPosition+s.OldLines-1
		if s.OldLines == 0 {
			// An insertion behind line OldPosition touches neither neighbour.
			from, to = s.OldPosition+1, s.OldPosition
		}
		switch {
		case to < first:
			shift += s.NewLines - s.OldLines
		case from > last:
		default:
			return 0, false
		}
	}
	return shift, true
}
