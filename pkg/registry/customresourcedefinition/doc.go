// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package customresourcedefinition has the functions that the patched registry of CustomResourceDefinitions calls.
//
// WrapStrategies in strategy.go wraps the strategies of the store: it drops customFeatureGates if the feature is disabled
// (rule F4), and adds warnings.
//
// WithUpdate and keepLeftOut in update.go keep customFeatureGates and x-kubernetes-unions when a full update (PUT)
// leaves them out (rule C9). A typed client that was built without these fields reads a CustomResourceDefinition, loses
// them when it decodes it, and sends back the rest. It does not mean to remove the fields, and removing the gates would
// open every field that they guard. Patches and server-side apply need no such protection, because they only change the
// fields that they name.
package customresourcedefinition
