#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs our unit tests.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

say "unit tests of hack/patchset"
go test -C hack/patchset ./...

say "unit tests of hack/bench"
go test -C hack/bench ./...

say "unit tests"
packages=$(go list ./... | grep -v /test/integration)
# shellcheck disable=SC2086 # a list
go test ${packages}
