// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// convertedRequest is a write in v1beta1.
type convertedRequest struct {
	name string
	send func(s converted) error
	// creates says that the request creates the object "new". Other requests write the object "a", which has
	// {image: a, replicas: 3} in v1.
	creates bool
}

var convertedRequests = []convertedRequest{
	{"create", func(s converted) error {
		_, err := s.beta.client.Create(s.Context(), cronTab(s.T, s.beta.crd, "new", `{image: b, count: 5}`), metav1.CreateOptions{})
		return err
	}, true},
	{"apply that creates", func(s converted) error {
		_, err := s.beta.tryApply("alice", "new", `{image: b, count: 5}`, metav1.ApplyOptions{})
		return err
	}, true},
	{"PUT", func(s converted) error {
		u := cronTab(s.T, s.beta.crd, "a", `{image: b, count: 5}`)
		u.SetResourceVersion(s.get("a").GetResourceVersion())
		_, err := s.beta.client.Update(s.Context(), u, metav1.UpdateOptions{})
		return err
	}, false},
	{"merge patch", func(s converted) error {
		return s.beta.sendPatch("a", types.MergePatchType, map[string]any{"spec": map[string]any{"image": "b", "count": 5}})
	}, false},
	{"apply", func(s converted) error {
		_, err := s.beta.tryApply("alice", "a", `{image: b, count: 5}`, metav1.ApplyOptions{Force: true})
		return err
	}, false},
}

// wantDone checks that the request succeeded and that the disabled field was dropped or kept.
func (r convertedRequest) wantDone(s converted) {
	s.Helper()
	if r.creates {
		s.wantSpec("new", "image: b")
	} else {
		s.wantSpec("a", "image: b\nreplicas: 3")
	}
}

// outcome is what a client sees of a request while the webhook fails.
type outcome struct {
	err      error
	code     int32 // 200, that of the error, or 0 if the error has none
	written  bool
	warnings []string
}

// sendWhileFailing sends a request while the webhook fails.
func (r convertedRequest) sendWhileFailing(s converted, failure func(to string) error) outcome {
	s.Helper()
	before := s.get("a")
	s.webhook.settle(s.T)
	s.beta.takeWarnings()
	s.webhook.fail(failure)
	err := r.send(s)
	warnings := s.beta.takeWarnings()
	s.webhook.fail(nil)
	_, newErr := s.client.Get(s.Context(), "new", metav1.GetOptions{})
	return outcome{
		err: err, code: codeOf(err), warnings: warnings,
		written: cmp.Diff(before, s.get("a")) != "" || !apierrors.IsNotFound(newErr),
	}
}

func codeOf(err error) int32 {
	if err == nil {
		return 200
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code
	}
	return 0
}

// TestG1ConvWebhookFailures makes the webhook fail in all ways, for a CRD with a gate and for one without. A failure
// writes nothing and draws no warning, its error gives the reason, and it is no worse than without gates (rules G1,
// R1). Once the webhook succeeds again, so does the request.
func TestG1ConvWebhookFailures(t *testing.T) {
	t.Parallel()
	broken := errors.New("no conversion today")
	for failing, failure := range map[string]func(to string) error{
		"every conversion, with a message": func(string) error { return broken },
		"every request":                    func(string) error { return errUnavailable },
		"conversions to v1":                func(to string) error { return map[bool]error{true: broken}[to == "v1"] },
		"conversions to v1beta1":           func(to string) error { return map[bool]error{true: broken}[to == "v1beta1"] },
	} {
		t.Run("the webhook fails "+failing, func(t *testing.T) {
			t.Parallel()
			plain, gated := newConverted(t, "", renameCount), newConverted(t, replicasGate, renameCount)
			for _, request := range convertedRequests {
				plain.resetObjects(false)
				without := request.sendWhileFailing(plain, failure)
				gated.resetObjects(true)
				got := request.sendWhileFailing(gated, failure)
				t.Logf("%s: %+v, without gates %+v", request.name, got, without)
				wantNoWorse(t, request.name, got, without)
				if got.err != nil {
					if err := request.send(gated); err != nil {
						t.Errorf("%s fails although the webhook succeeds again: %v", request.name, err)
					}
				}
				request.wantDone(gated)
			}
		})
	}
}

// resetObjects deletes the objects and creates "a" with the gate enabled.
func (c converted) resetObjects(gated bool) {
	c.Helper()
	for _, name := range []string{"a", "new"} {
		if err := c.client.Delete(c.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			c.Fatal(err)
		}
	}
	if gated {
		c.flipReplicas(true)
	}
	if _, err := c.client.Create(c.Context(), cronTab(c.T, c.crd, "a", `{image: a, replicas: 3}`), metav1.CreateOptions{}); err != nil {
		c.Fatal(err)
	}
	if gated {
		c.flipReplicas(false)
	}
}

// wantNoWorse compares the outcome of a request with a gate to the outcome without.
func wantNoWorse(t *testing.T, request string, got, without outcome) {
	t.Helper()
	if got.err != nil && (!strings.Contains(got.err.Error(), "conver") || got.written || got.warnings != nil) {
		t.Errorf("%s: want an error about the conversion, nothing written and no warnings: %+v", request, got)
	}
	if got.err == nil && without.code != 200 {
		t.Errorf("%s succeeds, but without gates it fails", request)
	}
	if got.code >= 500 && without.code < 500 {
		t.Errorf("R1: %s: the code is %d, and without gates %d", request, got.code, without.code)
	}
}

// TestG1ConvWebhookFailureAtAnyCall (rule G1) lets a request succeed with one more conversion to the stored version
// each time, until the request succeeds. So the conversions of the evaluation fail too, and nothing may be written.
func TestG1ConvWebhookFailureAtAnyCall(t *testing.T) {
	t.Parallel()
	s := newConverted(t, replicasGate, renameCount)
	s.flipReplicas(true)
	// All managedFields entries are of v1beta1, so the evaluation is the first to convert.
	create(t, s.beta.client, cronTab(t, s.beta.crd, "a", `{image: a, count: 3}`), metav1.CreateOptions{})
	s.flipReplicas(false)
	for _, request := range convertedRequests {
		evaluations := 0
		for allowed := 0; ; allowed++ {
			got := request.sendWhileFailing(s, failAfter(allowed))
			if got.err == nil {
				break
			}
			if strings.Contains(got.err.Error(), "to evaluate feature gates") {
				evaluations++
			}
			if !strings.Contains(got.err.Error(), "conversion webhook") || got.written || got.warnings != nil {
				t.Errorf("%s, %d conversions: want an error about the webhook, nothing written and no warnings: %+v",
					request.name, allowed, got)
			}
			if allowed == 20 {
				t.Fatalf("%s never succeeds", request.name)
			}
		}
		if evaluations == 0 {
			t.Errorf("%s: the evaluation never failed", request.name)
		}
		request.wantDone(s)
		if request.creates {
			if err := s.client.Delete(t.Context(), "new", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		} else {
			s.beta.write(put, "a", `{image: a, count: 3}`)
		}
	}
}

// failAfter returns a failure that allows a number of conversions to v1.
func failAfter(allowed int) func(to string) error {
	return func(to string) error {
		if to != "v1" {
			return nil
		}
		if allowed--; allowed < 0 {
			return errUnavailable
		}
		return nil
	}
}

// badTypes are specs with values of the wrong type.
var badTypes = []any{
	map[string]any{"image": int64(5), "count": int64(1)},
	map[string]any{"image": int64(5)},
	map[string]any{"image": "i", "count": "three"},
	int64(5),
	"text",
	[]any{"text"},
}

// TestG1ConvWebhookInvalidObjectsAreInvalid (rules G1, G10, R1) has webhooks that can and cannot convert values of the
// wrong type. Upstream does not convert before schema validation, which refuses such an object with 422; gates do not
// change that.
func TestG1ConvWebhookInvalidObjectsAreInvalid(t *testing.T) {
	t.Parallel()
	for _, gates := range []string{"", replicasGate} {
		for webhook, convert := range map[string]converter{"lenient": renameCount, "strict": renameCountStrictly} {
			t.Run(fmt.Sprintf("with gates: %v, %s webhook", gates != "", webhook), func(t *testing.T) {
				t.Parallel()
				s := newConverted(t, gates, convert)
				create(t, s.beta.client, cronTab(t, s.beta.crd, "a", `{image: i}`), metav1.CreateOptions{})
				for _, spec := range badTypes {
					s.wantInvalidSpec(spec, gates != "")
				}
			})
		}
	}
}

// wantInvalidSpec creates and updates an object in v1beta1 with an invalid spec. Both must be refused without a
// warning.
func (c converted) wantInvalidSpec(spec any, gated bool) {
	c.Helper()
	// A disabled field is dropped before validation if the webhook can convert it, so its type does not matter.
	fields, _ := spec.(map[string]any)
	mayBeDropped := gated && fields["count"] == "three"

	u := cronTab(c.T, c.beta.crd, "b", "{}")
	u.Object["spec"] = spec
	for verb, send := range map[string]func() error{
		"create": func() error {
			_, err := c.beta.client.Create(c.Context(), u.DeepCopy(), metav1.CreateOptions{})
			return err
		},
		"update": func() error { return c.updateWith(u.DeepCopy()) },
	} {
		c.beta.takeWarnings()
		err := send()
		warnings := c.beta.takeWarnings()
		switch {
		case err == nil && mayBeDropped:
		case !apierrors.IsInvalid(err):
			c.Errorf("%s with spec %v is not refused as invalid: %v", verb, spec, err)
		case warnings != nil:
			c.Errorf("G10: %s with spec %v is refused with warnings: %q", verb, spec, warnings)
		}
	}
	if err := c.beta.client.Delete(c.Context(), "b", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		c.Fatal(err)
	}
}

// updateWith sends the object as an update of "a" in v1beta1.
func (c converted) updateWith(u *unstructured.Unstructured) error {
	c.Helper()
	u.SetName("a")
	u.SetResourceVersion(c.beta.get("a").GetResourceVersion())
	_, err := c.beta.client.Update(c.Context(), u, metav1.UpdateOptions{})
	return err
}
