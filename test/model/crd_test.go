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

	"github.com/fairlead-dev/fairlead/internal/testcrd"
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

// declaration is the part of a CRD that differs between sequences. It is printed with a finding.
type declaration struct {
	// Schema is the schema of every version, apart from apiVersion, kind and metadata.
	Schema *apiextensionsv1.JSONSchemaProps `json:"schema"`
	// Gates are the paths of alpha gates, by name.
	Gates map[string][]string `json:"gates,omitempty"`
	// Status says that the CRD has a status subresource.
	Status bool `json:"status,omitempty"`
	// TwoVersions says that the CRD serves v2 in addition to the stored v1, with conversion None.
	TwoVersions bool `json:"twoVersions,omitempty"`
}

// states are the states of gates by name: true is enabled. A gate without a state is disabled.
type states map[string]bool

// resource is a declaration with what is derived from it.
type resource struct {
	declaration
	crd        *apiextensionsv1.CustomResourceDefinition
	structural *structuralschema.Structural
	paths      map[string][]fieldpath.Path // the parsed paths of the gates, by name
}

// newResource returns an error if validation of CRDs refuses the declaration.
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

// with returns the CRD with its gates in these states. Each combination of states has its own UID (see server.serve).
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

// withoutFeatures returns the declaration without gates and unions, as a stock server has it.
func (d declaration) withoutFeatures() declaration {
	d.Schema, d.Gates = d.Schema.DeepCopy(), nil
	testcrd.RemoveUnions(d.Schema)
	return d
}

// disabled returns the paths that are disabled if gates are in these states, by their text. A path inside another
// disabled path is left out (rule C8).
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

// guard is one path of a disabled gate.
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
