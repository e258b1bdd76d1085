// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresourcedefinition

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"

	"github.com/fairlead-dev/fairlead/pkg/features"
)

// upstreamStrategies stand for upstream's strategies: they note the CRD that they get, and have a warning of their own.
type (
	upstreamCreate struct {
		rest.RESTCreateStrategy
		prepared *apiextensions.CustomResourceDefinition
	}
	upstreamUpdate struct {
		rest.RESTUpdateStrategy
		prepared *apiextensions.CustomResourceDefinition
	}
)

const upstreamWarning = "upstream's warning"

func (s *upstreamCreate) PrepareForCreate(_ context.Context, obj runtime.Object) {
	s.prepared = obj.DeepCopyObject().(*apiextensions.CustomResourceDefinition)
}

func (s *upstreamCreate) WarningsOnCreate(context.Context, runtime.Object) []string {
	return []string{upstreamWarning}
}

func (s *upstreamUpdate) PrepareForUpdate(_ context.Context, obj, _ runtime.Object) {
	s.prepared = obj.DeepCopyObject().(*apiextensions.CustomResourceDefinition)
}

func (s *upstreamUpdate) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return []string{upstreamWarning}
}

// write writes a CRD through the wrapped strategies of a store, as an update if there is an old one. It returns the CRD
// that upstream's strategy gets, and the warnings of the strategy.
func write(ctx context.Context, newCRD, oldCRD *apiextensions.CustomResourceDefinition) (prepared *apiextensions.CustomResourceDefinition, texts []string) {
	create, update := &upstreamCreate{}, &upstreamUpdate{}
	store := &genericregistry.Store{CreateStrategy: create, UpdateStrategy: update}
	WrapStrategies(store)
	if oldCRD == nil {
		store.CreateStrategy.PrepareForCreate(ctx, newCRD)
		return create.prepared, store.CreateStrategy.WarningsOnCreate(ctx, newCRD)
	}
	store.UpdateStrategy.PrepareForUpdate(ctx, newCRD, oldCRD)
	return update.prepared, store.UpdateStrategy.WarningsOnUpdate(ctx, newCRD, oldCRD)
}

func TestF4WrappedStrategiesDropDisabledFieldsBeforeUpstreams(t *testing.T) {
	withGates, without := crdOf(t, versionsOf(plain), gates), crdOf(t, versionsOf(plain), "")
	for _, tc := range []struct {
		claim   string
		enabled bool
		old     *apiextensions.CustomResourceDefinition // nil on create
		want    *apiextensions.CustomResourceDefinition
	}{
		{"F4: a create keeps the field while the feature is enabled", true, nil, withGates},
		{"F4: so does an update that adds it", true, without, withGates},
		{"F4: a create loses the field while the feature is disabled", false, nil, without},
		{"F4: so does an update that adds it", false, without, without},
		{"F4: an update of a persisted CRD that has it keeps it", false, withGates, withGates},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.CRDFieldLevelVersioning, tc.enabled)
			newCRD := withGates.DeepCopy()
			prepared, _ := write(t.Context(), newCRD, tc.old)
			if diff := cmp.Diff(tc.want, newCRD); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, prepared); diff != "" {
				t.Errorf("what upstream's strategy gets (-want +got):\n%s", diff)
			}
		})
	}
}

func TestC9WrappedStrategiesKeepWhatIsLeftOutBeforeUpstreams(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.CRDFieldLevelVersioning, false)
	ctx, _ := requestOf(t, "update", "")
	want := crdOf(t, versionsOf(union), gates)
	prepared, _ := write(ctx, crdOf(t, versionsOf(plain), ""), want.DeepCopy())
	if diff := cmp.Diff(want, prepared); diff != "" {
		t.Errorf("what upstream's strategy gets (-want +got):\n%s", diff)
	}
}

func TestC7WarningsAreAboutWhatTheWriteIntroduces(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.CRDFieldLevelVersioning, true)
	const stable = `{featureGates: [{name: G, enabled: false, preRelease: stable, fieldPaths: [.spec.git]}]}`
	const byDefault = `default: Git, ` + union
	for name, tc := range map[string]struct {
		newCRD *apiextensions.CustomResourceDefinition
		want   string
	}{
		"C7: of feature gates": {crdOf(t, versionsOf(plain), stable),
			`spec.customFeatureGates.featureGates[0].enabled: has no effect: feature gate "G" is stable`},
		"U2: of unions": {crdOf(t, versionsOf(byDefault), ""),
			`spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[type].default: ` +
				`a client that leaves out the discriminator of a union selects "Git"`},
	} {
		t.Run(name, func(t *testing.T) {
			for claim, w := range map[string]struct {
				oldCRD *apiextensions.CustomResourceDefinition
				want   []string
			}{
				"on create":                        {nil, []string{upstreamWarning, tc.want}},
				"on update":                        {crdOf(t, versionsOf(plain), ""), []string{upstreamWarning, tc.want}},
				"although it was persisted before": {tc.newCRD.DeepCopy(), []string{upstreamWarning}},
			} {
				_, got := write(t.Context(), tc.newCRD.DeepCopy(), w.oldCRD)
				if diff := cmp.Diff(w.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", claim, diff)
				}
			}
		})
	}
}
