// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	apiextensionsinternal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
)

const (
	group          = "model.example.com"
	plural         = "things"
	kind           = "Thing"
	storageVersion = "v1"
	otherVersion   = "v2"
)

// declaration is what a CRD of the test consists of. It is printed with a sequence that fails.
type declaration struct {
	// Schema is the schema of every version, apart from apiVersion, kind and metadata.
	Schema *apiextensionsv1.JSONSchemaProps `json:"schema"`
	// Gates are the paths of alpha gates, by name.
	Gates map[string][]string `json:"gates,omitempty"`
	// Status says whether there is a status subresource.
	Status bool `json:"status,omitempty"`
	// TwoVersions says whether the CRD serves v2 beside the stored v1, with conversion None.
	TwoVersions bool `json:"twoVersions,omitempty"`
}

// states says which gates are enabled, by name. A gate without a state is disabled.
type states map[string]bool

// resource is a declaration in the forms that the test needs.
type resource struct {
	declaration
	crd        *apiextensionsv1.CustomResourceDefinition
	structural *structuralschema.Structural
	paths      map[string][]fieldpath.Path // of the gates, by name
}

// newResource returns an error if the server would refuse the declaration.
func newResource(d declaration) (*resource, error) {
	r := &resource{declaration: d, crd: newCRD(d), paths: map[string][]fieldpath.Path{}}
	internal := &apiextensionsinternal.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(r.crd.DeepCopy(), internal, nil); err != nil {
		return nil, err
	}
	if errs := validation.ValidateCustomResourceDefinition(context.Background(), internal); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	schema, err := apiextensionsinternal.GetSchemaForVersion(internal, storageVersion)
	if err != nil {
		return nil, err
	}
	if r.structural, err = structuralschema.NewStructural(schema.OpenAPIV3Schema); err != nil {
		return nil, err
	}
	return r, r.parsePaths()
}

func (r *resource) parsePaths() error {
	for name, texts := range r.Gates {
		for _, text := range texts {
			path, err := fieldpath.Parse(text)
			if err != nil {
				return err
			}
			r.paths[name] = append(r.paths[name], path)
		}
	}
	return nil
}

func newCRD(d declaration) *apiextensionsv1.CustomResourceDefinition {
	names := apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: "thing", Kind: kind, ListKind: "ThingList"}
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Names: names, Scope: apiextensionsv1.ClusterScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{newVersion(d, storageVersion)},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{
			AcceptedNames: names, StoredVersions: []string{storageVersion},
			Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
				{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue},
				{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
			},
		},
	}
	if d.TwoVersions {
		crd.Spec.Versions = append(crd.Spec.Versions, newVersion(d, otherVersion))
	}
	crd.Spec.CustomFeatureGates = newGates(d.Gates)
	apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	return crd
}

func newVersion(d declaration, name string) apiextensionsv1.CustomResourceDefinitionVersion {
	version := apiextensionsv1.CustomResourceDefinitionVersion{
		Name: name, Served: true, Storage: name == storageVersion,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: d.Schema.DeepCopy()},
	}
	if d.Status {
		version.Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
	}
	return version
}

func newGates(gates map[string][]string) *apiextensions.CustomResourceDefinitionFeatureGates {
	if len(gates) == 0 {
		return nil
	}
	out := &apiextensions.CustomResourceDefinitionFeatureGates{}
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		out.FeatureGates = append(out.FeatureGates, apiextensions.CustomResourceDefinitionFeatureGate{
			Name: name, PreRelease: apiextensions.PreReleaseAlpha, FieldPaths: gates[name],
		})
	}
	return out
}

// with returns the CRD with its gates in these states.
func (r *resource) with(s states) *apiextensionsv1.CustomResourceDefinition {
	crd := r.crd.DeepCopy()
	uid := []string{"gates"}
	if crd.Spec.CustomFeatureGates != nil {
		for i := range crd.Spec.CustomFeatureGates.FeatureGates {
			gate := &crd.Spec.CustomFeatureGates.FeatureGates[i]
			gate.Enabled = ptr.To(s[gate.Name])
			uid = append(uid, strconv.FormatBool(*gate.Enabled))
		}
	}
	crd.UID = types.UID(strings.Join(uid, "-"))
	return crd
}

// plain returns the CRD without gates and unions: what it would be on a stock server.
func (r *resource) plain() *apiextensionsv1.CustomResourceDefinition {
	crd := r.crd.DeepCopy()
	crd.UID = "plain"
	crd.Spec.CustomFeatureGates = nil
	for i := range crd.Spec.Versions {
		removeUnions(crd.Spec.Versions[i].Schema.OpenAPIV3Schema)
	}
	return crd
}

func removeUnions(s *apiextensionsv1.JSONSchemaProps) {
	s.XUnions = nil
	for name, property := range s.Properties {
		removeUnions(&property)
		s.Properties[name] = property
	}
	if s.Items != nil {
		removeUnions(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		removeUnions(s.AdditionalProperties.Schema)
	}
}

// disabled returns the paths that gates in these states disable, without those below another (rule C8), by path; the
// value is the name of the gate.
func (r *resource) disabled(s states) map[string]guard {
	out := map[string]guard{}
	for name, paths := range r.paths {
		for _, path := range paths {
			if !s[name] && !r.hasDisabledAncestor(path, s) {
				out[path.String()] = guard{gate: name, path: path}
			}
		}
	}
	return out
}

func (r *resource) hasDisabledAncestor(path fieldpath.Path, s states) bool {
	for name, paths := range r.paths {
		for _, other := range paths {
			if !s[name] && len(other) < len(path) && path.HasPrefix(other) {
				return true
			}
		}
	}
	return false
}

// guard is a path of a disabled gate.
type guard struct {
	gate string
	path fieldpath.Path
}

func mustResource(tb testing.TB, d declaration) *resource {
	tb.Helper()
	r, err := newResource(d)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}
