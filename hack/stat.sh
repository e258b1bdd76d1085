#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Counts what the patches of a line change.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_line
row='%-70s %6s %6s %6s %8s\n'
# shellcheck disable=SC2059 # the format is above
printf "${row}" PATCH FILES HUNKS ADDED REMOVED
grep -v '^#' "staging/lines/${LINE}/series" | while read -r patch; do
  hunks=$(grep -c '^@@ ' "staging/patches/${patch}")
  git apply --numstat "staging/patches/${patch}" |
    awk -v patch="${patch}" -v hunks="${hunks}" '{added += $1; removed += $2} END {print patch, NR, hunks, added, removed}'
done | awk -v row="${row}" '
  {
    printf row, $1, $2, $3, $4, $5
    kind = $1 ~ /generated\.patch$/ ? "generated" : "hand-written"
    for (i = 2; i <= 5; i++) sum[kind, i] += $i
    patches[kind]++
  }
  END {
    for (kind in patches)
      printf row, patches[kind] " " kind, sum[kind, 2], sum[kind, 3], sum[kind, 4], sum[kind, 5]
  }'
