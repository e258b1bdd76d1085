#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Deletes the cluster of kind-up.sh.
#   HA=1   the one with three control planes

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=kind/lib.sh
source hack/kind/lib.sh

need_docker
kind_tool delete cluster --name "${CLUSTER}"
