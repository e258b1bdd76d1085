// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundle describes a release: its versions, the binaries that it is made from, and how its files are written so
// that the same binaries always make the same bytes.
package bundle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Server is the binary that the patches are in. Etcd and Kubectl complete an envtest archive.
const (
	Server  = "kube-apiserver"
	Etcd    = "etcd"
	Kubectl = "kubectl"
)

// Bundle is a release of one Kubernetes line.
type Bundle struct {
	// Root is the directory of the repository.
	Root string
	// Line is a Kubernetes line, such as v1.37.
	Line string
	// Number counts the releases of the patches on one upstream version: the 1 of v1.37.1+fairlead.1.
	Number int
	// Time is that of the commit. It is the only time in the files of a release.
	Time time.Time
	// Revision is the commit, if it is known.
	Revision string
	// Architectures lists those that the release is for, such as amd64.
	Architectures []string
	// Upstream lists the modules of Kubernetes that are locked, by path. The value is the version.
	Upstream map[string]Locked
}

// Locked is a module in upstream.lock.
type Locked struct{ Version, Sum string }

const kubernetes = "k8s.io/kubernetes"

// Load reads what the repository has about the line.
func (b *Bundle) Load() error {
	file := filepath.Join(b.lineDir(), "upstream.lock")
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%q is no line of %s: give --line a directory below staging/lines", b.Line, b.Root)
	}
	if err != nil {
		return err
	}
	b.Upstream = map[string]Locked{}
	for row := range strings.Lines(string(text)) {
		row, _, _ = strings.Cut(row, "#")
		if fields := strings.Fields(row); len(fields) == 3 {
			b.Upstream[fields[0]] = Locked{Version: fields[1], Sum: fields[2]}
		}
	}
	if b.Kubernetes() == "" {
		return fmt.Errorf("%s has no %s", file, kubernetes)
	}
	return nil
}

// Patches lists the patches on a module, in the order of the series, as paths relative to the repository.
func (b *Bundle) Patches(module string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(b.lineDir(), "series"))
	if err != nil {
		return nil, err
	}
	var patches []string
	for row := range strings.Lines(string(text)) {
		name := strings.TrimSpace(row)
		dir := strings.TrimSuffix(filepath.ToSlash(filepath.Dir(name)), "/"+b.Line)
		if dir == module && !strings.HasPrefix(name, "#") {
			patches = append(patches, "staging/patches/"+name)
		}
	}
	return patches, nil
}

func (b *Bundle) lineDir() string { return filepath.Join(b.Root, "staging", "lines", b.Line) }

// Kubernetes returns the upstream version, such as v1.37.1.
func (b *Bundle) Kubernetes() string { return b.Upstream[kubernetes].Version }

// Version returns the version that the server reports, such as v1.37.1+fairlead.1.
func (b *Bundle) Version() string { return fmt.Sprintf("%s+%s", b.Kubernetes(), b.Suffix()) }

// Suffix returns the part of the version that is not upstream's, such as fairlead.1.
func (b *Bundle) Suffix() string { return fmt.Sprintf("fairlead.%d", b.Number) }

// Tag returns the version as image tags and file names have it: a + is illegal in tags.
func (b *Bundle) Tag() string { return strings.ReplaceAll(b.Version(), "+", "-") }

// Dir returns the directory of the release.
func (b *Bundle) Dir() string { return filepath.Join(b.Root, "_output", b.Line, "release") }

// Platform returns the name of an architecture in file names, such as linux-amd64.
func Platform(arch string) string { return "linux-" + arch }

// Binary returns the path of a binary for an architecture.
func (b *Bundle) Binary(arch, name string) string {
	return filepath.Join(b.Dir(), Platform(arch), name)
}

// FileName returns the name of a file that is made from a binary, such as kube-apiserver-…-linux-amd64.cdx.json.
func (b *Bundle) FileName(arch, binary, extension string) string {
	return fmt.Sprintf("%s-%s-%s.%s", binary, b.Tag(), Platform(arch), extension)
}
