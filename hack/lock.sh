#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Locks a release of Kubernetes: writes the versions and sums of the modules that upstream.lock lists.
#   LINE=v1.37 lock.sh v1.37.2

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_line
[[ ${1:-} =~ ^v1\.[0-9]+\.[0-9]+ ]] || fail "usage: LINE=${LINE} lock.sh VERSION, such as v1.37.2"
version=$1
lock=staging/lines/${LINE}/upstream.lock
upstream_mod=$(downloaded k8s.io/kubernetes "${version}" GoMod)

# version_of MODULE: that of the release, for what is published from Kubernetes' own repository, or that which it requires.
version_of() {
  if [[ $1 == k8s.io/kubernetes ]]; then
    echo "${version}"
  elif published_modules "${upstream_mod}" | grep -qxF "$1"; then
    echo "v0${version#v1}"
  else
    awk -v module="$1" '$1 == module {print $2; found = 1; exit} END {exit !found}' "${upstream_mod}" ||
      fail "k8s.io/kubernetes@${version} does not require $1"
  fi
}

locked=$(
  while read -r module rest; do
    if [[ -z ${module} || ${module} == \#* ]]; then
      echo "${module} ${rest}"
      continue
    fi
    of=$(version_of "${module}")
    sum=$(downloaded "${module}" "${of}" Sum)
    echo "${module} ${of} ${sum}"
  done <"${lock}"
)
echo "${locked}" >"${lock}"
say "wrote ${lock}; now: make stage (see docs/patches.md)"
