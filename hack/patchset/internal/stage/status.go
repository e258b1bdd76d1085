// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"fmt"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
)

// Status tells in one line why a line is not staged as it should be, and what
// helps; "" if all is well.
func Status(line *repo.Line) (string, error) {
	plan, err := NewPlan(line, "", nil)
	if err != nil {
		return "", err
	}
	stamp, edits, err := examine(line.SourceDir())
	if err != nil {
		return "", err
	}
	switch {
	case stamp == nil:
		return line.Name + " is missing: not staged yet; run: make stage", nil
	case len(edits) > 0:
		return fmt.Sprintf("%s has unexported edits: %s; run: make export", line.Name, Few(edits)), nil
	case stamp.Relocated:
		return line.Name + " has unexported edits: patches were relocated; run: make export", nil
	case stamp.Until != "":
		return fmt.Sprintf("%s is stale: staged only until %s; run: make stage", line.Name, stamp.Until), nil
	case stamp.Inputs != plan.Inputs:
		return line.Name + " is stale: patches or upstream.lock changed; run: make stage", nil
	}
	return "", nil
}
