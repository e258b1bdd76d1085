#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Fails if generated files or generated patches are not what hack/update-codegen.sh makes of the types.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_line
patchset stage --line "${LINE}"
in_copy hack/update-codegen.sh
for tree in pkg staging/lines staging/patches; do
  diff -ruN "${tree}" "${COPY}/${tree}" >&2 ||
    fail "generated files are out of date: run LINE=${LINE} hack/update-codegen.sh"
done
