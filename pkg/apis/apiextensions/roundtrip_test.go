// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apiextensions_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	crd "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	crdfuzzer "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/fuzzer"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"sigs.k8s.io/randfill"

	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
)

// TestC3CustomResourceDefinitionsRoundTrip (rule C3) runs upstream's own round trips, whose fuzzer fills our field like any
// other.
func TestC3CustomResourceDefinitionsRoundTrip(t *testing.T) {
	roundtrip.RoundTripTestForAPIGroup(t, install.Install, crdfuzzer.Funcs)
	roundtrip.RoundTripProtobufTestForAPIGroup(t, install.Install, crdfuzzer.Funcs)
}

// TestC3GatesSurviveEveryEncoding (rule C3) does not leave it to chance that the field is filled: every gate has every field.
func TestC3GatesSurviveEveryEncoding(t *testing.T) {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codecs := serializer.NewCodecFactory(scheme, serializer.WithSerializer(cbor.NewSerializerInfo))

	for _, version := range []schema.GroupVersion{crdv1.SchemeGroupVersion, crdv1beta1.SchemeGroupVersion} {
		for _, info := range codecs.SupportedMediaTypes() {
			t.Run(version.Version+" "+info.MediaType, func(t *testing.T) {
				codec := codecs.CodecForVersions(info.Serializer, info.Serializer, version, crd.SchemeGroupVersion)
				for seed := range int64(50) {
					want := fullGates(seed)
					in := &crd.CustomResourceDefinition{Spec: crd.CustomResourceDefinitionSpec{CustomFeatureGates: want}}
					data, err := runtime.Encode(codec, in)
					if err != nil {
						t.Fatal(err)
					}
					out, err := runtime.Decode(codec, data)
					if err != nil {
						t.Fatalf("%v in %q", err, data)
					}
					got := out.(*crd.CustomResourceDefinition).Spec.CustomFeatureGates
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
					}
				}
			})
		}
	}
}

// TestStoredGatesAreReadWithoutSlack is about the form in which CRDs are stored: the watch cache keeps what is read.
func TestStoredGatesAreReadWithoutSlack(t *testing.T) {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codecs := serializer.NewCodecFactory(scheme)
	gate := `{"name":"A","preRelease":"alpha","fieldPaths":[".spec.a"]}`
	stored := `{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"CustomResourceDefinition",` +
		`"spec":{"customFeatureGates":{"featureGates":[` + gate + `,` + gate + `,` + gate + `]}}}`
	obj, err := runtime.Decode(codecs.UniversalDecoder(crd.SchemeGroupVersion), []byte(stored))
	if err != nil {
		t.Fatal(err)
	}
	gates := obj.(*crd.CustomResourceDefinition).Spec.CustomFeatureGates.FeatureGates
	if len(gates) != 3 || cap(gates) != 3 || cap(gates[0].FieldPaths) != 1 {
		t.Errorf("%d gates, room for %d and %d paths", len(gates), cap(gates), cap(gates[0].FieldPaths))
	}
}

// TestC3PointersAreKeptApart proves that false is not absent, in any encoding.
func TestC3PointersAreKeptApart(t *testing.T) {
	no, empty := false, ""
	want := &apiextensions.CustomResourceDefinitionFeatureGates{
		Component: &empty,
		FeatureGates: []apiextensions.CustomResourceDefinitionFeatureGate{
			{Name: "Given", Enabled: &no, Default: &no, FieldDeprecationWarning: &empty},
			{Name: "Absent"},
		},
	}
	data, err := want.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got := &apiextensions.CustomResourceDefinitionFeatureGates{}
	if err := got.Unmarshal(data); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("protobuf (-want +got):\n%s", diff)
	}
}

func fullGates(seed int64) *apiextensions.CustomResourceDefinitionFeatureGates {
	gates := &apiextensions.CustomResourceDefinitionFeatureGates{}
	randfill.NewWithSeed(seed).NilChance(0).NumElements(1, 4).Fill(gates)
	return gates
}
