// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package features

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/featuregate"
)

// gateAt returns a feature gate with fairlead's features that emulates a version.
func gateAt(t *testing.T, emulated string) featuregate.MutableVersionedFeatureGate {
	t.Helper()
	gate := featuregate.NewVersionedFeatureGate(version.MustParse("1.37"))
	if err := Add(gate); err != nil {
		t.Fatal(err)
	}
	if err := gate.SetEmulationVersion(version.MustParse(emulated)); err != nil {
		t.Fatal(err)
	}
	return gate
}

func TestF1GatesAreAlphaAndDisabled(t *testing.T) {
	gate := gateAt(t, "1.37")
	all := gate.GetAll()
	for _, feature := range []featuregate.Feature{APIUnions, APIUnionsRatcheting, CRDFieldLevelVersioning} {
		if gate.Enabled(feature) {
			t.Errorf("%s is enabled by default", feature)
		}
		if got := all[feature].PreRelease; got != featuregate.Alpha {
			t.Errorf("%s is %q, want alpha", feature, got)
		}
	}
}

func TestF1GatesCanBeEnabled(t *testing.T) {
	gate := gateAt(t, "1.37")
	if err := gate.Set("APIUnions=true,APIUnionsRatcheting=true,CRDFieldLevelVersioning=true"); err != nil {
		t.Fatal(err)
	}
	if !gate.Enabled(APIUnions) || !gate.Enabled(APIUnionsRatcheting) || !gate.Enabled(CRDFieldLevelVersioning) {
		t.Error("a gate that was set is disabled")
	}
}

func TestF1GatesAreUnknownToAnOlderEmulatedVersion(t *testing.T) {
	gate := gateAt(t, "1.36")
	if err := gate.Set("CRDFieldLevelVersioning=true"); err == nil {
		t.Error("the gate could be set although the emulated version does not have it")
	}
}

func TestU7RatchetingRequiresUnions(t *testing.T) {
	gate := gateAt(t, "1.37")
	if err := gate.Set("APIUnionsRatcheting=true"); err == nil {
		t.Error("APIUnionsRatcheting could be set without APIUnions")
	}
}
