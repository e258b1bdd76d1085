// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/internal/localserver"
	"github.com/fairlead-dev/fairlead/pkg/embeddedetcd"
)

func TestParsePort(t *testing.T) {
	for text, want := range map[string]int{"": defaultPort, "1": 1, "7443": 7443, "65535": 65535} {
		if got, err := parsePort(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "-1", "65536", "https", "80 81"} {
		if _, err := parsePort(text); err == nil || !strings.Contains(err.Error(), "is not a port") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestPortInUse(t *testing.T) {
	listener, err := net.Listen("tcp", localserver.Host+":0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := checkPort(port); err == nil || !strings.Contains(err.Error(), "is in use: choose another with make run PORT=") {
		t.Errorf("got %v", err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := checkPort(port); err != nil {
		t.Errorf("free again: %v", err)
	}
}

func TestOtherPortIsAPort(t *testing.T) {
	for port, want := range map[int]int{6443: 7443, 65535: 64535} {
		if got := otherPort(port); got != want {
			t.Errorf("%d: got %d, want %d", port, got, want)
		}
	}
}

func TestOneRunAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), runDir)
	unlock, err := lockRunDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockRunDir(dir); err == nil || !strings.Contains(err.Error(), "already running") {
		t.Errorf("got %v", err)
	}
	unlock()
	unlock, err = lockRunDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestExplainNewerData(t *testing.T) {
	err := explain(fmt.Errorf("the API server did not start: %w: by Kubernetes 1.37", embeddedetcd.ErrNewer))
	if !strings.HasSuffix(err.Error(), "make run with that LINE, or start over after make clean-run") {
		t.Errorf("got %q", err)
	}
	if other := errors.New("port 6443 is in use"); explain(other).Error() != other.Error() {
		t.Error("another error was changed")
	}
}

// TestDemo is about the text. Tests of the examples show that the commands work.
func TestDemo(t *testing.T) {
	t.Setenv("PATH", "")
	t.Chdir(t.TempDir())
	var out strings.Builder
	printDemo(&out, "_output/v1.37/envtest/kubectl")
	for _, want := range []string{
		"export KUBECONFIG=_output/run/kubeconfig\n",
		"./_output/v1.37/envtest/kubectl apply -f examples/field-gates/crd.yaml\n",
		"make envtest-assets",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
}
