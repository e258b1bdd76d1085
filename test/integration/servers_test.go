// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/localserver"
)

// cluster is several API servers over an etcd cluster. The servers have the same credentials.
type cluster struct {
	dir     string
	etcd    []*localserver.Etcd
	servers []*server
}

// startCluster starts a cluster with a number of etcd members, and a server for each of the options.
func startCluster(t *testing.T, members int, servers ...options) *cluster {
	t.Helper()
	c := &cluster{dir: t.TempDir()}
	t.Cleanup(func() {
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	})
	err := c.start(t.Context(), members, servers)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// start starts the servers at the same time.
func (c *cluster) start(ctx context.Context, members int, servers []options) (err error) {
	if c.etcd, err = localserver.StartEtcdCluster(ctx, asset("etcd"), c.dir, members); err != nil {
		return err
	}
	for i, opts := range servers {
		s := &server{
			dir: filepath.Join(c.dir, "server-"+strconv.Itoa(i)), credentials: c.dir, etcdURL: strings.Join(c.endpoints(), ","),
		}
		c.servers = append(c.servers, s)
		if err := s.launch(opts); err != nil {
			return err
		}
	}
	for _, s := range c.servers {
		if err := s.connect(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stop stops the servers at the same time, and then etcd.
func (c *cluster) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	errs := make([]error, len(c.servers))
	var group sync.WaitGroup
	for i, s := range c.servers {
		group.Go(func() { errs[i] = s.stop() })
	}
	group.Wait()
	err := errors.Join(errs...)
	for _, e := range c.etcd {
		err = errors.Join(err, e.Stop(ctx))
	}
	return err
}

func (c *cluster) endpoints() []string {
	var urls []string
	for _, e := range c.etcd {
		urls = append(urls, e.URL)
	}
	return urls
}

// etcdClient returns a client of the whole etcd cluster.
func (c *cluster) etcdClient(t *testing.T) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: c.endpoints()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// leader returns the etcd member that leads the cluster, and another one.
func (c *cluster) leader(t *testing.T) (leader, follower *localserver.Etcd) {
	t.Helper()
	client := c.etcdClient(t)
	for _, e := range c.etcd {
		status, err := client.Status(t.Context(), e.URL)
		if err != nil {
			t.Fatal(err)
		}
		if status.Header.MemberId == status.Leader {
			leader = e
		} else {
			follower = e
		}
	}
	if leader == nil {
		t.Fatal("etcd has no leader")
	}
	return leader, follower
}

// setGate sets a gate of a CRD as an administrator does who owns that field (rule C2). Other servers see it later.
func (s *server) setGate(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, gate string, on bool) error {
	configuration, err := json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": crd.Name},
		"spec": map[string]any{"customFeatureGates": map[string]any{
			"featureGates": []any{map[string]any{"name": gate, "enabled": on}},
		}},
	})
	if err != nil {
		return err
	}
	force := true
	_, err = s.crdClient().Patch(ctx, crd.Name, types.ApplyPatchType, configuration,
		metav1.PatchOptions{FieldManager: "administrator", Force: &force})
	return err
}

// awaitEverywhere waits until each server answers a dry-run create of .spec as wanted, in YAML.
func (c *cluster) awaitEverywhere(t *testing.T, what string, crd *apiextensionsv1.CustomResourceDefinition, spec, want string) {
	t.Helper()
	for i, s := range c.servers {
		s.awaitDryRun(t, what+" on server "+strconv.Itoa(i), crd, spec, want)
	}
}

// awaitDryRun waits until the server answers a dry-run create of .spec as wanted, in YAML.
func (s *server) awaitDryRun(t *testing.T, what string, crd *apiextensionsv1.CustomResourceDefinition, spec, want string) {
	t.Helper()
	client := s.customResources(crd)
	eventually(t, what, func(ctx context.Context) (bool, error) {
		u, err := client.Create(ctx, cronTab(t, crd, "probe", spec), metav1.CreateOptions{DryRun: dryRun})
		// A server that does not serve the CRD yet answers with an error.
		return err == nil && specOf(t, u) == want, nil
	})
}

// history is all persisted states of the custom resources of a CRD, by name, in their order.
type history map[string][]*unstructured.Unstructured

// historyOf reads the history from etcd, from a revision on. It has states that no watch of an API server delivers,
// because a watch ends when the CRD changes.
func (c *cluster) historyOf(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, from int64) history {
	t.Helper()
	client := c.etcdClient(t)
	prefix := "/registry/" + crd.Spec.Group + "/" + crd.Spec.Names.Plural + "/"
	last, err := client.Get(t.Context(), prefix, clientv3.WithPrefix(), clientv3.WithLimit(1),
		clientv3.WithSort(clientv3.SortByModRevision, clientv3.SortDescend))
	if err != nil {
		t.Fatal(err)
	}
	states := history{}
	ctx, cancel := context.WithTimeout(t.Context(), stopTimeout)
	defer cancel()
	for response := range client.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(from)) {
		if err := response.Err(); err != nil {
			t.Fatal(err)
		}
		for _, event := range response.Events {
			states.add(t, event)
			if event.Kv.ModRevision == last.Kvs[0].ModRevision {
				return states
			}
		}
	}
	t.Fatal("the history ends before the last state")
	return nil
}

func (h history) add(t *testing.T, event *clientv3.Event) {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(event.Kv.Value); err != nil {
		t.Fatalf("revision %d: %v", event.Kv.ModRevision, err)
	}
	u.SetResourceVersion(strconv.FormatInt(event.Kv.ModRevision, 10))
	h[u.GetName()] = append(h[u.GetName()], u)
}

// at returns the state of an object at a resource version, and the one before. Each is nil if it does not exist.
func (h history) at(name, resourceVersion string) (before, state *unstructured.Unstructured) {
	i := slices.IndexFunc(h[name], func(u *unstructured.Unstructured) bool { return u.GetResourceVersion() == resourceVersion })
	if i < 0 {
		return nil, nil
	}
	if i > 0 {
		before = h[name][i-1]
	}
	return before, h[name][i]
}

// revisionOf returns the resource version of an object as the revision of etcd.
func revisionOf(t *testing.T, u *unstructured.Unstructured) int64 {
	t.Helper()
	return parseRevision(t, u.GetResourceVersion())
}

func parseRevision(t *testing.T, resourceVersion string) int64 {
	t.Helper()
	revision, err := strconv.ParseInt(resourceVersion, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return revision
}
