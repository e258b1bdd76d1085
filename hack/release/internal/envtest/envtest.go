// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package envtest makes archives of kube-apiserver, etcd and kubectl as setup-envtest installs them, and the index that
// its flag --index reads.
package envtest

import (
	"compress/gzip"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/hack/release/internal/bundle"
)

// IndexName is the file name of the index.
const IndexName = "envtest-releases.yaml"

// index has the fields of setup-envtest's remote.Index.
type index struct {
	// Releases has the archives of each Kubernetes version, by name.
	Releases map[string]map[string]archive `json:"releases"`
}

type archive struct {
	Hash     string `json:"hash"`
	SelfLink string `json:"selfLink"`
}

// Write writes an archive for each architecture, and the index, in which each archive is at the URL. It returns their
// names. An archive has the version of upstream in its name, because setup-envtest accepts no other.
func Write(b *bundle.Bundle, url string) ([]string, error) {
	archives := map[string]archive{}
	names := []string{IndexName}
	for _, arch := range b.Architectures {
		name := fmt.Sprintf("envtest-%s-%s.tar.gz", b.Kubernetes(), bundle.Platform(arch))
		hash, err := writeArchive(b, arch, name)
		if err != nil {
			return nil, err
		}
		archives[name] = archive{Hash: hash, SelfLink: strings.TrimSuffix(url, "/") + "/" + name}
		names = append(names, name)
	}
	text, err := yaml.Marshal(index{Releases: map[string]map[string]archive{b.Kubernetes(): archives}})
	if err != nil {
		return nil, err
	}
	return names, b.Write(IndexName, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// writeArchive returns the SHA-512 of the archive.
func writeArchive(b *bundle.Bundle, arch, name string) (string, error) {
	var entries []bundle.Entry
	for _, binary := range []string{bundle.Server, bundle.Etcd, bundle.Kubectl} {
		entries = append(entries, bundle.Entry{
			Name: "controller-tools/envtest/" + binary, Path: b.Binary(arch, binary), Mode: 0o755,
		})
	}
	hash := sha512.New()
	err := b.Write(name, func(w io.Writer) error {
		// The header of the compressed file has neither a name nor a time.
		compressed := gzip.NewWriter(io.MultiWriter(w, hash))
		return errors.Join(bundle.Tar(compressed, b.Time, entries...), compressed.Close())
	})
	return hex.EncodeToString(hash.Sum(nil)), err
}
