// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sbom

import (
	"runtime/debug"
	"testing"

	"github.com/fairlead-dev/fairlead/hack/release/internal/bundle"
)

func newBundle() *bundle.Bundle {
	return &bundle.Bundle{
		Line: "v1.37", Number: 2,
		Upstream: map[string]bundle.Locked{"k8s.io/kubernetes": {Version: "v1.37.1"}},
	}
}

func TestApplication(t *testing.T) {
	for _, test := range []struct {
		name string
		main debug.Module
		want string
	}{
		{
			"a binary of our module has our version",
			debug.Module{Path: "github.com/fairlead-dev/fairlead", Version: "(devel)"},
			"pkg:golang/github.com/fairlead-dev/fairlead@v1.37.1%2Bfairlead.2",
		},
		{
			"a binary of another module has the version of that module",
			debug.Module{Path: "go.etcd.io/etcd/server/v3", Version: "v3.7.0"},
			"pkg:golang/go.etcd.io/etcd/server/v3@v3.7.0",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := application(newBundle(), &debug.BuildInfo{Main: test.main})
			if got.PackageURL != test.want {
				t.Errorf("got %s, want %s", got.PackageURL, test.want)
			}
		})
	}
}

func TestAModuleThatIsReplaced(t *testing.T) {
	for _, test := range []struct {
		name      string
		module    debug.Module
		url, note string
	}{
		{
			"by another module: the other is in the binary",
			debug.Module{
				Path: "example.com/old", Version: "v1.0.0",
				Replace: &debug.Module{Path: "example.com/new", Version: "v1.2.0", Sum: "h1:x"},
			},
			"pkg:golang/example.com/new@v1.2.0", "replaces example.com/old",
		},
		{
			"by itself, as the modules of Kubernetes' repository: nothing to note",
			debug.Module{
				Path: "k8s.io/api", Version: "v0.0.0",
				Replace: &debug.Module{Path: "k8s.io/api", Version: "v0.37.1", Sum: "h1:x"},
			},
			"pkg:golang/k8s.io/api@v0.37.1", "",
		},
		{
			"by a directory, as package line: a module of ours has our version",
			debug.Module{
				Path: "github.com/fairlead-dev/fairlead/line", Version: "v0.0.0",
				Replace: &debug.Module{Path: "./staging/lines/v1.37/line", Version: "(devel)"},
			},
			"pkg:golang/github.com/fairlead-dev/fairlead/line@v1.37.1%2Bfairlead.2", "",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := describeModule(newBundle(), &test.module)
			if err != nil {
				t.Fatal(err)
			}
			note := ""
			if got.Pedigree != nil {
				note = got.Pedigree.Notes
			}
			if got.PackageURL != test.url || note != test.note {
				t.Errorf("got %s: %q", got.PackageURL, note)
			}
		})
	}
}
