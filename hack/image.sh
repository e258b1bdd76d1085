#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Writes archives of the server's container image from the binaries of `hack/build.sh release`; docs/releases.md says
# how to load them. LINE is the Kubernetes line.

exec "$(dirname "${BASH_SOURCE[0]}")/release.sh" images
