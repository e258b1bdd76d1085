#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs the integration tests of a line on the binaries in _output/<line>/envtest. Arguments go to go test.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_line

# The go command does not see that a binary changed: no result may come from its cache.
say "integration tests of ${LINE}"
KUBEBUILDER_ASSETS=${ROOT}/${LINE_OUT}/envtest go_line test -count=1 -parallel 8 -timeout 20m ./test/integration/... "$@"
