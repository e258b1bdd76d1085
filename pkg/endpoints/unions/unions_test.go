// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package unions

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

type normalizer func(ctx context.Context, obj, old runtime.Object) (runtime.Object, error)

func (n normalizer) UnionNormalizer() func(ctx context.Context, obj, old runtime.Object) (runtime.Object, error) {
	return n
}

// TestU12AnyStorageMayNormalize also checks that a storage without unions costs no allocation (rules R2, U12).
func TestU12AnyStorageMayNormalize(t *testing.T) {
	for name, storage := range map[string]any{
		"no storage": nil, "a storage that is not a Normalizer": "storage", "a Normalizer without unions": normalizer(nil),
	} {
		if NormalizerOf(storage) != nil {
			t.Errorf("%s: NormalizerOf does not return nil", name)
		}
		if allocs := testing.AllocsPerRun(100, func() { NormalizerOf(storage) }); allocs != 0 {
			t.Errorf("R2: %s: %v allocations", name, allocs)
		}
	}
	called := false
	normalize := NormalizerOf(normalizer(func(_ context.Context, obj, _ runtime.Object) (runtime.Object, error) {
		called = true
		return obj, nil
	}))
	if _, err := normalize(t.Context(), nil, nil); err != nil || !called {
		t.Error("the storage's normalizer is not called")
	}
}
