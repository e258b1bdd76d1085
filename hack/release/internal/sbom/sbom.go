// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sbom lists the modules in a binary as a CycloneDX document. The modules and versions are those that the
// linker wrote into the binary, so the list cannot differ from what was built.
//
// CycloneDX was chosen over SPDX because it can express a patched component: its pedigree has the pristine ancestor and
// the patches on it.
package sbom

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/fairlead-dev/fairlead/hack/release/internal/bundle"
)

// specVersion is the one that scanners read. It has all that is needed.
const specVersion = cdx.SpecVersion1_6

// ours is the module of the server. What is below it is ours, too.
const ours = "github.com/fairlead-dev/fairlead"

func isOurs(path string) bool { return path == ours || strings.HasPrefix(path, ours+"/") }

// Write writes the document of a binary and returns its name.
func Write(b *bundle.Bundle, arch, binary string) (string, error) {
	bom, err := describe(b, arch, binary)
	if err != nil {
		return "", fmt.Errorf("SBOM of %s for %s: %w", binary, arch, err)
	}
	name := b.FileName(arch, binary, "cdx.json")
	return name, b.Write(name, func(w io.Writer) error {
		encoder := cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false)
		return encoder.EncodeVersion(bom, specVersion)
	})
}

func describe(b *bundle.Bundle, arch, binary string) (*cdx.BOM, error) {
	file := b.Binary(arch, binary)
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return nil, err
	}
	sum, err := bundle.SHA256(file)
	if err != nil {
		return nil, err
	}
	components, err := modules(b, info)
	if err != nil {
		return nil, err
	}
	subject := application(b, info)
	subject.Name, subject.Hashes = binary, &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}}
	subject.Properties = &[]cdx.Property{
		{Name: "go:package", Value: info.Path}, {Name: "go:os", Value: "linux"}, {Name: "go:arch", Value: arch},
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: b.Time.Format(time.RFC3339), Component: subject}
	bom.Components, bom.Dependencies = &components, dependencies(subject, components)
	return bom, nil
}

// dependencies returns those of the binary on all modules in it: a binary does not have the graph of its modules.
func dependencies(subject *cdx.Component, components []cdx.Component) *[]cdx.Dependency {
	references := make([]string, 0, len(components))
	for _, component := range components {
		references = append(references, component.BOMRef)
	}
	return &[]cdx.Dependency{{Ref: subject.BOMRef, Dependencies: &references}}
}

// application returns the component of the binary itself. Its module has our version, or its own if it is not ours.
func application(b *bundle.Bundle, info *debug.BuildInfo) *cdx.Component {
	version := info.Main.Version
	if isOurs(info.Main.Path) {
		version = b.Version()
	}
	return component(cdx.ComponentTypeApplication, info.Main.Path, version)
}

func component(kind cdx.ComponentType, path, version string) *cdx.Component {
	url := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return &cdx.Component{BOMRef: url, Type: kind, Name: path, Version: version, PackageURL: url}
}
