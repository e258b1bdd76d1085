// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestScriptsSayWhatToDo(t *testing.T) {
	for _, test := range []struct {
		name, script string
		change       func(*checkout)
		env          []string
		want         string
	}{
		{
			"LINE is not set", "kind-up.sh", nil, []string{"LINE="},
			"LINE is not set: set it to a Kubernetes line ($LINE), as in: LINE=$LINE $SCRIPT",
		},
		{
			"a line that does not exist", "kind-up.sh", nil, []string{"LINE=v1.34"},
			"LINE is v1.34: set it to a Kubernetes line ($LINE), as in: LINE=$LINE $SCRIPT",
		},
		{
			"docker is not installed", "kind-up.sh",
			(*checkout).uninstallDocker, nil,
			"docker is missing: install Docker; kind runs each node of a cluster as a container",
		},
		{
			"the Docker engine is not running", "kind-up.sh", nil, []string{dockerEnv + "="},
			"the Docker engine does not answer: start it; docker version says what is wrong",
		},
		{
			"the same when the cluster is deleted", "kind-down.sh", nil, []string{dockerEnv + "="},
			"the Docker engine does not answer: start it; docker version says what is wrong",
		},
		{
			"the server is not built", "kind-up.sh",
			func(c *checkout) { c.remove("_output") }, nil,
			"_output/$LINE/release/linux-amd64/kube-apiserver is missing: build it with: LINE=$LINE hack/build.sh release",
		},
		{
			"no node image for the line", "kind-up.sh",
			func(c *checkout) { c.write("hack/kind/node-images", "") }, nil,
			"hack/kind/node-images has no image for $LINE: add one from the notes of a release of kind",
		},
		{
			"the cluster exists", "kind-up.sh",
			func(c *checkout) { c.up() }, nil,
			"the cluster fairlead exists: delete it with make kind-down",
		},
		{
			"the cluster with three control planes exists", "kind-up.sh",
			func(c *checkout) { c.up("HA=1") }, []string{"HA=1"},
			"the cluster fairlead-ha exists: delete it with make kind-down HA=1",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCheckout(t)
			if test.change != nil {
				test.change(c)
			}
			script := filepath.Join(c.dir, "hack", test.script)
			command := c.command(script)
			command.Env = append(command.Env, test.env...)
			text, err := command.CombinedOutput()
			want := "fairlead: " + strings.NewReplacer("$LINE", line, "$SCRIPT", script).Replace(test.want) + "\n"
			if err == nil || string(text) != want {
				t.Errorf("%v\ngot  %swant %s", err, text, want)
			}
		})
	}
}

// uninstallDocker leaves all programs in PATH but docker.
func (c *checkout) uninstallDocker() {
	c.t.Helper()
	c.remove("../path/docker")
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		programs, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, program := range programs {
			// The first directory with a program counts: a link that exists stays.
			if name := filepath.Base(program); name != "docker" {
				_ = os.Symlink(program, filepath.Join(c.path, name))
			}
		}
	}
	c.t.Setenv("PATH", "")
}

func (c *checkout) remove(name string) {
	c.t.Helper()
	if err := os.RemoveAll(filepath.Join(c.dir, name)); err != nil {
		c.t.Fatal(err)
	}
}

func TestDownDeletesTheCluster(t *testing.T) {
	c := newCheckout(t)
	c.up()
	c.up("HA=1")
	if text, err := c.command(filepath.Join(c.dir, "hack", "kind-down.sh")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var names []string
	for _, node := range c.controlPlane() {
		names = append(names, node.Name)
	}
	want := "fairlead-ha-control-plane fairlead-ha-control-plane2 fairlead-ha-control-plane3"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got %s, want the other cluster alone: %s", got, want)
	}
}
