// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"testing"
)

// allGates switches on everything that fairlead adds.
const allGates = "APIUnions=true,APIUnionsRatcheting=true,CRDFieldLevelVersioning=true"

// shared is the server with all gates on that most tests use; each test brings its own CRDs.
var shared *server

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	s, err := start(options{featureGates: allGates})
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v\nrun this through: make test-integration\n", err)
		return 1
	}
	shared = s
	code := m.Run()
	if err := s.stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
