#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs the integration tests on the binaries in _output/envtest. Arguments go to go test.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The go command does not see that a binary changed: no result may come from its cache.
say "integration tests"
KUBEBUILDER_ASSETS=${ROOT}/_output/envtest go test -count=1 -parallel 8 -timeout 20m ./test/integration/... "$@"
