// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command etcd stands in for etcd.
package main

func main() { println("etcd") }
