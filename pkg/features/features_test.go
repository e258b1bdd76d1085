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
	gate := gateAt(t, "1.32")
	if err := gate.Set("CRDFieldLevelVersioning=true"); err == nil {
		t.Error("the gate could be set although the emulated version does not have it")
	}
}

func TestU7RatchetingRequiresUnions(t *testing.T) {
	gate := gateAt(t, "1.37")
	err := gate.Set("APIUnionsRatcheting=true")
	if err == nil { // not all Kubernetes lines check dependencies
		err = CheckDependencies(gate)
	}
	if err == nil {
		t.Error("APIUnionsRatcheting could be set without APIUnions")
	}
}

func TestU7DependenciesThatAreEnabled(t *testing.T) {
	gate := gateAt(t, "1.37")
	for _, enable := range []string{"", "APIUnions=true", "APIUnions=true,APIUnionsRatcheting=true"} {
		if err := gate.Set(enable); err != nil {
			t.Fatal(err)
		}
		if err := CheckDependencies(gate); err != nil {
			t.Errorf("with %q: %v", enable, err)
		}
	}
}

func TestU7CheckDependenciesNamesWhatIsDisabled(t *testing.T) {
	err := CheckDependencies(enabled{APIUnionsRatcheting: true})
	const want = "APIUnionsRatcheting is enabled, but depends on features that are disabled: [APIUnions]"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// enabled is a feature gate that does not check dependencies.
type enabled map[featuregate.Feature]bool

// Enabled implements featuregate.FeatureGate.
func (e enabled) Enabled(feature featuregate.Feature) bool { return e[feature] }
