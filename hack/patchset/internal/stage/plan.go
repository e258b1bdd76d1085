// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/overlay"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
)

// Plan is what a tree is to be staged from.
type Plan struct {
	Series  repo.Series
	Modules []string
	// Until is as in tree.Stamp: empty if the series is complete.
	Until string
	Extra []string
	// Inputs is a hash of all that decides about the tree.
	Inputs string
}

// NewPlan reads what to stage; extra modules are staged without a patch.
func NewPlan(line *repo.Line, until string, extra []string) (*Plan, error) {
	series, err := line.Series.Until(until)
	if err != nil {
		return nil, err
	}
	p := &Plan{Series: series, Until: until, Extra: extra}
	if len(series) == len(line.Series) {
		p.Until = ""
	}
	p.Modules = append(series.Modules(), extra...)
	slices.Sort(p.Modules)
	p.Modules = slices.Compact(p.Modules)
	p.Inputs, err = p.hash(line)
	return p, err
}

func (p *Plan) hash(line *repo.Line) (string, error) {
	h := sha256.New()
	for _, path := range p.Modules {
		m, _ := line.Lock.Get(path)
		_, _ = fmt.Fprintf(h, "module %s %s %s\n", path, m.Version.Version, m.Sum)
	}
	for _, name := range p.Series {
		content, err := overlay.ReadFile(line.Root.PatchFile(name))
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(h, "patch %s %d\n%s", name, len(content), content)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
