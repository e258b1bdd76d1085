#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs the integration tests on the binaries in _output/envtest. Arguments go to go test.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

say "integration tests"
KUBEBUILDER_ASSETS=${ROOT}/_output/envtest go test -timeout 20m ./test/integration/... "$@"
