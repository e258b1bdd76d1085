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

// TestC3CustomResourceDefinitionsRoundTrip runs upstream's round trip tests, whose fuzzer also fills fairlead's fields
// (rule C3).
func TestC3CustomResourceDefinitionsRoundTrip(t *testing.T) {
	roundtrip.RoundTripTestForAPIGroup(t, install.Install, crdfuzzer.Funcs)
	roundtrip.RoundTripProtobufTestForAPIGroup(t, install.Install, crdfuzzer.Funcs)
}

// roundTrip encodes and decodes a CRD.
type roundTrip func(in *crd.CustomResourceDefinition) *crd.CustomResourceDefinition

// testEveryEncoding runs a test for every served version and media type.
func testEveryEncoding(t *testing.T, test func(t *testing.T, roundTrip roundTrip)) {
	t.Helper()
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codecs := serializer.NewCodecFactory(scheme, serializer.WithSerializer(cbor.NewSerializerInfo))
	for _, version := range []schema.GroupVersion{crdv1.SchemeGroupVersion, crdv1beta1.SchemeGroupVersion} {
		for _, info := range codecs.SupportedMediaTypes() {
			codec := codecs.CodecForVersions(info.Serializer, info.Serializer, version, crd.SchemeGroupVersion)
			t.Run(version.Version+" "+info.MediaType, func(t *testing.T) {
				test(t, func(in *crd.CustomResourceDefinition) *crd.CustomResourceDefinition {
					data, err := runtime.Encode(codec, in)
					if err != nil {
						t.Fatal(err)
					}
					out, err := runtime.Decode(codec, data)
					if err != nil {
						t.Fatalf("%v in %q", err, data)
					}
					return out.(*crd.CustomResourceDefinition)
				})
			})
		}
	}
}

// TestC3GatesSurviveEveryEncoding fills every field of every gate, which upstream's fuzzer only does by chance (rule
// C3).
func TestC3GatesSurviveEveryEncoding(t *testing.T) {
	testEveryEncoding(t, func(t *testing.T, roundTrip roundTrip) {
		for seed := range int64(50) {
			want := fullGates(seed)
			got := roundTrip(&crd.CustomResourceDefinition{Spec: crd.CustomResourceDefinitionSpec{CustomFeatureGates: want}})
			if diff := cmp.Diff(want, got.Spec.CustomFeatureGates); diff != "" {
				t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
			}
		}
	})
}

// TestC3ProtobufKeepsFalseApartFromAbsent also covers the empty string (rule C3).
func TestC3ProtobufKeepsFalseApartFromAbsent(t *testing.T) {
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

// fullGates returns random gates in which every field is set.
func fullGates(seed int64) *apiextensions.CustomResourceDefinitionFeatureGates {
	gates := &apiextensions.CustomResourceDefinitionFeatureGates{}
	randfill.NewWithSeed(seed).NilChance(0).NumElements(1, 4).Fill(gates)
	return gates
}
