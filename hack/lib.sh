#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# What the scripts in hack/ share. Source it; it leaves the caller at the root of the repository.

set -o errexit
shopt -s inherit_errexit # in command substitutions, too
set -o nounset
set -o pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "${ROOT}"

export ROOT


# The Go modules of tools that do not depend on the Kubernetes line.
# shellcheck disable=SC2034 # for the scripts that source this
TOOL_MODULES=(hack/patchset hack/bench hack/release)

# The release of the patch set over one upstream version: the N of v1.37.1+fairlead.N.
export FAIRLEAD_RELEASE=${FAIRLEAD_RELEASE:-1}

# fail prints one line that says what to do, and ends the script.
fail() {
  echo "fairlead: $*" >&2
  exit 1
}

# need TOOL HINT: fails with the hint if a tool is missing.
need() {
  command -v "$1" >/dev/null 2>&1 || fail "$1 is missing: $2"
}

need go "install Go 1.26 or newer from your distribution or https://go.dev/dl"

# Binaries are static, and no path of the checkout is in what is compiled. Tests are built the same way, so that they, and
# copies of the tree, share every compiled package.
export CGO_ENABLED=0
GOFLAGS=$(go env GOFLAGS)
if [[ ${GOFLAGS} != *-trimpath* ]]; then GOFLAGS+=" -trimpath"; fi
export GOFLAGS

# need_line fails unless LINE names a Kubernetes line. It has no default here: the Makefile has one, and passes it on.
# What is built for the line goes to ${LINE_OUT}; ${LINE_MOD} is its module file.
need_line() {
  local lines=(staging/lines/*)
  [[ ${LINE:-} =~ ^v[0-9.]+$ && -d staging/lines/${LINE} ]] ||
    fail "LINE is ${LINE:-not set}: set it to a Kubernetes line (${lines[*]##*/}), as in: LINE=${lines[-1]##*/} $0"
  export LINE
  # shellcheck disable=SC2034 # for the scripts that source this
  LINE_OUT=_output/${LINE}
  LINE_MOD=$(line_mod_in .)
  KUBERNETES_VERSION=$(awk '$1 == "k8s.io/kubernetes" {print $2}' "staging/lines/${LINE}/upstream.lock")
  [[ -n ${KUBERNETES_VERSION} ]] || fail "staging/lines/${LINE}/upstream.lock has no k8s.io/kubernetes"
}

# line_mod_in DIRECTORY prints the module file of the line there: go.<line>.mod, or go.mod for the default line.
line_mod_in() {
  if [[ -e $1/go.${LINE}.mod ]]; then echo "go.${LINE}.mod"; else echo go.mod; fi
}

# need_line_mod fails if the module file of the line is another line's. It is needed for all that builds.
need_line_mod() {
  grep -qF "./staging/lines/${LINE}/" "${LINE_MOD}" ||
    fail "go.${LINE}.mod is missing: restore it from git, or make it as docs/rebase.md says"
}

# is_default_line reports whether go.mod is the module file of the line.
is_default_line() { [[ ${LINE_MOD} == go.mod ]]; }

# go_line runs the go command, and whatever runs it in turn, with the module file of the line. For the main module only.
go_line() {
  need_line_mod
  local flags=${GOFLAGS}
  if ! cmp -s go.mod "${LINE_MOD}"; then flags+=" -modfile=${ROOT}/${LINE_MOD}"; fi
  GOFLAGS=${flags} go "$@"
}

# say prints progress.
say() {
  echo "fairlead: $*" >&2
}

# patchset runs hack/patchset, built once.
patchset() {
  need git "install git"
  go build -C hack/patchset -o "${ROOT}/_output/bin/patchset" .
  _output/bin/patchset "$@"
}

# downloaded MODULE VERSION FIELD: prints a field (Dir, GoMod, Sum) that go mod download -json has of a module.
downloaded() {
  # In a directory outside of every module, so that no go.mod file applies.
  go mod download -C "${TMPDIR:-/tmp}" -json "$1@$2" | sed -nE "s/^\s*\"$3\": \"(.*)\",?$/\1/p" | grep . ||
    fail "cannot download $1@$2: check the version, and the network or GOPROXY"
}

# published_modules GO_MOD: prints the modules that are published from Kubernetes' own repository, of its go.mod file.
published_modules() {
  sed -nE 's#^\s*(\S+) => \./staging/src/.*#\1#p' "$1"
}

# tree_files PATTERN...: prints the files that git tracks or would add, if they exist, each followed by a NUL.
tree_files() {
  git ls-files --cached --others --exclude-standard -z -- "$@" | while IFS= read -r -d '' file; do
    if [[ -e ${file} ]]; then printf '%s\0' "${file}"; fi
  done
}

# in_copy COMMAND...: runs a command at the root of a copy of the tree, in which go.mod is the module file of the line. So
# a verify script changes nothing, and what fails with the flag -modfile works: golang.org/x/tools, and all that loads
# packages with it. The copy is in ${COPY} afterwards and goes away with the script.
in_copy() {
  COPY=$(mktemp -d "${TMPDIR:-/tmp}/fairlead-verify.XXXXXX")
  trap 'rm -rf "${COPY}"' EXIT
  tree_files . | tar --null --files-from=- --create --file=- | tar -x -C "${COPY}" -f -
  mkdir -p "${COPY}/staging/src"
  cp -a "staging/src/${LINE}" "${COPY}/staging/src/"
  if ! is_default_line; then
    cp "go.${LINE}.mod" "${COPY}/go.mod"
    cp "go.${LINE}.sum" "${COPY}/go.sum"
  fi
  (cd "${COPY}" && "$@")
}
