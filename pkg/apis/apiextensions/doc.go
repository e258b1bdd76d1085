// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiextensions defines the types that fairlead adds to
// CustomResourceDefinition, with helper methods that only read them. Start in
// types.go for spec.customFeatureGates and in types_unions.go for
// x-kubernetes-unions.
//
// The internal, v1 and v1beta1 forms of a CustomResourceDefinition share one Go
// type each for gates and unions. The patches only add the fields that hold
// these types, so converting between the forms copies a pointer, and a type
// changes in one place.
//
// The package imports nothing but k8s.io/apimachinery, because
// k8s.io/apiextensions-apiserver, k8s.io/apiserver and clients import it.
//
// hack/update-codegen.sh generates the files zz_generated.* and generated.*.
//
// +k8s:deepcopy-gen=package
// +k8s:protobuf-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=dev.fairlead.apiextensions
package apiextensions
