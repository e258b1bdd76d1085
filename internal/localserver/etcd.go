// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package localserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Etcd is a member of an etcd cluster, whose data is that of any number of API servers. Most clusters here have one
// member.
type Etcd struct {
	*Process
	// URL for clients.
	URL string
	// DataDir is the directory of the data.
	DataDir string

	program, log string
	flags        []string
}

// StartEtcd returns once etcd is ready. It does not wait for disks: its data is for tests and measurements.
func StartEtcd(ctx context.Context, program, dir string) (*Etcd, error) {
	members, err := StartEtcdCluster(ctx, program, dir, 1)
	if err != nil {
		return nil, err
	}
	return members[0], nil
}

// StartEtcdCluster returns once a cluster with a number of members is ready. Like StartEtcd it does not wait for disks,
// which loses nothing unless the machine itself stops: what a killed process has written stays.
func StartEtcdCluster(ctx context.Context, program, dir string, members int) ([]*Etcd, error) {
	cluster, err := newEtcdCluster(program, dir, members)
	if err != nil {
		return nil, err
	}
	for _, e := range cluster {
		err = errors.Join(err, e.launch())
	}
	for _, e := range cluster {
		if err == nil {
			err = e.waitHealthy(ctx) // a member is healthy only in a cluster with a leader
		}
	}
	if err != nil {
		for _, e := range cluster {
			e.Kill()
		}
		return nil, err
	}
	return cluster, nil
}

func newEtcdCluster(program, dir string, members int) ([]*Etcd, error) {
	cluster := make([]*Etcd, members)
	peers, initial := make([]string, members), make([]string, members)
	for i := range cluster {
		name := "etcd-" + strconv.Itoa(i)
		urls, err := freeURLs(2)
		if err != nil {
			return nil, err
		}
		peers[i], initial[i] = urls[1], name+"="+urls[1]
		cluster[i] = &Etcd{
			URL: urls[0], DataDir: filepath.Join(dir, name), program: program, log: filepath.Join(dir, name+".log"),
		}
	}
	for i, e := range cluster {
		e.flags = []string{
			"--name=" + filepath.Base(e.DataDir), "--data-dir=" + e.DataDir,
			"--unsafe-no-fsync", "--quota-backend-bytes=8589934592", "--log-level=warn",
			"--listen-client-urls=" + e.URL, "--advertise-client-urls=" + e.URL,
			"--listen-peer-urls=" + peers[i], "--initial-advertise-peer-urls=" + peers[i],
			"--initial-cluster=" + strings.Join(initial, ","),
		}
	}
	return cluster, nil
}

func freeURLs(n int) ([]string, error) {
	urls := make([]string, n)
	for i := range urls {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		urls[i] = "http://" + net.JoinHostPort(Host, strconv.Itoa(port))
	}
	return urls, nil
}

// Restart starts a member that has ended, with its data, and returns once it is ready. Further flags replace those of
// this package.
func (e *Etcd) Restart(ctx context.Context, flags ...string) error {
	if err := e.launch(flags...); err != nil {
		return err
	}
	return e.waitHealthy(ctx)
}

// Kill ends the member at once, if it was started.
func (e *Etcd) Kill() {
	if e.Process != nil {
		e.Process.Kill()
	}
}

func (e *Etcd) launch(flags ...string) error {
	p, err := startProcess(exec.Command(e.program, slices.Concat(e.flags, flags)...), filepath.Base(e.DataDir), e.log)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	e.Process = p
	return nil
}

// waitHealthy returns once the member is a part of a cluster with a leader. An alarm about space does not matter: the
// cluster keeps it until somebody disarms it.
func (e *Etcd) waitHealthy(ctx context.Context) error {
	return e.waitUntil(ctx, func() bool { return isOK(ctx, http.DefaultClient, e.URL+"/health?exclude=NOSPACE") })
}
