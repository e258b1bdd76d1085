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
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead-dev/fairlead/internal/localserver"
)

const stopTimeout = 20 * time.Second

func main() {
	// The server is stopped when the thread that started it ends, see localserver; the main thread stays.
	runtime.LockOSThread()
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "fairlead: %v\n", err)
		os.Exit(1)
	}
}

// run serves until a signal arrives, which is no error, or until the server fails.
func run() error {
	interrupted, release := untilSignal()
	defer release()
	s, err := readSettings()
	if err != nil {
		return err
	}
	unlock, err := lockRunDir(runDir)
	if err != nil {
		return err
	}
	defer unlock()
	if err := checkPort(s.port); err != nil {
		return err
	}
	server, err := localserver.Start(localserver.Options{
		Program: s.program, Dir: runDir, Port: s.port, FeatureGates: s.featureGates,
	})
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing: make builds it", s.program)
	}
	if err != nil {
		return err
	}
	return attend(interrupted, server, s.kubectl)
}

func untilSignal() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
}

// attend waits for the server's start, and then for its end or a signal. kubectl is the one that the tests build.
func attend(interrupted context.Context, server *localserver.Server, kubectl string) error {
	progress := showProgress(server.URL)
	err := server.WaitReady(interrupted)
	switch {
	case interrupted.Err() != nil:
		progress.end("interrupted")
		return stop(server)
	case err != nil:
		progress.end("failed")
		return errors.Join(explain(err), stop(server))
	}
	progress.end("ready")

	printDemo(os.Stdout, kubectl)
	select {
	case <-server.Exited():
		return server.Failure("stopped on its own")
	case <-interrupted.Done():
		fmt.Println("\nfairlead: stopping …")
		return stop(server)
	}
}

// newerData is the text of embeddedetcd.ErrNewer. To import the package would link etcd.
const newerData = "written by a newer version"

// explain adds what to do to an error of a server that does not start.
func explain(err error) error {
	if strings.Contains(err.Error(), newerData) {
		return fmt.Errorf("%w\nfairlead: a newer line has written the data in %s: make run with that LINE, or start over after make clean-run", err, runDir)
	}
	return err
}

// stop ends the server. Another signal meanwhile kills it, as does a stop that takes too long.
func stop(server *localserver.Server) error {
	again, release := untilSignal()
	defer release()
	ctx, cancel := context.WithTimeoutCause(again, stopTimeout, fmt.Errorf("gave up after %v", stopTimeout))
	defer cancel()
	if err := server.Stop(ctx); again.Err() == nil {
		return err
	}
	return nil
}
