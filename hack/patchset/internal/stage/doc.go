// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stage keeps a git repository for each patched module below staging/src. Its first commit is the pristine
// release, tagged with its version; after it comes a commit for each patch. Run writes the commits from patch files,
// and Export writes patch files from the commits. In between, people work with git: an edit is a commit that is squashed
// into that of its patch, and an upgrade is a rebase onto the commit of another release.
//
// No edit is lost: Run stops if files or commits are not those that it wrote the last time.
package stage
