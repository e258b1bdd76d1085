#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Measures what fairlead costs, and writes _output/<line>/bench/report.md and charts; hack/bench/README.md says more.
#   QUICK=1   a smoke run of about two minutes, whose figures mean nothing
#   PARTS=…   only some of micro,endtoend,crds

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_line

[[ $(uname -s) == Linux ]] || fail "make bench reads /proc: it needs Linux"

hack/build.sh envtest
hack/build.sh stock
say "building the benchmarks"
mkdir -p "${LINE_OUT}/bench"
go_line test -c -o "${LINE_OUT}/bench/benchmark.test" ./test/benchmark
go build -C hack/bench -o "${ROOT}/_output/bin/bench" .

# machine describes what is measured, and on what.
machine() {
  local versions cpu memory load
  versions="$("${LINE_OUT}/envtest/kube-apiserver" --version), $("${LINE_OUT}/stock/kube-apiserver" --version)"
  versions+=", $("${LINE_OUT}/envtest/etcd" --version | head -n 1), built with $(go env GOVERSION)"
  cpu="$(nproc) × $(awk -F ': ' '/^model name/ {print $2; exit}' /proc/cpuinfo)"
  memory="$(awk '/^MemTotal/ {printf "%.0f", $2 / 1024 / 1024}' /proc/meminfo) GiB"
  read -r load _ </proc/loadavg
  echo "${versions}, on ${cpu} with ${memory} and $(uname -sr), load at the start ${load}"
}

flags=()
[[ -z ${QUICK:-} ]] || flags+=(-quick)
[[ -z ${PARTS:-} ]] || flags+=(-parts "${PARTS}")
exec _output/bin/bench -machine "$(machine)" \
  -server "${LINE_OUT}/envtest/kube-apiserver" -stock "${LINE_OUT}/stock/kube-apiserver" \
  -etcd "${LINE_OUT}/envtest/etcd" \
  -benchmarks "${ROOT}/${LINE_OUT}/bench/benchmark.test" -data test/benchmark -out "${LINE_OUT}/bench" "${flags[@]}"
