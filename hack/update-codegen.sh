#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Generates everything that is generated from the types in pkg/apis/apiextensions and from the patched types in
# staging/src: deepcopy, conversion, protobuf, OpenAPI, apply configurations. What is generated in staging/src is
# exported to generated.patch afterwards. What is generated in pkg serves all lines; the default line makes it.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_line

need protoc "install it with: apt-get install protobuf-compiler"
patchset stage --line "${LINE}"

need_line_mod
if ! cmp -s go.mod "${LINE_MOD}"; then
  # The generators load packages, which fails with -modfile.
  in_copy hack/update-codegen.sh
  cp -r "${COPY}/staging/patches" "${COPY}/staging/lines" staging/
  rm -rf "pkg/apis/apiextensions/testdata/${LINE}"
  cp -r "${COPY}/pkg/apis/apiextensions/testdata/${LINE}" pkg/apis/apiextensions/testdata/
  patchset stage --line "${LINE}"
  exit
fi

BIN=${ROOT}/${LINE_OUT}/codegen
say "building the generators"
mkdir -p "${BIN}"
CODEGEN_MOD=$(line_mod_in hack/tools/codegen)
go build -C hack/tools/codegen -modfile="${CODEGEN_MOD}" -o "${BIN}/" tool
export PATH=${BIN}:${PATH}

WORK=$(mktemp -d "${TMPDIR:-/tmp}/fairlead-codegen.XXXXXX")
trap 'rm -rf "${WORK}"' EXIT

OURS=github.com/fairlead-dev/fairlead/pkg
UPSTREAM=k8s.io/apiextensions-apiserver/pkg
STAGED=staging/src/${LINE}/k8s.io/apiextensions-apiserver
OUR_HEADER=hack/boilerplate.go.txt
UPSTREAM_HEADER=${STAGED}/hack/boilerplate.go.txt

[[ -z $(git -C "${STAGED}" status --porcelain) ]] ||
  fail "commit your edits in ${STAGED} first: what is generated becomes a commit of its own (see docs/patches.md)"

LINT=() # newer generators have it
if [[ $(deepcopy-gen --help 2>&1) == *--lint-rules* ]]; then
  LINT=("--lint-rules=known-tags-only,require-explicit-disablement")
fi
VERSIONS=("${UPSTREAM}/apis/apiextensions/v1" "${UPSTREAM}/apis/apiextensions/v1beta1")

say "deepcopy"
if is_default_line; then
  deepcopy-gen --output-file zz_generated.deepcopy.go --go-header-file "${OUR_HEADER}" "${OURS}/apis/apiextensions"
fi
deepcopy-gen --output-file zz_generated.deepcopy.go --go-header-file "${UPSTREAM_HEADER}" "${LINT[@]}" \
  "${UPSTREAM}/apis/apiextensions" "${UPSTREAM}/apiserver/schema" "${VERSIONS[@]}"

say "conversion"
conversion-gen --output-file zz_generated.conversion.go --go-header-file "${UPSTREAM_HEADER}" "${LINT[@]}" "${VERSIONS[@]}"

# protoc wants one tree in which every package lies at its import path.
say "protobuf"
PROTO=${WORK}/proto
mkdir -p "${PROTO}/k8s.io" "${PROTO}/github.com/fairlead-dev/fairlead/pkg" "${PROTO}/github.com/gogo"
ln -s "${ROOT}/${STAGED}" "${PROTO}/k8s.io/apiextensions-apiserver"
ln -s "${ROOT}/pkg/apis" "${PROTO}/github.com/fairlead-dev/fairlead/pkg/apis"
APIMACHINERY=$(go list -m -f '{{.Dir}}' k8s.io/apimachinery)
ln -s "${APIMACHINERY}" "${PROTO}/k8s.io/apimachinery"
GOGO=$(go list -C hack/tools/codegen -modfile="${CODEGEN_MOD}" -m -f '{{.Dir}}' github.com/gogo/protobuf)
ln -s "${GOGO}" "${PROTO}/github.com/gogo/protobuf"

# protobuf HEADER PACKAGES: a package with a leading "-" is only imported.
protobuf() {
  go-to-protobuf --go-header-file "$1" --output-dir "${PROTO}" \
    --proto-import "${PROTO}" --proto-import "${GOGO}/protobuf" \
    --apimachinery-packages "-k8s.io/apimachinery/pkg/util/intstr,-k8s.io/apimachinery/pkg/api/resource,-k8s.io/apimachinery/pkg/runtime/schema,-k8s.io/apimachinery/pkg/runtime,-k8s.io/apimachinery/pkg/apis/meta/v1" \
    --packages "$2"
}
if is_default_line; then protobuf "${OUR_HEADER}" "${OURS}/apis/apiextensions"; fi
# Upstream's header for these files is the one of its other generated files without the year.
sed -E '2s/ [0-9]{4} / /' "${UPSTREAM_HEADER}" >"${WORK}/header.txt"
protobuf "${WORK}/header.txt" "-${OURS}/apis/apiextensions,${UPSTREAM}/apis/apiextensions/v1,${UPSTREAM}/apis/apiextensions/v1beta1"

if is_default_line; then
  say "openapi"
  openapi-gen --output-file zz_generated.openapi.go --go-header-file "${OUR_HEADER}" \
    --output-dir pkg/generated/openapi --output-pkg "${OURS}/generated/openapi" \
    --output-model-name-file zz_generated.model_name.go --report-filename "${WORK}/violations" \
    "${OURS}/apis/apiextensions"
  [[ ! -s ${WORK}/violations ]] || fail "API rule violations: $(cat "${WORK}/violations")"
fi

# The apply configurations of our types are made beside upstream's, since only what a type with a client reaches is
# made at all; only ours are kept. Upstream's then refer to them.
say "apply configurations"
go run ./hack/models-schema >"${WORK}/models.json"
if is_default_line; then
  applyconfiguration-gen --go-header-file "${OUR_HEADER}" --openapi-schema "${WORK}/models.json" \
    --output-dir "${WORK}/applyconfiguration" --output-pkg "${OURS}/client/applyconfiguration" \
    "${UPSTREAM}/apis/apiextensions/v1" "${OURS}/apis/apiextensions"
  find pkg/client/applyconfiguration -name '*.go' ! -name doc.go -delete
  cp -r "${WORK}/applyconfiguration/apis/apiextensions" pkg/client/applyconfiguration/apis/
fi

external=()
for file in pkg/client/applyconfiguration/apis/apiextensions/*.go; do
  type=$(sed -nE 's/^type (\w+)ApplyConfiguration struct.*/\1/p' "${file}")
  [[ -n ${type} ]] || continue
  external+=("${OURS}/apis/apiextensions.${type}:${OURS}/client/applyconfiguration/apis/apiextensions")
done
applyconfiguration-gen --go-header-file "${UPSTREAM_HEADER}" --openapi-schema "${WORK}/models.json" "${LINT[@]}" \
  --output-dir "${STAGED}/pkg/client/applyconfiguration" --output-pkg "${UPSTREAM}/client/applyconfiguration" \
  --external-applyconfigurations "$(IFS=,; echo "${external[*]}")" "${VERSIONS[@]}"

# The run that writes them fails by design. The default line also reads those of older lines, and has files for what it
# writes back, which an older line must not find among its own.
say "fixtures of the encodings"
FIXTURES=pkg/apis/apiextensions/testdata
if is_default_line; then
  for older in "${FIXTURES}"/v*; do
    if [[ ${older} != "${FIXTURES}/${LINE}" ]]; then cp -r "${older}" "${FIXTURES}/previous/"; fi
  done
fi
UPDATE_COMPATIBILITY_FIXTURE_DATA=true go test ./pkg/apis/apiextensions -run TestC3StoredDataStaysReadable >/dev/null || true
go test ./pkg/apis/apiextensions -run TestC3StoredDataStaysReadable >/dev/null

say "exporting the generated patch"
if [[ -n $(git -C "${STAGED}" status --porcelain) ]]; then
  git -C "${STAGED}" add --all
  if git -C "${STAGED}" log --format=%s | grep -q '^generated:'; then
    git -C "${STAGED}" commit --quiet --fixup='HEAD^{/^generated:}'
  else # a new line: the message is that of another one
    others=(staging/patches/k8s.io/apiextensions-apiserver/*/generated.patch)
    sed -e 1d -e '/^---$/,$d' -e 's/^Subject: //' -e "s/^Lines: .*/Lines: ${LINE}/" "${others[0]}" |
      git -C "${STAGED}" commit --quiet --file=-
  fi
fi
patchset export --line "${LINE}"
