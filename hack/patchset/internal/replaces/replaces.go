// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replaces keeps the replace block of a go.mod file as a line needs it.
package replaces

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/fairlead-dev/fairlead/hack/patchset/internal/atomicfile"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/fault"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/repo"
	"github.com/fairlead-dev/fairlead/hack/patchset/internal/upstream"
)

const kubernetes = "k8s.io/kubernetes"

// repair is the script that writes what Check misses.
const repair = "hack/update-replaces.sh"

// Check returns how a go.mod file differs from what the line needs.
func Check(line *repo.Line, modFile string) ([]string, error) {
	f, want, err := open(line, modFile)
	if err != nil {
		return nil, err
	}
	differences := compare(f, want)
	if err := checkRequire(line, f); err != nil {
		differences = append(differences, err.Error())
	}
	return differences, nil
}

// Write brings a go.mod file in order; it leaves a file alone that is.
func Write(line *repo.Line, modFile string) ([]string, error) {
	f, want, err := open(line, modFile)
	if err != nil {
		return nil, err
	}
	if err := checkRequire(line, f); err != nil {
		return nil, err
	}
	differences := compare(f, want)
	if len(differences) == 0 {
		return nil, nil
	}
	rewrite(f, want)
	return differences, atomicfile.Write(modFile, modfile.Format(f.Syntax))
}

// Repair names what brings a go.mod file in order.
func Repair() string { return repair }

func open(line *repo.Line, modFile string) (*modfile.File, map[string]module.Version, error) {
	data, err := os.ReadFile(modFile)
	if err != nil {
		return nil, nil, fmt.Errorf("read go.mod: %w", err)
	}
	f, err := modfile.Parse(filepath.Base(modFile), data, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("parse go.mod: %w", err)
	}
	want, err := wanted(line)
	return f, want, err
}

// wanted maps each module to its replacement.
func wanted(line *repo.Line) (map[string]module.Version, error) {
	kube, ok := line.Lock.Get(kubernetes)
	if !ok {
		return nil, fault.New("add: "+kubernetes+" <version> <h1 sum>", "%s: no %s", line.LockFile(), kubernetes)
	}
	version, err := libraryVersion(kube.Version.Version)
	if err != nil {
		return nil, err
	}
	data, err := upstream.GoMod(kube.Version)
	if err != nil {
		return nil, err
	}
	// Not ParseLax: that ignores replaces.
	f, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return nil, fmt.Errorf("go.mod of %s: %w", kube.Version, err)
	}
	want := map[string]module.Version{}
	for _, r := range f.Replace {
		if strings.HasPrefix(r.New.Path, "./staging/src/") {
			want[r.Old.Path] = module.Version{Path: r.Old.Path, Version: version}
		}
	}
	for _, path := range line.Series.Modules() {
		want[path] = module.Version{Path: "./staging/src/" + line.Name + "/" + path}
	}
	return want, nil
}

var kubeVersion = regexp.MustCompile(`^v1(\.[0-9]+\.[0-9]+(-.*)?)$`)

// libraryVersion is the version of the k8s.io libraries that belong to a
// Kubernetes release.
func libraryVersion(version string) (string, error) {
	m := kubeVersion.FindStringSubmatch(version)
	if m == nil {
		return "", fault.New("lock a release, such as v1.37.1", "%s %s: not a version v1.X.Y", kubernetes, version)
	}
	return "v0" + m[1], nil
}

// compare tells each difference between the replaces of f and those wanted.
func compare(f *modfile.File, want map[string]module.Version) []string {
	var differences []string
	have := map[string]bool{}
	for _, r := range f.Replace {
		to, ok := want[r.Old.Path]
		switch {
		case isOwn(r, want):
		case !ok || r.Old.Version != "" || have[r.Old.Path]:
			differences = append(differences, fmt.Sprintf("%s => %s is not wanted (a replace of your own needs a trailing comment)", r.Old, r.New))
		case r.New != to:
			differences = append(differences, fmt.Sprintf("%s => %s, want %s", r.Old.Path, r.New, to))
			have[r.Old.Path] = true
		default:
			have[r.Old.Path] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if !have[path] {
			differences = append(differences, fmt.Sprintf("%s => %s is missing", path, want[path]))
		}
	}
	return differences
}

// isOwn tells whether a replace is one that a user wants: about another module,
// and with the reason in a trailing comment.
func isOwn(r *modfile.Replace, want map[string]module.Version) bool {
	_, managed := want[r.Old.Path]
	return !managed && len(r.Syntax.Suffix) > 0
}

// rewrite puts one sorted block in the place of all replaces but the user's own.
func rewrite(f *modfile.File, want map[string]module.Version) {
	drop := map[*modfile.Line]bool{}
	for _, r := range f.Replace {
		drop[r.Syntax] = !isOwn(r, want)
	}
	var stmts []modfile.Expr
	at := -1
	for _, stmt := range f.Syntax.Stmt {
		kept, dropped := without(stmt, drop)
		if dropped && at < 0 {
			at = len(stmts)
		}
		if kept {
			stmts = append(stmts, stmt)
		}
	}
	if at < 0 {
		at = len(stmts)
	}
	if len(want) > 0 {
		stmts = slices.Insert(stmts, at, modfile.Expr(block(want)))
	}
	f.Syntax.Stmt = stmts
}

// without removes lines from a statement; kept tells whether some are left.
func without(stmt modfile.Expr, drop map[*modfile.Line]bool) (kept, dropped bool) {
	switch stmt := stmt.(type) {
	case *modfile.Line:
		return !drop[stmt], drop[stmt]
	case *modfile.LineBlock:
		all := len(stmt.Line)
		stmt.Line = slices.DeleteFunc(stmt.Line, func(l *modfile.Line) bool { return drop[l] })
		return len(stmt.Line) > 0 || all == 0, len(stmt.Line) < all
	}
	return true, false
}

func block(want map[string]module.Version) *modfile.LineBlock {
	b := &modfile.LineBlock{Token: []string{"replace"}}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		tokens := []string{path, "=>", want[path].Path}
		if v := want[path].Version; v != "" {
			tokens = append(tokens, v)
		}
		b.Line = append(b.Line, &modfile.Line{Token: tokens, InBlock: true})
	}
	return b
}

func checkRequire(line *repo.Line, f *modfile.File) error {
	kube, _ := line.Lock.Get(kubernetes)
	for _, r := range f.Require {
		if r.Mod.Path == kubernetes && r.Mod.Version != kube.Version.Version {
			return fault.New("go mod edit -require="+kube.String()+", or change upstream.lock",
				"require %s, want %s as in upstream.lock", r.Mod, kube.Version.Version)
		}
		if r.Mod.Path == kubernetes {
			return nil
		}
	}
	return fault.New("go mod edit -require="+kube.String(), "no require of %s", kubernetes)
}
