// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the directory of the repository, line the Kubernetes line, kubeadm its kubeadm, and assets the directory of
// kube-apiserver, etcd and kubectl.
var root, line, kubeadm, assets string

// TestMain is also the stand-in for docker, if it is called by that name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "docker" {
		if err := docker(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := setUp(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\nrun this through: hack/test-kind.sh\n", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func setUp() (err error) {
	for name, variable := range map[string]*string{
		"LINE": &line, "KUBEADM": &kubeadm, "KUBEBUILDER_ASSETS": &assets,
	} {
		if *variable = os.Getenv(name); *variable == "" {
			return fmt.Errorf("%s is not set", name)
		}
	}
	root, err = filepath.Abs(filepath.Join("..", ".."))
	return err
}

// checkout is a copy of what the scripts need of the repository, with containers of its own.
type checkout struct {
	t *testing.T
	// dir is the directory of the repository, and path the one that is first in PATH.
	dir, path string
	// containers is the directory of the stand-in for docker.
	containers string
	kubeconfig string
}

func newCheckout(t *testing.T) *checkout {
	t.Helper()
	base := t.TempDir()
	c := &checkout{
		t: t, dir: filepath.Join(base, "repository"), path: filepath.Join(base, "path"),
		containers: filepath.Join(base, "containers"), kubeconfig: filepath.Join(base, "kubeconfig"),
	}
	c.copy("hack/lib.sh", "hack/kind-up.sh", "hack/kind-down.sh", "hack/kind/lib.sh",
		"hack/kind/go.mod", "hack/kind/go.sum", "hack/kind/node-images",
		"hack/kind/cluster.yaml", "hack/kind/cluster-ha.yaml",
		"staging/lines/"+line+"/upstream.lock")
	c.write("_output/"+line+"/release/linux-amd64/kube-apiserver", "#!/bin/sh\n")
	if err := os.MkdirAll(c.path, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(c.path, "docker")); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *checkout) copy(names ...string) {
	c.t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			c.t.Fatal(err)
		}
		c.write(name, string(text))
	}
}

func (c *checkout) write(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := writeFile(path, text); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Chmod(path, 0o755); err != nil {
		c.t.Fatal(err)
	}
}

// command returns one that runs with the stand-in for docker, in a directory that is not the repository.
func (c *checkout) command(name string, args ...string) *exec.Cmd {
	command := exec.Command(name, args...)
	command.Dir = c.path
	command.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "DOCKER_") || strings.HasPrefix(entry, "KIND_") || strings.HasPrefix(entry, "HA=")
	})
	command.Env = append(command.Env, "PATH="+c.path+":"+os.Getenv("PATH"), "LINE="+line, "KUBECONFIG="+c.kubeconfig,
		dockerEnv+"="+c.containers)
	return command
}

// up creates the cluster and returns the nodes of its control plane.
func (c *checkout) up(env ...string) []*container {
	c.t.Helper()
	command := c.command(filepath.Join(c.dir, "hack", "kind-up.sh"))
	command.Env = append(command.Env, env...)
	if text, err := command.CombinedOutput(); err != nil {
		c.t.Fatalf("kind-up.sh: %v\n%s", err, text)
	}
	return c.controlPlane()
}

func (c *checkout) controlPlane() []*container {
	c.t.Helper()
	all, err := containers(c.containers)
	if err != nil {
		c.t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(c *container) bool { return c.Labels[roleLabel] != "control-plane" })
}
