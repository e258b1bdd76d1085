// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fieldgate applies the feature gates of a CustomResourceDefinition (KEP-2608) to a custom resource.
//
// Compile turns spec.customFeatureGates into a Plan: a tree of just those paths on which a gate can have an effect.
// Plan.Evaluate walks an object along that tree, drops or keeps the fields of disabled gates (rules G2-G5), and
// returns a Result that knows the warnings the client is owed (rule G10).
//
// All is plain Go over JSON values: no clients, no feature gates of the server, no logging.
package fieldgate
