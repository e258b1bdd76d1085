// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apiextensions_test

import (
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	baseversion "k8s.io/component-base/version"
)

// TestC3StoredDataStaysReadable runs upstream's compatibility test (rule C3): a change of any encoding of a CRD shows
// as a change of testdata/<line>, and what an older line has stored stays readable. The fixtures are separate from
// upstream's, which lack customFeatureGates and x-kubernetes-unions. hack/update-codegen.sh writes them, with
// UPDATE_COMPATIBILITY_FIXTURE_DATA=true.
func TestC3StoredDataStaysReadable(t *testing.T) {
	scheme := runtime.NewScheme()
	var kinds []schema.GroupVersionKind
	for gv, add := range map[schema.GroupVersion]func(*runtime.Scheme) error{
		crdv1.SchemeGroupVersion:      crdv1.AddToScheme,
		crdv1beta1.SchemeGroupVersion: crdv1beta1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, gv.WithKind("CustomResourceDefinition"), gv.WithKind("ConversionReview"))
	}
	opts := roundtrip.NewCompatibilityTestOptions(scheme)
	opts.Kinds = kinds
	// The filler would put text that is not JSON into raw JSON.
	opts.FillFuncs = map[reflect.Type]roundtrip.FillFunc{
		reflect.TypeFor[*crdv1.JSON](): func(s string, _ int, obj any) {
			obj.(*crdv1.JSON).Raw = []byte(strconv.Quote(s))
		},
		reflect.TypeFor[*crdv1beta1.JSON](): func(s string, _ int, obj any) {
			obj.(*crdv1beta1.JSON).Raw = []byte(strconv.Quote(s))
		},
	}
	opts.TestDataDirCurrentVersion, opts.TestDataDirsPreviousVersions = fixtureDirs(t)
	opts.Complete(t).Run(t)
}

// fixtureDirs returns the directory with the fixtures of the Kubernetes line of the types, and those of older lines.
func fixtureDirs(t *testing.T) (current string, previous []string) {
	t.Helper()
	line := "v" + baseversion.DefaultKubeBinaryVersion
	previous, err := filepath.Glob(filepath.Join("testdata", "previous", "v*"))
	if err != nil {
		t.Fatal(err)
	}
	previous = slices.DeleteFunc(previous, func(dir string) bool { return filepath.Base(dir) >= line })
	return filepath.Join("testdata", line), previous
}
