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

# Binaries are static; tests are built the same way, so that they share every compiled package with them.
export CGO_ENABLED=0

# fail prints one line that says what to do, and ends the script.
fail() {
  echo "fairlead: $*" >&2
  exit 1
}

# need TOOL HINT: fails with the hint if a tool is missing.
need() {
  command -v "$1" >/dev/null 2>&1 || fail "$1 is missing: $2"
}

# need_line fails unless LINE names a Kubernetes line. It has no default here: the Makefile has one, and passes it on.
need_line() {
  local lines=(staging/lines/*)
  [[ -n ${LINE:-} && -d staging/lines/${LINE} ]] ||
    fail "LINE is ${LINE:-not set}: set it to a Kubernetes line (${lines[*]##*/}), as in: LINE=${lines[-1]##*/} $0"
  export LINE
}

# say prints progress.
say() {
  echo "fairlead: $*" >&2
}

# patchset runs hack/patchset, built once.
patchset() {
  need go "install Go 1.26 or newer from your distribution or https://go.dev/dl"
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

# in_copy SCRIPT...: runs scripts of hack/ in a copy of the tree, so that a verify script changes nothing. The copy
# is in ${COPY} afterwards and goes away with the script.
in_copy() {
  COPY=$(mktemp -d "${TMPDIR:-/tmp}/fairlead-verify.XXXXXX")
  trap 'rm -rf "${COPY}"' EXIT
  tree_files . | tar --null --files-from=- --create --file=- | tar -x -C "${COPY}" -f -
  mkdir -p "${COPY}/staging/src"
  cp -a "staging/src/${LINE}" "${COPY}/staging/src/"
  local script
  for script in "$@"; do
    "${COPY}/hack/${script}"
  done
}
