// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cluster has the certificates that kubeadm makes from a node's configuration, and an etcd.
type cluster struct {
	dir, pki string
	etcd     string
}

// startCluster makes the certificates and starts etcd with them.
func startCluster(t *testing.T, node *container) *cluster {
	t.Helper()
	c := &cluster{dir: t.TempDir()}
	c.pki = filepath.Join(c.dir, "pki")
	config := c.config(t, node)
	runKubeadm(t, c.dir, "init", "phase", "certs", "all", "--config", config)
	runKubeadm(t, c.dir, "init", "phase", "kubeconfig", "super-admin", "--config", config, "--kubeconfig-dir", c.dir)
	c.etcd = "https://" + freeAddress(t)
	peer := "https://" + freeAddress(t)
	pki := func(name string) string { return filepath.Join(c.pki, "etcd", name) }
	start(t, filepath.Join(c.dir, "etcd.log"), filepath.Join(assets, "etcd"),
		"--data-dir="+filepath.Join(c.dir, "etcd"), "--name=n", "--unsafe-no-fsync",
		"--listen-client-urls="+c.etcd, "--advertise-client-urls="+c.etcd,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=n="+peer,
		"--cert-file="+pki("server.crt"), "--key-file="+pki("server.key"),
		"--peer-cert-file="+pki("peer.crt"), "--peer-key-file="+pki("peer.key"),
		"--trusted-ca-file="+pki("ca.crt"), "--client-cert-auth",
		"--peer-trusted-ca-file="+pki("ca.crt"), "--peer-client-cert-auth")
	return c
}

// config returns a copy of the configuration on a node in which the certificates are in a directory of the test.
func (c *cluster) config(t *testing.T, node *container) string {
	t.Helper()
	text, err := os.ReadFile(node.file("/kind/kubeadm.conf"))
	if err != nil {
		t.Fatal(err)
	}
	const kind = "\nkind: ClusterConfiguration\n"
	if strings.Count(string(text), kind) != 1 {
		t.Fatalf("not one ClusterConfiguration:\n%s", text)
	}
	file := filepath.Join(c.dir, "kubeadm.conf")
	if err := writeFile(file, strings.Replace(string(text), kind, kind+"certificatesDir: "+c.pki+"\n", 1)); err != nil {
		t.Fatal(err)
	}
	return file
}

// serve runs our server with the arguments of a pod while it calls a function with a kubeconfig for it. Only what
// belongs to the node is different: the directory of the certificates, and the ports. The server listens on the
// loopback address alone.
func (c *cluster) serve(t *testing.T, p *pod, use func(kubeconfig string)) {
	t.Helper()
	command := p.command()
	if command[0] != "kube-apiserver" {
		t.Fatalf("the pod runs %s", command[0])
	}
	address := freeAddress(t)
	host, port, _ := net.SplitHostPort(address)
	replaced := strings.NewReplacer("/etc/kubernetes/pki/", c.pki+"/", "https://127.0.0.1:2379", c.etcd,
		"--secure-port=6443", "--secure-port="+port)
	args := make([]string, 0, len(command))
	for _, arg := range command[1:] {
		args = append(args, replaced.Replace(arg))
	}
	log := filepath.Join(c.dir, "kube-apiserver-"+port+".log")
	stop := start(t, log, filepath.Join(assets, "kube-apiserver"), append(args, "--bind-address="+host)...)
	kubeconfig := c.kubeconfig(t, address)
	waitUntilReady(t, kubeconfig, log)
	checkServer(t, kubeconfig)
	use(kubeconfig)
	stop()
}

// kubeconfig returns an administrator's for the server at an address.
func (c *cluster) kubeconfig(t *testing.T, address string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, "super-admin.conf"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	server := regexp.MustCompile(`server: .*`).ReplaceAll(text, []byte("server: https://"+address))
	if err := writeFile(file, string(server)); err != nil {
		t.Fatal(err)
	}
	return file
}

// prepareJoin stores in the cluster what kubeadm init stores there for kubeadm join, from the unchanged configuration
// of the first node.
func (c *cluster) prepareJoin(t *testing.T, node *container, kubeconfig string) {
	t.Helper()
	for _, phase := range [][]string{{"upload-config", "kubeadm"}, {"bootstrap-token", "--skip-token-print"}} {
		runKubeadm(t, c.dir, append(append([]string{"init", "phase"}, phase...),
			"--config", node.file("/kind/kubeadm.conf"), "--kubeconfig", kubeconfig)...)
	}
	signClusterInfo(t, kubeconfig)
}

// signClusterInfo signs the address and certificate of the cluster with kind's bootstrap token, as
// kube-controller-manager does. kubeadm join trusts them for that.
func signClusterInfo(t *testing.T, kubeconfig string) {
	t.Helper()
	const id, secret = "abcdef", "0123456789abcdef"
	info, err := kubectl(kubeconfig, "get", "configmap", "cluster-info", "-n", "kube-public",
		"-o", "jsonpath={.data.kubeconfig}")
	if err != nil {
		t.Fatalf("%v\n%s", err, info)
	}
	encode := base64.RawURLEncoding.EncodeToString
	header := encode([]byte(`{"alg":"HS256","kid":"` + id + `"}`))
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(header + "." + encode([]byte(info))))
	patch := fmt.Sprintf(`{"data":{"jws-kubeconfig-%s":"%s..%s"}}`, id, header, encode(mac.Sum(nil)))
	text, err := kubectl(kubeconfig, "patch", "configmap", "cluster-info", "-n", "kube-public", "-p", patch)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// start starts a program and returns a function that stops it. It is killed at the end of the test at the latest.
func start(t *testing.T, log, program string, args ...string) (stop func()) {
	t.Helper()
	output, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	command := exec.CommandContext(ctx, program, args...)
	command.Stdout, command.Stderr = output, output
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 20 * time.Second
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = command.Wait()
		_ = output.Close()
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func kubectl(kubeconfig string, args ...string) (string, error) {
	args = append(args, "--kubeconfig", kubeconfig)
	text, err := exec.Command(filepath.Join(assets, "kubectl"), args...).CombinedOutput()
	return string(text), err
}

func waitUntilReady(t *testing.T, kubeconfig, log string) {
	t.Helper()
	var text string
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		if text, err = kubectl(kubeconfig, "get", "--raw", "/readyz"); err == nil {
			return
		}
	}
	output, _ := os.ReadFile(log)
	lines := strings.Split(string(output), "\n")
	t.Fatalf("the server is not ready: %v %s\n%s", err, text, strings.Join(lines[max(0, len(lines)-20):], "\n"))
}

// checkServer checks that the server is ours, of the line, and has the gates on.
func checkServer(t *testing.T, kubeconfig string) {
	t.Helper()
	version, err := kubectl(kubeconfig, "get", "--raw", "/version")
	ours := regexp.MustCompile(`"gitVersion": "` + regexp.QuoteMeta(line) + `\.\d+\+fairlead\.`)
	if err != nil || !ours.MatchString(version) {
		t.Errorf("%v: the version is %s", err, version)
	}
	metrics, err := kubectl(kubeconfig, "get", "--raw", "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for _, gate := range []string{"APIUnions", "CRDFieldLevelVersioning"} {
		enabled := slices.ContainsFunc(strings.Split(metrics, "\n"), func(row string) bool {
			return strings.HasPrefix(row, `kubernetes_feature_enabled{name="`+gate+`"`) && strings.HasSuffix(row, " 1")
		})
		if !enabled {
			t.Errorf("the gate %s is off", gate)
		}
	}
}

// tryExamples runs what hack/kind-e2e.sh runs on a cluster.
func tryExamples(t *testing.T, kubeconfig string) {
	t.Helper()
	command := exec.Command(filepath.Join(root, "hack", "kind", "try-examples.sh"))
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "KUBECTL="+filepath.Join(assets, "kubectl"))
	if text, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}
