// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package localserver

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
)

// startProgram starts a server that is a shell script.
func startProgram(t *testing.T, dir, script string) *Server {
	t.Helper()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Start(Options{Program: program, Dir: dir, Flags: map[string]string{"bind-address": "::1", "v": "2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

func TestKubeconfigNeedsNoOtherFile(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second replaces the first
		s := startProgram(t, dir, "")
		config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		c := ensure(t, dir, time.Now())
		if config.Host != s.URL || !slices.Equal(config.CAData, c.ca) || !slices.Equal(config.CertData, c.crt) || !slices.Equal(config.KeyData, c.key) {
			t.Errorf("got %v", config)
		}
	}
}

func TestFlagsOfTheCallerReplaceOurs(t *testing.T) {
	dir := t.TempDir()
	s := startProgram(t, dir, `echo "$@"`)
	<-s.Exited()
	log := string(read(t, filepath.Join(dir, "kube-apiserver.log")))
	for _, want := range []string{"--authorization-mode=RBAC ", "--bind-address=::1 ", "--v=2\n"} {
		if strings.Count(log, want) != 1 {
			t.Errorf("%s is not there once: %s", want, log)
		}
	}
	if strings.Contains(log, "--bind-address="+Host) {
		t.Errorf("two addresses: %s", log)
	}
}

func TestAServerThatExitsIsAnError(t *testing.T) {
	s := startProgram(t, t.TempDir(), `echo "Error: unknown flag: --x" >&2; exit 3`)
	err := s.WaitReady(t.Context())
	if err == nil || !strings.Contains(err.Error(), "did not start (exit status 3)") || !strings.Contains(err.Error(), "unknown flag: --x") {
		t.Errorf("got %v", err)
	}
}

func TestAServerThatDoesNotStopIsKilled(t *testing.T) {
	dir := t.TempDir()
	s := startProgram(t, dir, `trap "" TERM; echo ready; while :; do sleep 0.01; done`)
	for string(read(t, filepath.Join(dir, "kube-apiserver.log"))) != "ready\n" {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := s.Stop(ctx); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("got %v", err)
	}
	select {
	case <-s.Exited():
	default:
		t.Error("still running")
	}
}

func TestPortsAreGivenOnce(t *testing.T) {
	given := map[int]bool{}
	for range 20 {
		port, err := freePort()
		if err != nil || given[port] {
			t.Fatalf("port %d, %v; before: %v", port, err, given)
		}
		given[port] = true
	}
}

func TestLastErrors(t *testing.T) {
	const plain = "I1121 10:00:00.000000 1 a.go:1] one\nW1121 10:00:00.000000 1 a.go:1] two"
	for name, test := range map[string]struct {
		log  string
		want []string
	}{
		"errors among others": {
			log:  "E1121 10:00:00.000000 1 a.go:1] bad\n" + plain + "\n2026-11-21T10:00:00.000000Z\tfatal\ta.go:1\tworse\t{}\n",
			want: []string{"E1121 10:00:00.000000 1 a.go:1] bad", "2026-11-21T10:00:00.000000Z\tfatal\ta.go:1\tworse\t{}"},
		},
		"a flag":     {log: "Error: unknown flag: --x\n", want: []string{"Error: unknown flag: --x"}},
		"no errors":  {log: plain + "\n", want: strings.Split(plain, "\n")},
		"very brief": {log: "", want: []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, lastErrors(test.log)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
