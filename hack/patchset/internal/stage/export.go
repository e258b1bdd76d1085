// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/patch"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
)

// ExportOptions are the choices of Export.
type ExportOptions struct {
	// Check changes nothing, and fails if Export would change something.
	Check bool
	Out   io.Writer
}

// Export writes the commits of the modules of a line as patch files, and the series. Commits that "git commit --fixup"
// made are squashed first.
func Export(line *repo.Line, opts ExportOptions) error {
	all, unlock, err := open(line)
	if err != nil {
		return err
	}
	defer unlock()
	stale := false
	for _, m := range all {
		if err := m.checkExportable(); err != nil {
			return err
		}
		changed, err := m.export(opts)
		if err != nil {
			return err
		}
		stale = stale || changed
	}
	if opts.Check && stale {
		return fmt.Errorf("the patches of %[1]s are not what export makes of the staged modules: run make export LINE=%[1]s", line.Name)
	}
	return nil
}

func (m *module) checkExportable() error {
	was := m.readStamp()
	if was.commit == "" {
		return fmt.Errorf("%s is not staged: run make stage LINE=%s", m.locked.Path, m.line.Name)
	}
	if err := m.checkNoRebase(); err != nil {
		return err
	}
	edited, err := m.git.Run("status", "--porcelain", "--untracked-files=all", "--ignored=matching")
	switch {
	case err != nil:
		return err
	case was.patches != m.patches:
		return fmt.Errorf("the patches of %s changed since it was staged: run make stage LINE=%s", m.locked.Path, m.line.Name)
	case edited != "":
		return m.uncommitted(lines(edited))
	}
	if _, err := m.git.Run("merge-base", "--is-ancestor", m.tag(), "HEAD"); err != nil {
		return fmt.Errorf("the commits of %s are not on %s: run make stage LINE=%s", m.locked.Path, m.tag(), m.line.Name)
	}
	return nil
}

func (m *module) uncommitted(files []string) error {
	return fmt.Errorf("edits are not committed: %s\nin %s, commit them into a patch: git commit --all --fixup=<commit of the patch> "+
		"(git log --oneline %s.. names them); then make export LINE=%s", m.few(files), m.git.Dir, m.tag(), m.line.Name)
}

// export reports whether it changed files or, if it only checks, whether it would.
func (m *module) export(opts ExportOptions) (bool, error) {
	fixups, err := m.git.Run("log", "--format=%h", "--grep=^\\(fixup\\|squash\\|amend\\)! ", m.tag()+"..HEAD")
	if err != nil {
		return false, err
	}
	if fixups != "" && opts.Check {
		_, _ = fmt.Fprintf(opts.Out, "export would squash commits of %s\n", m.locked.Path)
		return true, nil
	}
	if fixups != "" {
		if err := m.squash(); err != nil {
			return false, err
		}
	}
	outputs, err := m.outputs()
	if err != nil {
		return false, err
	}
	return m.write(outputs, opts)
}

// write writes the patch files that are not as they should be, and the series. It reports whether there are any. Line
// numbers alone are not written, because lines that share a patch have different ones.
func (m *module) write(outputs []patchFile, opts ExportOptions) (bool, error) {
	was := m.line.Series.Of(m.locked.Path)
	names := make([]string, 0, len(outputs))
	var changed []patchFile
	for i, o := range outputs {
		names = append(names, o.file)
		text, _ := os.ReadFile(m.line.PatchFile(o.file)) // a new patch has no file
		if patch.Equal(string(text), o.text) {
			outputs[i].text = string(text)
		} else {
			changed = append(changed, o)
		}
	}
	if len(changed) == 0 && slices.Equal(names, was) {
		return false, nil
	}
	commit := ""
	if !opts.Check {
		var err error
		if commit, err = m.commitExported(outputs); err != nil {
			return false, err
		}
	}
	for _, o := range changed {
		if err := o.write(m.line, opts); err != nil {
			return false, err
		}
	}
	if opts.Check {
		return true, nil
	}
	if err := m.writeSeries(was, names, opts.Out); err != nil {
		return false, err
	}
	m.patches = hash(outputs)
	return true, m.checkOut(commit)
}

func (o patchFile) write(line *repo.Line, opts ExportOptions) error {
	if opts.Check {
		_, _ = fmt.Fprintf(opts.Out, "export would change %s\n", o.file)
		return nil
	}
	_, _ = fmt.Fprintf(opts.Out, "exported %s\n", o.file)
	return write(line.PatchFile(o.file), o.text)
}

// writeSeries writes the series, and removes the files of patches that no line has any more.
func (m *module) writeSeries(was, names []string, out io.Writer) error {
	text, err := os.ReadFile(m.line.SeriesFile())
	if err != nil {
		return fmt.Errorf("read series: %w", err)
	}
	if err := write(m.line.SeriesFile(), repo.WithPatches(string(text), m.locked.Path, names)); err != nil {
		return err
	}
	used, err := repo.Patches(m.line.Root)
	if err != nil {
		return err
	}
	for _, file := range was {
		if used[file] != nil {
			continue
		}
		if err := os.Remove(m.line.PatchFile(file)); err != nil {
			return fmt.Errorf("remove patch: %w", err)
		}
		_, _ = fmt.Fprintf(out, "removed %s\n", file)
	}
	return nil
}

// commitExported returns the commit that the patches make: its tree is the exported one.
func (m *module) commitExported(outputs []patchFile) (string, error) {
	commit, err := m.commitPatches(outputs)
	if err != nil {
		return "", err
	}
	files, err := m.changed("HEAD", commit)
	if err == nil && len(files) > 0 {
		err = fmt.Errorf("nothing is exported, since the patches would not make the same files: %s", m.few(files))
	}
	return commit, err
}

func write(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// fileOf returns the patch of a name as the series has it or should have it. What is generated differs between lines.
func (m *module) fileOf(name string) string {
	for _, file := range m.line.Series.Of(m.locked.Path) {
		if filepath.Base(file) == name+".patch" {
			return file
		}
	}
	if patch.IsGeneratedName(name) {
		return m.locked.Path + "/" + m.line.Name + "/" + name + ".patch"
	}
	return m.locked.Path + "/" + name + ".patch"
}

// squash squashes the commits that "git commit --fixup" made. Conflicts are left to be resolved with git.
func (m *module) squash() error {
	if _, err := m.git.Run("rebase", "--quiet", "--interactive", "--autosquash", "--keep-empty", m.tag()); err != nil {
		if rebasing := m.checkNoRebase(); rebasing != nil {
			return rebasing
		}
		return err
	}
	return nil
}

// outputs returns the patch files of the commits.
func (m *module) outputs() ([]patchFile, error) {
	ids, err := m.git.Run("rev-list", "--reverse", m.tag()+"..HEAD")
	if err != nil {
		return nil, err
	}
	var outputs []patchFile
	for _, id := range lines(ids) {
		o, err := m.output(id)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(outputs, func(other patchFile) bool { return o.file == other.file }) {
			return nil, fmt.Errorf("two commits are %s: in %s, git rebase --interactive %s, and reword or squash one", o.file, m.git.Dir, m.tag())
		}
		outputs = append(outputs, o)
	}
	return outputs, nil
}

func (m *module) output(commit string) (patchFile, error) {
	message, err := m.git.Run("log", "-1", "--format=%B", commit)
	if err != nil {
		return patchFile{}, err
	}
	name := patch.NameOf(message)
	if name == "" {
		subject, _, _ := strings.Cut(message, "\n")
		return patchFile{}, fmt.Errorf("the subject %q of a commit in %s does not start with the name of a patch, "+
			"such as \"openapi-definitions: \": git rebase --interactive %s, and reword it", subject, m.git.Dir, m.tag())
	}
	diff, err := m.diff(commit)
	if err != nil {
		return patchFile{}, err
	}
	p := patch.Patch{Message: message, Diff: diff}
	file := m.fileOf(name)
	if diff == "" {
		return patchFile{}, fmt.Errorf("%s would be empty: in %s, git rebase --interactive %s, and drop it", file, m.git.Dir, m.tag())
	}
	return patchFile{file, p.Text()}, m.checkText(file, &p)
}

// checkText returns an error if the text of a patch file cannot say what a commit does.
func (m *module) checkText(file string, p *patch.Patch) error {
	read, err := patch.Parse(file, p.Text())
	if err != nil {
		return err
	}
	if strings.TrimSpace(read.Message) != strings.TrimSpace(p.Message) {
		return fmt.Errorf("the message of %s has a line ---, which ends it in a patch file: in %s, git rebase --interactive %s, and reword it",
			file, m.git.Dir, m.tag())
	}
	for _, f := range read.Files {
		if f.IsBinary {
			return fmt.Errorf("%s would change a binary file, which a patch cannot: %s", file, f.NewName)
		}
	}
	return nil
}
