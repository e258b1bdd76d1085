// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/git"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/patch"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/upstream"
)

// commitPristine commits the locked release and returns the commit. The tag of its version points to it.
func (m *module) commitPristine() (string, error) {
	dir, err := upstream.Pristine(m.locked)
	if err != nil {
		return "", err
	}
	if !m.git.Exists() {
		if err := m.git.Init(); err != nil {
			return "", err
		}
	}
	tree, err := m.git.TreeOf(dir)
	if err != nil {
		return "", err
	}
	commit, err := m.git.RunWith(m.locked.String()+"\n", "commit-tree", tree)
	if err != nil {
		return "", err
	}
	_, err = m.git.Run("tag", "--force", m.locked.Version.Version, commit)
	return commit, err
}

// commitPatches commits the locked release and the patches after it, and returns the last commit. The same inputs make
// the same commits. Nothing is checked out.
func (m *module) commitPatches(patches []patchFile) (string, error) {
	commit, err := m.commitPristine()
	if err != nil {
		return "", err
	}
	index, remove, err := m.git.WithIndex()
	if err != nil {
		return "", err
	}
	defer remove()
	if _, err := index.Run("read-tree", commit); err != nil {
		return "", err
	}
	for _, p := range patches {
		if commit, err = m.commitPatch(index, p, commit); err != nil {
			return "", err
		}
	}
	return commit, nil
}

// commitPatch applies a patch to an index and commits that.
func (m *module) commitPatch(index git.Repo, f patchFile, parent string) (string, error) {
	p, err := patch.Parse(f.file, f.text)
	if err != nil {
		return "", err
	}
	if err := apply(index, p); err != nil {
		return "", fmt.Errorf("%s does not apply to %s: %w\n%s", f.file, m.locked.Version, err, m.helpToRebase())
	}
	tree, err := index.Run("write-tree")
	if err != nil {
		return "", err
	}
	return m.git.RunWith(p.Message, "commit-tree", tree, "-p", parent)
}

func apply(index git.Repo, p *patch.Patch) error {
	for _, f := range p.Files {
		content, _ := index.Run("cat-file", "blob", ":"+f.OldName) // what is missing, git apply reports
		if err := patch.CheckUnique(f, content+"\n"); err != nil {
			return err
		}
	}
	_, err := index.RunWith(p.Diff, "apply", "--cached", "--whitespace=nowarn", "-")
	return err
}

// helpToRebase says how to make the patches apply.
func (m *module) helpToRebase() string {
	if was := m.readStamp().version; strings.HasPrefix(was, "v") && was != m.tag() {
		return fmt.Sprintf("rebase them: git -C %s rebase --onto %s %s; then: make export LINE=%s", m.git.Dir, m.tag(), was, m.line.Name)
	}
	return "see docs/patches.md for how patches are rebased"
}

// diff returns the diff of a commit. Each file has the fewest lines of context, at least one, with which the text that
// a hunk replaces is unique, also in the releases of the other lines, which may have the same patch.
func (m *module) diff(commit string) (string, error) {
	files, err := m.changed(commit+"^", commit)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, file := range files {
		text, err := m.diffOf(commit, file)
		if err != nil {
			return "", err
		}
		b.WriteString(patch.Canonical(text + "\n"))
	}
	return b.String(), nil
}

func (m *module) diffOf(commit, file string) (text string, err error) {
	const most = 20
	content, _ := m.git.Run("cat-file", "blob", commit+"^:"+file) // a new file has none
	contents, err := m.inOtherLines(file)
	if err != nil {
		return "", err
	}
	contents = append(contents, content+"\n")
	for context := 1; context <= most; context++ {
		text, err = m.git.Run("diff-tree", "-p", "--no-commit-id", "--no-renames", "--no-color", "--no-ext-diff",
			fmt.Sprintf("--unified=%d", context), commit, "--", ":(literal)"+file)
		if err != nil || patch.IsUnique(text+"\n", contents) {
			break
		}
	}
	return text, err
}

// inOtherLines returns the contents that a file of the module has in the releases of the other lines.
func (m *module) inOtherLines(file string) ([]string, error) {
	if m.others == nil {
		others, err := m.releasesOfOtherLines()
		if err != nil {
			return nil, err
		}
		m.others = others
	}
	var contents []string
	for _, dir := range m.others {
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
		if err == nil { // not every release has every file
			contents = append(contents, string(content))
		}
	}
	return contents, nil
}

// releasesOfOtherLines returns the directories of the pristine module in the other lines that lock it.
func (m *module) releasesOfOtherLines() ([]string, error) {
	names, err := repo.Lines(m.line.Root)
	if err != nil {
		return nil, err
	}
	dirs := []string{}
	for _, name := range names {
		line, err := repo.Open(m.line.Root, name)
		if err != nil {
			return nil, err
		}
		for _, locked := range line.Lock {
			if name == m.line.Name || locked.Path != m.locked.Path {
				continue
			}
			dir, err := upstream.Pristine(locked)
			if err != nil {
				return nil, err
			}
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}
