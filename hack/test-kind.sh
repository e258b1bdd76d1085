#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Tests the clusters of kind without a container engine, on the binaries of `hack/build.sh envtest` and a kubeadm of the
# line. Arguments go to go test. LINE is the Kubernetes line.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_line
hack/build.sh kubeadm

# The go command does not see that a binary or a script changed: no result may come from its cache.
say "tests of kind of ${LINE}"
KUBEADM=${ROOT}/${LINE_OUT}/stock/kubeadm KUBEBUILDER_ASSETS=${ROOT}/${LINE_OUT}/envtest \
  go test -C hack/kind -count=1 ./... "$@"
