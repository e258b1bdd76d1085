#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Writes the files of a release from the binaries of `hack/build.sh release`; docs/releases.md lists them.
#   release.sh          all files
#   release.sh images   the archives of the server's container image alone
#   RELEASE_URL         where the files will be published, for the index of envtest archives
# LINE is the Kubernetes line.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_line

# The same commit and time as in the binaries.
commit="" epoch=0
if commit=$(git rev-parse HEAD 2>/dev/null); then
  epoch=$(git show -s --format=%ct HEAD)
fi
flags=(--line "${LINE}" --number "${FAIRLEAD_RELEASE}" --revision "${commit}" --epoch "${SOURCE_DATE_EPOCH:-${epoch}}")

go build -C hack/release -o "${ROOT}/_output/bin/release" .
case ${1:-all} in
  images)
    _output/bin/release images "${flags[@]}"
    ;;
  all)
    # A + in a URL is %2B.
    url=https://github.com/fairlead-dev/fairlead/releases/download/${KUBERNETES_VERSION}%2Bfairlead.${FAIRLEAD_RELEASE}
    _output/bin/release all "${flags[@]}" --url "${RELEASE_URL:-${url}}"
    ;;
  *)
    fail "usage: LINE=${LINE} $0 [all|images]"
    ;;
esac
