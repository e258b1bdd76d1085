// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
	"golang.org/x/tools/txtar"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"patchset": main})
}

// TestScripts runs each script in a copy of testdata/base.txtar, offline: the
// upstream modules come from a file-system proxy made of it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		Setup:               setup,
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"replace": replace,
			"proxy":   proxy,
			"times":   times,
			"lock":    lock,
			"resolve": resolve,
		},
	})
}

func setup(env *testscript.Env) error {
	base, err := txtar.ParseFile(filepath.Join("testdata", "base.txtar"))
	if err != nil {
		return err
	}
	for _, f := range base.Files {
		name := filepath.Join(env.WorkDir, f.Name)
		// A script's own file wins.
		if _, err := os.Stat(name); err == nil {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(name, f.Data, 0o666); err != nil {
			return err
		}
	}
	env.Setenv("GOPROXY", "file://"+filepath.Join(env.WorkDir, "proxy"))
	env.Setenv("GOMODCACHE", filepath.Join(env.WorkDir, "modcache"))
	env.Setenv("GONOSUMDB", "*")
	env.Setenv("GOSUMDB", "off")
	env.Setenv("SRC", filepath.Join(env.WorkDir, "repo", "staging", "src", "v1.37", "k8s.io", "apiserver"))
	env.Setenv("PATCHES", filepath.Join(env.WorkDir, "repo", "staging", "patches", "k8s.io", "apiserver"))
	env.Setenv("LINE", filepath.Join(env.WorkDir, "repo", "staging", "lines", "v1.37"))
	env.Cd = filepath.Join(env.WorkDir, "repo")
	sums, err := makeProxy(env.WorkDir)
	if err != nil {
		return err
	}
	locks, err := filepath.Glob(filepath.Join(env.WorkDir, "repo", "staging", "lines", "*", "upstream.lock"))
	if err != nil {
		return err
	}
	for _, lock := range locks {
		if err := fillSums(lock, sums); err != nil {
			return err
		}
	}
	return nil
}

// fillSums writes real sums where a lock has the word SUM.
func fillSums(lock string, sums map[string]string) error {
	data, err := os.ReadFile(lock)
	if err != nil {
		return err
	}
	text := string(data)
	for version, sum := range sums {
		key := strings.Replace(version, "@", " ", 1)
		text = strings.ReplaceAll(text, key+" SUM", key+" "+sum)
	}
	return os.WriteFile(lock, []byte(text), 0o666)
}

// lock VERSION locks that version of all modules but Kubernetes.
func lock(ts *testscript.TestScript, _ bool, args []string) {
	file := filepath.Join(ts.Getenv("LINE"), "upstream.lock")
	rows := strings.Split(ts.ReadFile(file), "\n")
	for i, row := range rows {
		if fields := strings.Fields(row); len(fields) == 3 && strings.HasPrefix(fields[1], "v0.") {
			rows[i] = fields[0] + " " + args[0] + " SUM"
		}
	}
	ts.Check(os.WriteFile(file, []byte(strings.Join(rows, "\n")), 0o666))
	sums, err := makeProxy(ts.Getenv("WORK"))
	ts.Check(err)
	ts.Check(fillSums(file, sums))
}

// resolve FILE resolves the conflicts in a file: both sides stay.
func resolve(ts *testscript.TestScript, _ bool, args []string) {
	var rows []string
	for _, row := range strings.Split(ts.ReadFile(args[0]), "\n") {
		if !strings.HasPrefix(row, "<<<<<<<") && !strings.HasPrefix(row, "=======") && !strings.HasPrefix(row, ">>>>>>>") {
			rows = append(rows, row)
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(rows, "\n")), 0o666))
}

// makeProxy serves the modules below upstream/, and returns their sums.
func makeProxy(work string) (map[string]string, error) {
	sums := map[string]string{}
	dirs, err := filepath.Glob(filepath.Join(work, "upstream", "*", "*@*"))
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		rel, err := filepath.Rel(filepath.Join(work, "upstream"), dir)
		if err != nil {
			return nil, err
		}
		path, version, _ := strings.Cut(filepath.ToSlash(rel), "@")
		sum, err := publish(filepath.Join(work, "proxy", path, "@v"), dir, module.Version{Path: path, Version: version})
		if err != nil {
			return nil, err
		}
		sums[path+"@"+version] = sum
	}
	return sums, nil
}

func publish(to, dir string, v module.Version) (string, error) {
	if err := os.MkdirAll(to, 0o777); err != nil {
		return "", err
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", err
	}
	base := filepath.Join(to, v.Version)
	info := fmt.Sprintf("{%q: %q}", "Version", v.Version)
	if err := os.WriteFile(base+".info", []byte(info), 0o666); err != nil {
		return "", err
	}
	if err := os.WriteFile(base+".mod", mod, 0o666); err != nil {
		return "", err
	}
	f, err := os.Create(base + ".zip")
	if err != nil {
		return "", err
	}
	if err := zip.CreateFromDir(f, v, dir); err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	return dirhash.HashZip(base+".zip", dirhash.Hash1)
}

// proxy makes the proxy again from upstream/.
func proxy(ts *testscript.TestScript, _ bool, _ []string) {
	_, err := makeProxy(ts.Getenv("WORK"))
	ts.Check(err)
}

// replace FILE OLD NEW replaces the only occurrence of a text; \n is a new line.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace file old new")
	}
	name := ts.MkAbs(args[0])
	text := ts.ReadFile(args[0])
	from, to := strings.ReplaceAll(args[1], `\n`, "\n"), strings.ReplaceAll(args[2], `\n`, "\n")
	if strings.Count(text, from) != 1 {
		ts.Fatalf("%s has %q %d times", args[0], from, strings.Count(text, from))
	}
	ts.Check(os.WriteFile(name, []byte(strings.Replace(text, from, to, 1)), 0o666))
}

// times FILE... prints modification times, to compare them later.
func times(ts *testscript.TestScript, _ bool, args []string) {
	var b strings.Builder
	for _, name := range args[1:] {
		info, err := os.Stat(ts.MkAbs(name))
		ts.Check(err)
		b.WriteString(info.ModTime().Format(time.RFC3339Nano) + "\n")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o666))
}
