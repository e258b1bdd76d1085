// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command patchset keeps fairlead's patches on pristine upstream modules:
// it stages them, exports edits back into patches, and checks both.
package main

import (
	"os"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/cli"
)

func main() {
	os.Exit(cli.Main())
}
