// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/overlay"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/replay"
)

// Build writes a tree to a new directory beside dir and swaps the two. Up to
// the swap the old tree stays as it is. It fills the stamp's files; old, if not
// nil, is the stamp of the old tree.
func Build(dir string, r *replay.Replay, stamp, old *Stamp) error {
	next, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+newMark)
	if err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	defer func() {
		// After a swap this is the old tree. What stays, the next run removes.
		_ = os.RemoveAll(next)
	}()
	if err := os.Chmod(next, 0o755); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	b := builder{dir: next, stamp: stamp, old: old, made: map[string]bool{}}
	stamp.Files = map[string]File{}
	for _, module := range r.Modules() {
		if err := b.module(module, r.Module(module)); err != nil {
			return fmt.Errorf("stage %s: %w", module, err)
		}
	}
	if err := stamp.write(next); err != nil {
		return err
	}
	return swap(next, dir)
}

type builder struct {
	dir        string
	stamp, old *Stamp
	made       map[string]bool
}

func (b *builder) module(module string, o *overlay.Overlay) error {
	files, err := o.Files()
	if err != nil {
		return err
	}
	for _, file := range files {
		content, err := o.Get(file)
		if err != nil {
			return err
		}
		staged := File{Size: int64(len(content)), Hash: Hash(content), Patched: o.IsChanged(file)}
		name := module + "/" + file
		staged.ModTime, err = b.modTime(name, filepath.Join(o.Dir(), file), staged)
		if err != nil {
			return err
		}
		if err := b.write(filepath.Join(b.dir, name), content, staged.ModTime); err != nil {
			return err
		}
		b.stamp.Files[name] = staged
	}
	return nil
}

// modTime keeps the time of what did not change, as editors and build tools
// like it: a pristine file has the time of the module cache, which is in the
// past, so that every later edit shows.
func (b *builder) modTime(name, pristine string, staged File) (int64, error) {
	if b.old != nil {
		if was, ok := b.old.Files[name]; ok && was.Hash == staged.Hash && was.Patched == staged.Patched {
			return was.ModTime, nil
		}
	}
	if staged.Patched {
		return time.Now().UnixNano(), nil
	}
	info, err := os.Stat(pristine)
	if err != nil {
		return 0, err
	}
	return info.ModTime().UnixNano(), nil
}

func (b *builder) write(name string, content []byte, modTime int64) error {
	if dir := filepath.Dir(name); !b.made[dir] {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		b.made[dir] = true
	}
	if err := os.WriteFile(name, content, 0o644); err != nil {
		return err
	}
	return os.Chtimes(name, time.Time{}, time.Unix(0, modTime))
}
