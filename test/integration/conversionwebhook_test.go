// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// conversionWebhook is a conversion webhook that runs in the test process. Tests can make it fail while it runs.
type conversionWebhook struct {
	server *httptest.Server

	mu      sync.Mutex
	convert converter
	failure func(to string) error
	calls   conversions
	last    time.Time
}

// conversions counts the requests to a webhook, and the objects in them.
type conversions struct {
	Requests, Objects int
}

// converter converts an object to another version, except for apiVersion.
type converter func(object map[string]any, to string) error

// errUnavailable makes the webhook answer with an HTTP error. Other errors are returned in a ConversionResponse.
var errUnavailable = errors.New("the webhook is down")

func newConversionWebhook(t *testing.T, convert converter) *conversionWebhook {
	t.Helper()
	w := &conversionWebhook{convert: convert}
	w.server = httptest.NewUnstartedServer(w)
	w.server.Config.ErrorLog = log.New(io.Discard, "", 0) // the API server still calls the webhook after the test
	w.server.StartTLS()
	t.Cleanup(w.server.Close)
	return w
}

// conversion returns the spec.conversion of a CRD that uses the webhook.
func (w *conversionWebhook) conversion() *apiextensionsv1.CustomResourceConversion {
	return &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{
				URL:      &w.server.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.server.Certificate().Raw}),
			},
			ConversionReviewVersions: []string{"v1"},
		},
	}
}

// fail makes conversions fail with the error that the function returns for the version to convert to. Nil makes them
// succeed again.
func (w *conversionWebhook) fail(failure func(to string) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failure = failure
}

// take returns the conversions since the last call. It waits until there are no more: watch caches convert
// asynchronously, and the more tests run in parallel the longer it takes.
func (w *conversionWebhook) take(t *testing.T) conversions {
	t.Helper()
	return w.takeAfter(time.Second)
}

// settle waits a little for watch caches, for tests that do not count conversions.
func (w *conversionWebhook) settle(t *testing.T) {
	t.Helper()
	w.takeAfter(300 * time.Millisecond)
}

func (w *conversionWebhook) takeAfter(quiet time.Duration) conversions {
	start := time.Now()
	for {
		w.mu.Lock()
		wait := quiet - min(time.Since(w.last), time.Since(start))
		if wait <= 0 {
			calls := w.calls
			w.calls = conversions{}
			w.mu.Unlock()
			return calls
		}
		w.mu.Unlock()
		time.Sleep(wait)
	}
}

// ServeHTTP implements http.Handler.
func (w *conversionWebhook) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	var review apiextensionsv1.ConversionReview
	if err := json.NewDecoder(in.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(out, fmt.Sprintf("not a conversion review: %v", err), http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Now()
	w.calls.Requests++
	w.calls.Objects += len(review.Request.Objects)

	converted, err := w.convertAll(review.Request)
	if errors.Is(err, errUnavailable) {
		http.Error(out, err.Error(), http.StatusServiceUnavailable)
		return
	}
	result := metav1.Status{Status: metav1.StatusSuccess}
	if err != nil {
		result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
	}
	review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, ConvertedObjects: converted, Result: result}
	review.Request = nil
	out.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(out).Encode(review); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// convertAll converts the objects of a request, or fails as the test demands.
func (w *conversionWebhook) convertAll(request *apiextensionsv1.ConversionRequest) ([]runtime.RawExtension, error) {
	to := request.DesiredAPIVersion[strings.LastIndex(request.DesiredAPIVersion, "/")+1:]
	if w.failure != nil {
		if err := w.failure(to); err != nil {
			return nil, err
		}
	}
	converted := make([]runtime.RawExtension, len(request.Objects))
	for i, object := range request.Objects {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(object.Raw); err != nil {
			return nil, err
		}
		if err := w.convert(u.Object, to); err != nil {
			return nil, err
		}
		u.SetAPIVersion(request.DesiredAPIVersion)
		converted[i].Object = u
	}
	return converted, nil
}

// renameCount converts between v1 with .spec.replicas and v1beta1 with .spec.count. It accepts values of any type.
func renameCount(object map[string]any, to string) error {
	spec, ok := object["spec"].(map[string]any)
	if !ok {
		return nil
	}
	from, into := "count", "replicas"
	if to == "v1beta1" {
		from, into = into, from
	}
	if value, ok := spec[from]; ok {
		delete(spec, from)
		spec[into] = value
	}
	return nil
}

// renameCountStrictly is renameCount for a webhook that decodes objects into Go types, as most do. It fails if a field
// has the wrong type.
func renameCountStrictly(object map[string]any, to string) error {
	raw, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var typed struct {
		Spec struct {
			Image           string
			Count, Replicas int
		}
	}
	if err := json.Unmarshal(raw, &typed); err != nil {
		return err
	}
	return renameCount(object, to)
}

const replicasAnnotation = "example.com/replicas"

// stashReplicas converts between v1 and a v1beta1 that does not have the field. In v1beta1 its value is in an
// annotation, so that a conversion there and back loses nothing.
func stashReplicas(object map[string]any, to string) error {
	if to == "v1beta1" {
		return replicasToAnnotation(object)
	}
	return replicasFromAnnotation(object)
}

func replicasToAnnotation(object map[string]any) error {
	replicas, found, err := unstructured.NestedInt64(object, "spec", "replicas")
	if !found || err != nil {
		return err
	}
	unstructured.RemoveNestedField(object, "spec", "replicas")
	u := unstructured.Unstructured{Object: object}
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[replicasAnnotation] = strconv.FormatInt(replicas, 10)
	u.SetAnnotations(annotations)
	return nil
}

func replicasFromAnnotation(object map[string]any) error {
	u := unstructured.Unstructured{Object: object}
	annotations := u.GetAnnotations()
	text, found := annotations[replicasAnnotation]
	if !found {
		return nil
	}
	replicas, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return err
	}
	delete(annotations, replicasAnnotation)
	u.SetAnnotations(annotations)
	return unstructured.SetNestedField(object, replicas, "spec", "replicas")
}
