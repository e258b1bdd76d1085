#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Builds static binaries of a Kubernetes line into _output/<line>, stamped the way upstream's build stamps them:
#   build.sh server    bin/{kube-apiserver,fairlead-run}
#   build.sh envtest   envtest/{kube-apiserver,etcd,kubectl}
#   build.sh stock     stock/kube-apiserver, unpatched, of the versions of all modules that upstream requires
#   build.sh kubeadm   stock/kubeadm, unpatched, for the tests of kind
#   build.sh release   release/linux-{amd64,arm64}/{kube-apiserver,etcd,kubectl}
# LINE is the Kubernetes line.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_line

# ldflags VERSION: what k8s.io/component-base/version and its twin in client-go report, in --version, /version, the
# user agent and the metric kubernetes_build_info. The date is that of the commit, so that builds can be repeated.
ldflags() {
  local commit="" state="dirty" epoch=0 changes date minor flags="" package key
  if commit=$(git rev-parse HEAD 2>/dev/null); then
    changes=$(git status --porcelain)
    [[ -n ${changes} ]] || state="clean"
    epoch=$(git show -s --format=%ct HEAD)
  fi
  date=$(date -u -d "@${SOURCE_DATE_EPOCH:-${epoch}}" +%Y-%m-%dT%H:%M:%SZ)
  minor=${KUBERNETES_VERSION#v1.}
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    for key in "gitVersion=$1" "gitCommit=${commit}" "gitTreeState=${state}" "buildDate=${date}" \
      "gitMajor=1" "gitMinor=${minor%%.*}"; do
      flags+=" -X ${package}.${key}"
    done
  done
  echo "-s -w ${flags}"
}

# build OUTPUT PACKAGE VERSION [FLAG...]
build() {
  local flags
  flags=$(ldflags "$3")
  say "building $1"
  go_line build "${@:4}" -ldflags "${flags}" -o "$1" "$2"
}

SERVER_VERSION=${KUBERNETES_VERSION}+fairlead.${FAIRLEAD_RELEASE}

# server DIRECTORY [FLAG...]
server() {
  build "$1/kube-apiserver" ./cmd/kube-apiserver "${SERVER_VERSION}" "${@:2}"
}

# tools DIRECTORY [FLAG...]: the other programs that envtest needs.
tools() {
  build "$1/kubectl" k8s.io/kubernetes/cmd/kubectl "${KUBERNETES_VERSION}" "${@:2}"
  build "$1/etcd" go.etcd.io/etcd/server/v3 "${KUBERNETES_VERSION}" "${@:2}"
}

# stock_module DIRECTORY writes a module that requires k8s.io/kubernetes and nothing else. So all modules have the
# versions that upstream chose, whatever ours requires.
stock_module() {
  local upstream_mod upstream
  upstream_mod=$(downloaded k8s.io/kubernetes "${KUBERNETES_VERSION}" GoMod)
  upstream=$(downloaded k8s.io/kubernetes "${KUBERNETES_VERSION}" Dir)
  mkdir -p "$1"
  {
    echo "module stock"
    grep -E '^(go|godebug) ' "${upstream_mod}"
    echo "require k8s.io/kubernetes ${KUBERNETES_VERSION}"
    published_modules "${upstream_mod}" | sed -E "s#.*#replace & => & v0${KUBERNETES_VERSION#v1}#"
  } >"$1/go.mod.new"
  # Another time of change would make the go command look again.
  if ! cmp -s "$1/go.mod.new" "$1/go.mod"; then
    cp "$1/go.mod.new" "$1/go.mod"
    sort -u "${upstream}/go.sum" "${LINE_MOD%.mod}.sum" >"$1/go.sum"
  fi
  rm "$1/go.mod.new"
}

# stock PROGRAM: builds a program of k8s.io/kubernetes, unpatched.
stock() {
  local flags directory=${LINE_OUT}/stock
  stock_module "${directory}"
  flags=$(ldflags "${KUBERNETES_VERSION}")
  say "building ${directory}/$1"
  go build -C "${directory}" -mod=mod -ldflags "${flags}" -o "$1" "k8s.io/kubernetes/cmd/$1"
}

case ${1:-} in
  stock)
    stock kube-apiserver
    ;;
  kubeadm)
    stock kubeadm
    ;;
  server)
    server "${LINE_OUT}/bin"
    build "${LINE_OUT}/bin/fairlead-run" ./hack/run "${SERVER_VERSION}"
    ;;
  envtest)
    server "${LINE_OUT}/bin"
    mkdir -p "${LINE_OUT}/envtest"
    ln -f "${LINE_OUT}/bin/kube-apiserver" "${LINE_OUT}/envtest/kube-apiserver"
    tools "${LINE_OUT}/envtest"
    ;;
  release)
    for arch in amd64 arm64; do
      # Nothing of the checkout is in the binaries, so that they can be built again elsewhere.
      GOOS=linux GOARCH=${arch} server "${LINE_OUT}/release/linux-${arch}" -buildvcs=false
      GOOS=linux GOARCH=${arch} tools "${LINE_OUT}/release/linux-${arch}" -buildvcs=false
    done
    ;;
  *)
    fail "usage: LINE=${LINE} $0 server|envtest|stock|kubeadm|release"
    ;;
esac
