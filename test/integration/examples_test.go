// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// exampleCRD is locked by tests that install the CRD of examples/field-gates, since they all use its name.
var exampleCRD sync.Mutex

func lockExampleCRD(t *testing.T) {
	t.Helper()
	exampleCRD.Lock()
	t.Cleanup(exampleCRD.Unlock)
}

const exampleCRDName = "crontabs.stable.example.com"

// lifecycle plays the files of examples/field-gates/lifecycle.
type lifecycle struct {
	*testing.T
	dir     string
	crontab string // the manifest of the custom resource
}

// apply applies a file server-side and returns what kubectl prints as errors and warnings.
func (l lifecycle) apply(manager, file string) string {
	l.Helper()
	_, stderr := shared.kubectl(l.T, "", "apply", "--server-side", "--field-manager="+manager, "-f", filepath.Join(l.dir, file))
	return stderr
}

// awaitApplyWarning waits until a dry-run apply of the custom resource prints exactly this.
func (l lifecycle) awaitApplyWarning(stage, want string) {
	l.Helper()
	eventually(l.T, stage+" takes effect", func(context.Context) (bool, error) {
		_, stderr, err := shared.tryKubectl("", "apply", "--dry-run=server", "-f", l.crontab)
		return err == nil && stderr == want, nil
	})
}

// awaitPatchWarning waits until a dry-run patch of replicas prints a warning.
func (l lifecycle) awaitPatchWarning(stage, want string) {
	l.Helper()
	eventually(l.T, stage+" takes effect", func(context.Context) (bool, error) {
		_, stderr, err := shared.tryKubectl("", "patch", "-f", l.crontab, "--dry-run=server", "--type=merge", "-p", `{"spec":{"replicas":4}}`)
		return err == nil && strings.Contains(stderr, want), nil
	})
}

// TestEveryExampleIsApplied checks that the tests in this file name each example, or the folder whose files they apply.
func TestEveryExampleIsApplied(t *testing.T) {
	t.Parallel()
	tests, err := os.ReadFile("examples_test.go")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join("..", "..", "examples"), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(filepath.Dir(file)) == "invalid" {
			return err
		}
		if !strings.Contains(string(tests), strconv.Quote(d.Name())) {
			t.Errorf("no test applies %s", file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestExampleLifecycle follows the life of a field in docs/field-gates.md.
func TestExampleLifecycle(t *testing.T) {
	t.Parallel()
	lockExampleCRD(t)
	dir := filepath.Join("..", "..", "examples", "field-gates")
	l := lifecycle{T: t, dir: filepath.Join(dir, "lifecycle"), crontab: filepath.Join(dir, "crontab.yaml")}
	t.Cleanup(func() { shared.kubectl(t, "", "delete", "crd", exampleCRDName, "--ignore-not-found") })

	l.apply("author", "1-alpha.yaml")
	shared.waitEstablished(t, exampleCRDName)
	l.awaitApplyWarning("1-alpha.yaml", "Warning: "+droppedReplicas+"\n")
	l.apply("gates", "administrator.yaml")
	l.awaitApplyWarning("administrator.yaml", "")
	shared.kubectl(t, "", "apply", "-f", l.crontab)
	for _, stage := range []string{"2-beta.yaml", "3-stable.yaml"} {
		if stderr := l.apply("author", stage); stderr != "" {
			t.Errorf("%s: kubectl prints %s", stage, stderr)
		}
		l.awaitApplyWarning(stage, "")
	}
	if stderr := l.apply("author", "4-ungated.yaml"); !strings.Contains(stderr, "guards nothing") {
		t.Errorf("C4: no warning about the gate without definition that remains: %q", stderr)
	}
	shared.applyCRD(t, "gates", crdManifest(exampleCRDName, ""))
	l.apply("author", "5-deprecated.yaml")
	l.awaitPatchWarning("5-deprecated.yaml", "spec.replicas is deprecated")
	l.apply("author", "6-disabled.yaml")
	l.awaitPatchWarning("6-disabled.yaml", keptReplicas)
	l.apply("author", "7-removed.yaml")
	eventually(t, "the field is removed", func(context.Context) (bool, error) {
		out, _ := shared.kubectl(t, "", "get", "-f", l.crontab, "-o", "jsonpath={.spec.replicas}")
		return out == "", nil
	})
}

// TestExampleFieldGates runs the commands that make run prints.
func TestExampleFieldGates(t *testing.T) {
	t.Parallel()
	lockExampleCRD(t)
	dir := filepath.Join("..", "..", "examples", "field-gates")
	crd, crontab := filepath.Join(dir, "crd.yaml"), filepath.Join(dir, "crontab.yaml")
	t.Cleanup(func() { shared.kubectl(t, "", "delete", "--ignore-not-found", "-f", crd) })

	shared.kubectl(t, "", "apply", "-f", crd)
	shared.waitEstablished(t, exampleCRDName)
	_, stderr := shared.kubectl(t, "", "apply", "-f", crontab)
	if want := "Warning: " + droppedReplicas + "\n"; stderr != want {
		t.Errorf("G10: kubectl apply prints %q, want %q", stderr, want)
	}
	replicas := func() string {
		out, _ := shared.kubectl(t, "", "get", "-f", crontab, "-o", "jsonpath={.spec.replicas}")
		return out
	}
	if got := replicas(); got != "" {
		t.Errorf("G2: the dropped field is persisted: replicas %q", got)
	}

	shared.kubectl(t, "", "patch", "crd", exampleCRDName, "--type=json",
		"-p", `[{"op":"add","path":"/spec/customFeatureGates/featureGates/0/enabled","value":true}]`)
	eventually(t, "the enabled gate takes effect", func(context.Context) (bool, error) {
		_, stderr := shared.kubectl(t, "", "apply", "-f", crontab)
		return !strings.Contains(stderr, "Warning") && replicas() == "3", nil
	})
}

// TestExampleUnions (rules U4, U6) applies the examples of docs/unions.md. The first line of an invalid example is its
// error.
func TestExampleUnions(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "examples", "unions")
	crd := filepath.Join(dir, "crd.yaml")
	t.Cleanup(func() { shared.kubectl(t, "", "delete", "--ignore-not-found", "-f", crd) })

	if _, stderr := shared.kubectl(t, "", "apply", "-f", crd); stderr != "" {
		t.Errorf("U2: the CRD draws a warning: %s", stderr)
	}
	shared.waitEstablished(t, "backups.stable.example.com")
	playBackup(t, filepath.Join(dir, "backup.yaml"), filepath.Join(dir, "switch.yaml"))

	for file, text := range readFiles(t, filepath.Join(dir, "invalid", "*.yaml")) {
		comment, _, _ := strings.Cut(string(text), "\n")
		want := strings.TrimPrefix(comment, "# ")
		_, stderr, err := shared.tryKubectl("", "apply", "-f", filepath.Join(dir, "invalid", file))
		if err == nil || !strings.Contains(stderr, want) {
			t.Errorf("U6: %s: got %v: %s\nwant %s", file, err, stderr, want)
		}
	}
}

// playBackup creates the backup and switches its union, in the two ways of the docs.
func playBackup(t *testing.T, backup, switched string) {
	t.Helper()
	for name, commands := range map[string][2][]string{
		"with the commands that make run prints": {
			{"apply", "-f", backup},
			{"patch", "backup", "wiki", "--type=merge", "--patch-file", switched},
		},
		"by two appliers": {
			{"apply", "--server-side", "--field-manager=author", "-f", backup},
			{"apply", "--server-side", "--field-manager=operator", "--force-conflicts", "-f", switched},
		},
	} {
		shared.kubectl(t, "", commands[0]...)
		_, stderr := shared.kubectl(t, "", commands[1]...)
		if want := "Warning: spec.source.git: cleared: spec.source.type changed from \"Git\" to \"S3\"\n"; stderr != want {
			t.Errorf("V3: the switch %s: kubectl prints %q, want %q", name, stderr, want)
		}
		got, _ := shared.kubectl(t, "", "get", "backup", "wiki", "-o", "jsonpath={.spec.source} {.spec.schedule} {.spec.targets[*].name}")
		if want := `{"s3":{"bucket":"wiki"},"type":"S3"} @daily local remote later`; got != want {
			t.Errorf("U4: the switch %s: the backup is %s, want %s", name, got, want)
		}
		shared.kubectl(t, "", "delete", "-f", backup)
	}
}

// readFiles returns the files that match a pattern, by base name. There must be one.
func readFiles(t *testing.T, pattern string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files match %s: %v", pattern, err)
	}
	files := map[string][]byte{}
	for _, path := range paths {
		if files[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return files
}
