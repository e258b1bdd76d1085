// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package customresource is what the patches of k8s.io/apiextensions-apiserver call: the few functions that hang
// fairlead's features into the life of a custom resource.
//
// A write request to a custom resource takes this way; what is ours is in brackets:
//
//	decode, prune, default
//	                    [Request.BeforeApply: adjust disabled fields of an applied configuration, package fieldgate]
//	managedFields       [Request.BeforeUpdate: remember what they were]
//	mutating admission
//	                    [Endpoint.UnionNormalizer: clear deselected members of unions, package union]
//	                    [Request.Create, Request.Update: evaluate feature gates, package fieldgate,
//	                     then correct managedFields, package ownership]
//	strategy: PrepareForCreate or PrepareForUpdate, with generation
//	strategy: validation
//	                    [Endpoint.ValidateUnions: beside schema validation, before CEL rules, package union]
//	validating admission
//	storage
//	                    [Request.Done: warnings, once it is known that the write succeeded]
//	response
//
// The handlers and the storage of a request have nothing in common but its context. The storage begins a Request and
// puts it there (Endpoint.Begin); the handlers find it through package fieldmanager below pkg/endpoints, the
// normalizer and the strategy through requestOf.
//
// managedFields are made before anything of ours has changed the object. So they are corrected afterwards, from three
// states of the object: what was persisted, what field management saw, and what will be persisted (rules G7, U8).
//
// Unions are normalized by the request handlers, which any resource can ask for it (package unions below
// pkg/endpoints), and in the version of the request (rule U4). Gates are evaluated on the storage version, between
// mutating admission and the strategy, not in the strategy itself, since only there an evaluation can fail: it may
// need a conversion (rule G1). Gates come last, and have the last word: they may restore all around a union, but never
// a member that it does not select (rule U9). So what was cleared is asked again after them.
//
// What a CRD needs is compiled once, into a Plan, when the handler of the CRD is built; a change of the CRD's spec
// builds a new handler (rules R3, G11). Plans refer to the CRD. Feature gates of the server are read here, at the edge,
// and nowhere below.
package customresource
