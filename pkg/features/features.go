// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package features declares the feature gates that fairlead adds to the server (rule F1). Importing it registers them
// with the default feature gate of Kubernetes, so that --feature-gates, --help, --emulated-version and the metric
// kubernetes_feature_enabled include them.
package features

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
)

const (
	// APIUnions enables validation and normalization of the unions that a CustomResourceDefinition declares with
	// x-kubernetes-unions: a discriminator and its members.
	//
	// owner: @fairlead-dev
	// kep: https://kep.k8s.io/1027
	APIUnions featuregate.Feature = "APIUnions"

	// APIUnionsRatcheting ignores the errors of a union in an update that does not change the union. It requires
	// APIUnions.
	//
	// owner: @fairlead-dev
	// kep: https://kep.k8s.io/1027
	APIUnionsRatcheting featuregate.Feature = "APIUnionsRatcheting"

	// CRDFieldLevelVersioning enables spec.customFeatureGates of CustomResourceDefinitions: feature gates for fields of
	// custom resources.
	//
	// owner: @fairlead-dev
	// kep: https://kep.k8s.io/2608
	CRDFieldLevelVersioning featuregate.Feature = "CRDFieldLevelVersioning"
)

// defaultOn is only "true" in test binaries of hack/test-upstream.sh, which sets it with the linker to run upstream's
// tests with these gates enabled. Changing the default instead of setting the gates has no effect in tests that emulate
// an older version, which does not have the gates.
var defaultOn string

func init() {
	runtime.Must(Add(utilfeature.DefaultMutableFeatureGate))
}

// Add registers fairlead's feature gates and their dependencies with a feature gate. It returns an error if one of the
// names is already registered with another specification.
func Add(gate featuregate.MutableVersionedFeatureGate) error {
	if err := gate.AddVersioned(specs); err != nil {
		return err
	}
	// The feature gates of some Kubernetes lines have no dependencies: CheckDependencies is for those.
	if dependent, ok := gate.(interface {
		AddDependencies(features map[featuregate.Feature][]featuregate.Feature) error
	}); ok {
		return dependent.AddDependencies(dependencies)
	}
	return nil
}

// CheckDependencies returns an error if an enabled feature of fairlead depends on one that is disabled. The server must
// call it after it has parsed its flags, since not all Kubernetes lines check dependencies.
func CheckDependencies(gate interface {
	Enabled(featuregate.Feature) bool
}) error {
	for feature, needed := range dependencies {
		for _, needs := range needed {
			if gate.Enabled(feature) && !gate.Enabled(needs) {
				return fmt.Errorf("%s is enabled, but depends on features that are disabled: [%s]", feature, needs)
			}
		}
	}
	return nil
}

// specs is sorted alphabetically.
var specs = map[featuregate.Feature]featuregate.VersionedSpecs{
	APIUnions:               alphaSpecs(),
	APIUnionsRatcheting:     alphaSpecs(),
	CRDFieldLevelVersioning: alphaSpecs(),
}

// alphaSpecs starts with the oldest Kubernetes line that fairlead supports, so that a server that emulates that line
// has the gates.
func alphaSpecs() featuregate.VersionedSpecs {
	return featuregate.VersionedSpecs{
		{Version: version.MustParse("1.33"), Default: defaultOn == "true", PreRelease: featuregate.Alpha},
	}
}

var dependencies = map[featuregate.Feature][]featuregate.Feature{
	APIUnionsRatcheting: {APIUnions},
}
