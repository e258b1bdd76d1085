// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"slices"
	"strings"

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

// Plan is what fairlead does to the custom resources of one CRD. It is compiled once, when the handler of the CRD is
// built, and immutable. The nil Plan does nothing, at no cost (rules R2, R3); all methods accept it.
type Plan struct {
	gates *fieldgate.Plan // nil where there are none
	crd   types.UID
	// storage is the version that the gates speak of (rule G1).
	storage schema.GroupVersion
	// convertor converts to the storage version and back. It is nil where paths are evaluated in every version as
	// they are: with conversion None.
	convertor runtime.ObjectConvertor
	versions  []version // in the order of the CRD
	// scalePath is where the storage version has the replicas of scale, if it has any.
	scalePath string
}

// version is what the plan knows of a version.
type version struct {
	name      string
	hasStatus bool
	unions    *union.Plan // nil where there are none
	// defaults is the schema by which it is defaulted where the gates cannot prevent it, nil where it does not matter.
	defaults *structuralschema.Structural
}

// NewPlan compiles what the CRD asks for, as far as the server's feature gates allow it, or returns nil where that
// is nothing. schemas are the structural schemas of the CRD by version. convertor must not modify what it converts;
// it is asked only where an object of another version than the stored one might be changed.
func NewPlan(crd *apiextensionsv1.CustomResourceDefinition, schemas map[string]*structuralschema.Structural, convertor runtime.ObjectConvertor) *Plan {
	p := &Plan{
		crd:      crd.UID,
		versions: make([]version, len(crd.Spec.Versions)),
	}
	if crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy != apiextensionsv1.NoneConverter {
		p.convertor = convertor
	}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		p.versions[i] = version{name: v.Name, hasStatus: v.Subresources != nil && v.Subresources.Status != nil}
		if v.Storage {
			if v.Subresources != nil && v.Subresources.Scale != nil {
				p.scalePath = v.Subresources.Scale.SpecReplicasPath
			}
			p.storage = schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}
		}
	}
	if crd.Spec.CustomFeatureGates != nil && utilfeature.DefaultFeatureGate.Enabled(features.CRDFieldLevelVersioning) {
		p.gates = fieldgate.Compile(crd.Spec.CustomFeatureGates, schemas[p.storage.Version])
	}
	p.learnDefaults(schemas)
	hasUnions := utilfeature.DefaultFeatureGate.Enabled(features.APIUnions) && p.compileUnions(schemas)
	if hasUnions {
		p.gates.LearnUnions(schemas[p.storage.Version])
	}
	if p.gates == nil && !hasUnions {
		return nil
	}
	return p
}

// hasFeatures tells whether the server has any of fairlead's features; without them it is upstream's (rule F2).
func hasFeatures() bool {
	gate := utilfeature.DefaultFeatureGate
	return gate.Enabled(features.CRDFieldLevelVersioning) || gate.Enabled(features.APIUnions)
}

// compileUnions tells whether any version has unions.
func (p *Plan) compileUnions(schemas map[string]*structuralschema.Structural) bool {
	found := false
	for i := range p.versions {
		v := &p.versions[i]
		var disabledGate func(fieldpath.Path) string
		if p.convertor == nil || v.name == p.storage.Version {
			disabledGate = p.gates.DisabledGate
		}
		v.unions = union.Compile(schemas[v.name], disabledGate)
		found = found || v.unions != nil
	}
	return found
}

// version returns what is known of a version, and whether the CRD has it. A CRD has few.
func (p *Plan) version(name string) (v version, found bool) {
	i := slices.IndexFunc(p.versions, func(v version) bool { return v.name == name })
	if i < 0 {
		return version{}, false
	}
	return p.versions[i], true
}

// DropDisabledDefaults takes the defaults of disabled fields out of the schemas in which the paths mean what they say
// (rule G8). Schemas that it changes are replaced by copies.
func (p *Plan) DropDisabledDefaults(schemas map[string]*structuralschema.Structural) {
	if p == nil {
		return
	}
	for name, s := range schemas {
		if p.convertor == nil || name == p.storage.Version {
			schemas[name] = p.gates.WithoutDisabledDefaults(s)
		}
	}
}

// Resource returns the endpoint of the resource itself in a version.
func (p *Plan) Resource(versionName string) *Endpoint {
	if p == nil {
		return nil
	}
	written := scope.Everything
	if v, _ := p.version(versionName); v.hasStatus {
		written = scope.ExceptStatus
	}
	return p.endpoint(versionName, written, scope.Everything)
}

// Status returns the endpoint of the status subresource in a version.
func (p *Plan) Status(versionName string) *Endpoint {
	if p == nil {
		return nil
	}
	return p.endpoint(versionName, scope.OnlyStatus, scope.OnlyStatus)
}

// endpoint is nil where it has nothing to do.
func (p *Plan) endpoint(versionName string, written, validated scope.Scope) *Endpoint {
	e := &Endpoint{plan: p, scope: written, validated: validated}
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

// Endpoint is what the plan does to the writes of one endpoint of the CRD. The nil Endpoint does nothing.
type Endpoint struct {
	plan *Plan
	// scope is what the endpoint writes, validated where it must find valid unions (rule U7).
	scope, validated scope.Scope
	// gates is nil where no gate could have an effect: then nothing may be converted for it either (rule G1).
	gates *fieldgate.Plan
	// unions is nil where the endpoint's version has none.
	unions *union.Plan
}

// ForScale returns the endpoint as the scale subresource uses it: it looks at no union of the status (rule U7).
func (e *Endpoint) ForScale() *Endpoint {
	if e == nil {
		return nil
	}
	scale := *e
	scale.validated = scope.ExceptStatus
	return &scale
}

// Disabled returns the root of the object, and whether the endpoint would write any field that a gate disables: those
// are what upstream calls reset fields (rule G7).
func (e *Endpoint) Disabled() (root fieldgate.Place, found bool) {
	if e == nil {
		return fieldgate.Place{}, false
	}
	return e.gates.Disabled(e.scope)
}

// DisablesPath tells whether a gate disables the field at a path as scale has it in the request's version: names with a
// dot before each. A field is disabled with each field around it. Where a webhook converts, the path is that of the
// storage version, whatever is given.
func (e *Endpoint) DisablesPath(path string) bool {
	if e == nil {
		return false
	}
	if e.plan.convertor != nil {
		path = e.plan.scalePath
	}
	var at fieldpath.Path
	for _, name := range strings.Split(strings.TrimPrefix(path, "."), ".") {
		at = append(at, fieldpath.Field(name))
	}
	for _, disabled := range e.gates.DisabledPaths(e.scope) {
		if at.HasPrefix(disabled) {
			return true
		}
	}
	return false
}

// Versions returns the API versions in which the paths mean what they say: all with conversion None, else the
// storage version alone.
func (e *Endpoint) Versions() []schema.GroupVersion {
	if e == nil {
		return nil
	}
	if e.plan.convertor != nil {
		return []schema.GroupVersion{e.plan.storage}
	}
	var versions []schema.GroupVersion
	for i := range e.plan.versions {
		versions = append(versions, schema.GroupVersion{Group: e.plan.storage.Group, Version: e.plan.versions[i].name})
	}
	return versions
}

// SameFields tells whether a served version, given as group and version, has the same fields at the same paths as any
// other: with conversion None (rule U8).
func (e *Endpoint) SameFields(groupVersion string) bool {
	if e.plan.convertor != nil {
		return false
	}
	gv, err := schema.ParseGroupVersion(groupVersion)
	_, found := e.plan.version(gv.Version)
	return err == nil && found && gv.Group == e.plan.storage.Group
}
