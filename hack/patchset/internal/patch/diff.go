// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Context is how many lines around a change a patch carries.
const Context = 1

// Diff returns the canonical diff of one file, "" if nothing changed; nil
// content means that there is no such file.
func Diff(path string, before, after []byte) (string, error) {
	if bytes.Equal(before, after) && (before == nil) == (after == nil) {
		return "", nil
	}
	if bytes.IndexByte(before, 0) >= 0 || bytes.IndexByte(after, 0) >= 0 {
		return "", fmt.Errorf("%s: not a text file; patches carry text only", path)
	}
	if strings.ContainsAny(path, " \t\n\"\\") {
		return "", fmt.Errorf("%q: patches cannot carry a file name with spaces or quotes", path)
	}
	hunks, err := hunks(before, after, Context)
	if err != nil {
		return "", fmt.Errorf("diff of %s: %w", path, err)
	}
	return fileHeader(path, before, after, hunks != "") + hunks, nil
}

func fileHeader(path string, before, after []byte, hasHunks bool) string {
	from, to, mode := "a/"+path, "b/"+path, ""
	head := fileMark + from + " " + to + "\n"
	if before == nil {
		from, mode = "/dev/null", "new file mode 100644\n"
	}
	if after == nil {
		to, mode = "/dev/null", "deleted file mode 100644\n"
	}
	head += mode
	if hasHunks {
		head += "--- " + from + "\n+++ " + to + "\n"
	}
	return head
}

// hunks runs git in a directory of its own, with an environment of its own, so
// that neither a user's configuration nor an enclosing repository has a say.
func hunks(before, after []byte, context int) (out string, err error) {
	dir, err := os.MkdirTemp("", "patchset-diff-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.WriteFile(filepath.Join(dir, "before"), before, 0o600); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "after"), after, 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command("git", "diff", "--no-index", "--text", "--no-color", "--no-ext-diff", "--no-textconv",
		"--no-renames", "--diff-algorithm=histogram", "--indent-heuristic", "--inter-hunk-context=0",
		"--ws-error-highlight=none", fmt.Sprintf("--unified=%d", context), "before", "after")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "LC_ALL=C",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_ATTR_NOSYSTEM=1", "GIT_DIR=/dev/null", "GIT_PAGER=cat"}
	return run(cmd)
}

// run returns the hunks alone, without the text that git copies behind @@.
func run(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	// Git exits with 1 if the files differ.
	if exit := (&exec.ExitError{}); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return "", fmt.Errorf("git diff: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	var out strings.Builder
	inHunk := false
	for _, row := range strings.SplitAfter(stdout.String(), "\n") {
		if strings.HasPrefix(row, "@@ ") {
			inHunk = true
			row = row[:strings.Index(row[2:], "@@")+4] + "\n"
		}
		if inHunk {
			out.WriteString(row)
		}
	}
	return out.String(), nil
}
