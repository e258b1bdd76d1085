#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Checks everything that needs no running server. All checks run; the failures are named at the end.
#   verify.sh            every check
#   verify.sh CHECK...   these checks; the first failure ends it
# LINE is the Kubernetes line.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_line

CHECKS=(scripts gofmt_clean patch_lint patch_round_trip patch_stat replaces mod_tidy codegen docs rules vet lint)

# Each Go module that is ours.
MODULES=(. hack/patchset hack/bench)

scripts() {
  need shellcheck "install it with: apt-get install shellcheck"
  shellcheck --external-sources hack/*.sh .ci/run
}

gofmt_clean() {
  local files
  files=$(tree_files '*.go' | xargs --null gofmt -s -l)
  [[ -z ${files} ]] || fail "run gofmt -s -w on:"$'\n'"${files}"
}

patch_lint() { patchset lint --line "${LINE}"; }
patch_round_trip() { patchset export --line "${LINE}" --check; }
patch_stat() { hack/stat.sh; }
replaces() { hack/verify-replaces.sh; }

mod_tidy() {
  local module
  for module in "${MODULES[@]}" hack/tools/codegen hack/tools/lint test/integration/corpus; do
    go mod tidy -C "${module}" -diff >&2 || fail "run go mod tidy in ${module}"
  done
}

codegen() { hack/verify-codegen.sh; }
docs() { hack/verify-docs.sh; }
rules() { hack/verify-rules.sh; }

vet() {
  local module
  for module in "${MODULES[@]}"; do
    go vet -C "${module}" ./...
  done
}

lint() {
  go build -C hack/tools/lint -o "${ROOT}/_output/bin/golangci-lint" \
    github.com/golangci/golangci-lint/v2/cmd/golangci-lint
  local module
  for module in "${MODULES[@]}"; do
    (cd "${module}" && "${ROOT}/_output/bin/golangci-lint" run --config "${ROOT}/.golangci.yml" ./...)
  done
}

if [[ $# -gt 0 ]]; then
  for check in "$@"; do
    [[ " ${CHECKS[*]} " == *" ${check} "* ]] || fail "${check} is no check; there are: ${CHECKS[*]}"
    say "verify: ${check//_/ }"
    "${check}"
  done
  exit
fi

failed=()
for check in "${CHECKS[@]}"; do
  # A process of its own, since errexit has no effect in a function that is called left of ||.
  hack/verify.sh "${check}" || failed+=("${check}")
done
[[ ${#failed[@]} -eq 0 ]] || fail "verify failed: ${failed[*]}; to repeat: LINE=${LINE} hack/verify.sh ${failed[*]}"
say "verify: all good"
