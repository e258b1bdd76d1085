#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Counts what the patches of a line change, and which share of their hand-written text serves all lines.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_line
row='%-70s %6s %6s %6s %8s %6s\n'
# shellcheck disable=SC2059 # the format is above
printf "${row}" PATCH FILES HUNKS ADDED REMOVED LINES
grep -v '^#' "staging/lines/${LINE}/series" | while read -r patch; do
  hunks=$(grep -c '^@@ ' "staging/patches/${patch}")
  serves=$(grep -lxF "${patch}" staging/lines/*/series | wc -l)
  git apply --numstat "staging/patches/${patch}" |
    awk -v patch="${patch}" -v hunks="${hunks}" -v serves="${serves}" '
      {added += $1; removed += $2} END {print patch, NR, hunks, added, removed, serves}'
done | awk -v row="${row}" -v all="$(find staging/lines -name series | wc -l)" '
  {
    printf row, $1, $2, $3, $4, $5, $6
    kind = $1 ~ /generated\.patch$/ ? "generated" : "hand-written"
    for (i = 2; i <= 5; i++) sum[kind, i] += $i
    patches[kind]++
    if (kind == "hand-written") { text += $4 + $5; if ($6 == all) shared += $4 + $5 }
  }
  END {
    for (kind in patches)
      printf row, patches[kind] " " kind, sum[kind, 2], sum[kind, 3], sum[kind, 4], sum[kind, 5], ""
    printf "%d of %d hand-written lines (%.0f%%) serve all %d lines of Kubernetes\n", shared, text, 100 * shared / text, all
  }'
