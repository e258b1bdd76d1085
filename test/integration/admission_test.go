// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// mutatingWebhook sends the custom resources of GROUP to a webhook. Not all Kubernetes lines have mutating policies.
const mutatingWebhook = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: GROUP}
webhooks:
- name: mutate.GROUP
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  clientConfig: {url: "URL", caBundle: CA}
  rules:
  - {apiGroups: [GROUP], apiVersions: [v1], resources: [crontabs], operations: [OPERATIONS]}
`

// mutate makes mutating admission apply a JSON patch to the custom resources of the subject in the given operations,
// until the test ends. The webhook takes effect some time after mutate returns.
func (s subject) mutate(operations, patch string) {
	s.Helper()
	webhook := httptest.NewUnstartedServer(patcher(patch))
	webhook.Config.ErrorLog = log.New(io.Discard, "", 0) // the API server closes connections after the test
	webhook.StartTLS()
	s.Cleanup(webhook.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw})
	values := strings.NewReplacer("GROUP", s.crd.Spec.Group, "OPERATIONS", operations,
		"URL", webhook.URL, "CA", base64.StdEncoding.EncodeToString(ca))
	manifest := values.Replace(mutatingWebhook)
	s.client.server.kubectl(s.T, manifest, "create", "-f", "-")
	s.Cleanup(func() { s.client.server.kubectl(s.T, manifest, "delete", "-f", "-") })
}

// patcher is an admission webhook that answers every request with the same JSON patch.
type patcher string

// ServeHTTP implements http.Handler.
func (p patcher) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(in.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(out, fmt.Sprintf("not an admission review: %v", err), http.StatusBadRequest)
		return
	}
	jsonPatch := admissionv1.PatchTypeJSONPatch
	review.Response = &admissionv1.AdmissionResponse{
		UID: review.Request.UID, Allowed: true, Patch: []byte(p), PatchType: &jsonPatch,
	}
	if err := json.NewEncoder(out).Encode(review); err != nil {
		http.Error(out, err.Error(), http.StatusInternalServerError)
	}
}

// awaitMutation waits until a dry run of a merge patch is answered with a spec that contains the text.
func (o object) awaitMutation(patch, text string) {
	o.Helper()
	eventually(o.T, "the webhook takes effect", func(ctx context.Context) (bool, error) {
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
	s.mutate("CREATE, UPDATE", `[{"op": "add", "path": "/spec/image", "value": "admitted"}, `+
		`{"op": "add", "path": "/spec/replicas", "value": 9}]`)
	eventually(t, "the webhook takes effect", func(ctx context.Context) (bool, error) {
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
