// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/git"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
)

// branch is the branch that the commits are on.
const branch = "patches"

// Options are the choices of Run.
type Options struct {
	// Force discards edits. They are kept in a commit that Out names.
	Force bool
	Out   io.Writer
}

// Run makes the modules of a line what the lock and the patches say. A module for which these did not change since the
// last time is left alone, with all edits. So is one whose patches do not apply, or whose edits would be lost: the error
// names it.
func Run(line *repo.Line, opts Options) error {
	all, unlock, err := open(line)
	if err != nil {
		return err
	}
	defer unlock()
	var failures []error
	for _, m := range all {
		if !m.isCurrent() || opts.Force {
			failures = append(failures, m.stage(opts))
		}
	}
	return errors.Join(failures...)
}

func (m *module) stage(opts Options) error {
	if err := m.checkNoRebase(); err != nil && !opts.Force {
		return err
	}
	target, err := m.commitPatches(m.files)
	if err != nil {
		return err
	}
	if err := m.saveEdits(target, opts); err != nil {
		return err
	}
	if err := m.checkOut(target); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(opts.Out, "staged %s: %s with %d patches\n",
		m.line.Name, m.locked.Version, len(m.files))
	return nil
}

func (m *module) isCurrent() bool {
	was := m.readStamp()
	return was == stamp{m.tag(), m.locked.Sum, m.patches, was.commit}
}

// saveEdits fails if the module has edits, or keeps them in a commit if they are to be discarded.
func (m *module) saveEdits(target string, opts Options) error {
	tree, err := m.git.TreeOf(m.git.Dir)
	if err != nil {
		return err
	}
	head, compared := m.head(), git.EmptyTree
	if head != "" {
		compared = head
	}
	edited, err := m.changed(compared, tree)
	if err != nil {
		return err
	}
	lost, err := m.changed(target, tree)
	if err != nil {
		return err
	}
	// What the patches have, too, is not lost. A run that was stopped has written such files.
	edited = slices.DeleteFunc(edited, func(file string) bool { return !slices.Contains(lost, file) })
	switch hasCommits := head != "" && head != target && head != m.readStamp().commit; {
	case len(edited) == 0 && !hasCommits:
		return nil
	case opts.Force:
		return m.discard(tree, head, opts.Out)
	case len(edited) == 0:
		edited = []string{"commits after " + m.tag()}
	}
	return fmt.Errorf("stage would lose edits that no patch has: %[1]s\nif patches or lock changed, too, restore them, and make export LINE=%[2]s; or run "+
		"hack/patchset.sh stage --line %[2]s --force, which keeps the edits in a commit, and says how to apply it", m.few(edited), m.line.Name)
}

// discard ends a rebase, and removes all files after it has committed them where git does not remove them.
func (m *module) discard(tree, head string, out io.Writer) error {
	args := []string{"commit-tree", tree}
	if head != "" {
		args = append(args, "-p", head)
	}
	commit, err := m.git.RunWith("discarded edits\n", args...)
	if err != nil {
		return err
	}
	if files, err := m.changed(commit, head); err == nil && len(files) == 0 {
		commit = head // only commits
	}
	_, _ = fmt.Fprintf(out, "discarded edits of %s; they are in the commit %s there\n", m.locked.Path, commit)
	if was := m.readStamp().commit; was != "" {
		_, _ = fmt.Fprintf(out, "to apply them: git -C %s cherry-pick %s..%s\n", m.git.Dir, was, commit)
	}
	if _, err := m.git.Run("update-ref", "refs/discarded/"+commit, commit); err != nil {
		return err
	}
	if m.checkNoRebase() != nil {
		if _, err := m.git.Run("rebase", "--quit"); err != nil {
			return err
		}
	}
	_, err = m.git.Run("clean", "--quiet", "-d", "-x", "--force", "--force")
	return err
}

// checkOut makes the work tree that of a commit, and stamps it. A run that is stopped in between leaves a stamp with
// which nothing is current.
func (m *module) checkOut(commit string) error {
	if err := m.writeStamp(stamp{"none", "none", "none", m.head()}); err != nil {
		return err
	}
	if _, err := m.git.Run("checkout", "--quiet", "--force", "-B", branch, commit); err != nil {
		return err
	}
	return m.writeStamp(stamp{m.tag(), m.locked.Sum, m.patches, commit})
}
