// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// mutatingPolicy changes the custom resources of GROUP with JSON patch operations in CEL.
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

// mutate makes mutating admission patch the custom resources of the subject in the given operations, until the test
// ends. The policy takes effect some time after mutate returns, and until then may make requests fail.
func (s subject) mutate(operations, patch string) {
	s.Helper()
	values := strings.NewReplacer("GROUP", s.crd.Spec.Group, "OPERATIONS", operations, "PATCH", patch)
	manifest := values.Replace(mutatingPolicy)
	s.client.server.kubectl(s.T, manifest, "create", "-f", "-")
	s.Cleanup(func() { s.client.server.kubectl(s.T, manifest, "delete", "-f", "-") })
}

// awaitPolicy waits until a dry run of a merge patch is answered with a spec that contains the text.
func (o object) awaitPolicy(patch, text string) {
	o.Helper()
	eventually(o.T, "the policy takes effect", func(ctx context.Context) (bool, error) {
		u, err := o.client.Patch(ctx, o.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: dryRun})
		return err == nil && strings.Contains(specOf(o.T, u), text), nil
	})
	o.takeWarnings()
}

// TestG1AfterMutatingAdmission (rules G1, G2, G7.1, G10): a guarded field that admission sets is treated as if the
// client had set it, and the client does not own it.
func TestG1AfterMutatingAdmission(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newCRD(t, replicasGate))
	var names []string
	for range writers {
		names = append(names, s.persist(`{image: a, replicas: 3}`))
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
	wantWarnings(t, "G10: create", []string{droppedReplicas}, warnings)
	wantSpec(t, "the created object (G2)", created, "image: admitted")
	s.wantOwners(created)
	for i, w := range writers {
		t.Run(w.name, func(t *testing.T) {
			s := s.forSubtest(t)
			s.write(w, names[i], `{image: b}`)
			s.wantWarnings(keptReplicas)
			got := s.get(names[i])
			s.wantSpecOf("the updated object (G2)", got, "image: admitted\nreplicas: 3")
			s.wantOwners(got, "creator")
			if owners := owners(t, got, "f:spec", "f:image"); slices.Contains(owners, "creator") {
				t.Errorf("the creator still owns the image, which admission changed: %q", owners)
			}
		})
	}
}
