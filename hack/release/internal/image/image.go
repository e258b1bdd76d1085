// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image makes container images of the server without a container engine.
//
// An image has one layer with one file, the static server, at the path where upstream's image has it. As upstream's
// image, it runs as root, since kubeadm's static pods read keys that only root can read. It has no shell and no CA
// certificates: certificates of etcd, webhooks, aggregated servers and OIDC issuers come from flags, from fields of the
// API, or, for a public CA, from the /etc/ssl/certs of the node that kubeadm mounts.
package image

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/fairlead-dev/fairlead/hack/release/internal/bundle"
)

const (
	repository = "fairlead/kube-apiserver"
	source     = "https://github.com/fairlead-dev/fairlead"
	directory  = "usr/local/bin"
	// searchPath lets a pod run the server as kube-apiserver, as kubeadm's does.
	searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// Write writes two archives of the server's image for an architecture, one that docker load reads and one with an OCI
// image layout. It returns their names.
func Write(b *bundle.Bundle, arch string) ([]string, error) {
	img, err := build(b, arch)
	if err != nil {
		return nil, err
	}
	tag, err := name.NewTag(repository + ":" + b.Tag())
	if err != nil {
		return nil, err
	}
	docker := b.FileName(arch, bundle.Server, "docker.tar")
	if err := b.Write(docker, func(w io.Writer) error { return tarball.Write(tag, img, w) }); err != nil {
		return nil, err
	}
	oci := b.FileName(arch, bundle.Server, "oci.tar")
	return []string{docker, oci}, b.Write(oci, func(w io.Writer) error { return writeLayout(w, b, arch, tag, img) })
}

func build(b *bundle.Bundle, arch string) (v1.Image, error) {
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return openLayer(b, arch), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: b.Time}
	img, err := mutate.Append(
		mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		mutate.Addendum{
			Layer:   layer,
			History: v1.History{Created: created, CreatedBy: "COPY kube-apiserver /" + directory + "/"},
		})
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created, file.Config = "linux", arch, created, config(b)
	return mutate.ConfigFile(img, file)
}

// openLayer returns the layer while it is written.
func openLayer(b *bundle.Bundle, arch string) io.ReadCloser {
	reader, writer := io.Pipe()
	go func() {
		writer.CloseWithError(bundle.Tar(writer, b.Time, bundle.Entry{
			Name: directory + "/" + bundle.Server, Path: b.Binary(arch, bundle.Server), Mode: 0o755,
		}))
	}()
	return reader
}

func config(b *bundle.Bundle) v1.Config {
	labels := map[string]string{
		"org.opencontainers.image.title":       bundle.Server,
		"org.opencontainers.image.description": "Kubernetes API server with API unions and CRD field-level versioning",
		"org.opencontainers.image.version":     b.Version(),
		"org.opencontainers.image.created":     b.Time.Format(time.RFC3339),
		"org.opencontainers.image.source":      source,
		"org.opencontainers.image.licenses":    "Apache-2.0",
	}
	if b.Revision != "" {
		labels["org.opencontainers.image.revision"] = b.Revision
	}
	return v1.Config{
		User:       "0",
		Env:        []string{searchPath},
		Entrypoint: []string{"/" + directory + "/" + bundle.Server},
		WorkingDir: "/",
		Labels:     labels,
	}
}

// writeLayout writes an archive of an OCI image layout. The annotations name the image to tools that import it.
func writeLayout(w io.Writer, b *bundle.Bundle, arch string, tag name.Tag, img v1.Image) (err error) {
	dir, err := os.MkdirTemp("", "fairlead-image-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	err = path.AppendImage(img,
		layout.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}),
		layout.WithAnnotations(map[string]string{
			"org.opencontainers.image.ref.name": tag.TagStr(),
			"io.containerd.image.name":          "docker.io/" + tag.String(),
		}))
	if err != nil {
		return err
	}
	entries, err := files(dir)
	if err != nil {
		return err
	}
	return bundle.Tar(w, b.Time, entries...)
}

func files(dir string) ([]bundle.Entry, error) {
	var entries []bundle.Entry
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		entries = append(entries, bundle.Entry{Name: filepath.ToSlash(relative), Path: path, Mode: 0o644})
		return err
	})
	return entries, err
}
