#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Measures what fairlead costs, and writes _output/bench/report.md and charts; hack/bench/README.md says more.
#   QUICK=1   a smoke run of about a minute, whose figures mean nothing
#   PARTS=…   only some of micro,endtoend,crds
#   PROFILES=1 profiles of the API servers under load, too, into _output/bench/profiles

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ $(uname -s) == Linux ]] || fail "make bench reads /proc: it needs Linux"

hack/build.sh envtest
hack/build.sh stock
say "building the benchmarks"
mkdir -p _output/bench
go test -c -o _output/bench/benchmark.test ./test/benchmark
go build -C hack/bench -o "${ROOT}/_output/bin/bench" .

flags=()
[[ -z ${QUICK:-} ]] || flags+=(-quick)
[[ -z ${PROFILES:-} ]] || flags+=(-profiles)
[[ -z ${PARTS:-} ]] || flags+=(-parts "${PARTS}")
exec _output/bin/bench \
  -server _output/envtest/kube-apiserver -stock _output/stock/kube-apiserver -etcd _output/envtest/etcd \
  -benchmarks "${ROOT}/_output/bench/benchmark.test" -data test/benchmark -out _output/bench "${flags[@]}"
