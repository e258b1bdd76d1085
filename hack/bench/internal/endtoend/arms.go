// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package endtoend measures updates of an HTTPRoute at API servers that differ in how they check its unions.
package endtoend

import (
	"github.com/fairlead-dev/fairlead/hack/bench/internal/control"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/route"
)

// The arms, by what a reader sees of them.
const (
	Stock      = "stock"
	Control    = "stock, again"
	CEL        = "stock, CEL rules"
	Policies   = "stock, policies"
	Webhooks   = "stock, webhooks"
	GatesOff   = "ours, gates off"
	NoUnions   = "ours, gates on, plain CRD"
	Unions     = "ours, unions"
	UnionsGate = "ours, unions + 10 gates"
)

// allGates are the server's feature gates of what is measured.
const allGates = "APIUnions=true,CRDFieldLevelVersioning=true"

// outcome is what becomes of a stale update.
type outcome string

const (
	kept    outcome = "kept"
	refused outcome = "refused"
	cleared outcome = "cleared"
)

// arm is one server with one CRD. Each has a server of its own: what one costs must not depend on the others.
type arm struct {
	name    string
	every   int // how many rounds there are from one visit to the next
	ours    bool
	gates   string // the server's feature gates
	variant route.Variant
	// applied reports whether server-side apply is measured, too.
	applied bool
	// extend adds what is not in the CRD, nil if there is nothing.
	extend func(b *bench) []manifest
	// refusesBad tells whether bad objects are refused, and stale what becomes of a stale update.
	refusesBad bool
	stale      outcome
}

// far apart are the visits of those whose cost is plain to see. What is left of the time shows small differences.
const far = 4

// arms returns all of them. The others are compared with the mean of the first two, which are the same, and show how
// much two servers differ that do not.
func arms() []arm {
	return []arm{
		{name: Stock, every: 1, applied: true, stale: kept},
		{name: Control, every: 1, applied: true, stale: kept},
		{name: CEL, every: far, variant: route.Variant{Rules: true}, refusesBad: true, stale: refused},
		{name: Policies, every: far, extend: policies, refusesBad: true, stale: cleared},
		{name: Webhooks, every: far, extend: webhooks, refusesBad: true, stale: cleared},
		{name: GatesOff, every: 1, ours: true, stale: kept},
		{name: NoUnions, every: 1, ours: true, gates: allGates, stale: kept},
		{name: Unions, every: 1, ours: true, gates: allGates, variant: route.Variant{Unions: true}, refusesBad: true, stale: cleared},
		{
			name: UnionsGate, every: 1, ours: true, gates: allGates, variant: route.Variant{Unions: true, Gates: true},
			applied: true, refusesBad: true, stale: cleared,
		},
	}
}

// Names returns the names of all arms in their order.
func Names() []string {
	var names []string
	for _, a := range arms() {
		names = append(names, a.name)
	}
	return names
}

func (b *bench) options(i int, a arm) control.Options {
	opts := control.Options{
		Name: "arm" + string(rune('a'+i)), Program: b.config.Stock, FeatureGates: a.gates,
		NoGC: true, Profiled: b.config.Profiles != "",
	}
	if a.ours {
		opts.Program = b.config.Server
	}
	return opts
}
