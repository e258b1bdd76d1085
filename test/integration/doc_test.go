// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package integration tests on the built kube-apiserver, over etcd and with real clients and kubectl, what a user can
// see. The name or the comment of each test gives the rules of docs/rules.md that it proves.
//
// make test-integration builds the server and runs the tests. To run one test after that:
//
//	KUBEBUILDER_ASSETS=$PWD/_output/v1.37/envtest go test -count=1 -run TestG9Scale ./test/integration
//
// # Where to start reading
//
//   - main_test.go and server_test.go: the servers. Most tests share one with all gates enabled (shared). Tests of gates
//     and rollbacks start their own.
//   - crd_test.go: the CRD of most tests, in a new group for each test, and clients of its custom resources.
//   - subject_test.go: a subject is a CRD with a client. Its methods flip gates, write objects and compare the outcome.
//     An object is a subject that is one custom resource.
//   - writers_test.go: the ways to write a custom resource (PUT, patches, apply, kubectl), for tests that use all of
//     them.
//   - fieldgates_test.go and unions_test.go: the first tests to read. Other files are named by feature and topic.
//   - servers_test.go: a cluster of several servers. Its load (servers_load_test.go) writes while parts of it fail
//     (servers_faults_test.go), and every persisted state is checked (servers_checks_test.go).
//   - testdata: the test matrix of KEP-1027 (unions_matrix_test.go), and what clients do to objects of published CRDs
//     (unions_corpus_test.go).
package integration
