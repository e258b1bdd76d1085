// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"github.com/fairlead-dev/fairlead/hack/bench/internal/report"
)

// machine describes what is measured, and on what. What cannot be found out is left empty.
func machine(ctx context.Context, o options) report.Machine {
	memory, _ := strconv.ParseFloat(field("/proc/meminfo", "MemTotal"), 64)
	load, _ := os.ReadFile("/proc/loadavg")
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return report.Machine{
		CPU: field("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(), Memory: memory * 1024,
		Kernel: "Linux " + strings.TrimSpace(string(kernel)), Load: first(strings.Fields(string(load))),
		Go:     runtime.Version(),
		Server: version(ctx, o.server), Stock: version(ctx, o.stock), Etcd: version(ctx, o.etcd),
	}
}

// field returns what follows a name and a colon in a file of /proc, without the unit.
func field(file, name string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == name {
			return strings.TrimSuffix(strings.TrimSpace(value), " kB")
		}
	}
	return ""
}

// version returns the first line that a program has to say of its version.
func version(ctx context.Context, program string) string {
	out, _ := exec.CommandContext(ctx, program, "--version").Output()
	return first(strings.Split(string(out), "\n"))
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return strings.TrimSpace(list[0])
}
