// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sbom

import (
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/fairlead-dev/fairlead/hack/release/internal/bundle"
)

// sumProperty has the sum of a module as go.sum has it. It is no hash of a file, so it is not among the hashes.
const sumProperty = "go:sum"

// modules returns a component for Go's standard library, and for each module in the binary.
func modules(b *bundle.Bundle, info *debug.BuildInfo) ([]cdx.Component, error) {
	// Scanners compare "1.26.8" with the versions of Go; the rest of a string such as "go1.26.8 X:…" is no part of it.
	version, _, _ := strings.Cut(strings.TrimPrefix(info.GoVersion, "go"), " ")
	components := []cdx.Component{*component(cdx.ComponentTypeLibrary, "std", version)}
	for _, module := range info.Deps {
		component, err := describeModule(b, module)
		if err != nil {
			return nil, err
		}
		components = append(components, *component)
	}
	return components, nil
}

func describeModule(b *bundle.Bundle, module *debug.Module) (*cdx.Component, error) {
	if module.Replace == nil {
		return library(module.Path, module.Version, module.Sum), nil
	}
	if !isDirectory(module.Replace.Path) {
		return replacement(module), nil
	}
	if isOurs(module.Path) {
		return library(module.Path, b.Version(), ""), nil
	}
	return patched(b, module.Path)
}

func replacement(module *debug.Module) *cdx.Component {
	by := module.Replace
	c := library(by.Path, by.Version, by.Sum)
	if by.Path != module.Path {
		c.Pedigree = &cdx.Pedigree{Notes: "replaces " + module.Path}
	}
	return c
}

// isDirectory reports whether a module is replaced by a directory, which has such a path in go.mod.
func isDirectory(path string) bool { return strings.HasPrefix(path, ".") || filepath.IsAbs(path) }

func library(path, version, sum string) *cdx.Component {
	c := component(cdx.ComponentTypeLibrary, path, version)
	if sum != "" {
		c.Properties = &[]cdx.Property{{Name: sumProperty, Value: sum}}
	}
	return c
}

// patched returns the component of a module that is replaced by a directory. It has a version of its own, and the
// locked upstream module as its ancestor.
func patched(b *bundle.Bundle, path string) (*cdx.Component, error) {
	upstream, found := b.Upstream[path]
	if !found {
		return nil, fmt.Errorf("%s is replaced by a directory, and upstream.lock of %s does not have it", path, b.Line)
	}
	names, err := b.Patches(path)
	if err != nil {
		return nil, err
	}
	patches := make([]cdx.Patch, 0, len(names))
	for _, name := range names {
		patches = append(patches, cdx.Patch{Type: cdx.PatchTypeUnofficial, Diff: &cdx.Diff{URL: name}})
	}
	notes := "patched by fairlead; the patches are in its repository"
	if b.Revision != "" {
		notes += " at " + b.Revision
	}
	c := library(path, upstream.Version+"+"+b.Suffix(), "")
	c.Pedigree = &cdx.Pedigree{
		Ancestors: &[]cdx.Component{*library(path, upstream.Version, upstream.Sum)},
		Patches:   &patches,
		Notes:     notes,
	}
	return c, nil
}
