#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs our unit tests, those of tools that do not depend on the line with the default line only.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_line

if is_default_line; then
  for module in "${TOOL_MODULES[@]}"; do
    say "unit tests of ${module}"
    go test -C "${module}" ./...
  done
fi

say "unit tests of ${LINE}"
packages=$(go_line list ./... | grep -v /test/integration)
# shellcheck disable=SC2086 # a list
go_line test ${packages}
