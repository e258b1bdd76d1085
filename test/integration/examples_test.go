// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// TestExampleFieldGates is the demo that make run prints, command by command.
func TestExampleFieldGates(t *testing.T) {
	dir := filepath.Join("..", "..", "examples", "field-gates")
	crd, crontab := filepath.Join(dir, "crd.yaml"), filepath.Join(dir, "crontab.yaml")
	t.Cleanup(func() { shared.kubectl(t, "", "delete", "--ignore-not-found", "-f", crd) })

	shared.kubectl(t, "", "apply", "-f", crd)
	shared.kubectl(t, "", "wait", "--for=condition=Established", "-f", crd)
	_, stderr := shared.kubectl(t, "", "apply", "-f", crontab)
	if want := "Warning: " + droppedReplicas + "\n"; stderr != want {
		t.Errorf("G10: kubectl apply prints %q, want %q", stderr, want)
	}
	replicas := func() string {
		out, _ := shared.kubectl(t, "", "get", "-f", crontab, "-o", "jsonpath={.spec.replicas}")
		return out
	}
	if got := replicas(); got != "" {
		t.Errorf("G2: stored with replicas %q", got)
	}

	shared.kubectl(t, "", "patch", "crd", "crontabs.stable.example.com", "--type=json",
		"-p", `[{"op":"add","path":"/spec/customFeatureGates/featureGates/0/enabled","value":true}]`)
	eventually(t, "the enabled gate takes effect", func(context.Context) (bool, error) {
		_, stderr := shared.kubectl(t, "", "apply", "-f", crontab)
		return !strings.Contains(stderr, "Warning") && replicas() == "3", nil
	})
}
