// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ownership corrects the managedFields of an object that was changed after field management. Start with
// Correct.
//
// Field management runs early in a request. It makes the requesting manager the owner of the fields that the request
// changes, or of those in an applied configuration. Normalization of unions and the feature gates of the CRD change the
// object after that. So an entry may have a field that is not in the final object, or that the request did not change
// after all.
//
// Correct computes the entries that field management would have made from the final object (rules G7, U8). It needs
// the entries before and after field management, and three states of the object:
//
//   - the persisted object (Old);
//   - the requested object, which field management saw (Requested);
//   - the final object, which will be persisted (Final).
//
// For example, the gate of .spec.replicas is disabled, and alice owns .spec.image and .spec.replicas of the persisted
// object. bob updates both. The gate keeps replicas:
//
//	         | Old | Requested | Final | owner before | after field management | corrected
//	image    | v1  | v2        | v2    | alice        | bob                    | bob
//	replicas | 3   | 5         | 3     | alice        | bob                    | alice
//
// image is in Final as it is in Requested, so the result of field management is right. replicas is in Final as it is
// in Old, so the request did not change it, and it has the owners that it had before (rules G7.1, G7.2). Field
// management removed the entry of alice, who owned no field any more, so Correct adds it again. A field that is not in
// Final has no owner (rule G7.4).
//
// Server-side apply differs in two points. The configuration is adjusted before field management, so that a disabled
// field raises no conflict (see Applier). And an applier gives a field up by leaving it out of its configuration, even
// if a gate keeps the field.
//
// correct.go selects the entries and the objects to compare, fields.go decides about the fields of an entry, value.go
// finds the values at a path of managedFields, and before.go returns the entries that field management starts from.
package ownership
