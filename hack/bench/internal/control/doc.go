// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package control runs etcd and API servers on loopback, talks to them, and reads what they cost.
package control
