// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// dockerEnv names the directory in which the stand-in for docker keeps its containers. Without it there is no engine.
const dockerEnv = "FAIRLEAD_DOCKER"

const (
	clusterLabel = "io.x-k8s.kind.cluster"
	roleLabel    = "io.x-k8s.kind.role"
)

// container is what docker run was called with, and the files of the container.
type container struct {
	Name   string
	Labels map[string]string
	Image  string
	Mounts []string
	// Endpoint is the address of the machine that is published.
	Endpoint string
	// Commands lists the commands that were run in the container, other than those on files.
	Commands []string
	// IP is from a range that is reserved for documentation.
	IP string

	dir string
}

// file returns the path of a file in the container.
func (c *container) file(path string) string { return filepath.Join(c.dir, "root", path) }

func (c *container) save() error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(c.dir, "container.json"), string(text))
}

func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// containers returns the containers in a directory, by name.
func containers(dir string) ([]*container, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "container.json"))
	if err != nil {
		return nil, err
	}
	var all []*container
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		c := &container{dir: filepath.Dir(file)}
		if err := json.Unmarshal(text, c); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// docker is the stand-in: it has no containers, only the files that kind writes to them. A call that it does not expect
// fails.
func docker(args []string) error {
	dir := os.Getenv(dockerEnv)
	if dir == "" {
		return errors.New("cannot connect to the Docker daemon")
	}
	switch args[0] {
	case "-v":
		return reply("Docker version 28.2.2, build e6534b4")
	case "version":
		return reply("amd64")
	case "info":
		return info(args[len(args)-1])
	case "network":
		// The network kind exists.
		return reply("0123456789ab")
	case "context":
		return reply("unix:///var/run/docker.sock")
	case "ps":
		return ps(dir, args)
	case "run":
		return runContainer(dir, args[1:])
	case "logs":
		return reply("Reached target Multi-User System.")
	case "inspect":
		return inspect(dir, args[1:])
	case "exec":
		return execute(dir, args[1:])
	case "rm":
		return remove(dir, args[1:])
	}
	return unexpected(args)
}

func reply(text string) error {
	_, err := fmt.Println(text)
	return err
}

func unexpected(args []string) error {
	return fmt.Errorf("the stand-in for docker does not expect: docker %s", strings.Join(args, " "))
}

func info(format string) error {
	switch strings.Trim(format, "'") {
	case "{{json .}}":
		return reply(`{"CgroupDriver":"systemd","CgroupVersion":"2","MemoryLimit":true,"PidsLimit":true,"CPUShares":true}`)
	case "{{json .SecurityOptions}}":
		return reply("[]")
	case "{{.Driver}}":
		return reply("overlay2")
	case "{{json .DriverStatus }}":
		return reply(`[["Backing Filesystem","extfs"]]`)
	}
	return unexpected([]string{"info", format})
}

// ps lists the names of the containers of a cluster, or the clusters of all containers.
func ps(dir string, args []string) error {
	all, err := containers(dir)
	if err != nil {
		return err
	}
	filter, _ := strings.CutPrefix(args[slices.Index(args, "--filter")+1], "label="+clusterLabel)
	for _, c := range all {
		switch filter {
		case "":
			err = reply(c.Labels[clusterLabel])
		case "=" + c.Labels[clusterLabel]:
			err = reply(c.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// flagsWithValue lists those that kind gives docker run, and whose value is an argument of its own.
var flagsWithValue = []string{"--name", "--hostname", "--label", "--net", "--security-opt", "--tmpfs", "--volume", "-e"}

func runContainer(dir string, args []string) error {
	c := &container{Labels: map[string]string{}}
	args = c.parse(args)
	c.Image, c.dir = args[0], filepath.Join(dir, c.Name)
	// fairlead-control-plane has 192.0.2.11, fairlead-control-plane2 has 192.0.2.12.
	number := strings.TrimLeft(c.Name, "abcdefghijklmnopqrstuvwxyz-")
	c.IP = "192.0.2.1" + max(number, "1")
	version, _, _ := strings.Cut(strings.TrimPrefix(c.Image, "kindest/node:"), "@")
	if err := writeFile(c.file("/kind/version"), version+"\n"); err != nil {
		return err
	}
	return c.save()
}

// parse reads the flags of docker run and returns what follows.
func (c *container) parse(args []string) []string {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		flag, value, found := strings.Cut(args[0], "=")
		args = args[1:]
		if !found && slices.Contains(flagsWithValue, flag) {
			value, args = args[0], args[1:]
		}
		switch flag {
		case "--name":
			c.Name = value
		case "--label":
			key, value, _ := strings.Cut(value, "=")
			c.Labels[key] = value
		case "--volume":
			c.Mounts = append(c.Mounts, value)
		case "--publish":
			c.Endpoint, _, _ = strings.Cut(value, ":6443/")
		}
	}
	return args
}

func inspect(dir string, args []string) error {
	if args[0] == "--type=image" {
		return reply("[]")
	}
	c, err := find(dir, args[2])
	if err != nil {
		return err
	}
	switch format := args[1]; {
	case strings.Contains(format, roleLabel):
		return reply(c.Labels[roleLabel])
	case strings.Contains(format, "desktop.docker.io"):
		return reply("")
	case strings.Contains(format, ".NetworkSettings.Ports"):
		return reply(strings.ReplaceAll(c.Endpoint, ":", "\t"))
	case strings.Contains(format, ".NetworkSettings.Networks"):
		return reply(c.IP + ",")
	}
	return unexpected(args)
}

func find(dir, name string) (*container, error) {
	all, err := containers(dir)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.Name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("no container %s", name)
}

// execute does what kind does with files in a container. It notes all else, and does what kind relies on.
func execute(dir string, args []string) error {
	for strings.HasPrefix(args[0], "-") {
		args = args[1:]
	}
	c, err := find(dir, args[0])
	if err != nil {
		return err
	}
	switch command := args[1:]; command[0] {
	case "mkdir":
		return nil
	case "cat":
		return c.print(command[1])
	case "cp":
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			return err
		}
		return writeFile(c.file(command[2]), string(text))
	default:
		c.Commands = append(c.Commands, strings.Join(command, " "))
		return errors.Join(c.save(), act(c, command))
	}
}

// print prints a file. kind reads some that only a node image has.
func (c *container) print(path string) error {
	text, err := os.ReadFile(c.file(path))
	if errors.Is(err, os.ErrNotExist) {
		return reply("# " + path)
	}
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}

func act(c *container, command []string) error {
	switch strings.Join(command[:2], " ") {
	case "kubeadm init":
		return writeFile(c.file("/etc/kubernetes/admin.conf"), adminConf)
	case "kubectl --kubeconfig=/etc/kubernetes/admin.conf", "kubectl create", "kubeadm join", "sh -c":
		return reply("'True'")
	}
	return unexpected(append([]string{"exec"}, command...))
}

// adminConf is the least that kind takes for its context.
const adminConf = `apiVersion: v1
kind: Config
clusters:
- {name: c, cluster: {server: "https://nowhere:6443"}}
contexts:
- {name: kubernetes-admin@c, context: {cluster: c, user: kubernetes-admin}}
users:
- {name: kubernetes-admin, user: {}}
current-context: kubernetes-admin@c
`

func remove(dir string, args []string) error {
	for _, name := range args {
		if strings.HasPrefix(name, "-") {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}
