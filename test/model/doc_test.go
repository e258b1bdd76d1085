// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model tests custom resources that have feature gates and unions with random sequences of requests. After each
// request it compares what the server did with the rules of docs/rules.md.
//
// The server is upstream's handler for custom resources with fairlead's patches. It runs in the test process, and so
// does its etcd: a request takes about a millisecond.
//
// # Replay a finding
//
// TestModel reduces a sequence that breaks a rule to its smallest form, and prints the seed, the rule and the sequence:
//
//	model_test.go:78: -seed 5012: G7.2: entry "a Apply  " lost [f:spec/f:a] (.spec.a, gate G0) (step 3)
//	    gates:
//	      G0: [.spec.a]
//	    schema: ...
//	    steps:
//	    - {do: apply, by: a, body: ...}
//
// To see what each step does, copy the YAML to a file (its indentation does not matter) and run:
//
//	go test ./test/model -run TestModel -v -replay /tmp/finding.yaml
//
// For each step this prints the step, the status code and the warnings of the answer, and the persisted object. To
// find the check that failed, search for the rule:
//
//	grep -n '"G7.2:' test/model/*_test.go
//
// A finding that is understood becomes a named case (cases_test.go): its schema and gates are the crd of the case, its
// steps are the steps. Named cases also state the outcome: the final object, its owners and the last warnings.
//
// # Run more sequences
//
//	go test ./test/model -run TestModel -timeout 60m -sequences 20000 -seed 7 -shown 5
//
// A sequence that breaks the same rule on a CRD without gates and unions shows what upstream does, and is no finding
// (upstream_test.go).
//
// Ten sequences share one CRD, which is made from the seed; the next ten use the next seed. -shown is how many findings
// of each rule are reduced and printed.
//
// # Where to start reading
//
//   - model_test.go: TestModel runs the sequences and prints the findings.
//   - run_test.go: a run executes the steps of a sequence on one object.
//   - invariants_test.go: a transition is one request and its effect. The invariants check each transition; more of
//     them are in ownership_test.go and warnings_test.go.
//   - steps_test.go: how a step becomes a request, and which object it requests.
//   - schema_test.go and requests_test.go: the generator of CRDs, objects and steps.
//   - position_test.go and owners_test.go: how to find fields in objects and in managedFields.
//   - harness_test.go and crd_test.go: the server and the CRD.
package model
