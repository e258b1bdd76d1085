#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs upstream's own unit tests of every package that a patch touches, and of those whose tests exercise them
# (round trips of all encodings, generated clients), against the staged tree: with fairlead's gates off and on.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_line

# Tests of patched code that stand in other packages than it.
BESIDE=(
  k8s.io/apiextensions-apiserver/pkg/apis
  k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install
  k8s.io/apiextensions-apiserver/pkg/controller/openapi/...
)

# Upstream tests that cannot pass, as -skip pattern, each with its reason:
#   TestCompatibility: its fixtures list every field of a CRD and so lack ours. The same test over fixtures with our
#   fields is TestC3StoredDataStaysReadable in pkg/apis/apiextensions.
SKIP='^TestCompatibility$'

patched_packages() {
  local patch module
  while read -r patch; do
    module=${patch%/*}
    module=${module%/"${LINE}"}
    sed -nE 's#^\+\+\+ b/(.*)/[^/]*\.go$#'"${module}"'/\1#p' "staging/patches/${patch}"
  done < <(grep -vE '^[[:space:]]*(#|$)' "staging/lines/${LINE}/series") | sort -u
}

patched=$(patched_packages)
[[ -n ${patched} ]] || fail "no patched package found in staging/lines/${LINE}/series"
mapfile -t packages <<<"${patched}"

say "upstream's tests of $((${#packages[@]} + ${#BESIDE[@]})) packages, gates off"
go_line test ${SKIP:+-skip "${SKIP}"} "${packages[@]}" "${BESIDE[@]}"

say "the same, gates on"
go_line test ${SKIP:+-skip "${SKIP}"} -ldflags "-X github.com/fairlead-dev/fairlead/pkg/features.defaultOn=true" \
  "${packages[@]}" "${BESIDE[@]}"
