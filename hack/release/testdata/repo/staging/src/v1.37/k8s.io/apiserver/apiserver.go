// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver stands in for a patched module.
package apiserver

// Name is what the stand-in for the server prints.
const Name = "kube-apiserver"
