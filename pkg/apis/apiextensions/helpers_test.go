// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apiextensions

import "testing"

func TestC1IsEnabled(t *testing.T) {
	yes, no := true, false
	for _, tc := range []struct {
		name string
		gate CustomResourceDefinitionFeatureGate
		want bool
	}{
		{"stable is enabled", CustomResourceDefinitionFeatureGate{PreRelease: PreReleaseStable}, true},
		{"stable is enabled even if enabled is false", CustomResourceDefinitionFeatureGate{PreRelease: PreReleaseStable, Enabled: &no}, true},
		{"enabled: true overrides default: false", CustomResourceDefinitionFeatureGate{PreRelease: PreReleaseAlpha, Enabled: &yes, Default: &no}, true},
		{"enabled: false overrides default: true", CustomResourceDefinitionFeatureGate{PreRelease: PreReleaseDeprecated, Enabled: &no, Default: &yes}, false},
		{"enabled: false overrides beta", CustomResourceDefinitionFeatureGate{PreRelease: PreReleaseBeta, Enabled: &no}, false},
		{"default: false overrides beta", CustomResourceDefinitionFeatureGate{PreRelease: PreReleaseBeta, Default: &no}, false},
		{"deprecated follows default", CustomResourceDefinitionFeatureGate{PreRelease: PreReleaseDeprecated, Default: &yes}, true},
		{"beta is enabled", CustomResourceDefinitionFeatureGate{PreRelease: PreReleaseBeta}, true},
		{"alpha is disabled", CustomResourceDefinitionFeatureGate{PreRelease: PreReleaseAlpha}, false},
		{"a gate without definition follows enabled", CustomResourceDefinitionFeatureGate{Enabled: &yes}, true},
	} {
		t.Run("C1: "+tc.name, func(t *testing.T) {
			if got := tc.gate.IsEnabled(); got != tc.want {
				t.Errorf("IsEnabled() = %v", got)
			}
		})
	}
}

func TestC4IsUndefined(t *testing.T) {
	yes, warning := true, "w"
	for _, tc := range []struct {
		name string
		gate CustomResourceDefinitionFeatureGate
		want bool
	}{
		{"a name and enabled are no definition", CustomResourceDefinitionFeatureGate{Name: "A", Enabled: &yes}, true},
		{"a name alone is an incomplete definition", CustomResourceDefinitionFeatureGate{Name: "A"}, false},
		{"default is part of a definition", CustomResourceDefinitionFeatureGate{Name: "A", Enabled: &yes, Default: &yes}, false},
		{"preRelease is part of a definition", CustomResourceDefinitionFeatureGate{Name: "A", Enabled: &yes, PreRelease: PreReleaseBeta}, false},
		{"fieldDeprecationWarning is part of a definition", CustomResourceDefinitionFeatureGate{Name: "A", Enabled: &yes, FieldDeprecationWarning: &warning}, false},
		{"fieldPaths are part of a definition", CustomResourceDefinitionFeatureGate{Name: "A", Enabled: &yes, FieldPaths: []string{".spec.a"}}, false},
	} {
		t.Run("C4: "+tc.name, func(t *testing.T) {
			if got := tc.gate.IsUndefined(); got != tc.want {
				t.Errorf("IsUndefined() = %v", got)
			}
		})
	}
}

func TestG10QualifiedName(t *testing.T) {
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
