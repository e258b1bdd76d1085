// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// Check fails if one of the named binaries is missing, is built for another machine, or is not static.
func (b *Bundle) Check(names ...string) error {
	for _, arch := range b.Architectures {
		if _, found := machines[arch]; !found {
			return fmt.Errorf("%q is no architecture of a release: give --arch amd64 or arm64", arch)
		}
		for _, name := range names {
			if err := b.check(arch, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *Bundle) check(arch, name string) error {
	path := b.Binary(arch, name)
	shown := path
	if relative, err := filepath.Rel(b.Root, path); err == nil && !strings.HasPrefix(relative, "..") {
		shown = relative
	}
	rebuild := fmt.Sprintf("build it with: LINE=%s hack/build.sh release", b.Line)
	file, err := elf.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing: %s", shown, rebuild)
	}
	if err != nil {
		return fmt.Errorf("%s is not a Linux binary (%w): %s", shown, err, rebuild)
	}
	defer func() { _ = file.Close() }()
	if file.Machine != machines[arch] {
		return fmt.Errorf("%s is built for %s: %s", shown, file.Machine, rebuild)
	}
	if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return fmt.Errorf("%s is linked dynamically, and its image has no libraries: %s", shown, rebuild)
	}
	return nil
}
