// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiextensions holds the types that fairlead adds to
// CustomResourceDefinition, and small pure helpers over them.
//
// One Go type serves the internal, v1 and v1beta1 forms of a
// CustomResourceDefinition alike: the patch set adds only the fields that hold
// these types, so the conversions between the forms are assignments and a type
// changes in one place.
//
// The package imports nothing but k8s.io/apimachinery, since
// k8s.io/apiextensions-apiserver, k8s.io/apiserver and clients import it.
//
// Everything named zz_generated.* or generated.* is made by
// hack/update-codegen.sh.
//
// +k8s:deepcopy-gen=package
// +k8s:protobuf-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=dev.fairlead.apiextensions
package apiextensions
