#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Creates the clusters of kind-up.sh, tries examples on them, restarts an API server with a binary that was built anew,
# and deletes the clusters. It needs Docker, kubectl and the server of `hack/build.sh release`; hack/test-kind.sh tests
# the rest. LINE is the Kubernetes line.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# shellcheck source-path=SCRIPTDIR source=kind/lib.sh
source hack/kind/lib.sh

need_line
need_docker
need kubectl "install kubectl"
KUBECONFIG=$(mktemp "${TMPDIR:-/tmp}/fairlead-kind.XXXXXX")
export KUBECONFIG
trap 'HA="" hack/kind-down.sh; HA=1 hack/kind-down.sh; rm -f "${KUBECONFIG}"' EXIT

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

say "replacing the binary, and restarting one of the three API servers"
node=fairlead-ha-control-plane2
server=${LINE_OUT}/release/linux-$(docker version --format '{{.Server.Arch}}')/kube-apiserver
before=$(servers | grep "^${node} ")
after=${before}
cp -p "${server}" "${server}.new"
mv "${server}.new" "${server}"
docker exec "${node}" pkill -x kube-apiserver
for _ in {1..60}; do
  sleep 2
  # The load balancer may still choose the one that is restarted.
  after=$(servers | grep "^${node} ") || continue
  [[ ${after} == "${before}" || ${after} == *" " ]] || break
done
[[ ${after} != "${before}" ]] || fail "the API server of ${node} was not restarted: ${after}"
kubectl --namespace kube-system wait --for=condition=Ready --timeout=2m "pod/kube-apiserver-${node}"
# shellcheck disable=SC2016 # for the shell of the node
docker exec "${node}" sh -c '[ /proc/$(pgrep -x kube-apiserver)/exe -ef /fairlead/kube-apiserver ]' ||
  fail "the API server of ${node} does not run the new file"
check_version
hack/kind/try-examples.sh
say "kind: all good"
