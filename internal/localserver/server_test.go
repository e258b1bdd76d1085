// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package localserver

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
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

// TestKubeconfigNeedsNoOtherFile is about the contents. Integration tests use a kubeconfig with kubectl and client-go.
func TestKubeconfigNeedsNoOtherFile(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second replaces the first
		s := startProgram(t, dir, "")
		var config struct {
			Clusters []struct {
				Cluster struct {
					Server string
					CA     []byte `json:"certificate-authority-data"`
				}
			}
			Users []struct {
				User struct {
					Crt []byte `json:"client-certificate-data"`
					Key []byte `json:"client-key-data"`
				}
			}
		}
		if err := yaml.Unmarshal(read(t, s.Kubeconfig), &config); err != nil {
			t.Fatal(err)
		}
		c, cluster, user := ensure(t, dir, time.Now()), config.Clusters[0].Cluster, config.Users[0].User
		if cluster.Server != s.URL || !bytes.Equal(cluster.CA, c.ca) || !bytes.Equal(user.Crt, c.crt) || !bytes.Equal(user.Key, c.key) {
			t.Errorf("got %+v", config)
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
			if got := lastErrors(test.log); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
