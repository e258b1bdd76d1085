// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	stopTimeout  = 20 * time.Second
	pollInterval = 50 * time.Millisecond
)

// server is a running kube-apiserver; exited is closed at its end.
type server struct {
	settings settings
	process  *os.Process
	exited   chan struct{}
	state    *os.ProcessState
}

// startServer runs the API server in a process group of its own: a Ctrl-C in the terminal reaches us alone, and we tell
// the server once. It takes a second signal for an order to drop everything.
func startServer(s settings) (*server, error) {
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the server has its own
	cmd := exec.Command(s.binary(), serverFlags(s)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = s.runDir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is missing: make builds it", s.shown(s.binary()))
		}
		return nil, err
	}
	started := &server{settings: s, process: cmd.Process, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // it is the state that counts
		started.state = cmd.ProcessState
		close(started.exited)
	}()
	return started, nil
}

// serverFlags are those of any API server, less what needs the rest of a cluster.
func serverFlags(s settings) []string {
	file := func(name string) string { return filepath.Join(s.runDir, name) }
	flags := []string{
		"--embedded-etcd-dir=" + file("etcd"),

		"--bind-address=" + host,
		"--secure-port=" + strconv.Itoa(s.port),
		"--tls-cert-file=" + file(servingName+".crt"),
		"--tls-private-key-file=" + file(servingName+".key"),
		// There are no nodes that would have to find the server: it takes its address from no interface and
		// publishes none (a Service may not point to loopback).
		"--advertise-address=" + host,
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.0.0.0/24",

		"--anonymous-auth=false",
		"--client-ca-file=" + file(clientCAFile),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + file(serviceAccountFile),
		"--service-account-signing-key-file=" + file(serviceAccountFile),
		// No controller makes the service accounts without which this plugin refuses pods.
		"--disable-admission-plugins=ServiceAccount",
	}
	if s.featureGates != "" {
		flags = append(flags, "--feature-gates="+s.featureGates)
	}
	return flags
}

// stop ends the server and waits for its end. Another signal meanwhile, or a stop that takes too long, kills it; its
// data stands that.
func (s *server) stop(signals <-chan os.Signal) error {
	_ = s.process.Signal(syscall.SIGTERM) // fails only if there is nothing left to stop
	select {
	case <-s.exited:
		return nil
	case <-signals:
		_ = s.process.Kill()
		<-s.exited
		return nil
	case <-time.After(stopTimeout):
		_ = s.process.Kill()
		<-s.exited
		return fmt.Errorf("the API server did not stop within %v and was killed", stopTimeout)
	}
}

// failure tells of an end that nobody asked for, with what the server said last.
func (s *server) failure(what string) error {
	message := fmt.Sprintf("the API server %s (%s); from %s:", what, s.state, s.settings.shown(s.settings.log()))
	log, err := os.ReadFile(s.settings.log())
	if err != nil {
		return fmt.Errorf("%s %w", message, err)
	}
	return errors.New(strings.Join(append([]string{message}, lastWords(string(log))...), "\n  "))
}

// waitReady returns when the server, asked as its administrator, says that it is ready.
func waitReady(ctx context.Context, url string, c *credentials) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.serverCA)
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs:      roots,
		Certificates: []tls.Certificate{c.admin},
		MinVersion:   tls.VersionTLS12,
	}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	for !isReady(ctx, client, url) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pollInterval):
		}
	}
	return nil
}

func isReady(ctx context.Context, client *http.Client, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, response.Body) // so that the connection can be used again
	return response.StatusCode == http.StatusOK
}
