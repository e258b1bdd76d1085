// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/hack/release/internal/bundle"
)

const (
	// epoch is the time of the commit in these tests, 2026-11-22T10:00:00Z.
	epoch    = "1795341600"
	revision = "0123456789abcdef0123456789abcdef01234567"
	url      = "https://example.com/v1.37.1"
)

// built is a repository with stand-ins for the binaries, which TestMain builds once.
var built string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "fairlead-release-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		built = filepath.Join(dir, "built")
		if err := build(built); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// build copies the stand-in for the repository to a directory, and builds its binaries with the flags of hack/build.sh.
func build(dir string) error {
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "repo"))); err != nil {
		return err
	}
	for _, arch := range []string{"amd64", "arm64"} {
		out := filepath.Join("_output", "v1.37", "release", bundle.Platform(arch)) + string(filepath.Separator)
		command := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, "./cmd/...")
		command.Dir = dir
		command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
		if text, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, text)
		}
	}
	return nil
}

// repository returns a repository with binaries, and no files of a release.
func repository(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "repository")
	if err := os.CopyFS(dir, os.DirFS(built)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func run(root, subcommand string, flags ...string) error {
	command := newCommand()
	command.SetOut(io.Discard)
	args := []string{subcommand, "--root", root, "--line", "v1.37", "--epoch", epoch, "--revision", revision}
	command.SetArgs(append(args, flags...))
	return command.Execute()
}

// release writes all files of a release and returns their directory.
func release(t *testing.T, root, url string) string {
	t.Helper()
	if err := run(root, "all", "--url", url); err != nil {
		t.Fatal(err)
	}
	return releaseDir(root)
}

func releaseDir(root string) string { return filepath.Join(root, "_output", "v1.37", "release") }

// contents returns the files below a directory, by path.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestARelease(t *testing.T) {
	dir := release(t, repository(t), url)
	want := []string{"SHA256SUMS", "envtest-releases.yaml"}
	for _, arch := range []string{"linux-amd64", "linux-arm64"} {
		want = append(want,
			arch+"/kube-apiserver", arch+"/etcd", arch+"/kubectl",
			"envtest-v1.37.1-"+arch+".tar.gz",
			"kube-apiserver-v1.37.1-fairlead.1-"+arch+".docker.tar",
			"kube-apiserver-v1.37.1-fairlead.1-"+arch+".oci.tar",
			"kube-apiserver-v1.37.1-fairlead.1-"+arch+".cdx.json",
			"etcd-v1.37.1-fairlead.1-"+arch+".cdx.json",
			"kubectl-v1.37.1-fairlead.1-"+arch+".cdx.json")
	}
	files := contents(t, dir)
	for _, name := range want {
		if _, found := files[name]; !found {
			t.Errorf("no file %s", name)
		}
	}
	if len(files) != len(want) {
		t.Errorf("%d files, want %d: %v", len(files), len(want), files)
	}
	checkSums(t, dir, files["SHA256SUMS"], len(want)-1)
}

func checkSums(t *testing.T, dir, text string, want int) {
	t.Helper()
	if sums := strings.Count(text, "\n"); sums != want {
		t.Errorf("%d checksums, want one for each other file:\n%s", sums, text)
	}
	check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = dir
	if text, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestAReleaseIsTheSameFromTwoDirectories(t *testing.T) {
	other := filepath.Join(t.TempDir(), "a", "longer", "path")
	if err := build(other); err != nil {
		t.Fatal(err)
	}
	first, second := contents(t, release(t, repository(t), url)), contents(t, release(t, other, url))
	for name, text := range first {
		if second[name] != text {
			t.Errorf("%s differs", name)
		}
	}
	if len(first) != len(second) {
		t.Errorf("%d files, and %d in another directory", len(first), len(second))
	}
}

func TestAReleaseHasNoPathOfTheMachine(t *testing.T) {
	root := repository(t)
	for name, text := range contents(t, release(t, root, url)) {
		for _, path := range []string{root, built, os.TempDir() + "/"} {
			if strings.Contains(text, path) {
				t.Errorf("%s contains %s", name, path)
			}
		}
	}
}

func TestAReleaseReplacesTheOneBefore(t *testing.T) {
	root := repository(t)
	stale := filepath.Join(releaseDir(root), "kube-apiserver-v1.37.0-fairlead.3-linux-amd64.oci.tar")
	if err := os.WriteFile(stale, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := contents(t, release(t, root, url))
	if _, found := files[filepath.Base(stale)]; found {
		t.Errorf("%s is still there", stale)
	}
}

func TestBadInput(t *testing.T) {
	replace := func(name, text string) func(string) error {
		return func(root string) error {
			return os.WriteFile(filepath.Join(releaseDir(root), name), []byte(text), 0o755)
		}
	}
	copied := func(from, to string) func(string) error {
		return func(root string) error {
			text, err := os.ReadFile(filepath.Join(releaseDir(root), from))
			if err != nil {
				return err
			}
			return replace(to, string(text))(root)
		}
	}
	unchanged := func(string) error { return nil }
	for _, test := range []struct {
		name   string
		change func(root string) error
		args   []string
		want   string
	}{
		{
			"a missing binary is named with the command that builds it",
			func(root string) error { return os.Remove(filepath.Join(releaseDir(root), "linux-arm64", "etcd")) },
			[]string{"all", "--url", url},
			"_output/v1.37/release/linux-arm64/etcd is missing: build it with: LINE=v1.37 hack/build.sh release",
		},
		{
			"no binaries at all",
			func(root string) error { return os.RemoveAll(releaseDir(root)) },
			[]string{"images"},
			"_output/v1.37/release/linux-amd64/kube-apiserver is missing: build it with: LINE=v1.37 hack/build.sh release",
		},
		{
			"a binary for another machine", copied("linux-amd64/kubectl", "linux-arm64/kubectl"),
			[]string{"all", "--url", url},
			"_output/v1.37/release/linux-arm64/kubectl is built for EM_X86_64: build it with: LINE=v1.37 hack/build.sh release",
		},
		{
			"a file that is no binary", replace("linux-amd64/kube-apiserver", "no binary"),
			[]string{"images"},
			"_output/v1.37/release/linux-amd64/kube-apiserver is not a Linux binary (EOF): " +
				"build it with: LINE=v1.37 hack/build.sh release",
		},
		{
			"a line that does not exist", unchanged,
			[]string{"images", "--line", "v1.34"},
			`"v1.34" is no line of ROOT: give --line a directory below staging/lines`,
		},
		{
			"an architecture without a release", unchanged,
			[]string{"images", "--arch", "s390x"},
			`"s390x" is no architecture of a release: give --arch amd64 or arm64`,
		},
		{
			"no URL", unchanged,
			[]string{"all"},
			`required flag(s) "url" not set`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := repository(t)
			if err := test.change(root); err != nil {
				t.Fatal(err)
			}
			err := run(root, test.args[0], test.args[1:]...)
			if err == nil || strings.ReplaceAll(err.Error(), root, "ROOT") != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}
