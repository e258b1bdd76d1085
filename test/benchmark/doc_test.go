// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package benchmark measures what fairlead adds to a request, next to what upstream does with the same object in the
// same request.
//
// Benchmarks measure times. README.md lists them and says how to read their results; make bench runs them in rounds and
// writes a report. Tests guard what does not need a clock, on every run of make test: allocations (guard_test.go),
// executed statements (work_test.go) and growth with the size of the input (TestR3AllocatedBytesGrowWithTheSize).
//
// # Where to start reading
//
//   - fieldgate_bench_test.go: feature gates of a CronTab.
//   - unions_test.go: unions of an HTTPRoute. routeWorkloads is everything that is compared.
//   - scale_test.go: both, for objects of many sizes, and what is compiled once for a CRD.
//   - bounds_test.go: the most gates, paths and defaults that a CRD can have.
//
// Tests named TestInputs… check that the benchmarks measure what their names say.
package benchmark
