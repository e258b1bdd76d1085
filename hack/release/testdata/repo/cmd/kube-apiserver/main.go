// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kube-apiserver stands in for the server: it has a patched and an unpatched module.
package main

import (
	"github.com/inconshreveable/mousetrap"
	"k8s.io/apiserver"
)

func main() {
	println(apiserver.Name, mousetrap.StartedByExplorer())
}
