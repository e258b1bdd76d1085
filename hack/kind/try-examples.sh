#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Applies examples to the cluster of KUBECONFIG, and fails unless a gate drops a field with its warning and a union is
# cleared. KUBECTL is the program, kubectl unless it is set.

# shellcheck source-path=SCRIPTDIR source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

KUBECTL=${KUBECTL:-kubectl}
need "${KUBECTL}" "install kubectl, or set KUBECTL"

# expect TEXT COMMAND...: runs the command, and fails unless its output has the text.
expect() {
  local output
  output=$("${@:2}" 2>&1) || fail "${*:2}: ${output}"
  echo "${output}"
  [[ ${output} == *"$1"* ]] || fail "${*:2}: the output lacks: $1"
}

# apply_crd FILE RESOURCE: applies a definition and waits until the server has its resource.
apply_crd() {
  "${KUBECTL}" apply -f "$1"
  "${KUBECTL}" wait --for=condition=Established --timeout=60s "crd/$2"
}

apply_crd examples/field-gates/crd.yaml crontabs.stable.example.com
expect 'Warning: .spec.replicas: dropped: feature gate "ReplicasFeatureGate" is disabled' \
  "${KUBECTL}" apply -f examples/field-gates/crontab.yaml
expect '{"cronSpec":"* * * * */5","image":"my-awesome-cron-image"}' \
  "${KUBECTL}" get crontab my-new-cron-object -o 'jsonpath={.spec}'

apply_crd examples/unions/crd.yaml backups.stable.example.com
"${KUBECTL}" apply -f examples/unions/backup.yaml
expect 'Warning: spec.source.git: cleared: spec.source.type changed from "Git" to "S3"' \
  "${KUBECTL}" patch backup wiki --type=merge --patch-file examples/unions/switch.yaml
expect '{"s3":{"bucket":"wiki"},"type":"S3"}' \
  "${KUBECTL}" get backup wiki -o 'jsonpath={.spec.source}'

"${KUBECTL}" delete -f examples/field-gates/crd.yaml -f examples/unions/crd.yaml
