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
)

const (
	defaultPort         = 6443
	defaultFeatureGates = "APIUnions=true,CRDFieldLevelVersioning=true"

	host = "127.0.0.1"
)

// settings say what to run and where to keep what it needs.
type settings struct {
	root         string // of the repository
	runDir       string
	port         int
	featureGates string
}

// readSettings takes the port and the gates from the environment, where make puts `make run PORT=…`, and the place from
// the program's own: it lies in _output/bin.
func readSettings() (settings, error) {
	program, err := os.Executable()
	if err != nil {
		return settings{}, err
	}
	root := filepath.Dir(filepath.Dir(filepath.Dir(program)))
	port, err := parsePort(os.Getenv("PORT"))
	if err != nil {
		return settings{}, err
	}
	gates, found := os.LookupEnv("FEATURE_GATES")
	if !found {
		gates = defaultFeatureGates
	}
	return settings{root: root, runDir: filepath.Join(root, "_output", "run"), port: port, featureGates: gates}, nil
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
	listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
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

func (s settings) binary() string     { return filepath.Join(s.root, "_output", "bin", "kube-apiserver") }
func (s settings) kubeconfig() string { return filepath.Join(s.runDir, "kubeconfig") }
func (s settings) log() string        { return filepath.Join(s.runDir, "kube-apiserver.log") }
func (s settings) url() string {
	return "https://" + net.JoinHostPort(host, strconv.Itoa(s.port))
}

// shown is a path as the user sees it: from the root of the repository.
func (s settings) shown(path string) string {
	relative, err := filepath.Rel(s.root, path)
	if err != nil {
		return path
	}
	return relative
}

// lockRunDir makes the directory, closed to others, and takes it for this process: a second one would overwrite what
// the first is using.
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
