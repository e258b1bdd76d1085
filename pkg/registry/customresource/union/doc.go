// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package union normalizes and validates the unions of custom resources (KEP-1027, rules U3 to U7).
//
// Compile translates the x-kubernetes-unions extensions of a structural schema into a Plan. A Plan is a tree of the
// schema's unions and the paths to them, and has four operations, each in a file of its own:
//
//   - Default (defaults.go) applies defaults, but does not let a default discriminator contradict a member that is set.
//   - Normalize (normalize.go) clears the members that a changed discriminator does not select. It returns each union
//     with cleared members as a Cleared (cleared.go), which formats the warning.
//   - Validate (validate.go) returns the errors of a discriminator and its members, and as a Failure the reason for the
//     metrics. errors.go has the texts.
//   - Unchanged (unchanged.go) reports whether a request changes no union.
//
// Start with plan.go, the tree. union.go is a single union, and compile.go builds the tree from a schema.
//
// The package depends on JSON values and schemas only: it has no clients, does not log, and reads no feature gates.
package union
