// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mutatingPolicy sets fields of the custom resources of GROUP, by JSON patch operations in CEL.
const mutatingPolicy = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: GROUP}
spec:
  reinvocationPolicy: Never
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [GROUP], apiVersions: [v1], resources: [crontabs], operations: [OPERATIONS]}
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: '[PATCH]'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: GROUP}
spec: {policyName: GROUP}
`

// mutate lets mutating admission patch the custom resources of the subject in these operations, until the test ends.
// The policy fails requests until it knows the kind, and takes effect at some time after mutate returns.
func (s subject) mutate(operations, patch string) {
	s.Helper()
	values := strings.NewReplacer("GROUP", s.crd.Spec.Group, "OPERATIONS", operations, "PATCH", patch)
	manifest := values.Replace(mutatingPolicy)
	s.client.server.kubectl(s.T, manifest, "create", "-f", "-")
	s.Cleanup(func() { s.client.server.kubectl(s.T, manifest, "delete", "-f", "-") })
}

// TestG1AfterMutatingAdmission (rules G1, G2, G7.1, G10): what admission sets in a guarded field is treated like what
// the client sets, and the client does not own it.
func TestG1AfterMutatingAdmission(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	var names []string
	for range writers {
		names = append(names, s.persisted(`{image: a, replicas: 3}`))
	}
	s.flipReplicas(false)
	s.mutate("CREATE, UPDATE", `JSONPatch{op: "add", path: "/spec/image", value: "admitted"}, `+
		`JSONPatch{op: "add", path: "/spec/replicas", value: 9}`)
	eventually(t, "the policy takes effect", func(ctx context.Context) (bool, error) {
		u, err := s.client.Create(ctx, cronTab(t, s.crd, "probe", `{}`), metav1.CreateOptions{DryRun: dryRun})
		return err == nil && specOf(t, u) == "image: admitted", nil
	})

	u := cronTab(t, s.crd, "created", `{}`)
	created, warnings := create(t, s.client, u, metav1.CreateOptions{FieldManager: "creator"})
	if diff := cmp.Diff([]string{droppedReplicas}, warnings); diff != "" {
		t.Errorf("create: G10: warnings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("image: admitted", specOf(t, created)); diff != "" {
		t.Errorf("create: G2: spec (-want +got):\n%s", diff)
	}
	s.in(t).wantOwners(created)
	for i, w := range writers {
		t.Run(w.name, func(t *testing.T) {
			s := s.in(t)
			s.write(w, names[i], `{image: b}`)
			s.wantWarnings(keptReplicas)
			got := s.get(names[i])
			if diff := cmp.Diff("image: admitted\nreplicas: 3", specOf(t, got)); diff != "" {
				t.Errorf("G2: spec (-want +got):\n%s", diff)
			}
			s.wantOwners(got, "creator")
			if owners := owners(t, got, "f:spec", "f:image"); slices.Contains(owners, "creator") {
				t.Errorf("the image that admission changed is still owned by: %q", owners)
			}
		})
	}
}
