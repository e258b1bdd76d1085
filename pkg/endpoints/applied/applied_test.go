// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package applied

import "testing"

func TestNoteReachesTheConfigurationOfItsContext(t *testing.T) {
	ctx, c := WithConfiguration(t.Context())
	if c.Object() != nil {
		t.Error("an object without an apply")
	}
	Note(ctx, map[string]any{"a": "first try"})
	Note(ctx, map[string]any{"a": "retry"})
	if got := c.Object()["a"]; got != "retry" {
		t.Errorf("got %v", got)
	}
}

func TestNoteWithoutConfigurationDoesNothing(t *testing.T) {
	Note(t.Context(), map[string]any{})
}
