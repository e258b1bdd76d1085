// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endtoend

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/hack/bench/internal/control"
)

// profileSeconds is how long the processor is watched.
const profileSeconds = 15

// profile writes a CPU profile and one of all allocations of each arm into a directory, after the measurement: whoever
// is watched is slower.
func (b *bench) profile(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i, a := range b.arms {
		name := strings.ReplaceAll(strings.ReplaceAll(a.name, ",", ""), " ", "-")
		n := slices.Max(b.config.Workers)
		if err := b.profileArm(ctx, b.servers[i], b.workers[i][n], filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("profiles of %s: %w", a.name, err)
		}
	}
	return nil
}

func (b *bench) profileArm(ctx context.Context, s *control.Server, workers []*worker, base string) error {
	if _, err := s.Collect(ctx); err != nil {
		return err
	}
	watched := make(chan error, 1)
	go func() {
		watched <- s.Save(ctx, fmt.Sprintf("/debug/pprof/profile?seconds=%d", profileSeconds), base+".cpu.pb.gz")
	}()
	for {
		if _, err := load(ctx, s, workers, b.config.Requests); err != nil {
			return err
		}
		if _, err := s.Collect(ctx); err != nil {
			return err
		}
		select {
		case err := <-watched:
			if err != nil {
				return err
			}
			return s.Save(ctx, "/debug/pprof/allocs", base+".allocs.pb.gz")
		default:
		}
	}
}
