// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// writer writes a custom resource in one of the ways that clients have. It makes the given spec the spec of the object.
type writer struct {
	name  string
	write func(s subject, name, spec string) error
	// applies says that the writer applies: it leaves fields alone that it does not have. Other writers remove them.
	applies bool
}

// put is the first of the writers.
var put = writer{name: "PUT", write: func(s subject, name, spec string) error {
	return s.put(name, parse[map[string]any](s.T, spec))
}}

// writers are all ways to write a custom resource. Patches set fields to null to remove them.
var writers = []writer{
	put,
	{name: "JSON patch", write: func(s subject, name, spec string) error {
		return s.sendPatch(name, types.JSONPatchType, []any{map[string]any{"op": "replace", "path": "/spec", "value": parse[any](s.T, spec)}})
	}},
	{name: "merge patch", write: func(s subject, name, spec string) error {
		wanted := parse[map[string]any](s.T, spec)
		old, _, _ := unstructured.NestedMap(s.get(name).Object, "spec")
		for field := range old {
			if _, ok := wanted[field]; !ok {
				wanted[field] = nil
			}
		}
		return s.sendPatch(name, types.MergePatchType, map[string]any{"spec": wanted})
	}},
	{name: "server-side apply", applies: true, write: func(s subject, name, spec string) error {
		_, err := s.client.Apply(s.Context(), name, cronTab(s.T, s.crd, name, spec), metav1.ApplyOptions{FieldManager: "writer", Force: true})
		return err
	}},
	{name: "kubectl replace", write: func(s subject, name, spec string) error {
		return s.kubectlWith(name, spec, "replace")
	}},
	{name: "kubectl edit", write: func(s subject, name, spec string) error {
		u := s.get(name)
		u.Object["spec"] = parse[map[string]any](s.T, spec)
		manifest, err := yaml.Marshal(u.Object)
		if err != nil {
			return err
		}
		edited := filepath.Join(s.TempDir(), "edited.yaml")
		if err := os.WriteFile(edited, manifest, 0o600); err != nil {
			return err
		}
		_, stderr, err := s.client.server.kubectlIn([]string{"KUBE_EDITOR=cp " + edited}, "", "edit", s.crd.Name, name)
		return s.noteWarnings(stderr, err)
	}},
	{name: "kubectl apply", applies: true, write: func(s subject, name, spec string) error {
		return s.kubectlWith(name, spec, "apply")
	}},
}

// versionedWriters returns the writers that can write any version. kubectl edit always uses the preferred version.
func versionedWriters() []writer {
	return slices.DeleteFunc(slices.Clone(writers), func(w writer) bool { return w.name == "kubectl edit" })
}

// apiWriters returns the writers that do not use kubectl. Their field manager is "writer".
func apiWriters() []writer {
	return slices.DeleteFunc(slices.Clone(writers), func(w writer) bool { return strings.HasPrefix(w.name, "kubectl") })
}

// objectName returns the name of an object for the writer.
func (w writer) objectName(prefix string) string {
	return prefix + strings.ToLower(strings.ReplaceAll(w.name, " ", "-"))
}

// put reads the object, sets its spec and sends it.
func (s subject) put(name string, spec map[string]any) error {
	s.Helper()
	u := s.get(name)
	u.Object["spec"] = spec
	_, err := s.client.Update(s.Context(), u, metav1.UpdateOptions{FieldManager: "writer"})
	return err
}

func (s subject) sendPatch(name string, kind types.PatchType, patch any) error {
	s.Helper()
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = s.client.Patch(s.Context(), name, kind, data, metav1.PatchOptions{FieldManager: "writer"})
	return err
}

// kubectlWith sends the object to kubectl's standard input. Warnings that kubectl prints are those of the subject.
func (s subject) kubectlWith(name, spec string, args ...string) error {
	u := cronTab(s.T, s.crd, name, spec)
	u.SetNamespace("default")
	manifest, err := yaml.Marshal(u.Object)
	if err != nil {
		return err
	}
	_, stderr, err := s.client.server.tryKubectl(string(manifest), append(args, "-f", "-")...)
	return s.noteWarnings(stderr, err)
}

// noteWarnings adds the warnings that kubectl printed to those of the subject. It returns the error with that output.
func (s subject) noteWarnings(stderr string, err error) error {
	if err != nil {
		return fmt.Errorf("%w: %s", err, stderr)
	}
	for _, line := range strings.Split(stderr, "\n") {
		// kubectl apply warns about objects that were not created with kubectl apply.
		if text, ok := strings.CutPrefix(line, "Warning: "); ok && !strings.Contains(text, "last-applied-configuration") {
			s.client.warnings.HandleWarningHeaderWithContext(s.Context(), 299, "", text)
		}
	}
	return nil
}
