// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fieldpath reads and writes the paths by which a feature gate of a CustomResourceDefinition names
// the fields that it guards (rule C5): JSON paths from the root of the object, made of .name, ['name'] and [*].
//
// A path is text only: whether it leads anywhere is for a schema to say.
package fieldpath
