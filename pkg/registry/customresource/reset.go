// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	smdfieldpath "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// ResetFilters returns upstream's reset fields by version as filters that also take out the fields that the endpoint
// does not write because of a gate (rule G7). The nil Endpoint adds nothing.
func (e *Endpoint) ResetFilters(reset map[smdfieldpath.APIVersion]*smdfieldpath.Set) map[smdfieldpath.APIVersion]smdfieldpath.Filter {
	filters := smdfieldpath.NewExcludeFilterSetMap(reset)
	if e == nil {
		return filters
	}
	disabled := e.gates.ResetFilter(e.scope)
	if disabled == nil {
		return filters
	}
	for _, gv := range e.Versions() {
		version := smdfieldpath.APIVersion(gv.String())
		filters[version] = resetFilter{filters[version], disabled}
	}
	return filters
}

type resetFilter struct {
	upstreams smdfieldpath.Filter // may be nil
	disabled  smdfieldpath.Filter
}

// Filter implements fieldpath.Filter.
func (f resetFilter) Filter(set *smdfieldpath.Set) *smdfieldpath.Set {
	if f.upstreams != nil {
		set = f.upstreams.Filter(set)
	}
	return f.disabled.Filter(set)
}
