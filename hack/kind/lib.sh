#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# What the scripts of kind share. Source it after hack/lib.sh.

# shellcheck disable=SC2034 # used by the scripts that source this one
CONFIG=hack/kind/cluster${HA:+-ha}.yaml
# shellcheck disable=SC2034 # the same
CLUSTER=fairlead${HA:+-ha}

# need_docker fails unless a Docker engine answers.
need_docker() {
  need docker "install Docker; kind runs each node of a cluster as a container"
  docker version >/dev/null 2>&1 ||
    fail "the Docker engine does not answer: start it; docker version says what is wrong"
}

# kind_tool runs the version of kind that hack/kind/go.mod has, built once.
kind_tool() {
  need go "install Go 1.26 or newer from your distribution or https://go.dev/dl"
  go build -C hack/kind -o "${ROOT}/_output/bin/kind" sigs.k8s.io/kind
  _output/bin/kind "$@"
}
