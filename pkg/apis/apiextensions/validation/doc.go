// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation validates the fields that fairlead adds to CustomResourceDefinition, and returns warnings about
// declarations that are legal but probably a mistake. It never modifies its arguments.
//
// The files fieldgates*.go cover spec.customFeatureGates (rules C4 to C7). Start with ValidateCustomFeatureGates. The
// files unions*.go cover x-kubernetes-unions (rule U2). Start with ValidateUnions. schema.go has what both need.
//
// The validation and the strategy of CustomResourceDefinition in k8s.io/apiextensions-apiserver call this package.
// Therefore it must not import them.
package validation
