// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package git runs git in the repository of a staged module. Configuration of the user and of the machine does not
// apply, so that the same patches make the same commits everywhere.
package git

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// EmptyTree is the id of the tree without files.
const EmptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// Repo is a repository with a work tree.
type Repo struct {
	Dir string
	// Index is the file of the index, or "" for the repository's own.
	Index string
}

// Exists reports whether there is a repository that Init has finished.
func (r Repo) Exists() bool {
	_, err := os.Stat(r.Path("info/attributes")) // written last
	return err == nil
}

// Path returns the name of a file of the repository.
func (r Repo) Path(name string) string { return filepath.Join(r.Dir, ".git", name) }

// Init makes the repository. Commits in it need no identity of the user.
func (r Repo) Init() error {
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return fmt.Errorf("make a repository: %w", err)
	}
	if _, err := r.Run("init", "--quiet", "--initial-branch=patches"); err != nil {
		return err
	}
	for _, setting := range [][2]string{
		{"user.name", "fairlead"}, {"user.email", "fairlead@localhost"}, {"commit.gpgSign", "false"},
		{"core.autocrlf", "false"}, {"core.hooksPath", os.DevNull}, {"core.excludesFile", os.DevNull},
	} {
		if _, err := r.Run("config", setting[0], setting[1]); err != nil {
			return err
		}
	}
	// Attributes of upstream must not change content.
	return os.WriteFile(r.Path("info/attributes"), []byte("* -text -filter -ident\n"), 0o644)
}

// Run runs git and returns what it prints, without the last new line.
func (r Repo) Run(args ...string) (string, error) { return r.RunWith("", args...) }

// RunWith is Run with an input.
func (r Repo) RunWith(input string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command("git", append([]string{"-C", r.Dir}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = strings.NewReader(input), &stdout, &stderr, r.environment()
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(stderr.String() + stdout.String())
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.ReplaceAll(text, "\n", "; "))
	}
	return strings.TrimSuffix(stdout.String(), "\n"), nil
}

func (r Repo) environment() []string {
	var env []string
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "GIT_") { // those of a hook that runs this
			env = append(env, setting)
		}
	}
	// The identity and the date of commits that are made of patches. The editor accepts what rebase suggests.
	const date = "2000-01-01T00:00:00Z"
	env = append(env, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_EDITOR=true",
		"GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	if r.Index != "" {
		env = append(env, "GIT_INDEX_FILE="+r.Index)
	}
	return env
}

// WithIndex returns the repository with an empty index in a temporary file, and what removes the file.
func (r Repo) WithIndex() (Repo, func(), error) {
	dir, err := os.MkdirTemp("", "patchset-index-")
	if err != nil {
		return r, nil, fmt.Errorf("make an index: %w", err)
	}
	r.Index = filepath.Join(dir, "index")
	return r, func() { _ = os.RemoveAll(dir) }, nil
}

// TreeOf writes the files of a directory as a tree, and returns its id.
func (r Repo) TreeOf(dir string) (string, error) {
	temporary, remove, err := r.WithIndex()
	if err != nil {
		return "", err
	}
	defer remove()
	gitDir, err := filepath.Abs(r.Path(""))
	if err != nil {
		return "", fmt.Errorf("write a tree: %w", err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", fmt.Errorf("write a tree: %w", err)
	}
	if _, err := temporary.Run("-C", dir, "--git-dir="+gitDir, "--work-tree=.", "add", "--all", "--force", "."); err != nil {
		return "", err
	}
	return temporary.Run("write-tree")
}
