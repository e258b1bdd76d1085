// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package customresource applies the feature gates (KEP-2608) and the unions (KEP-1027) of a CustomResourceDefinition
// to the writes of its custom resources.
//
// It is where fairlead's code begins: the patches of k8s.io/apiextensions-apiserver call the functions of this package,
// and these call the packages below it. docs/field-gates.md and docs/unions.md describe the behaviour. docs/rules.md
// lists the rules that comments refer to.
//
// # A CRD: Plan and Endpoint
//
// NewPlan compiles what the writes of a CRD need into a Plan, once, when upstream builds the handler of the CRD (rule
// R3). A change of the CRD's spec builds a new handler with a new Plan (rule G11). A Plan is immutable. It holds
//
//   - a fieldgate.Plan: the paths of the gates that can have an effect, in the storage version;
//   - a union.Plan for each version that has unions in its schema;
//   - the schemas in which the paths of the gates apply, and, behind a conversion webhook, the defaults of the others.
//
// NewPlan also returns the schemas to serve the CRD with. They lack the defaults of disabled fields (rule G8).
//
// Plan.Resource and Plan.Status return the Endpoint for one version of the resource or of its status subresource:
// the parts of the Plan that apply there, and the fields that the endpoint writes. Endpoint.ForScale is the same for
// the scale subresource.
//
// # A write: Store and Request
//
// Endpoint.Store wraps upstream's store. Store.Create and Store.Update begin a Request, which collects the results of
// one write, and put it into the context. An update, a patch and a server-side apply take the steps below. Upstream's
// steps are on the left, the calls of fairlead on the right. Calls with a star find the Request in the context.
//
//	Store.Update                            Endpoint.Begin: put a Request into the context
//	|  the handler makes the object:
//	|  |  decode, prune, default            Plan.Defaulter: no default may switch a union
//	|  |  field management                * Request.BeforeApply or Request.BeforeUpdate, then, if needed,
//	|  |                                    Request.AfterConflict or Request.AfterUpdateError, Request.AfterUpdate
//	|  |  mutating admission
//	|  |                                  * Endpoint.UnionNormalizer: clear members that are not selected any more
//	|  |                                    Request.Update: evaluate the gates, then correct managedFields
//	|  the strategy of the CRD:
//	|  |  PrepareForUpdate, generation
//	|  |  schema validation
//	|  |                                  * Endpoint.ValidateUnions
//	|  |  validation rules (CEL)
//	|  validating admission                 Request.UpdateValidation: fail if Request.Update failed
//	|  etcd
//	response                                Request.Done: warnings, audit annotations, metrics
//
// A PUT is decoded before Store.Update. If the storage retries because the object has changed meanwhile, the other
// steps between Begin and Done are repeated with the same Request, and the last attempt counts.
//
// On create, upstream's handler decodes the object and runs field management and mutating admission, without fairlead
// except for Plan.Defaulter. Store.Create follows:
//
//	Store.Create                            Endpoint.Begin: put a Request into the context
//	|                                       Request.Create: evaluate the gates, then correct managedFields
//	|  the strategy of the CRD:
//	|  |  PrepareForCreate
//	|  |  schema validation
//	|  |                                  * Endpoint.ValidateUnions
//	|  |  validation rules (CEL)
//	|  validating admission                 Request.CreateValidation: fail if Request.Create failed
//	|  etcd
//	response                                Request.Done: warnings, audit annotations, metrics
//
// Server-side apply creates through Store.Update. The object to update has no UID then.
//
// # The context
//
// The context of a write holds one value of this package, the Request, under two keys:
//
//   - As the Participant of package fieldmanager (below pkg/endpoints), which calls the methods for field management.
//     The patched handlers of k8s.io/apiserver call that package. They may not import this one, which depends on
//     k8s.io/apiextensions-apiserver.
//   - Under requestKey, which only requestFrom reads. Endpoint.UnionNormalizer adds the members that it cleared to the
//     Request. Endpoint.ValidateUnions adds the failures to it, and reads from it whether the write is one of scale.
//
// There is no other way. The handlers build the functions that make the object before they call the Store, and the
// strategy serves all requests of an endpoint. The context is all that both get from one call of the Store. Everything
// else is a field of the Request, an argument or a result.
//
// # The order of the steps
//
// Unions are normalized after mutating admission, since a webhook may change a discriminator, too, and in the version
// of the request (rule U4).
//
// Gates are evaluated after that, in the storage version (rule G1), and before the strategy computes the generation
// (rule G6). An evaluation may need a conversion, which may fail. A strategy cannot return such an error, but the Store
// can.
//
// A gate may restore an object with a union in it, but never a member that the discriminator does not select (rule
// U9). What a gate restored is not reported as cleared.
//
// Field management runs before all of this. So managedFields are corrected at the end, from three states of the object:
// the persisted object, the object that field management saw, and the object that will be persisted (rules G7, U8).
//
// # Packages
//
//   - fieldgate evaluates the gates of an object, and publishes them in OpenAPI.
//   - union defaults, normalizes and validates the unions of an object.
//   - ownership corrects managedFields.
//   - scope names the part of an object that an endpoint writes.
//   - jsonvalue compares JSON values.
//
// These are algorithms over JSON values. Only this package reads the feature gates of the server, converts objects,
// and reports to clients and operators.
//
// Start with store.go and request.go for the steps of a write, and with plan.go for what is compiled. unions.go and
// managedfields.go have the steps with a star. convert.go and defaults.go are about versions behind a conversion
// webhook. audit.go, metrics.go and openapi.go are about what is reported and published.
//
// # Patches
//
// The patches in staging/patches/k8s.io that lead here:
//
//   - apiextensions-apiserver/customresource-plan.patch: NewPlan, Plan.Resource, Plan.Status and ServeMetrics
//   - apiextensions-apiserver/customresource-store.patch: Endpoint.Store and Store, for the resource, status and scale
//   - apiextensions-apiserver/unions-defaulting.patch: Plan.Defaulter
//   - apiextensions-apiserver/unions-normalizer.patch: Store.UnionNormalizer
//   - apiextensions-apiserver/unions-strategy.patch: Endpoint.ValidateUnions
//   - apiextensions-apiserver/custom-feature-gates-openapi.patch: PublishOpenAPI
//   - apiserver/union-normalization.patch: the handlers call the UnionNormalizer, through package unions below
//     pkg/endpoints
//   - apiserver/field-management.patch: the handlers call the Request, through package fieldmanager below pkg/endpoints
//
// # Costs
//
// A CRD without gates and unions has no Plan. All methods accept a nil Plan or a nil Endpoint, and then neither
// allocate nor walk anything (rule R2). What remains is a few KiB of heap for the CRD, since each node of a schema has
// one pointer more than upstream's. docs/performance.md has the figures.
package customresource
