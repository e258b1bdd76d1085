// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation judges what fairlead adds to CustomResourceDefinition: whether a declaration is legal, and
// what about it deserves a warning. There is a file per feature, and nothing here changes what it looks at.
//
// The validation and the strategy of CustomResourceDefinition in k8s.io/apiextensions-apiserver call it, so it
// must not import them.
package validation
