#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Checks everything that needs no running server. All checks run; the failures are named at the end.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need shellcheck "install it with: apt-get install shellcheck"

# Each Go module that is ours.
MODULES=(. hack/patchset hack/bench)

gofmt_clean() {
  local files
  files=$(git ls-files --cached --others --exclude-standard '*.go' | xargs gofmt -s -l)
  [[ -z ${files} ]] || { echo "run gofmt -s -w on:"; echo "${files}"; return 1; }
}

vet() {
  local module
  for module in "${MODULES[@]}"; do go vet -C "${module}" ./... || return 1; done
}

lint() {
  go build -C hack/tools/lint -o "${ROOT}/_output/bin/golangci-lint" \
    github.com/golangci/golangci-lint/v2/cmd/golangci-lint || return 1
  local module
  for module in "${MODULES[@]}"; do
    (cd "${module}" && "${ROOT}/_output/bin/golangci-lint" run --config "${ROOT}/.golangci.yml" ./...) || return 1
  done
}

mod_tidy() {
  local module
  for module in "${MODULES[@]}" hack/tools/codegen hack/tools/lint test/integration/corpus; do
    go mod tidy -C "${module}" -diff || { echo "run go mod tidy in ${module}"; return 1; }
  done
}

patch_lint() { patchset lint --line "${LINE}"; }
patch_round_trip() { patchset export --line "${LINE}" --check; }
scripts() { shellcheck --external-sources hack/*.sh .ci/run; }
replaces() { hack/verify-replaces.sh; }
codegen() { hack/verify-codegen.sh; }
docs() { hack/verify-docs.sh; }

failed=()
for check in scripts gofmt_clean patch_lint patch_round_trip replaces mod_tidy codegen docs vet lint; do
  say "verify: ${check//_/ }"
  # Not in the condition itself, where errexit would not apply inside the function.
  ("${check}") >&2 || failed+=("${check}")
done
patchset stat --line "${LINE}"

[[ ${#failed[@]} -eq 0 ]] || fail "verify failed: ${failed[*]}"
say "verify: all good"
