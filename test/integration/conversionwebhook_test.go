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

// conversionWebhook is a conversion webhook that runs in the test. How it converts and whether it fails can be changed
// while it runs.
type conversionWebhook struct {
	server *httptest.Server

	mu      sync.Mutex
	convert converter
	failure func(to string) error
	calls   conversions
	last    time.Time
}

// conversions counts what a webhook was asked for.
type conversions struct {
	Requests, Objects int
}

// converter changes an object to another version; apiVersion is not its business.
type converter func(object map[string]any, to string) error

// errUnavailable makes the webhook answer with an HTTP error; what else fails is said in the response.
var errUnavailable = errors.New("the webhook is down")

func newConversionWebhook(t *testing.T, convert converter) *conversionWebhook {
	t.Helper()
	w := &conversionWebhook{convert: convert}
	w.server = httptest.NewUnstartedServer(w)
	w.server.Config.ErrorLog = log.New(io.Discard, "", 0) // the API server goes on asking after the test
	w.server.StartTLS()
	t.Cleanup(w.server.Close)
	return w
}

// conversion is how a CRD asks for this webhook.
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

// fail makes conversions fail as the function says, which gets the version to convert to; nil heals the webhook.
func (w *conversionWebhook) fail(failure func(to string) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failure = failure
}

// take returns the conversions since the last call. It waits until there are no more: watch caches convert in their
// own time, which is longer where other tests run.
func (w *conversionWebhook) take(t *testing.T) conversions {
	t.Helper()
	return w.takeAfter(time.Second)
}

// settle waits a little for watch caches, where nothing is counted.
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

	converted, err := w.answer(review.Request)
	if errors.Is(err, errUnavailable) {
		http.Error(out, err.Error(), http.StatusServiceUnavailable)
		return
	}
	review.Response = &apiextensionsv1.ConversionResponse{
		UID:              review.Request.UID,
		ConvertedObjects: converted,
		Result:           metav1.Status{Status: metav1.StatusSuccess},
	}
	if err != nil {
		review.Response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
	}
	review.Request = nil
	out.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(out).Encode(review); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func (w *conversionWebhook) answer(request *apiextensionsv1.ConversionRequest) ([]runtime.RawExtension, error) {
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

// renameCount is the converter between v1 with .spec.replicas and v1beta1 with .spec.count. It is lenient: what is
// not of the right type stays as it is.
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

// renameCountStrictly is renameCount of a webhook that decodes objects into Go types, as most do: what is not of the
// right type is an error.
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

// stashReplicas is the converter of a v1beta1 without the field: there the value lives in an annotation, so that the
// way from v1 and back loses nothing.
func stashReplicas(object map[string]any, to string) error {
	u := unstructured.Unstructured{Object: object}
	annotations := u.GetAnnotations()
	if to == "v1beta1" {
		replicas, found, err := unstructured.NestedInt64(object, "spec", "replicas")
		if !found || err != nil {
			return err
		}
		unstructured.RemoveNestedField(object, "spec", "replicas")
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[replicasAnnotation] = strconv.FormatInt(replicas, 10)
		u.SetAnnotations(annotations)
		return nil
	}
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
