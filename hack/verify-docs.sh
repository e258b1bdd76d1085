#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Fails if the generated parts of docs/ are not what hack/update-docs.sh writes.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_line

go_line run ./hack/unions-table --check
