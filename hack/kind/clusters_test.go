// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const (
	gates = "--feature-gates=APIUnions=true,CRDFieldLevelVersioning=true"
	// initNode has one control plane, and the first of three.
	initNode = 0
)

// pod has what the tests compare of a static pod.
type pod struct {
	Spec struct {
		Containers []struct {
			Image        string   `json:"image"`
			Command      []string `json:"command"`
			VolumeMounts []mount  `json:"volumeMounts"`
		} `json:"containers"`
		Volumes []volume `json:"volumes"`
	} `json:"spec"`
}

type mount struct {
	Name      string `json:"name"`
	MountPath string `json:"mountPath"`
	ReadOnly  bool   `json:"readOnly"`
}

type volume struct {
	Name     string `json:"name"`
	HostPath struct {
		Path string `json:"path"`
		Type string `json:"type"`
	} `json:"hostPath"`
}

func (p *pod) command() []string { return p.Spec.Containers[0].Command }

// runKubeadm runs it with a directory for what it would write into /etc/kubernetes.
func runKubeadm(t *testing.T, dir string, args ...string) {
	t.Helper()
	command := exec.Command(kubeadm, args...)
	command.Env = append(os.Environ(), "KUBEADM_INIT_DRYRUN_DIR="+dir, "KUBEADM_JOIN_DRYRUN_DIR="+dir)
	if text, err := command.CombinedOutput(); err != nil {
		t.Fatalf("kubeadm %s: %v\n%s", strings.Join(args, " "), err, text)
	}
}

func readPod(t *testing.T, dir string) *pod {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "kube-apiserver.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p := &pod{}
	if err := yaml.Unmarshal(text, p); err != nil {
		t.Fatal(err)
	}
	return p
}

// initPod returns the API server's pod as kubeadm init makes it from the configuration on a node.
func initPod(t *testing.T, node *container) *pod {
	t.Helper()
	dir := t.TempDir()
	runKubeadm(t, dir, "init", "phase", "control-plane", "apiserver", "--dry-run",
		"--config", node.file("/kind/kubeadm.conf"))
	return readPod(t, dir)
}

// joinPod returns it as kubeadm join makes it: from the configuration in the cluster, and the one on the node.
func joinPod(t *testing.T, c *cluster, node *container, kubeconfig string) *pod {
	t.Helper()
	dir := t.TempDir()
	copyFile(t, kubeconfig, filepath.Join(dir, "admin.conf"))
	for _, name := range []string{
		"ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.pub", "sa.key", "etcd/ca.crt", "etcd/ca.key",
	} {
		copyFile(t, filepath.Join(c.pki, name), filepath.Join(dir, name))
	}
	runKubeadm(t, dir, "join", "phase", "control-plane-prepare", "all", "--dry-run",
		"--config", node.file("/kind/kubeadm.conf"))
	return readPod(t, dir)
}

// copyFile copies a file to another node, as kind does between kubeadm init and kubeadm join.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeFile(to, string(text)); err != nil {
		t.Fatal(err)
	}
}

// TestClusters creates each cluster, and runs the API servers of its nodes.
func TestClusters(t *testing.T) {
	for _, test := range []struct {
		name  string
		env   string
		nodes []string
	}{
		{"one control plane", "HA=", []string{"fairlead-control-plane"}},
		{
			"three control planes", "HA=1",
			[]string{"fairlead-ha-control-plane", "fairlead-ha-control-plane2", "fairlead-ha-control-plane3"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCheckout(t)
			nodes := c.up(test.env)
			checkNodes(t, c, nodes, test.nodes)
			runServers(t, nodes, c.stockPod())
		})
	}
}

// runServers runs the server of the first node, and beside it those of the others, one after the other.
func runServers(t *testing.T, nodes []*container, stock *pod) {
	t.Helper()
	first := initPod(t, nodes[initNode])
	checkPod(t, first, stock)
	cluster := startCluster(t, nodes[initNode])
	cluster.serve(t, first, func(kubeconfig string) {
		tryExamples(t, kubeconfig)
		cluster.prepareJoin(t, nodes[initNode], kubeconfig)
		for _, node := range nodes[initNode+1:] {
			joined := joinPod(t, cluster, node, kubeconfig)
			checkPod(t, joined, replaceIP(stock, nodes[initNode].IP, node.IP))
			cluster.serve(t, joined, func(kubeconfig string) { tryExamples(t, kubeconfig) })
		}
	})
}

// checkNodes checks the containers that kind creates, and that the first one runs kubeadm init and the others join.
func checkNodes(t *testing.T, c *checkout, nodes []*container, want []string) {
	t.Helper()
	var names []string
	for i, node := range nodes {
		names = append(names, node.Name)
		if !strings.HasPrefix(node.Image, "kindest/node:"+line+".") {
			t.Errorf("%s has the image %s", node.Name, node.Image)
		}
		volume := c.dir + "/_output/" + line + "/release/linux-amd64:/fairlead:ro"
		if !slices.Contains(node.Mounts, volume) {
			t.Errorf("%s lacks the volume %s: %v", node.Name, volume, node.Mounts)
		}
		command := "kubeadm join --config /kind/kubeadm.conf --v=6"
		if i == initNode {
			command = "kubeadm init --config=/kind/kubeadm.conf --skip-token-print --v=6"
		}
		if !slices.Contains(node.Commands, command) {
			t.Errorf("%s was not called in %s: %v", command, node.Name, node.Commands)
		}
	}
	if !reflect.DeepEqual(names, want) {
		t.Fatalf("the nodes are %v, want %v", names, want)
	}
}

// stockPod returns the API server's pod in a cluster of kind's default configuration.
func (c *checkout) stockPod() *pod {
	c.t.Helper()
	other := newCheckout(c.t)
	image := c.controlPlane()[initNode].Image
	command := other.command(filepath.Join(c.dir, "_output", "bin", "kind"), "create", "cluster", "--image", image)
	if text, err := command.CombinedOutput(); err != nil {
		c.t.Fatalf("%v\n%s", err, text)
	}
	return initPod(c.t, other.controlPlane()[initNode])
}

// checkPod checks that the pod differs from kind's default by the binary and the gates alone.
func checkPod(t *testing.T, p, stock *pod) {
	t.Helper()
	server := mount{Name: "fairlead", MountPath: "/usr/local/bin/kube-apiserver", ReadOnly: true}
	binary := volume{Name: "fairlead"}
	binary.HostPath.Path, binary.HostPath.Type = "/fairlead/kube-apiserver", "File"
	container, want := p.Spec.Containers[0], stock.Spec.Containers[0]
	compareSets(t, "arguments", container.Command, append(slices.Clone(want.Command), gates))
	compareSets(t, "mounts", container.VolumeMounts, append(slices.Clone(want.VolumeMounts), server))
	compareSets(t, "volumes", p.Spec.Volumes, append(slices.Clone(stock.Spec.Volumes), binary))
	if container.Image != want.Image || !strings.HasPrefix(container.Image, "registry.k8s.io/kube-apiserver:"+line+".") {
		t.Errorf("the image is %s, and %s by default", container.Image, want.Image)
	}
}

func compareSets[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	for _, x := range got {
		if !slices.Contains(want, x) {
			t.Errorf("%s: %v is too many", what, x)
		}
	}
	for _, x := range want {
		if !slices.Contains(got, x) {
			t.Errorf("%s: %v is missing", what, x)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d, want %d", what, len(got), len(want))
	}
}

// replaceIP returns a copy of a pod for the node with another address.
func replaceIP(p *pod, from, to string) *pod {
	replaced := *p
	replaced.Spec.Containers = slices.Clone(p.Spec.Containers)
	container := &replaced.Spec.Containers[0]
	container.Command = slices.Clone(container.Command)
	for i := range container.Command {
		container.Command[i] = strings.ReplaceAll(container.Command[i], from, to)
	}
	return &replaced
}

// TestTheConfigurationWorksWithoutTheScript creates the cluster as the comment in cluster.yaml shows.
func TestTheConfigurationWorksWithoutTheScript(t *testing.T) {
	c := newCheckout(t)
	c.up() // builds kind
	c.containers = t.TempDir()
	command := c.command(filepath.Join("_output", "bin", "kind"), "create", "cluster",
		"--config", "hack/kind/cluster.yaml")
	command.Dir = c.dir
	if text, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	node := c.controlPlane()[initNode]
	volume := c.dir + "/_output/v1.37/release/linux-amd64:/fairlead:ro"
	if !slices.Contains(node.Mounts, volume) {
		t.Errorf("%s lacks the volume %s: %v", node.Name, volume, node.Mounts)
	}
	images, err := os.ReadFile(filepath.Join(root, "hack", "kind", "node-images"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(images), "\nv1.37 "+node.Image+"\n") {
		t.Errorf("node-images does not have the image of cluster.yaml, %s, for v1.37", node.Image)
	}
}
