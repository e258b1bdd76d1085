#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Builds static binaries, stamped the way upstream's build stamps them:
#   build.sh server    _output/bin/{kube-apiserver,fairlead-run}
#   build.sh envtest   _output/envtest/{kube-apiserver,etcd,kubectl}
#   build.sh stock     _output/stock/kube-apiserver, unpatched, from the same modules: for comparison
#   build.sh release   _output/release/linux-{amd64,arm64}/kube-apiserver
# LINE is the Kubernetes line.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_line

# The release of the patch set over one upstream version: the N of v1.37.1+fairlead.N.
FAIRLEAD_RELEASE=${FAIRLEAD_RELEASE:-1}

KUBERNETES_VERSION=$(awk '$1 == "k8s.io/kubernetes" {print $2}' "staging/lines/${LINE}/upstream.lock")
[[ -n ${KUBERNETES_VERSION} ]] || fail "staging/lines/${LINE}/upstream.lock has no k8s.io/kubernetes"

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
  go build "${@:4}" -ldflags "${flags}" -o "$1" "$2"
}

SERVER_VERSION=${KUBERNETES_VERSION}+fairlead.${FAIRLEAD_RELEASE}

# server DIRECTORY [FLAG...]
server() {
  build "$1/kube-apiserver" ./cmd/kube-apiserver "${SERVER_VERSION}" "${@:2}"
}

# stock_modfile writes a go.mod in which no module is replaced by a patched one.
stock_modfile() {
  mkdir -p _output/stock
  sed -E "s#=> \./staging/src/${LINE}/(\S+)#=> \1 v0${KUBERNETES_VERSION#v1}#" go.mod >_output/stock/go.mod.new
  # Another time of change would make the go command look again.
  cmp -s _output/stock/go.mod.new _output/stock/go.mod || cp _output/stock/go.mod.new _output/stock/go.mod
  [[ -e _output/stock/go.sum ]] || cp go.sum _output/stock/go.sum
  rm _output/stock/go.mod.new
}

case ${1:-} in
  stock)
    stock_modfile
    build _output/stock/kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver "${KUBERNETES_VERSION}" \
      -modfile=_output/stock/go.mod -mod=mod
    ;;
  server)
    server _output/bin
    build _output/bin/fairlead-run ./hack/run "${SERVER_VERSION}"
    ;;
  envtest)
    server _output/bin
    mkdir -p _output/envtest
    ln -f _output/bin/kube-apiserver _output/envtest/kube-apiserver
    build _output/envtest/kubectl k8s.io/kubernetes/cmd/kubectl "${KUBERNETES_VERSION}"
    build _output/envtest/etcd go.etcd.io/etcd/server/v3 "${KUBERNETES_VERSION}"
    ;;
  release)
    for arch in amd64 arm64; do
      GOOS=linux GOARCH=${arch} server "_output/release/linux-${arch}" -trimpath
    done
    ;;
  *)
    fail "usage: LINE=${LINE} $0 server|envtest|stock|release"
    ;;
esac
