// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fieldgate applies the feature gates of a CustomResourceDefinition, spec.customFeatureGates (KEP-2608), to its
// custom resources. docs/field-gates.md describes the behaviour. docs/rules.md lists the rules that comments refer to.
//
// A gate guards the fields at its paths. A field is disabled if the gate that guards it is. Of two gates that guard one
// path the first counts. Inside a disabled field no other gate has an effect (rule C8).
//
// # What the package does
//
//   - Compile compiles the gates of a CRD into a Plan. A Plan is a tree of the positions in the schema at
//     which a gate can have an effect. All objects are walked along this tree.
//   - Plan.Evaluate drops disabled fields from an object, or keeps them as they are persisted (rules G2 to G5). Its
//     argument is a Write: the requested object, the persisted object and what else belongs to the request. Its Result
//     has the Outcomes, for warnings, metrics and audit, and the requested object.
//   - Plan.AdjustConfiguration prepares the configuration of a server-side apply request for field management.
//   - Plan.DisabledFields returns a Cursor, with which package ownership finds the disabled fields in managedFields.
//   - Plan.WithoutDisabledDefaults removes the defaults of disabled fields from a schema (rule G8).
//   - Publish marks the guarded fields in OpenAPI (rule G12). EffectiveStates is for the metric of enabled gates.
//
// The package works on JSON values and schemas. It does not log, use clients or read the feature gates of the server.
//
// # Adjusted configurations
//
// Server-side apply merges the configuration that a manager sends before the gates are evaluated. If the configuration
// sets a disabled field, field management would report a conflict with the owners of the persisted value, or make the
// manager the owner of a value that is dropped afterwards. If the field were removed from the configuration, field
// management would take it as no longer applied, and the manager would lose its ownership. So AdjustConfiguration
// replaces the value: a disabled field that the configuration sets gets the persisted value, reduced to the fields and
// items that the configuration sets. If the field is not persisted, it is left out. The objects and list items around
// the field stay, even if they become empty. The result is the adjusted configuration, and field management applies it.
// Evaluate gets the configuration as it was sent, as Write.Applied, since only that has the values that the manager
// tried to set.
//
// # Where to start
//
// Read plan.go, which also defines the tree, then evaluate.go and, for what it reports, result.go. removed.go finds the
// disabled fields that a request removes along with an object around them. changes.go records the changes of an
// evaluation. Then read configuration.go, and persisted.go, which compares an applied configuration with the persisted
// object. The other files are independent of each other: cursor.go, lookup.go, unions.go, defaults.go and publish.go.
// Several files use declarations.go, the sorted paths of all gates, and schema.go, which looks up structural schemas.
package fieldgate
