// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openapi has the OpenAPI definitions of the types in pkg/apis/apiextensions, which hack/update-codegen.sh
// generates. pkg/openapi adds them to the definitions of the server.
package openapi
