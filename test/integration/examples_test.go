// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// exampleCRD is held by who uses the CRD of the examples: there can be only one of that name.
var exampleCRD sync.Mutex

func lockExampleCRD(t *testing.T) {
	t.Helper()
	exampleCRD.Lock()
	t.Cleanup(exampleCRD.Unlock)
}

// TestExampleLifecycle walks through the life of a field as docs/field-gates.md tells it.
func TestExampleLifecycle(t *testing.T) {
	t.Parallel()
	lockExampleCRD(t)
	dir := filepath.Join("..", "..", "examples", "field-gates")
	crontab := filepath.Join(dir, "crontab.yaml")
	t.Cleanup(func() {
		shared.kubectl(t, "", "delete", "crd", "crontabs.stable.example.com", "--ignore-not-found")
	})
	apply := func(manager, file string) string {
		t.Helper()
		_, stderr := shared.kubectl(t, "", "apply", "--server-side", "--field-manager="+manager, "-f", filepath.Join(dir, "lifecycle", file))
		return stderr
	}
	// settles waits until a dry-run apply of the custom resource warns as it should in this stage.
	settles := func(stage, want string) {
		t.Helper()
		eventually(t, stage+" takes effect", func(context.Context) (bool, error) {
			_, stderr, err := shared.tryKubectl("", "apply", "--dry-run=server", "-f", crontab)
			return err == nil && stderr == want, nil
		})
	}

	apply("author", "1-alpha.yaml")
	shared.kubectl(t, "", "wait", "--for=condition=Established", "crd/crontabs.stable.example.com")
	settles("alpha", "Warning: "+droppedReplicas+"\n")
	apply("gates", "administrator.yaml")
	settles("the administrator's enabled", "")
	shared.kubectl(t, "", "apply", "-f", crontab)
	for _, stage := range []string{"2-beta.yaml", "3-stable.yaml"} {
		if stderr := apply("author", stage); stderr != "" {
			t.Errorf("%s: %s", stage, stderr)
		}
		settles(stage, "")
	}
	if stderr := apply("author", "4-ungated.yaml"); !strings.Contains(stderr, "guards nothing") {
		t.Errorf("C4: what remains of the gate draws no warning: %q", stderr)
	}
	shared.kubectl(t, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: crontabs.stable.example.com}}",
		"apply", "--server-side", "--field-manager=gates", "-f", "-")
	apply("author", "5-deprecated.yaml")
	eventually(t, "deprecated takes effect", func(context.Context) (bool, error) {
		_, stderr, err := shared.tryKubectl("", "patch", "-f", crontab, "--dry-run=server", "--type=merge", "-p", `{"spec":{"replicas":4}}`)
		return err == nil && strings.Contains(stderr, "spec.replicas is deprecated"), nil
	})
	apply("author", "6-disabled.yaml")
	eventually(t, "disabled takes effect", func(context.Context) (bool, error) {
		_, stderr, err := shared.tryKubectl("", "patch", "-f", crontab, "--dry-run=server", "--type=merge", "-p", `{"spec":{"replicas":4}}`)
		return err == nil && strings.Contains(stderr, keptReplicas), nil
	})
	apply("author", "7-removed.yaml")
	eventually(t, "the field is gone", func(context.Context) (bool, error) {
		out, _ := shared.kubectl(t, "", "get", "-f", crontab, "-o", "jsonpath={.spec.replicas}")
		return out == "", nil
	})
}

// TestExampleFieldGates is the demo that make run prints, command by command.
func TestExampleFieldGates(t *testing.T) {
	t.Parallel()
	lockExampleCRD(t)
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

// TestExampleUnions (rules U4, U6) applies the examples of docs/unions.md. The first line of an invalid one is its error.
func TestExampleUnions(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "examples", "unions")
	crd := filepath.Join(dir, "crd.yaml")
	t.Cleanup(func() { shared.kubectl(t, "", "delete", "--ignore-not-found", "-f", crd) })

	if _, stderr := shared.kubectl(t, "", "apply", "-f", crd); stderr != "" {
		t.Errorf("U2: the CRD draws a warning: %s", stderr)
	}
	shared.kubectl(t, "", "wait", "--for=condition=Established", "-f", crd)
	backup, switched := filepath.Join(dir, "backup.yaml"), filepath.Join(dir, "switch.yaml")
	for name, commands := range map[string][2][]string{
		"as make run prints it": {
			{"apply", "-f", backup},
			{"patch", "backup", "wiki", "--type=merge", "--patch-file", switched},
		},
		"two appliers": {
			{"apply", "--server-side", "--field-manager=author", "-f", backup},
			{"apply", "--server-side", "--field-manager=operator", "--force-conflicts", "-f", switched},
		},
	} {
		shared.kubectl(t, "", commands[0]...)
		_, stderr := shared.kubectl(t, "", commands[1]...)
		if want := "Warning: spec.source.git: cleared: spec.source.type changed from \"Git\" to \"S3\"\n"; stderr != want {
			t.Errorf("V3: %s: kubectl prints %q, want %q", name, stderr, want)
		}
		got, _ := shared.kubectl(t, "", "get", "backup", "wiki", "-o", "jsonpath={.spec.source} {.spec.schedule} {.spec.targets[*].name}")
		if want := `{"s3":{"bucket":"wiki"},"type":"S3"} @daily local remote later`; got != want {
			t.Errorf("U4: %s: the backup is %s, want %s", name, got, want)
		}
		shared.kubectl(t, "", "delete", "-f", backup)
	}

	invalid, err := filepath.Glob(filepath.Join(dir, "invalid", "*.yaml"))
	if err != nil || len(invalid) == 0 {
		t.Fatalf("no invalid examples: %v", err)
	}
	for _, file := range invalid {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		comment, _, _ := strings.Cut(string(text), "\n")
		want := strings.TrimPrefix(comment, "# ")
		if _, stderr, err := shared.tryKubectl("", "apply", "-f", file); err == nil || !strings.Contains(stderr, want) {
			t.Errorf("U6: %s: got %v: %s\nwant %s", filepath.Base(file), err, stderr, want)
		}
	}
}
