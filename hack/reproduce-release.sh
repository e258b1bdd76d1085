#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Fails unless a release that is built here and one from a clone in another directory, with an empty build cache, are
# the same files. It takes about half an hour on two cores. LINE is the Kubernetes line.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_line
need git "install git"
changes=$(git status --porcelain)
[[ -z ${changes} ]] || fail "commit your changes first: a release is made from a commit"

# release DIRECTORY: builds the release of a checkout.
release() {
  local script
  for script in "patchset.sh stage --line ${LINE}" "build.sh release" "release.sh"; do
    # shellcheck disable=SC2086 # a script and its arguments
    (cd "$1" && hack/${script})
  done
}

copy=$(mktemp -d "${TMPDIR:-/tmp}/fairlead-reproduce.XXXXXX")
trap 'rm -rf "${copy}"' EXIT
clone=${copy}/with/a/longer/path/fairlead
git clone --quiet "${ROOT}" "${clone}"

say "release in ${ROOT}"
release "${ROOT}"
say "release in ${clone}, with an empty build cache"
GOCACHE=${copy}/cache release "${clone}"

release=${LINE_OUT}/release
diff --recursive --brief "${release}" "${clone}/${release}" || fail "the releases differ"
say "the release of ${LINE} is the same from two directories: $(wc -l <"${release}/SHA256SUMS") files"
