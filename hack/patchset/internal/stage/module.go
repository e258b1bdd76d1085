// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/git"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
)

// module is a module of a line and its repository.
type module struct {
	line   *repo.Line
	locked repo.Locked
	git    git.Repo
	files  []patchFile
	// patches is a hash of the files. With version and sum it decides about the commits.
	patches string
	// others are the directories of the module's releases in other lines, or nil until they are needed.
	others []string
}

// tag is the tag of the pristine release, which is its version.
func (m *module) tag() string { return m.locked.Version.Version }

// open returns the modules of a line that are staged: all of the lock but Kubernetes itself. Until unlock is called, no
// other process works on them.
func open(line *repo.Line) (all []*module, unlock func(), err error) {
	dir := filepath.Dir(line.SourceDir())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, fmt.Errorf("lock: %w", err)
	}
	unlock, err = lockedfile.MutexAt(filepath.Join(dir, "."+line.Name+".lock")).Lock()
	if err != nil {
		return nil, nil, fmt.Errorf("lock: %w", err)
	}
	if all, err = modules(line); err != nil {
		unlock()
	}
	return all, unlock, err
}

func modules(line *repo.Line) ([]*module, error) {
	for _, path := range line.Series.Modules() {
		if !line.Lock.Has(path) {
			return nil, fmt.Errorf("%s is patched, but not in upstream.lock: add it there, and run hack/lock.sh", path)
		}
	}
	var all []*module
	for _, locked := range line.Lock {
		if locked.Path == repo.Kubernetes {
			continue
		}
		m := &module{line: line, locked: locked, git: git.Repo{Dir: line.ModuleDir(locked.Path)}}
		for _, name := range line.Series.Of(locked.Path) {
			text, err := line.ReadPatch(name)
			if err != nil {
				return nil, err
			}
			m.files = append(m.files, patchFile{name, text})
		}
		m.patches = hash(m.files)
		all = append(all, m)
	}
	return all, nil
}

// patchFile is a patch, which is named as in the series, and its text.
type patchFile struct{ file, text string }

func hash(patches []patchFile) string {
	h := sha256.New()
	for _, p := range patches {
		_, _ = fmt.Fprintf(h, "%s %d %s", p.file, len(p.text), p.text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// stamp is what a repository was staged from, and the commit that this made.
type stamp struct{ version, sum, patches, commit string }

func (m *module) stampFile() string { return m.git.Path("patchset") }

// readStamp returns the zero stamp if the module was not staged.
func (m *module) readStamp() stamp {
	data, _ := os.ReadFile(m.stampFile())
	fields := append(strings.Fields(string(data)), "", "", "", "")
	return stamp{fields[0], fields[1], fields[2], fields[3]}
}

func (m *module) writeStamp(s stamp) error {
	return os.WriteFile(m.stampFile(), []byte(strings.Join([]string{s.version, s.sum, s.patches, s.commit}, "\n")), 0o644)
}

// head returns the commit that is checked out, or "" if there is none.
func (m *module) head() string {
	commit, _ := m.git.Run("rev-parse", "--verify", "--quiet", "HEAD")
	return commit
}

// checkNoRebase returns an error if somebody has to finish a rebase.
func (m *module) checkNoRebase() error {
	_, merges := os.Stat(m.git.Path("rebase-merge"))
	if _, applies := os.Stat(m.git.Path("rebase-apply")); merges != nil && applies != nil {
		return nil //nolint:nilerr // git has these directories only during a rebase
	}
	return fmt.Errorf("a rebase is not finished in %s: resolve the conflicts as git status says, git rebase --continue, and make export LINE=%s", m.git.Dir, m.line.Name)
}

// changed returns the files that differ between two trees.
func (m *module) changed(from, to string) ([]string, error) {
	out, err := m.git.Run("diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to)
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 }), err
}

func lines(out string) []string {
	return strings.FieldsFunc(out, func(r rune) bool { return r == '\n' })
}

// few names the first few files of a module and counts the rest.
func (m *module) few(files []string) string {
	const few = 5
	if more := len(files) - few; more > 0 {
		files = append(files[:few:few], fmt.Sprintf("and %d more", more))
	}
	return m.locked.Path + ": " + strings.Join(files, ", ")
}
