// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apiextensions

// PreRelease is the stage of development of the fields behind a feature gate.
// +enum
type PreRelease string

const (
	// PreReleaseAlpha fields are disabled by default.
	PreReleaseAlpha PreRelease = "alpha"
	// PreReleaseBeta fields are enabled by default.
	PreReleaseBeta PreRelease = "beta"
	// PreReleaseStable fields are always enabled.
	PreReleaseStable PreRelease = "stable"
	// PreReleaseDeprecated fields are enabled or disabled by the gate's default, and using them draws a warning.
	PreReleaseDeprecated PreRelease = "deprecated"
)

// CustomResourceDefinitionFeatureGates defines feature gates for fields of custom resources, to enable
// field-level versioning (KEP-2608, API Changes).
type CustomResourceDefinitionFeatureGates struct {
	// component names the entity that is responsible for these feature gates. It prefixes their names in warnings,
	// and is published with them in the OpenAPI of the custom resource.
	// +optional
	Component *string `json:"component,omitempty" protobuf:"bytes,1,opt,name=component"`
	// featureGates is the list of feature gates of this custom resource definition. No two feature gates may
	// guard the same field.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	FeatureGates []CustomResourceDefinitionFeatureGate `json:"featureGates,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,2,rep,name=featureGates"`
}

// CustomResourceDefinitionFeatureGate is one feature gate and the fields of the custom resource that it guards.
//
// A stable feature gate is always enabled. For all others enabled decides or, if it is not given, default. If neither
// is given, a beta feature gate is enabled and any other is disabled.
type CustomResourceDefinitionFeatureGate struct {
	// name of the feature gate. It starts with a letter, consists of letters and digits, and has at most 63
	// characters.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// enabled switches the feature gate on or off and overrides default. It belongs to the administrator of the
	// cluster and should not be part of a definition that is distributed to others. It has no effect on a stable
	// feature gate.
	// +optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,2,opt,name=enabled"`
	// default is the state of the feature gate if enabled is not given. It must not be true for alpha and beta,
	// must not be false for stable, and is required for deprecated.
	// +optional
	Default *bool `json:"default,omitempty" protobuf:"varint,3,opt,name=default"`
	// preRelease is the stage of development of the guarded fields: alpha, beta, stable or deprecated.
	// It is required unless the feature gate has nothing but name and enabled. Such a feature gate guards nothing.
	// +optional
	PreRelease PreRelease `json:"preRelease,omitempty" protobuf:"bytes,4,opt,name=preRelease,casttype=PreRelease"`
	// fieldDeprecationWarning replaces the default warning to clients that use one of the guarded fields.
	// It may only be given if preRelease is deprecated, and has at most 256 bytes of printable characters.
	// +optional
	FieldDeprecationWarning *string `json:"fieldDeprecationWarning,omitempty" protobuf:"bytes,5,opt,name=fieldDeprecationWarning"`
	// fieldPaths are the JSON paths of the guarded fields in the schema of the storage version, as in
	// .spec.replicas, .spec['my-field'] or .spec.containers[*].image. A guarded field must be optional.
	// They are required unless the feature gate has nothing but name and enabled.
	// +optional
	// +listType=set
	FieldPaths []string `json:"fieldPaths,omitempty" protobuf:"bytes,6,rep,name=fieldPaths"`
}
