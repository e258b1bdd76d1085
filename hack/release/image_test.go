// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func TestImages(t *testing.T) {
	root := repository(t)
	if err := run(root, "images"); err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			file := filepath.Join(releaseDir(root), "kube-apiserver-v1.37.1-fairlead.1-linux-"+arch)
			docker, oci := loadDocker(t, file+".docker.tar"), loadOCI(t, file+".oci.tar", arch)
			checkConfig(t, docker, arch)
			checkLayer(t, docker, filepath.Join(releaseDir(root), "linux-"+arch, "kube-apiserver"))
			for format, img := range map[string]v1.Image{"docker": docker, "OCI": oci} {
				if err := validate.Image(img); err != nil {
					t.Errorf("the %s archive is not valid: %v", format, err)
				}
			}
			if id(t, docker) != id(t, oci) {
				t.Error("the archives have different images")
			}
		})
	}
}

func id(t *testing.T, img v1.Image) v1.Hash {
	t.Helper()
	hash, err := img.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// loadDocker reads the image as docker load does: by its tag.
func loadDocker(t *testing.T, file string) v1.Image {
	t.Helper()
	tag, err := name.NewTag("fairlead/kube-apiserver:v1.37.1-fairlead.1")
	if err != nil {
		t.Fatal(err)
	}
	img, err := tarball.ImageFromPath(file, &tag)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func loadOCI(t *testing.T, file, arch string) v1.Image {
	t.Helper()
	dir := t.TempDir()
	if text, err := exec.Command("tar", "-xf", file, "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 {
		t.Fatalf("%d images, want one", len(manifest.Manifests))
	}
	checkDescriptor(t, manifest.Manifests[0], arch)
	img, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func checkDescriptor(t *testing.T, only v1.Descriptor, arch string) {
	t.Helper()
	if only.Platform == nil || only.Platform.String() != "linux/"+arch {
		t.Errorf("the platform is %v", only.Platform)
	}
	want := map[string]string{
		"org.opencontainers.image.ref.name": "v1.37.1-fairlead.1",
		"io.containerd.image.name":          "docker.io/fairlead/kube-apiserver:v1.37.1-fairlead.1",
	}
	if !reflect.DeepEqual(only.Annotations, want) {
		t.Errorf("the annotations are %v", only.Annotations)
	}
}

func checkConfig(t *testing.T, img v1.Image, arch string) {
	t.Helper()
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	committed := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	if file.OS != "linux" || file.Architecture != arch || !file.Created.Equal(committed) {
		t.Errorf("the image is of %s/%s and %s", file.OS, file.Architecture, file.Created)
	}
	want := v1.Config{
		User:       "0",
		Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		Entrypoint: []string{"/usr/local/bin/kube-apiserver"},
		WorkingDir: "/",
		Labels: map[string]string{
			"org.opencontainers.image.title":       "kube-apiserver",
			"org.opencontainers.image.description": "Kubernetes API server with API unions and CRD field-level versioning",
			"org.opencontainers.image.version":     "v1.37.1+fairlead.1",
			"org.opencontainers.image.created":     "2026-11-22T10:00:00Z",
			"org.opencontainers.image.source":      "https://github.com/fairlead-dev/fairlead",
			"org.opencontainers.image.licenses":    "Apache-2.0",
			"org.opencontainers.image.revision":    revision,
		},
	}
	if !reflect.DeepEqual(file.Config, want) {
		t.Errorf("got  %+v\nwant %+v", file.Config, want)
	}
}

// checkLayer checks that the image has the server and nothing else.
func checkLayer(t *testing.T, img v1.Image, server string) {
	t.Helper()
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	if len(layers) != 1 {
		t.Fatalf("%d layers, want one", len(layers))
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	want := []string{"usr/", "usr/local/", "usr/local/bin/", "usr/local/bin/kube-apiserver"}
	if names := checkEntries(t, tar.NewReader(content), server); !reflect.DeepEqual(names, want) {
		t.Errorf("the image has %q", names)
	}
}

// checkEntries returns the names of the entries of a layer.
func checkEntries(t *testing.T, archive *tar.Reader, server string) (names []string) {
	t.Helper()
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
		if header.Mode != 0o755 || header.Uid != 0 || header.Gid != 0 {
			t.Errorf("%s has mode %o and belongs to %d:%d", header.Name, header.Mode, header.Uid, header.Gid)
		}
		if header.Typeflag == tar.TypeReg {
			checkSame(t, archive, server)
		}
	}
}

func checkSame(t *testing.T, content io.Reader, file string) {
	t.Helper()
	got, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("the file in the image is not %s", file)
	}
}
