// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apiextensions

import "testing"

func TestC1StateOfAGate(t *testing.T) {
	yes, no := true, false
	for _, tc := range []struct {
		name string
		gate CustomResourceDefinitionFeatureGate
		want bool
	}{
		{"stable is enabled", CustomResourceDefinitionFeatureGate{PreRelease: PreReleaseStable}, true},
		{"stable is enabled whatever enabled says", CustomResourceDefinitionFeatureGate{PreRelease: PreReleaseStable, Enabled: &no}, true},
		{"enabled before default", CustomResourceDefinitionFeatureGate{PreRelease: PreReleaseAlpha, Enabled: &yes, Default: &no}, true},
		{"not enabled before default", CustomResourceDefinitionFeatureGate{PreRelease: PreReleaseDeprecated, Enabled: &no, Default: &yes}, false},
		{"not enabled before beta", CustomResourceDefinitionFeatureGate{PreRelease: PreReleaseBeta, Enabled: &no}, false},
		{"default before beta", CustomResourceDefinitionFeatureGate{PreRelease: PreReleaseBeta, Default: &no}, false},
		{"default of deprecated", CustomResourceDefinitionFeatureGate{PreRelease: PreReleaseDeprecated, Default: &yes}, true},
		{"beta is enabled", CustomResourceDefinitionFeatureGate{PreRelease: PreReleaseBeta}, true},
		{"alpha is disabled", CustomResourceDefinitionFeatureGate{PreRelease: PreReleaseAlpha}, false},
		{"a gate without definition is as enabled says", CustomResourceDefinitionFeatureGate{Enabled: &yes}, true},
	} {
		t.Run("C1: "+tc.name, func(t *testing.T) {
			if got := tc.gate.IsEnabled(); got != tc.want {
				t.Errorf("IsEnabled() = %v", got)
			}
		})
	}
}

func TestC4GateWithoutDefinition(t *testing.T) {
	yes, warning := true, "w"
	for _, tc := range []struct {
		name string
		gate CustomResourceDefinitionFeatureGate
		want bool
	}{
		{"name and enabled", CustomResourceDefinitionFeatureGate{Name: "A", Enabled: &yes}, true},
		{"name alone", CustomResourceDefinitionFeatureGate{Name: "A"}, false},
		{"with default", CustomResourceDefinitionFeatureGate{Name: "A", Enabled: &yes, Default: &yes}, false},
		{"with preRelease", CustomResourceDefinitionFeatureGate{Name: "A", Enabled: &yes, PreRelease: PreReleaseBeta}, false},
		{"with a warning", CustomResourceDefinitionFeatureGate{Name: "A", Enabled: &yes, FieldDeprecationWarning: &warning}, false},
		{"with paths", CustomResourceDefinitionFeatureGate{Name: "A", Enabled: &yes, FieldPaths: []string{".spec.a"}}, false},
	} {
		t.Run("C4: "+tc.name, func(t *testing.T) {
			if got := tc.gate.IsUndefined(); got != tc.want {
				t.Errorf("IsUndefined() = %v", got)
			}
		})
	}
}

func TestG10NameOfAGate(t *testing.T) {
	istio, empty := "istio", ""
	gate := &CustomResourceDefinitionFeatureGate{Name: "A"}
	for want, component := range map[string]*string{"istio/A": &istio, "A": &empty} {
		gates := CustomResourceDefinitionFeatureGates{Component: component}
		if got := gates.QualifiedName(gate); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := (&CustomResourceDefinitionFeatureGates{}).QualifiedName(gate); got != "A" {
		t.Errorf("got %q without component", got)
	}
}
