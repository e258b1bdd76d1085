// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// setupEnvtest runs setup-envtest with a store of its own.
type setupEnvtest struct{ program, store string }

func newSetupEnvtest(t *testing.T) *setupEnvtest {
	t.Helper()
	program := filepath.Join(t.TempDir(), "setup-envtest")
	build := exec.Command("go", "build", "-o", program, "sigs.k8s.io/controller-runtime/tools/setup-envtest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	s := &setupEnvtest{program: program, store: filepath.Join(t.TempDir(), "store")}
	// The directories that it installs are read-only: only its own command removes them for every user.
	t.Cleanup(func() {
		if text, err := s.run(nil, "cleanup", "--arch", "*"); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	})
	return s
}

func (s *setupEnvtest) run(input io.Reader, args ...string) (string, error) {
	command := exec.Command(s.program, append(args, "--os", "linux", "--bin-dir", s.store)...)
	command.Stdin = input
	text, err := command.CombinedOutput()
	return strings.TrimSpace(string(text)), err
}

func (s *setupEnvtest) mustRun(t *testing.T, input io.Reader, args ...string) string {
	t.Helper()
	text, err := s.run(input, args...)
	if err != nil {
		t.Fatalf("setup-envtest %s: %v\n%s", strings.Join(args, " "), err, text)
	}
	return text
}

// served makes a release that is published on the local machine, and returns the URL.
func served(t *testing.T, root string) string {
	t.Helper()
	server := httptest.NewServer(http.FileServer(http.Dir(releaseDir(root))))
	t.Cleanup(server.Close)
	release(t, root, server.URL)
	return server.URL
}

func TestSetupEnvtestInstallsFromTheIndex(t *testing.T) {
	root := repository(t)
	index := served(t, root) + "/envtest-releases.yaml"
	tool := newSetupEnvtest(t)
	available := tool.mustRun(t, nil, "list", "--index", index, "--arch", "*")
	for _, want := range []string{"v1.37.1  linux/amd64", "v1.37.1  linux/arm64"} {
		if !strings.Contains(available, want) {
			t.Errorf("setup-envtest list has no %s:\n%s", want, available)
		}
	}
	for _, arch := range []string{"amd64", "arm64"} {
		dir := tool.mustRun(t, nil, "use", "1.37.x", "--index", index, "--arch", arch, "--print", "path")
		checkInstalled(t, dir, filepath.Join(releaseDir(root), "linux-"+arch))
	}
}

func TestSetupEnvtestChecksTheHashOfTheIndex(t *testing.T) {
	root := repository(t)
	index := served(t, root) + "/envtest-releases.yaml"
	archive := filepath.Join(releaseDir(root), "envtest-v1.37.1-linux-amd64.tar.gz")
	if err := os.WriteFile(archive, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := newSetupEnvtest(t).run(nil, "use", "1.37.x", "--index", index, "--arch", "amd64")
	if err == nil || !strings.Contains(text, "checksum mismatch for envtest-v1.37.1-linux-amd64.tar.gz") {
		t.Errorf("setup-envtest accepts an archive with another hash: %v\n%s", err, text)
	}
}

func TestSetupEnvtestSideloads(t *testing.T) {
	root := repository(t)
	archive, err := os.Open(filepath.Join(release(t, root, url), "envtest-v1.37.1-linux-amd64.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	tool := newSetupEnvtest(t)
	tool.mustRun(t, archive, "sideload", "1.37.1", "--arch", "amd64")
	dir := tool.mustRun(t, nil, "use", "1.37.1", "--arch", "amd64", "--installed-only", "--print", "path")
	checkInstalled(t, dir, filepath.Join(releaseDir(root), "linux-amd64"))
}

// checkInstalled checks that a directory has the three binaries of a release, which can be run.
func checkInstalled(t *testing.T, dir, from string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o111 != 0o111 {
			t.Errorf("%s cannot be run: it has the mode %o", entry.Name(), info.Mode().Perm())
		}
		file, err := os.Open(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		checkSame(t, file, filepath.Join(from, entry.Name()))
		_ = file.Close()
	}
	if got := strings.Join(names, " "); got != "etcd kube-apiserver kubectl" {
		t.Errorf("setup-envtest installed %s", got)
	}
}
