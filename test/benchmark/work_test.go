// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/union"
)

// Environment variables of the processes that TestWorkDoesNotGrow starts: the case to run, and how often.
const (
	workCase   = "FAIRLEAD_WORK_CASE"
	workRepeat = "FAIRLEAD_WORK_REPEAT"
)

// workCases are fixed requests with the number of statements that our packages may execute for them. The statements are
// counted with the compiler's coverage counters. Unlike times, they are the same on every machine and on every run. A
// limit is the counted number plus 5%. A change that saves statements lowers the limit; a change that raises a limit
// gives the reason.
var workCases = []struct {
	name  string
	limit int
}{
	{"unions, 4 rules", 1561},
	{"unions, 64 rules", 23863},
	{"gates, 4 rules", 1540},
	{"gates, 64 rules", 23275},
	{"no unions, no gates", 12},
}

// TestWorkOfOneCase is what those processes run. Without the environment variables it does nothing.
func TestWorkOfOneCase(t *testing.T) {
	name := os.Getenv(workCase)
	if name == "" {
		return
	}
	repeat, err := strconv.Atoi(os.Getenv(workRepeat))
	if err != nil {
		t.Fatal(err)
	}
	rules := 4
	if strings.Contains(name, "64 rules") {
		rules = 64
	}
	structural := structuralOf(t, longRouteSchema(t))
	var unions *union.Plan
	var gates *fieldgate.Plan
	switch {
	case strings.HasPrefix(name, "unions"):
		unions = union.Compile(structural, nil)
	case strings.HasPrefix(name, "gates"):
		gates = fieldgate.Compile(disabledGates(gatedPaths()), structural, fieldgate.Options{})
	}
	obj, old := routeOf(rules), routeOf(rules)
	for range repeat {
		normalizeAndValidate(unions, obj, old)
		evaluate(gates, obj, old)
	}
}

// TestWorkDoesNotGrow counts the statements that a request with a valid object executes, so that a change that walks
// more of the object is noticed without a clock (rules R2, R3).
func TestWorkDoesNotGrow(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "work.test")
	const packages = "github.com/fairlead-dev/fairlead/pkg/registry/customresource/..."
	build := exec.Command("go", "test", "-c", "-covermode=count", "-coverpkg="+packages, "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range workCases {
		const repeats = 100
		work := (statements(t, binary, c.name, 1+repeats) - statements(t, binary, c.name, 1)) / repeats
		if work > c.limit {
			t.Errorf("%s: %d statements, want at most %d", c.name, work, c.limit)
		} else {
			t.Logf("%s: %d statements, limit %d", c.name, work, c.limit)
		}
	}
}

// statements runs a case in a new process and returns how many statements it executed. They include the compilation of
// the plan.
func statements(t *testing.T, binary, name string, repeat int) int {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	run := exec.Command(binary, "-test.run", "^TestWorkOfOneCase$", "-test.coverprofile", profile)
	run.Env = append(os.Environ(), workCase+"="+name, workRepeat+"="+strconv.Itoa(repeat))
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file, err := os.Open(profile)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	total := 0
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		// A line is: file:from,to statements count
		if fields := strings.Fields(lines.Text()); len(fields) == 3 {
			total += number(t, fields[1]) * number(t, fields[2])
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return total
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
