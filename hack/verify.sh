#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Checks everything of a line that needs no running server, and with the default line what does not depend on the line.
# All checks run; the failures are named at the end.
#   verify.sh            every check
#   verify.sh CHECK...   these checks; the first failure ends it
# LINE is the Kubernetes line.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_line

CHECKS=(patch_lint patch_round_trip patch_stat replaces mod_tidy codegen vet lint)
LINE_MODULE=staging/lines/${LINE}/line
if is_default_line; then
  CHECKS=(scripts gofmt_clean docs rules tools_tidy tools_vet tools_lint "${CHECKS[@]}")
fi

scripts() {
  need shellcheck "install it with: apt-get install shellcheck"
  shellcheck --external-sources hack/*.sh hack/kind/*.sh .ci/run
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

tidy() {
  go mod tidy "$@" -diff >&2 || fail "run: go mod tidy $*"
}

mod_tidy() {
  local mod
  tidy -modfile="${LINE_MOD}"
  mod=$(line_mod_in hack/tools/codegen)
  tidy -C hack/tools/codegen -modfile="${mod}"
  tidy -C "${LINE_MODULE}"
}

tools_tidy() {
  local module
  for module in "${TOOL_MODULES[@]}" hack/kind hack/tools/lint test/integration/corpus; do
    tidy -C "${module}"
  done
}

codegen() { hack/verify-codegen.sh; }
docs() { hack/verify-docs.sh; }
rules() { hack/verify-rules.sh; }

vet() {
  go_line vet ./...
  go vet -C "${LINE_MODULE}" ./...
}

tools_vet() {
  local module
  for module in "${TOOL_MODULES[@]}" hack/kind; do
    go vet -C "${module}" ./...
  done
}

golangci_lint() {
  "${ROOT}/_output/bin/golangci-lint" run --config "${ROOT}/.golangci.yml" ./...
}

build_golangci_lint() {
  go build -C hack/tools/lint -o "${ROOT}/_output/bin/golangci-lint" \
    github.com/golangci/golangci-lint/v2/cmd/golangci-lint
}

lint() {
  build_golangci_lint
  if is_default_line; then golangci_lint; else in_copy golangci_lint; fi
  (cd "${LINE_MODULE}" && golangci_lint)
}

tools_lint() {
  build_golangci_lint
  local module
  for module in "${TOOL_MODULES[@]}" hack/kind; do
    (cd "${module}" && golangci_lint)
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
