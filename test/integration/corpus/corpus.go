// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build never

// Package corpus pins the modules whose CRDs TestF2CorpusBehavesAsOnAStockServer installs. Only their YAML is read, and
// nothing here is ever built. It is a module of its own, so that nothing they require can raise a version in our go.mod.
//
// From each module a package without dependencies is imported: that keeps the requirement in go.mod under go mod tidy,
// and go.sum short. A new module also needs a line in crdSets of unions_corpus_test.go.
package corpus

import (
	_ "github.com/cert-manager/cert-manager/pkg/apis/certmanager"
	_ "istio.io/api/label"
	_ "sigs.k8s.io/gateway-api/pkg/consts"
	_ "sigs.k8s.io/network-policy-api/apis"
)
