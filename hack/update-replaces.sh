#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Writes into the module file of the line what it needs: the locked version of k8s.io/kubernetes, and a replace of each module that is
# staged (by its directory) or published from Kubernetes' own repository (by its version).
# The block of replaces is all its own; a replace of another module stands on a line outside of the block.
#   update-replaces.sh [FILE]   another file in place of it

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_line
file=${1:-${LINE_MOD}}
version=${KUBERNETES_VERSION}
upstream_mod=$(downloaded k8s.io/kubernetes "${version}" GoMod)

declare -A replacement
while read -r module; do
  replacement[${module}]="${module} v0${version#v1}"
done < <(published_modules "${upstream_mod}")
while read -r module _; do
  if [[ ${module} != \#* && ${module} != k8s.io/kubernetes ]]; then
    replacement[${module}]="./staging/src/${LINE}/${module}"
  fi
done <"staging/lines/${LINE}/upstream.lock"

go mod edit -require="k8s.io/kubernetes@${version}" "${file}"
others=$(sed '/^replace ($/,/^)$/d' "${file}")
{
  printf '%s\n\nreplace (\n' "${others}"
  for module in "${!replacement[@]}"; do
    printf '\t%s => %s\n' "${module}" "${replacement[${module}]}"
  done | LC_ALL=C sort
  echo ")"
} >"${file}"
