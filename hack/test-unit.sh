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
# shellcheck disable=SC2046 # a list of packages
go test $(go list ./... | grep -v /test/integration)
