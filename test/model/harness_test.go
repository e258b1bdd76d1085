// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.etcd.io/etcd/server/v3/embed"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/fake"
	informers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	"k8s.io/apiextensions-apiserver/pkg/controller/establish"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fairlead-dev/fairlead/pkg/features"
)

// etcdClient is a client of the etcd that all handlers share.
var etcdClient *kubernetes.Client

func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	utilruntime.ErrorHandlers = nil // the tests look at the answers; the log of refused requests is noise
	code, err := runWithEtcd(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// runWithEtcd runs the tests with an etcd in this process and with both features enabled.
func runWithEtcd(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "model-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	etcd, err := embed.StartEtcd(etcdConfig(dir))
	if err != nil {
		return 0, err
	}
	defer etcd.Close()
	<-etcd.Server.ReadyNotify()
	if etcdClient, err = kubernetes.New(clientv3.Config{Endpoints: []string{etcd.Config().ListenClientUrls[0].String()}}); err != nil {
		return 0, err
	}
	defer func() { _ = etcdClient.Close() }()
	err = utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{
		string(features.APIUnions): true, string(features.CRDFieldLevelVersioning): true,
	})
	if err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// etcdConfig makes etcd listen on a unix socket, and not wait for the disk, which makes it many times faster.
func etcdConfig(dir string) *embed.Config {
	config := embed.NewConfig()
	config.Dir = dir + "/data"
	config.UnsafeNoFsync = true
	config.LogLevel = "fatal" // on shutdown etcd logs errors about its own listeners
	config.ListenClientUrls = []url.URL{{Scheme: "unix", Path: dir + "/etcd.sock"}}
	config.AdvertiseClientUrls = config.ListenClientUrls
	config.ListenPeerUrls = nil
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	return config
}

// server serves the custom resources of one CRD with the handler of kube-apiserver, without authentication and
// admission.
type server struct {
	handler http.Handler
	crds    cache.Store
}

func newServer(tb testing.TB) *server {
	tb.Helper()
	informer := informers.NewSharedInformerFactory(fake.NewSimpleClientset(), 0).Apiextensions().V1().CustomResourceDefinitions()
	noConfig := func(r webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver { return r }
	crdHandler, err := apiserver.NewCustomResourceDefinitionHandler(
		nil, nil, informer, http.NotFoundHandler(), restOptions{}, noAdmission{}, &establish.EstablishingController{},
		nil, noConfig, 1, allowAll{}, time.Minute, time.Minute, map[string]*spec.Schema{}, 3<<20)
	if err != nil {
		tb.Fatal(err)
	}
	return &server{handler: withFilters(crdHandler), crds: informer.Informer().GetStore()}
}

// serve replaces the served CRD. The handler caches what it builds for a CRD by UID, so a CRD with other gates must
// have another UID. Then it takes effect with the next request.
func (s *server) serve(crd *apiextensionsv1.CustomResourceDefinition) {
	if err := s.crds.Add(crd); err != nil {
		panic(err) // the store fails only for objects without a name
	}
}

// withFilters adds the filters of the generic API server that the handler relies on.
func withFilters(handler http.Handler) http.Handler {
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("apis", "api"), GrouplessAPIPrefixes: sets.NewString("api")}
	handler = filters.WithRequestInfo(handler, resolver)
	handler = filters.WithWarningRecorder(handler)
	handler = filters.WithAuditInit(handler)
	return filters.WithRequestReceivedTimestamp(handler)
}

type noAdmission struct{}

func (noAdmission) Handles(admission.Operation) bool { return false }

type allowAll struct{}

func (allowAll) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}

// restOptions makes the handler store every custom resource in etcd, without a watch cache.
type restOptions struct{}

// GetRESTOptions returns a new configuration to each caller, since the handler sets its codec in it.
func (restOptions) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	config := storagebackend.NewDefaultConfig("/model", unstructured.UnstructuredJSONScheme)
	config.Transport.ServerList = etcdClient.Endpoints()
	return generic.RESTOptions{
		StorageConfig: config.ForResource(resource), Decorator: generic.UndecoratedStorage, ResourcePrefix: "objects",
	}, nil
}

// call is one HTTP request.
type call struct {
	method, path, contentType string
	body                      any // a string is sent unchanged, anything else as JSON
}

// answer is the response to a call.
type answer struct {
	code     int
	object   map[string]any
	warnings []string
}

func (a answer) ok() bool { return a.code < http.StatusBadRequest }

// message returns the code and, if the answer is a Status, its message.
func (a answer) message() string {
	text, _ := a.object["message"].(string)
	return fmt.Sprintf("%d %s", a.code, text)
}

func (s *server) send(c call) answer {
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, c.request())
	out := answer{code: recorder.Code}
	if err := utiljson.Unmarshal(recorder.Body.Bytes(), &out.object); err != nil {
		panic(fmt.Sprintf("%s %s: %v in %q", c.method, c.path, err, recorder.Body))
	}
	for _, header := range recorder.Header().Values("Warning") {
		out.warnings = append(out.warnings, warningText(header))
	}
	return out
}

func (c call) request() *http.Request {
	body, ok := c.body.(string)
	if !ok && c.body != nil {
		text, err := json.Marshal(c.body)
		if err != nil {
			panic(err) // bodies are plain JSON values
		}
		body = string(text)
	}
	req := httptest.NewRequest(c.method, c.path, bytes.NewBufferString(body))
	req.Header.Set("Accept", "application/json")
	if c.contentType != "" {
		req.Header.Set("Content-Type", c.contentType)
	}
	return req.WithContext(request.WithUser(req.Context(), &user.DefaultInfo{Name: "model"}))
}

// warningText returns the text of a Warning header, which is `299 - "text"`.
func warningText(header string) string {
	text := strings.TrimSuffix(strings.TrimPrefix(header, `299 - "`), `"`)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(text)
}
