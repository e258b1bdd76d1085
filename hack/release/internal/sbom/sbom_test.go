// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sbom

import (
	"runtime/debug"
	"testing"

	"github.com/fairlead-dev/fairlead/hack/release/internal/bundle"
)

var fairlead = debug.Module{Path: "github.com/fairlead-dev/fairlead", Version: "(devel)"}

func newBundle() *bundle.Bundle {
	return &bundle.Bundle{Line: "v1.37", Number: 2, Upstream: map[string]bundle.Locked{"k8s.io/kubernetes": {Version: "v1.37.1"}}}
}

func TestApplication(t *testing.T) {
	modules := []*debug.Module{
		{Path: "go.etcd.io/etcd/api/v3", Version: "v3.7.0"},
		{Path: "go.etcd.io/etcd/server/v3", Version: "v3.7.0"},
		{Path: "k8s.io/kubernetes", Version: "v1.37.1"},
	}
	for _, test := range []struct{ name, pkg, want string }{
		{
			"a binary of our module has our version",
			"github.com/fairlead-dev/fairlead/cmd/kube-apiserver",
			"pkg:golang/github.com/fairlead-dev/fairlead@v1.37.1%2Bfairlead.2",
		},
		{
			"a binary of another module has the version of that module",
			"k8s.io/kubernetes/cmd/kubectl", "pkg:golang/k8s.io/kubernetes@v1.37.1",
		},
		{
			"a binary that is the root of another module",
			"go.etcd.io/etcd/server/v3", "pkg:golang/go.etcd.io/etcd/server/v3@v3.7.0",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := application(newBundle(), &debug.BuildInfo{Path: test.pkg, Main: fairlead, Deps: modules})
			if got.PackageURL != test.want {
				t.Errorf("got %s, want %s", got.PackageURL, test.want)
			}
		})
	}
}

func TestAModuleThatIsReplacedByAnother(t *testing.T) {
	got, err := describeModule(newBundle(), &debug.Module{
		Path: "example.com/old", Version: "v1.0.0",
		Replace: &debug.Module{Path: "example.com/new", Version: "v1.2.0", Sum: "h1:x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.PackageURL != "pkg:golang/example.com/new@v1.2.0" || got.Pedigree.Notes != "replaces example.com/old v1.0.0" {
		t.Errorf("got %s: %s", got.PackageURL, got.Pedigree.Notes)
	}
}
