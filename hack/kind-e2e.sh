#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Creates the clusters of kind-up.sh, tries examples on them, restarts an API server with a binary that was built anew,
# and deletes the clusters. It needs Docker, kubectl and the server of `hack/build.sh release`; hack/test-kind.sh tests
# the rest. LINE is the Kubernetes line.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_line
KUBECONFIG=$(mktemp "${TMPDIR:-/tmp}/fairlead-kind.XXXXXX")
export KUBECONFIG
trap 'hack/kind-down.sh; HA=1 hack/kind-down.sh; rm -f "${KUBECONFIG}"' EXIT

# servers: prints when the API server of each node was started.
servers() {
  kubectl --namespace kube-system get pods --selector component=kube-apiserver \
    -o 'jsonpath={range .items[*]}{.spec.nodeName} {.status.containerStatuses[0].state.running.startedAt}{"\n"}{end}'
}

# check_version: fails unless a server of ours answers.
check_version() {
  local version
  version=$(kubectl get --raw /version)
  [[ ${version} == *+fairlead.* ]] || fail "the server is not ours: ${version}"
}

for ha in "" 1; do
  HA=${ha} hack/kind-up.sh
  say "API servers:"
  servers
  check_version
  hack/kind/try-examples.sh
done

say "restart of the API server of fairlead-ha-control-plane2, with a new inode of the binary"
arch=$(docker version --format '{{.Server.Arch}}')
server=_output/${LINE}/release/linux-${arch}/kube-apiserver
before=$(servers | grep 'control-plane2 ')
cp "${server}" "${server}.new"
mv "${server}.new" "${server}"
inode=$(stat -c %i "${server}")
docker exec fairlead-ha-control-plane2 pkill -x kube-apiserver
for _ in {1..60}; do
  sleep 2
  after=$(servers | grep 'control-plane2 ') || continue
  [[ ${after} == "${before}" || ${after} == *" " ]] || break
done
[[ ${after} != "${before}" ]] || fail "the API server was not restarted: ${after}"
mounted=$(docker exec fairlead-ha-control-plane2 stat -c %i /fairlead/kube-apiserver)
[[ ${mounted} == "${inode}" ]] || fail "the node has inode ${mounted} of the server, not ${inode}"
check_version
hack/kind/try-examples.sh
say "kind: all good"
