#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Creates a kind cluster with the API server of `hack/build.sh release`; docs/kind.md says more.
#   HA=1   three control planes
# LINE is the Kubernetes line.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=kind/lib.sh
source hack/kind/lib.sh

need_line
need_docker
arch=$(docker version --format '{{.Server.Arch}}')
directory=${LINE_OUT}/release/linux-${arch}
[[ -x ${directory}/kube-apiserver ]] ||
  fail "${directory}/kube-apiserver is missing: build it with: LINE=${LINE} hack/build.sh release"
image=$(awk -v line="${LINE}" '$1 == line {print $2}' hack/kind/node-images)
[[ -n ${image} ]] || fail "hack/kind/node-images has no image for ${LINE}: add one from the notes of a release of kind"

clusters=$(kind_tool get clusters --quiet)
[[ $'\n'${clusters}$'\n' != *$'\n'${CLUSTER}$'\n'* ]] ||
  fail "the cluster ${CLUSTER} exists: delete it with make kind-down${HA:+ HA=${HA}}"
sed "s#_output/.*/release/linux-.*#${directory}#" "${CONFIG}" |
  kind_tool create cluster --config - --image "${image}" --wait 3m
