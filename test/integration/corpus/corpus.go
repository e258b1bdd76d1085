// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build never

// Package corpus pins the modules whose CRDs TestF2ExistingUnionsDoNotBreak installs. Only their YAML is read; this package is
// never built. It is a separate module, so that its requirements cannot raise a version in our go.mod.
//
// It imports a package without dependencies from each module, which keeps the requirement in go.mod under go mod tidy, and
// go.sum short. A new module also needs an entry in crdSets (unions_corpus_crds_test.go).
package corpus

import (
	_ "github.com/cert-manager/cert-manager/pkg/apis/certmanager"
	_ "istio.io/api/label"
	_ "sigs.k8s.io/gateway-api/pkg/consts"
	_ "sigs.k8s.io/network-policy-api/apis"
)
