// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package customresource is what the patches of k8s.io/apiextensions-apiserver call: the few functions that hang
// fairlead's features into the life of a custom resource.
//
// A write request to a custom resource takes this way; what is ours is in brackets:
//
//	decode, prune, default
//	managedFields       [Endpoint.DisabledPaths: fields that this endpoint does not write]
//	mutating admission
//	                    [Request.Create, Request.Update: evaluate feature gates, package fieldgate]
//	strategy: PrepareForCreate or PrepareForUpdate, with generation
//	strategy: validation
//	validating admission
//	storage
//	                    [Request.Done: warnings, once it is known that the write succeeded]
//	response
//
// Gates are evaluated between mutating admission and the strategy, not in the strategy itself, since only there an
// evaluation can fail: it may need a conversion (rule G1).
//
// What a CRD needs is compiled once, into a Plan, when the handler of the CRD is built; a change of the CRD's spec
// builds a new handler (rules R3, G11). Feature gates of the server are read here, at the edge, and nowhere below.
package customresource
