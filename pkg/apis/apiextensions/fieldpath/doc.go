// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fieldpath parses and prints the paths in the fieldPaths of a feature gate (rule C5): JSON paths from the root
// of a custom resource that consist of .name, ['name'] and [*]. Start with Parse and Path.
//
// The package does not use schemas. Package validation checks whether a path resolves in the schema of the
// CustomResourceDefinition.
package fieldpath
