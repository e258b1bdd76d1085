// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package localserver

import (
	"path/filepath"
	"testing"
	"time"
)

func TestAFullDiskFailsTheNextWrite(t *testing.T) {
	dir := t.TempDir()
	s := startProgram(t, dir, `head -c 300000 /dev/zero; while echo line; do sleep 0.01; done`)
	log := filepath.Join(dir, "kube-apiserver.log")
	for len(read(t, log)) <= 300_000 {
		time.Sleep(time.Millisecond)
	}
	if err := s.FillDisk(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Exited():
	case <-time.After(10 * time.Second):
		t.Error("the process goes on to write")
	}
}
