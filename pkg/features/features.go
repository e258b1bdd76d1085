// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package features declares fairlead's feature gates of the server (rule F1). Importing it registers them with
// the feature gate that all components of Kubernetes share, so that --feature-gates, --help, --emulated-version and
// the metric kubernetes_feature_enabled know them like any other.
package features

import (
	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
)

const (
	// APIUnions lets custom resources declare unions: a discriminator and its members, validated together, and
	// normalized when a client changes the discriminator.
	//
	// owner: @fairlead-dev
	// kep: https://kep.k8s.io/1027
	APIUnions featuregate.Feature = "APIUnions"

	// APIUnionsRatcheting forgives on update the errors of a union that the update does not touch. It needs
	// APIUnions.
	//
	// owner: @fairlead-dev
	// kep: https://kep.k8s.io/1027
	APIUnionsRatcheting featuregate.Feature = "APIUnionsRatcheting"

	// CRDFieldLevelVersioning lets a CustomResourceDefinition carry feature gates for fields of its custom
	// resources.
	//
	// owner: @fairlead-dev
	// kep: https://kep.k8s.io/2608
	CRDFieldLevelVersioning featuregate.Feature = "CRDFieldLevelVersioning"
)

// defaultOn is "true" in test binaries alone: hack/test-upstream.sh sets it with the linker, to run upstream's tests
// with our gates on. A default, unlike a setting, gives way where a test emulates an older version.
var defaultOn string

func init() {
	runtime.Must(Add(utilfeature.DefaultMutableFeatureGate))
}

// Add registers fairlead's feature gates and their dependencies with a feature gate. It fails where one of the
// names is taken by another specification.
func Add(gate featuregate.MutableVersionedFeatureGate) error {
	if err := gate.AddVersioned(specs); err != nil {
		return err
	}
	return gate.AddDependencies(dependencies)
}

// specs are alphabetical.
var specs = map[featuregate.Feature]featuregate.VersionedSpecs{
	APIUnions:               alphaSpecs(),
	APIUnionsRatcheting:     alphaSpecs(),
	CRDFieldLevelVersioning: alphaSpecs(),
}

// alphaSpecs begin with the oldest Kubernetes line that fairlead supports, since a gate must be known wherever the
// server emulates that line.
func alphaSpecs() featuregate.VersionedSpecs {
	return featuregate.VersionedSpecs{
		{Version: version.MustParse("1.37"), Default: defaultOn == "true", PreRelease: featuregate.Alpha},
	}
}

var dependencies = map[featuregate.Feature][]featuregate.Feature{
	APIUnionsRatcheting: {APIUnions},
}
