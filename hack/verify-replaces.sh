#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Fails if the module file of the line is not what hack/update-replaces.sh makes of it.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_line
file=$(mktemp "${TMPDIR:-/tmp}/fairlead-go-mod.XXXXXX")
trap 'rm -f "${file}"' EXIT

cp "${LINE_MOD}" "${file}"
hack/update-replaces.sh "${file}"
diff "${LINE_MOD}" "${file}" >&2 || fail "${LINE_MOD} is out of date: run LINE=${LINE} hack/update-replaces.sh"
