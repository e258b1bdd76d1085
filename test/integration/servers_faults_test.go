// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/internal/localserver"
)

// loadGates guard a field of an object, of the items of a list map, and of status.
const loadGates = `
featureGates:
- name: LoadGate
  preRelease: alpha
  fieldPaths: [.spec.replicas, ".spec.containers[*].size", .status.ready]
`

// newLoadCRD returns a CRD with a union, in which each of the writers has a field.
func newLoadCRD(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := newCRD(t, loadGates)
	version := &crd.Spec.Versions[0]
	version.Subresources = statusSubresource()
	version.Schema.OpenAPIV3Schema = parse[*apiextensionsv1.JSONSchemaProps](t, specSchema(`
put: {type: integer}
merge: {type: integer}
json: {type: integer}
switcher: {type: integer}
applier: {type: integer}
forcer: {type: integer}
direct: {type: integer}
replicas: {type: integer}
containers:
  type: array
  x-kubernetes-list-type: map
  x-kubernetes-list-map-keys: [name]
  items:
    type: object
    required: [name]
    properties:
      name: {type: string}
      size: {type: integer}
      port: {type: integer}
source:
  type: object
  properties:
    type:
      type: string
      enum: ["", Git, S3, None]
      x-kubernetes-unions:
        fieldMembers:
          "": {}
          Git: {name: git}
          S3: {name: s3}
          None: {}
    git: {type: object, properties: {url: {type: string}}}
    s3: {type: object, properties: {bucket: {type: string}}}
`))
	addStatus(t, version, `{type: object, properties: {status: {type: integer}, ready: {type: integer}}}`)
	return crd
}

// faults is a cluster under load whose parts fail.
type faults struct {
	*testing.T
	*cluster
	opts   options
	load   *load
	client resource
	first  int64 // the revision of etcd before the CRD
}

// TestSeveralServers runs two servers over three etcd members (rules F5, G2, G7, G10, G11, U4, U6, U8). Writers of
// every kind write the same objects through both servers, while gates are flipped and servers and etcd members fail.
// After that it checks every persisted state, what every acknowledged write did, and what watches observed.
func TestSeveralServers(t *testing.T) {
	t.Parallel()
	f := newFaults(t)
	f.flipOnEachServer()
	f.createObjects()
	o := &observer{clients: []resource{f.client, f.servers[1].customResources(f.load.crd)}}
	stop := o.start(t)

	f.run(gateOn, func() { f.load.await(t, "with the gate enabled", 0, 1) })
	f.run(gateFlipping, func() {
		f.flipAndKill()
		f.flipWhilePaused()
	})
	f.setEverywhere(1, false)
	from := f.revision()
	f.run(gateOff, func() {
		f.loseServer(1)
		f.loseEtcdMember()
		f.fillDisk()
		f.exceedQuota()
	})
	to := f.revision()
	f.setEverywhere(0, true)
	f.run(gateOn, func() { f.load.await(t, "with the gate enabled again", 0, 1) })
	stop()

	f.load.log(t)
	c := check{T: t, history: f.historyOf(t, f.load.crd, f.first)}
	c.wantStates()
	c.wantWrites(f.load.writes)
	c.wantFrozen(from, to)
	c.wantObserved(o)
}

// newFaults starts a cluster with the CRD of the load.
func newFaults(t *testing.T) *faults {
	t.Helper()
	opts := options{featureGates: unionsOn + ",CRDFieldLevelVersioning=true", args: map[string]string{
		"etcd-compaction-interval": "0", // so that etcd keeps the whole history
	}}
	f := &faults{T: t, cluster: startCluster(t, 3, opts, opts), opts: opts}
	f.load = &load{
		crd: newLoadCRD(t), servers: f.servers, objects: []string{"a", "b", "c"},
		acknowledged: make([]atomic.Int64, len(f.servers)),
	}
	f.first = f.revision()
	f.client = f.servers[0].install(t, f.load.crd)
	return f
}

func (f *faults) createObjects() {
	f.Helper()
	for _, name := range f.load.objects {
		create(f.T, f.client, cronTab(f.T, f.load.crd, name, `{}`), metav1.CreateOptions{FieldManager: "creator"})
	}
}

// run runs faults under load.
func (f *faults) run(gate gateState, faults func()) {
	f.Helper()
	began := time.Now()
	stop := f.load.start(f.T, gate)
	faults()
	stop()
	f.Logf("gate %s: %v", gate, time.Since(began).Round(time.Millisecond))
}

// setEverywhere sets the gate through a server and waits until it takes effect on all servers.
func (f *faults) setEverywhere(server int, on bool) {
	f.Helper()
	f.set(server, on)
	began := time.Now()
	f.awaitEverywhere(f.T, fmt.Sprintf("G11: the gate is set to %v through server %d, which takes effect", on, server),
		f.load.crd, `{replicas: 7}`, probed(on))
	f.Logf("all servers show the flip after %v", time.Since(began).Round(time.Millisecond))
}

func (f *faults) set(server int, on bool) {
	f.Helper()
	if err := f.servers[server].setGate(f.Context(), f.load.crd, "LoadGate", on); err != nil {
		f.Fatal(err)
	}
}

// flipOnEachServer checks rule G11: a flip through one server takes effect on the other.
func (f *faults) flipOnEachServer() {
	f.Helper()
	for server := range f.servers {
		f.setEverywhere(server, true)
		f.setEverywhere(server, false)
	}
	f.setEverywhere(0, true)
}

// flipAndKill flips the gate through both servers in turn. In between one server is killed and started again, so that
// the gate is also flipped while the server is away.
func (f *faults) flipAndKill() {
	f.Helper()
	const flips = 10
	for i := range flips {
		f.set(i%2, i%2 == 1)
		f.load.await(f.T, "during flips", 0, 1)
		if i == flips/2 {
			f.servers[0].api.Kill()
			f.set(1, i%2 == 0)
			f.load.await(f.T, "while server 0 is away", 1)
			f.serveAgain(0)
		}
	}
}

// flipWhilePaused flips the gate while one server is paused, and writes guarded fields through the other. When the
// paused server goes on, it has requests to finish, and has seen neither the flip nor the writes.
func (f *faults) flipWhilePaused() {
	f.Helper()
	for i := range 2 * len(f.servers) {
		paused, other, on := f.servers[i%2].api, 1-i%2, i < 2
		f.setEverywhere(other, !on)
		if err := paused.Pause(); err != nil {
			f.Fatal(err)
		}
		f.Cleanup(func() { _ = paused.Resume() }) // a paused process cannot stop
		f.set(other, on)
		f.servers[other].awaitDryRun(f.T, "G11: the flip takes effect while a server is paused", f.load.crd, `{replicas: 7}`, probed(on))
		f.load.writeThrough(f.T, other, map[bool]gateState{true: gateOn, false: gateOff}[on])
		if err := paused.Resume(); err != nil {
			f.Fatal(err)
		}
		f.load.await(f.T, "after a pause", 0, 1)
	}
}

// probed returns what the probe of awaitDryRun has in .spec.
func probed(on bool) string {
	if on {
		return "replicas: 7"
	}
	return "{}"
}

// loseServer kills a server in the middle of writes and starts it again.
func (f *faults) loseServer(server int) {
	f.Helper()
	f.servers[server].api.Kill()
	f.load.await(f.T, "while a server is away", 1-server)
	f.serveAgain(server)
	f.load.await(f.T, "after a server came back", 0, 1)
}

func (f *faults) serveAgain(server int) {
	f.Helper()
	if err := f.servers[server].serve(f.Context(), f.opts); err != nil {
		f.Fatal(err)
	}
}

// loseEtcdMember kills the leader of etcd and starts it again.
func (f *faults) loseEtcdMember() {
	f.Helper()
	leader, _ := f.leader(f.T)
	leader.Kill()
	f.load.await(f.T, "without the etcd member that led", 0, 1)
	f.startAgain(leader)
}

// startAgain starts an etcd member that has ended.
func (f *faults) startAgain(member *localserver.Etcd) {
	f.Helper()
	f.restartEtcd(member)
	f.load.await(f.T, "after an etcd member came back", 0, 1)
}

// fillDisk fills the disk of the etcd leader, which ends it at its next write. Later there is space again.
func (f *faults) fillDisk() {
	f.Helper()
	leader, _ := f.leader(f.T)
	if err := leader.FillDisk(); err != nil {
		f.Fatal(err)
	}
	select {
	case <-leader.Exited():
	case <-time.After(stopTimeout):
		f.Fatal("the etcd member goes on with a full disk")
	}
	if err := leader.Failure("ended"); !strings.Contains(err.Error(), "file too large") {
		f.Errorf("the etcd member did not end because of its disk: %v", err)
	}
	f.load.await(f.T, "while the disk of an etcd member is full", 0, 1)
	f.startAgain(leader)
}

// exceedQuota starts an etcd member with a quota for its data that is used up. Etcd guards itself against a full disk
// in this way: its alarm makes all members refuse writes until an administrator disarms it.
func (f *faults) exceedQuota() {
	f.Helper()
	_, follower := f.leader(f.T)
	f.restartEtcd(follower, "--quota-backend-bytes=1")
	client := f.etcdClient(f.T)
	eventually(f.T, "etcd refuses writes", func(ctx context.Context) (bool, error) {
		alarms, err := client.AlarmList(ctx)
		return err == nil && len(alarms.Alarms) > 0, err
	})
	f.wantRefused()
	f.restartEtcd(follower)
	if _, err := client.AlarmDisarm(f.Context(), &clientv3.AlarmMember{}); err != nil {
		f.Fatal(err)
	}
	f.load.await(f.T, "after the alarm of etcd", 0, 1)
}

// restartEtcd kills an etcd member and starts it with further flags.
func (f *faults) restartEtcd(member *localserver.Etcd, flags ...string) {
	f.Helper()
	member.Kill()
	if err := member.Restart(f.Context(), flags...); err != nil {
		f.Fatal(err)
	}
}

// wantRefused checks that both servers answer writes with an error and serve reads.
func (f *faults) wantRefused() {
	f.Helper()
	for i, s := range f.servers {
		client := s.customResources(f.load.crd)
		u, err := client.Get(f.Context(), f.load.objects[0], metav1.GetOptions{})
		if err != nil {
			f.Errorf("server %d does not serve reads while etcd has no space: %v", i, err)
			continue
		}
		_, err = mergeNumber(f.Context(), loadRequest{client: client, object: u})
		if err == nil || !strings.Contains(err.Error(), "database space exceeded") {
			f.Errorf("server %d: a write while etcd has no space: %v", i, err)
		}
	}
}

// revision returns the current revision of etcd.
func (f *faults) revision() int64 {
	f.Helper()
	response, err := f.etcdClient(f.T).Get(f.Context(), "revision")
	if err != nil {
		f.Fatal(err)
	}
	return response.Header.Revision
}
