// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package customresource is what the patches of k8s.io/apiextensions-apiserver call: the few functions that hang
// fairlead's features into the life of a custom resource.
//
// A write request to a custom resource takes this way. The steps of this package are in brackets. Those with a star get
// the Request from the context:
//
//	                    [Store.Update: begin a Request and put it into the context]
//	decode, prune, default
//	                  * [Request.BeforeApply: adjust disabled fields of an applied configuration, package fieldgate]
//	                  * [Request.BeforeUpdate: keep the managedFields that the client sent]
//	managedFields
//	                  * [Request.AfterConflict, Request.AfterUpdateError, Request.AfterUpdate]
//	mutating admission
//	                  * [Endpoint.UnionNormalizer: clear deselected members of unions, package union]
//	                    [Store.Create: begin a Request and put it into the context]
//	                    [Request.Create, Request.Update: evaluate feature gates, package fieldgate,
//	                     then correct managedFields, package ownership]
//	strategy: PrepareForCreate or PrepareForUpdate, with generation
//	strategy: validation
//	                  * [Endpoint.ValidateUnions: beside schema validation, before CEL rules, package union]
//	                    [Request.CreateValidation, Request.UpdateValidation: fail if the evaluation failed]
//	validating admission
//	storage
//	                    [Request.Done: warnings, audit annotations and metrics, once the outcome is known]
//	response
//
// The context of a write holds one value of this package, the Request of the write. It is found under two keys:
//
//   - that of package fieldmanager below pkg/endpoints, as the Participant of the calls of the field manager. The request
//     handlers make these calls in functions that they build before they call the Store, and may not import this package.
//   - that of requestOf, for the function that Endpoint.UnionNormalizer returned to the handlers before there was a
//     Request, and for Endpoint.ValidateUnions, since the strategy that calls it serves all requests. The first one
//     passes what it cleared to the Request, the second one its failures, and it must know writes of scale.
//
// In both cases the context is all that upstream's code passes from the Store to these functions. Everything else is a
// field of the Request, an argument or a result.
//
// managedFields are made before anything of ours has changed the object. So they are corrected afterwards, from three
// states of the object: what was persisted, what field management saw, and what will be persisted (rules G7, U8).
//
// Unions are normalized by the request handlers, which any resource can ask for it (package unions below
// pkg/endpoints), and in the version of the request (rule U4). Gates are evaluated on the storage version, between
// mutating admission and the strategy, not in the strategy itself, since only there an evaluation can fail: it may
// need a conversion (rule G1). Gates come last: they may restore an object with a union in it, but never a member that
// the discriminator does not select (rule U9). What a gate restored is not reported as cleared.
//
// What a CRD needs is compiled once, into a Plan, when the handler of the CRD is built; a change of the CRD's spec
// builds a new handler (rules R3, G11). Plans refer to the CRD. Feature gates of the server are read here, at the edge,
// and nowhere below.
//
// docs/rules.md lists the rules that comments refer to.
package customresource
