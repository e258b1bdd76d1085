// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// run is what `make run` calls: it serves the built API server to this machine only, with its own etcd, certificates
// and kubeconfig below _output/run, until it is interrupted. It is meant for trying things out.
//
// The environment variable PORT chooses the port, FEATURE_GATES replaces the feature gates.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

const startTimeout = time.Minute

func main() {
	// The server gets a signal when the thread that started it ends (see dieWithParent); the main thread stays.
	runtime.LockOSThread()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	if err := run(signals); err != nil {
		fmt.Fprintf(os.Stderr, "fairlead: %v\n", err)
		os.Exit(1)
	}
}

// run serves until a signal arrives, which is no error, or until the server fails.
func run(signals <-chan os.Signal) error {
	s, err := readSettings()
	if err != nil {
		return err
	}
	unlock, err := lockRunDir(s.runDir)
	if err != nil {
		return err
	}
	defer unlock()
	if err := checkPort(s.port); err != nil {
		return err
	}
	credentials, err := ensureCredentials(s.runDir, time.Now())
	if err != nil {
		return err
	}
	if err := writeKubeconfig(s.kubeconfig(), s.url(), credentials); err != nil {
		return err
	}
	server, err := startServer(s)
	if err != nil {
		return err
	}
	return attend(server, s, credentials, signals)
}

// attend sees the server through its life: start, service, stop.
func attend(server *server, s settings, credentials *credentials, signals <-chan os.Signal) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), startTimeout,
		fmt.Errorf("not ready after %v; see %s", startTimeout, s.shown(s.log())))
	defer cancel()
	progress := showProgress(s)
	ready := make(chan error, 1)
	go func() { ready <- waitReady(ctx, s.url(), credentials) }()

	select {
	case err := <-ready:
		if err != nil {
			progress.end("failed")
			return errors.Join(err, server.stop(signals))
		}
		progress.end("ready")
	case <-server.exited:
		progress.end("failed")
		return server.failure("did not start")
	case <-signals:
		progress.end("interrupted")
		return server.stop(signals)
	}

	printDemo(os.Stdout, s)
	select {
	case <-server.exited:
		return server.failure("stopped on its own")
	case <-signals:
		fmt.Println("\nfairlead: stopping …")
		return server.stop(signals)
	}
}
