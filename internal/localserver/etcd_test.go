// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package localserver

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEtcdMembersFormOneCluster(t *testing.T) {
	const size = 3
	members, err := newEtcdCluster("etcd", t.TempDir(), size)
	if err != nil {
		t.Fatal(err)
	}
	var initial []string
	given := map[string]bool{}
	for _, e := range members {
		peer := flagOf(t, e, "--initial-advertise-peer-urls")
		initial = append(initial, flagOf(t, e, "--name")+"="+peer)
		for _, own := range []string{e.URL, e.DataDir, e.log, peer} {
			if given[own] {
				t.Errorf("two members have %s", own)
			}
			given[own] = true
		}
	}
	for _, e := range members {
		if got := flagOf(t, e, "--initial-cluster"); got != strings.Join(initial, ",") {
			t.Errorf("the cluster of a member is %s, want %v", got, initial)
		}
	}
}

func flagOf(t *testing.T, e *Etcd, name string) string {
	t.Helper()
	i := slices.IndexFunc(e.flags, func(flag string) bool { return strings.HasPrefix(flag, name+"=") })
	if i < 0 {
		t.Fatalf("no flag %s: %v", name, e.flags)
	}
	return strings.TrimPrefix(e.flags[i], name+"=")
}

func TestAMemberThatExitsIsAnError(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho 'Error: no' >&2; exit 3"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := StartEtcdCluster(t.Context(), program, dir, 2)
	if err == nil || !strings.Contains(err.Error(), "etcd-0 did not start (exit status 3)") {
		t.Errorf("got %v", err)
	}
}

func TestServersCanShareCredentials(t *testing.T) {
	shared := t.TempDir()
	var authorities []string
	for range 2 {
		dir := t.TempDir()
		s, err := Start(Options{Program: "true", Dir: dir, CredentialsDir: shared})
		if err != nil {
			t.Fatal(err)
		}
		<-s.Exited()
		authorities = append(authorities, string(s.credentials.ca))
		if _, err := os.Stat(filepath.Join(dir, caFile)); err == nil {
			t.Error("the server has credentials of its own")
		}
	}
	if authorities[0] != authorities[1] {
		t.Error("the servers have different authorities")
	}
}

func TestAPausedProcessGoesOn(t *testing.T) {
	dir := t.TempDir()
	s := startProgram(t, dir, `while :; do echo line; sleep 0.01; done`)
	size := func() int { return len(read(t, filepath.Join(dir, "kube-apiserver.log"))) }
	grow := func() {
		for before := size(); size() == before; {
			time.Sleep(time.Millisecond)
		}
	}
	grow()
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // its last write may still be under way
	before := size()
	time.Sleep(50 * time.Millisecond)
	if size() != before {
		t.Error("the paused process wrote")
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	grow()
}
