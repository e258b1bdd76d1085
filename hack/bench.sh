#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Measures what fairlead costs, and writes _output/bench/report.md and charts; hack/bench/README.md says more.
#   QUICK=1   a smoke run of about two minutes, whose figures mean nothing
#   PARTS=…   only some of micro,endtoend,crds

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ $(uname -s) == Linux ]] || fail "make bench reads /proc: it needs Linux"

hack/build.sh envtest
hack/build.sh stock
say "building the benchmarks"
mkdir -p _output/bench
go test -c -o _output/bench/benchmark.test ./test/benchmark
go build -C hack/bench -o "${ROOT}/_output/bin/bench" .

# machine describes what is measured, and on what.
machine() {
  local versions cpu memory load
  versions="$(_output/envtest/kube-apiserver --version), $(_output/stock/kube-apiserver --version)"
  versions+=", $(_output/envtest/etcd --version | head -n 1), built with $(go env GOVERSION)"
  cpu="$(nproc) × $(awk -F ': ' '/^model name/ {print $2; exit}' /proc/cpuinfo)"
  memory="$(awk '/^MemTotal/ {printf "%.0f", $2 / 1024 / 1024}' /proc/meminfo) GiB"
  read -r load _ </proc/loadavg
  echo "${versions}, on ${cpu} with ${memory} and $(uname -sr), load at the start ${load}"
}

flags=()
[[ -z ${QUICK:-} ]] || flags+=(-quick)
[[ -z ${PARTS:-} ]] || flags+=(-parts "${PARTS}")
exec _output/bin/bench -machine "$(machine)" \
  -server _output/envtest/kube-apiserver -stock _output/stock/kube-apiserver -etcd _output/envtest/etcd \
  -benchmarks "${ROOT}/_output/bench/benchmark.test" -data test/benchmark -out _output/bench "${flags[@]}"
