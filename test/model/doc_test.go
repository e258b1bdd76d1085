// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model tests custom resources with feature gates and unions by random sequences of requests. The requests go
// through the real handler of custom resources to an etcd in the same process. After every step the test compares what
// the server did with what the contract says (invariants_test.go).
//
//	go test ./test/model/ -run TestModel -seed 7 -sequences 20000
//
// runs more sequences, -shown 5 shows more findings, and -replay FILE tells what every step of a printed one does. A
// sequence that fails is made smaller and printed as steps in YAML, in the form of the named cases (cases_test.go): a
// finding becomes a case by copying it there.
package model
