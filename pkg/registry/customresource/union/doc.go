// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package union normalizes and validates the unions of a custom resource (KEP-1027, rules U3 to U7).
//
// Compile turns x-kubernetes-unions of a structural schema into a Plan: a tree of just those positions that hold a union
// or lead to one. Plan.Default fills in the defaults of a request without switching a union, Plan.Normalize clears what
// a changed discriminator does not select any more, Plan.Validate says what is wrong with the members that are set, and
// Plan.Unchanged reports whether a request leaves all unions as they were.
//
// All is plain Go over JSON values: no clients, no feature gates of the server, no logging.
package union
