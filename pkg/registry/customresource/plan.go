// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
	"github.com/fairlead-dev/fairlead/pkg/features"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/scope"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/union"
)

// Plan holds what the writes of one CRD need, compiled once, when the handler of the CRD is built (rule R3). It is
// immutable. A nil Plan has no gates and no unions: its methods return at once (rule R2).
type Plan struct {
	gates *fieldgate.Plan // nil if there are none
	crd   types.UID
	// storage is the storage version, in which the paths of the gates are given (rule G1).
	storage schema.GroupVersion
	// convertor converts to the storage version and back. With conversion None it is nil, since the paths of the gates
	// apply in every version.
	convertor runtime.ObjectConvertor
	versions  []version // in the order of the CRD
}

// version is a version of the CRD.
type version struct {
	name      string
	hasStatus bool
	unions    *union.Plan // nil if there are none
	// schema is the structural schema, with all defaults. It is nil if the CRD has no gates, or their paths do not apply
	// in the version.
	schema *structuralschema.Structural
	// defaults are the defaults of the version, if they have to be told apart from what a client sends (see
	// ignoreDroppedDefaults). It is nil if the schema has none, or if the paths of the gates apply in the version: there
	// the served schema lacks the defaults of disabled fields.
	defaults *defaults
}

// NewPlan compiles the plan of a CRD. It returns a nil plan if the CRD has neither gates nor unions, or if the feature
// gates of the server disable them.
//
// schemas are the structural schemas of the CRD by version. served are the schemas to serve the CRD with: they lack the
// defaults of disabled fields (rule G8). schemas is not modified, and served shares all unchanged parts with it.
//
// convertor must not modify its input. It is only called for objects that are not in the storage version, and only if a
// gate might change them.
func NewPlan(
	crd *apiextensionsv1.CustomResourceDefinition, schemas map[string]*structuralschema.Structural,
	convertor runtime.ObjectConvertor,
) (plan *Plan, served map[string]*structuralschema.Structural) {
	p := &Plan{crd: crd.UID, storage: storageVersionOf(crd), versions: make([]version, len(crd.Spec.Versions))}
	if crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy != apiextensionsv1.NoneConverter {
		p.convertor = convertor
	}
	options := fieldgate.Options{Unions: utilfeature.DefaultFeatureGate.Enabled(features.APIUnions)}
	if utilfeature.DefaultFeatureGate.Enabled(features.CRDFieldLevelVersioning) {
		p.gates = fieldgate.Compile(crd.Spec.CustomFeatureGates, schemas[p.storage.Version], options)
	}
	hasUnions := false
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		p.versions[i] = p.compileVersion(v, schemas[v.Name], options.Unions)
		hasUnions = hasUnions || p.versions[i].unions != nil
	}
	if p.gates == nil && !hasUnions {
		return nil, schemas
	}
	return p, p.withoutDisabledDefaults(schemas)
}

func storageVersionOf(crd *apiextensionsv1.CustomResourceDefinition) schema.GroupVersion {
	storage := schema.GroupVersion{Group: crd.Spec.Group}
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; v.Storage {
			storage.Version = v.Name
		}
	}
	return storage
}

// compileVersion compiles a version of the CRD. The gates of the plan must be compiled before.
func (p *Plan) compileVersion(
	v *apiextensionsv1.CustomResourceDefinitionVersion, schema *structuralschema.Structural, unionsEnabled bool,
) version {
	compiled := version{name: v.Name, hasStatus: v.Subresources != nil && v.Subresources.Status != nil}
	var disabledGate func(fieldpath.Path) string
	switch {
	case p.gates == nil:
	case p.pathsApply(v.Name):
		compiled.schema, disabledGate = schema, p.gates.DisabledGate
	default:
		compiled.defaults = compileDefaults(schema)
	}
	if unionsEnabled {
		compiled.unions = union.Compile(schema, disabledGate)
	}
	return compiled
}

// withoutDisabledDefaults returns the schemas of the versions without the defaults of disabled fields (rule G8).
func (p *Plan) withoutDisabledDefaults(
	schemas map[string]*structuralschema.Structural,
) map[string]*structuralschema.Structural {
	if p.gates == nil {
		return schemas
	}
	served := maps.Clone(schemas)
	for i := range p.versions {
		if v := &p.versions[i]; v.schema != nil {
			served[v.name] = p.gates.WithoutDisabledDefaults(v.schema)
		}
	}
	return served
}

// hasFeatures reports whether any of fairlead's features is enabled (rule F2).
func hasFeatures() bool {
	gate := utilfeature.DefaultFeatureGate
	return gate.Enabled(features.CRDFieldLevelVersioning) || gate.Enabled(features.APIUnions)
}

// version returns the version of the CRD with a name, and reports whether there is one.
func (p *Plan) version(name string) (v version, found bool) {
	i := slices.IndexFunc(p.versions, func(v version) bool { return v.name == name })
	if i < 0 {
		return version{}, false
	}
	return p.versions[i], true
}

// pathsApply reports whether the paths of the gates apply in a version. With conversion None they apply in every
// version, and with a conversion webhook in the storage version only.
func (p *Plan) pathsApply(versionName string) bool {
	return p.convertor == nil || versionName == p.storage.Version
}

// Resource returns the endpoint of the resource in a version, or nil if the plan has no effect on its writes.
func (p *Plan) Resource(versionName string) *Endpoint {
	if p == nil {
		return nil
	}
	written := scope.Everything
	if v, _ := p.version(versionName); v.hasStatus {
		written = scope.ExceptStatus
	}
	return p.endpoint(versionName, written, written)
}

// Status returns the endpoint of the status subresource in a version, or nil if the plan has no effect on its writes.
func (p *Plan) Status(versionName string) *Endpoint {
	if p == nil {
		return nil
	}
	return p.endpoint(versionName, scope.OnlyStatus, scope.OnlyStatus)
}

// endpoint returns an endpoint, or nil if no gate and no union is in its scopes.
func (p *Plan) endpoint(versionName string, written, validated scope.Scope) *Endpoint {
	e := &Endpoint{plan: p, version: versionName, scope: written, validated: validated}
	if p.gates.Covers(written) {
		e.gates = p.gates
	}
	if v, _ := p.version(versionName); v.unions.Covers(validated) {
		e.unions = v.unions
	}
	if e.gates == nil && e.unions == nil {
		return nil
	}
	return e
}

// Endpoint is the part of a Plan that applies to the writes of one endpoint of the CRD. A nil Endpoint changes nothing.
type Endpoint struct {
	plan    *Plan
	version string
	isScale bool
	// scope is the part of the object that the endpoint writes, validated the part whose unions must be valid (rule U7).
	scope, validated scope.Scope
	// gates is nil if no gate can have an effect. Then nothing is converted (rule G1).
	gates *fieldgate.Plan
	// unions is nil if the version has no unions in the validated part.
	unions *union.Plan
}

// ForScale returns the endpoint for writes of the scale subresource, which do not validate unions of the status (rule
// U7).
func (e *Endpoint) ForScale() *Endpoint {
	if e == nil {
		return nil
	}
	scale := *e
	scale.validated, scale.isScale = scope.ExceptStatus, true
	return &scale
}

// pathsApply reports whether the paths of the gates apply in the endpoint's version.
func (e *Endpoint) pathsApply() bool { return e.plan.pathsApply(e.version) }

// schema returns the structural schema of the endpoint's version, or nil if the paths of the gates do not apply there.
func (e *Endpoint) schema() *structuralschema.Structural {
	v, _ := e.plan.version(e.version)
	return v.schema
}

// serves reports whether apiVersion, a group and version, is one of the CRD.
func (p *Plan) serves(apiVersion string) bool {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || gv.Group != p.storage.Group {
		return false
	}
	_, found := p.version(gv.Version)
	return found
}

// haveSameFields reports whether two API versions have the same fields at the same paths. With conversion None all
// versions of the CRD do (rule U8).
func (p *Plan) haveSameFields(apiVersion, other string) bool {
	return apiVersion == other || p.convertor == nil && p.serves(apiVersion) && p.serves(other)
}
