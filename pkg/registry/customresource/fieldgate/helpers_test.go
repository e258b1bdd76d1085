// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldgate

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
)

// parseGates parses the value of spec.customFeatureGates.
func parseGates(t testing.TB, text string) *apiextensions.CustomResourceDefinitionFeatureGates {
	t.Helper()
	return testyaml.Parse[*apiextensions.CustomResourceDefinitionFeatureGates](t, text)
}

// alphaGate returns one disabled gate, A, that guards the paths.
func alphaGate(paths ...string) *apiextensions.CustomResourceDefinitionFeatureGates {
	return &apiextensions.CustomResourceDefinitionFeatureGates{FeatureGates: []apiextensions.CustomResourceDefinitionFeatureGate{
		{Name: "A", PreRelease: apiextensions.PreReleaseAlpha, FieldPaths: paths},
	}}
}

// checkEqual compares what a test got with what it wants.
func checkEqual(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// checkUnmodified compares a value with a copy that was made before.
func checkUnmodified(t testing.TB, what string, before, after any) {
	t.Helper()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("R4: %s was modified (-before +after):\n%s", what, diff)
	}
}

func encodeJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// decodeJSON decodes JSON as the server does. It returns nil for a text that is not valid.
func decodeJSON(text string) any {
	var out any
	if err := utiljson.Unmarshal([]byte(text), &out); err != nil {
		return nil
	}
	return out
}
