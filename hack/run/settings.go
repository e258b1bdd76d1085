// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/fairlead-dev/fairlead/internal/localserver"
)

const (
	defaultPort         = 6443
	defaultFeatureGates = "APIUnions=true,CRDFieldLevelVersioning=true"

	// runDir is relative to the root of the repository, as all paths in messages are.
	runDir = "_output/run"
)

type settings struct {
	// program is the server, and kubectl what make envtest-assets builds beside it.
	program, kubectl string
	port             int
	featureGates     string
}

// readSettings reads the port and the gates from the environment, where make puts `make run PORT=…`. It changes to the
// root of the repository; this program is in _output/<line>/bin.
func readSettings() (settings, error) {
	own, err := os.Executable()
	if err != nil {
		return settings{}, err
	}
	bin := filepath.Dir(own)
	out := filepath.Dir(bin)
	if err := os.Chdir(filepath.Join(out, "..", "..")); err != nil {
		return settings{}, err
	}
	line := filepath.Join("_output", filepath.Base(out))
	port, err := parsePort(os.Getenv("PORT"))
	if err != nil {
		return settings{}, err
	}
	gates, found := os.LookupEnv("FEATURE_GATES")
	if !found {
		gates = defaultFeatureGates
	}
	return settings{
		program: filepath.Join(line, "bin", "kube-apiserver"), kubectl: filepath.Join(line, "envtest", "kubectl"),
		port: port, featureGates: gates,
	}, nil
}

func parsePort(text string) (int, error) {
	if text == "" {
		return defaultPort, nil
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		return 0, fmt.Errorf("PORT=%s is not a port: give a number from 1 to 65535, as in make run PORT=%d", text, otherPort(defaultPort))
	}
	return port, nil
}

// otherPort proposes another port than this one.
func otherPort(port int) int {
	if port+1000 > 65535 {
		return port - 1000
	}
	return port + 1000
}

func checkPort(port int) error {
	listener, err := net.Listen("tcp", net.JoinHostPort(localserver.Host, strconv.Itoa(port)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("port %d is in use: choose another with make run PORT=%d", port, otherPort(port))
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("port %d is reserved for the system: choose another with make run PORT=%d", port, defaultPort)
	case err != nil:
		return err
	}
	return listener.Close()
}

// lockRunDir creates the directory, which only its owner can read, and locks it: a second process would overwrite what
// the first one uses.
func lockRunDir(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, err
	}
	file, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.New("already running from this checkout: stop the other make run first")
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return func() { _ = file.Close() }, nil
}
