// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl stands in for kubectl.
package main

func main() { println("kubectl") }
