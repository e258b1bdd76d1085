// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// upgrade is a cluster behind a balancer, whose servers are replaced one after the other while clients use it.
type upgrade struct {
	*testing.T
	*cluster
	crd    *apiextensionsv1.CustomResourceDefinition
	config *rest.Config // of the balancer

	mu       sync.Mutex
	phase    string
	requests map[string]int // by phase
	failures map[string]int // by phase, operation and class
	watched  int
}

// TestF2RollingUpgrade (rules F2, F5) replaces two stock servers by ours with the gates disabled, and ours by stock
// servers, while clients of every kind send requests through a load balancer. No request may fail. That replacing stock
// servers by stock servers, in the same way, fails none either shows that the way is right.
func TestF2RollingUpgrade(t *testing.T) {
	t.Parallel()
	flags := map[string]string{
		"shutdown-delay-duration":                 "1s", // the time that a balancer has to notice
		"shutdown-watch-termination-grace-period": "5s", // otherwise a server waits a minute for its watches
	}
	stock, ours := options{program: stockBinary(t), args: flags}, options{args: flags}
	u := &upgrade{T: t, cluster: startCluster(t, 1, stock, stock), requests: map[string]int{}, failures: map[string]int{}}
	u.crd = newCRDWithSchema(t, parse[*apiextensionsv1.JSONSchemaProps](t, cronTabSchema))
	u.crd.Spec.Versions[0].Subresources = statusSubresource()
	addStatus(t, &u.crd.Spec.Versions[0], `{type: object, properties: {replicas: {type: integer}}}`)
	u.servers[0].install(t, u.crd)
	u.awaitEverywhere(t, "the custom resources are served", u.crd, `{replicas: 7}`, "replicas: 7")
	u.config = rest.CopyConfig(u.servers[0].config)
	u.config.Host = startBalancer(t, u.servers).url()

	stop := u.startClients()
	u.replaceAll("stock to stock", stock, func() {})
	u.replaceAll("stock to ours", ours, func() { u.wantSameServers("stock and ours") })
	u.replaceAll("ours to stock", stock, func() { u.wantSameServers("ours and stock") })
	stop()
	for failure, n := range u.failures {
		t.Errorf("F2: %d requests failed: %s", n, failure)
	}
	t.Logf("requests: %v, events of the watch: %d", u.requests, u.watched)
	if u.watched == 0 {
		t.Error("the watch saw no event")
	}
}

// replaceAll replaces one server after the other, as a rolling upgrade does: it stops a server, which drains its
// connections, and starts its successor. halfway is called when the first one is replaced.
func (u *upgrade) replaceAll(phase string, by options, halfway func()) {
	u.Helper()
	u.note(func() { u.phase = phase })
	for i, s := range u.servers {
		began := time.Now()
		s.restart(u.T, by)
		u.Logf("%s: server %d is replaced after %v", phase, i, time.Since(began).Round(time.Millisecond))
		time.Sleep(2 * healthCheckInterval) // the balancer notices
		if i == 0 {
			halfway()
		}
	}
	u.note(func() {
		if u.requests[phase] < 100 {
			u.Errorf("%s: only %d requests", phase, u.requests[phase])
		}
	})
}

func (u *upgrade) note(change func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	change()
}

// count counts a request, and its failure.
func (u *upgrade) count(operation string, err error) {
	u.note(func() {
		u.requests[u.phase]++
		if err != nil {
			u.failures[fmt.Sprintf("%s: %s: %s %v", u.phase, operation, apierrors.ReasonForError(err), err)]++
		}
	})
}

// upgradeClient is a client with a connection of its own.
type upgradeClient struct {
	*upgrade
	dynamic dynamic.Interface
	crds    apiextensionsclient.Interface
	name    string
	// number is that of the last write.
	number int64
}

// newClient returns a client of the balancer. client-go shares connections between clients of equal configurations, but
// not if these dial by themselves.
func (u *upgrade) newClient(name string) *upgradeClient {
	config := rest.CopyConfig(u.config)
	config.Dial = (&net.Dialer{}).DialContext
	return &upgradeClient{
		upgrade: u, name: name, dynamic: dynamic.NewForConfigOrDie(config), crds: apiextensionsclient.NewForConfigOrDie(config),
	}
}

func (c *upgradeClient) customResources() dynamic.ResourceInterface {
	gvr := schema.GroupVersionResource{Group: c.crd.Spec.Group, Version: "v1", Resource: c.crd.Spec.Names.Plural}
	return c.dynamic.Resource(gvr).Namespace("default")
}

// upgradeOperations are what the clients do, in a loop each.
var upgradeOperations = map[string]func(c *upgradeClient, ctx context.Context) error{
	"PUT": func(c *upgradeClient, ctx context.Context) error {
		return c.change(ctx, func(u *unstructured.Unstructured) error {
			u.Object["spec"] = map[string]any{"replicas": c.number}
			_, err := c.customResources().Update(ctx, u, metav1.UpdateOptions{})
			return err
		})
	},
	"status": func(c *upgradeClient, ctx context.Context) error {
		return c.change(ctx, func(u *unstructured.Unstructured) error {
			u.Object["status"] = map[string]any{"replicas": c.number}
			_, err := c.customResources().UpdateStatus(ctx, u, metav1.UpdateOptions{})
			return err
		})
	},
	"merge patch": func(c *upgradeClient, ctx context.Context) error {
		return c.patch(ctx, types.MergePatchType, map[string]any{"spec": map[string]any{"replicas": c.number}})
	},
	"JSON patch": func(c *upgradeClient, ctx context.Context) error {
		return c.patch(ctx, types.JSONPatchType, []any{map[string]any{"op": "replace", "path": "/spec/replicas", "value": c.number}})
	},
	"apply": func(c *upgradeClient, ctx context.Context) error {
		configuration := cronTab(c.T, c.crd, c.name, fmt.Sprintf("{replicas: %d}", c.number))
		_, err := c.customResources().Apply(ctx, c.name, configuration, metav1.ApplyOptions{FieldManager: "applier", Force: true})
		return err
	},
	"create and delete": func(c *upgradeClient, ctx context.Context) error {
		name := fmt.Sprintf("short-lived-%d", c.number)
		_, err := c.customResources().Create(ctx, cronTab(c.T, c.crd, name, "{}"), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		return c.customResources().Delete(ctx, name, metav1.DeleteOptions{})
	},
	"list": func(c *upgradeClient, ctx context.Context) error {
		_, err := c.customResources().List(ctx, metav1.ListOptions{})
		return err
	},
	"patch of the CRD": func(c *upgradeClient, ctx context.Context) error {
		label := fmt.Sprintf(`{"metadata": {"labels": {"number": "%d"}}}`, c.number)
		crds := c.crds.ApiextensionsV1().CustomResourceDefinitions()
		_, err := crds.Patch(ctx, c.crd.Name, types.MergePatchType, []byte(label), metav1.PatchOptions{})
		return err
	},
	"config map": func(c *upgradeClient, ctx context.Context) error {
		configuration := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "upgrade"},
			"data": map[string]any{"number": strconv.FormatInt(c.number, 10)},
		}}
		configMaps := c.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
		_, err := configMaps.Apply(ctx, "upgrade", configuration, metav1.ApplyOptions{FieldManager: "applier"})
		return err
	},
	"discovery": func(c *upgradeClient, ctx context.Context) error {
		client := c.crds.Discovery().RESTClient()
		for _, path := range []string{"/apis", "/apis/" + c.crd.Spec.Group + "/v1", "/openapi/v3/apis/" + c.crd.Spec.Group + "/v1"} {
			if _, err := client.Get().AbsPath(path).DoRaw(ctx); err != nil {
				return err
			}
		}
		return nil
	},
}

// change reads the object of the client and writes it.
func (c *upgradeClient) change(ctx context.Context, write func(*unstructured.Unstructured) error) error {
	u, err := c.customResources().Get(ctx, c.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return write(u)
}

func (c *upgradeClient) patch(ctx context.Context, kind types.PatchType, patch any) error {
	data, err := json.Marshal(patch)
	if err == nil {
		_, err = c.customResources().Patch(ctx, c.name, kind, data, metav1.PatchOptions{})
	}
	return err
}

// startClients starts all clients. stop stops them, and checks that the last acknowledged write of each is persisted.
func (u *upgrade) startClients() (stop func()) {
	u.Helper()
	ctx, cancel := context.WithCancel(u.Context())
	var group sync.WaitGroup
	var clients []*upgradeClient
	for operation, do := range upgradeOperations {
		c := u.newClient(strings.ToLower(strings.ReplaceAll(operation, " ", "-")))
		if _, err := c.customResources().Create(ctx, cronTab(u.T, u.crd, c.name, `{replicas: 0}`), metav1.CreateOptions{}); err != nil {
			u.Fatal(err)
		}
		clients = append(clients, c)
		group.Go(func() { c.run(ctx, operation, do) })
	}
	watcher := u.newClient("watch")
	group.Go(func() { watcher.watch(ctx) })
	finish := func() { cancel(); group.Wait() }
	u.Cleanup(finish)
	return func() {
		finish()
		for _, c := range clients {
			c.wantLastWrite()
		}
	}
}

func (c *upgradeClient) run(ctx context.Context, operation string, do func(*upgradeClient, context.Context) error) {
	for ctx.Err() == nil && c.number < maxLoad {
		c.number++
		c.count(operation, do(c, context.WithoutCancel(ctx)))
		select {
		case <-ctx.Done():
		case <-time.After(2 * loadPause):
		}
	}
}

// wantLastWrite checks that the last write is persisted, by clients that write a number into their object.
func (c *upgradeClient) wantLastWrite() {
	c.Helper()
	u, err := c.customResources().Get(c.Context(), c.name, metav1.GetOptions{})
	if err != nil {
		c.Error(err)
		return
	}
	field, want := "spec", c.number
	switch c.name {
	case "status":
		field = "status"
	case "put", "merge-patch", "json-patch", "apply":
	default:
		want = 0
	}
	if got, _, _ := unstructured.NestedInt64(u.Object, field, "replicas"); got != want {
		c.Errorf("%s: the persisted number is %d, the last write had %d", c.name, got, want)
	}
}

// watch watches as an informer does. Any error counts as a failed request, except that the resource version is too old:
// a server that was started a moment ago answers so.
func (c *upgradeClient) watch(ctx context.Context) {
	from := ""
	for ctx.Err() == nil {
		var err error
		if from == "" {
			var list *unstructured.UnstructuredList
			if list, err = c.customResources().List(ctx, metav1.ListOptions{}); err == nil {
				from = list.GetResourceVersion()
			}
		}
		if err == nil {
			from, err = watchFrom(ctx, c.customResources(), from, func(*unstructured.Unstructured) { c.note(func() { c.watched++ }) })
		}
		if ctx.Err() == nil {
			c.count("watch", err)
		}
		time.Sleep(loadPause)
	}
}

// wantSameServers checks that a stock server and ours, side by side, publish the same, read what the other wrote, and
// agree on who owns what was applied through both.
func (u *upgrade) wantSameServers(when string) {
	u.Helper()
	u.wantSamePublished(when)
	u.wantSameCRDs(when)
	u.wantSameApplies(when)
}

// wantSamePublished compares discovery and OpenAPI of the custom resources.
func (u *upgrade) wantSamePublished(when string) {
	u.Helper()
	group := u.crd.Spec.Group
	for _, path := range []string{"/apis", "/apis/" + group, "/apis/" + group + "/v1", "/openapi/v3/apis/" + group + "/v1"} {
		// A server publishes a little later that it is ready.
		eventually(u.T, fmt.Sprintf("F2: %s: both publish the same at %s", when, path), func(ctx context.Context) (bool, error) {
			first, err1 := u.servers[0].getRaw(ctx, path)
			second, err2 := u.servers[1].getRaw(ctx, path)
			return string(first) == string(second), errors.Join(err1, err2)
		})
	}
}

// wantSameCRDs creates the same CRD through each server, and compares what etcd has and what both servers read.
func (u *upgrade) wantSameCRDs(when string) {
	u.Helper()
	var stored []string
	for i, s := range u.servers {
		crd := newCRDWithSchema(u.T, parse[*apiextensionsv1.JSONSchemaProps](u.T, cronTabSchema))
		crd.Spec.Versions[0].Subresources = statusSubresource()
		u.Cleanup(func() { u.servers[0].uninstall(u.T, crd.Name) })
		if _, err := s.crdClient().Create(u.Context(), crd, metav1.CreateOptions{FieldManager: "creator"}); err != nil {
			u.Fatal(err)
		}
		s.waitEstablished(u.T, crd.Name)
		if diff := cmp.Diff(u.servers[0].readCRD(u.T, crd.Name), u.servers[1].readCRD(u.T, crd.Name)); diff != "" {
			u.Errorf("F2: %s: the CRD written by server %d (-server 0 +server 1):\n%s", when, i, diff)
		}
		raw := s.inEtcd(u.T, "/registry/apiextensions.k8s.io/customresourcedefinitions/"+crd.Name)
		stored = append(stored, strings.ReplaceAll(canonical(u.T, raw), crd.Spec.Group, "GROUP"))
	}
	if diff := cmp.Diff(stored[0], stored[1]); diff != "" {
		u.Errorf("F2: %s: the stored CRDs (-server 0 +server 1):\n%s", when, diff)
	}
}

func (s *server) readCRD(t *testing.T, name string) string {
	t.Helper()
	raw, err := s.getRaw(t.Context(), "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+name)
	if err != nil {
		t.Fatal(err)
	}
	return canonical(t, raw)
}

// canonical returns an object as JSON without what differs by the time and the name of the object.
func canonical(t *testing.T, raw []byte) string {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"name", "uid", "creationTimestamp", "resourceVersion"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	dropTimes(u.Object)
	text, err := json.MarshalIndent(u.Object, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// dropTimes removes the times of managedFields and conditions.
func dropTimes(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, field := range []string{"time", "lastTransitionTime"} {
			if _, isText := value[field].(string); isText {
				delete(value, field)
			}
		}
		for _, child := range value {
			dropTimes(child)
		}
	case []any:
		for _, child := range value {
			dropTimes(child)
		}
	}
}

// wantSameApplies applies two configurations through every pair of servers. The objects and their owners must be the
// same in etcd.
func (u *upgrade) wantSameApplies(when string) {
	u.Helper()
	var first string
	for i := range 4 {
		name := fmt.Sprintf("%s-%d", strings.ReplaceAll(when, " ", "-"), i)
		u.applyThrough(name, i/2, i%2)
		raw := u.servers[0].inEtcd(u.T, "/registry/"+u.crd.Spec.Group+"/"+u.crd.Spec.Names.Plural+"/default/"+name)
		stored := canonical(u.T, raw)
		if i == 0 {
			first = stored
		}
		if stored != first {
			u.Errorf("F2: %s: the object applied through servers %d and %d (-through server 0 alone +got):\n%s",
				when, i/2, i%2, cmp.Diff(first, stored))
		}
	}
}

// applyThrough applies a configuration through one server and another one through the next. The latter, applied again
// through each server, must change nothing.
func (u *upgrade) applyThrough(name string, first, second int) {
	u.Helper()
	const (
		before = `{image: a, replicas: 1, foo: {baz: 1}, containers: [{name: web, size: 1}, {name: log, port: 2}]}`
		after  = `{image: b, foo: {qux: 2}, containers: [{name: log, size: 3}]}`
	)
	apply := func(server int, spec string) string {
		client := u.servers[server].customResources(u.crd)
		applied, err := client.Apply(u.Context(), name, cronTab(u.T, u.crd, name, spec), metav1.ApplyOptions{FieldManager: "m"})
		if err != nil {
			u.Fatal(err)
		}
		return applied.GetResourceVersion()
	}
	apply(first, before)
	version := apply(second, after)
	for server := range u.servers {
		if again := apply(server, after); again != version {
			u.Errorf("F2: %s: the configuration that server %d applied is written again by server %d", name, second, server)
		}
	}
}
