// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/xeipuuv/gojsonschema"

	"github.com/fairlead-dev/fairlead/hack/release/internal/bundle"
)

func readSBOM(t *testing.T, file string) *cdx.BOM {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	bom := &cdx.BOM{}
	if err := cdx.NewBOMDecoder(f, cdx.BOMFileFormatJSON).Decode(bom); err != nil {
		t.Fatal(err)
	}
	return bom
}

func TestSBOMListsTheModulesOfABinary(t *testing.T) {
	root := repository(t)
	dir := release(t, root, url)
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			bom := readSBOM(t, filepath.Join(dir, "kube-apiserver-v1.37.1-fairlead.1-linux-"+arch+".cdx.json"))
			checkSubject(t, bom, filepath.Join(dir, "linux-"+arch, "kube-apiserver"))
			checkModules(t, *bom.Components)
			ours := "pkg:golang/github.com/fairlead-dev/fairlead@v1.37.1%2Bfairlead.1"
			want := cdx.Dependency{Ref: ours, Dependencies: &[]string{
				"pkg:golang/std@" + strings.TrimPrefix(runtime.Version(), "go"),
				"pkg:golang/github.com/inconshreveable/mousetrap@v1.1.0",
				"pkg:golang/k8s.io/apiserver@v0.37.1%2Bfairlead.1",
			}}
			if got := (*bom.Dependencies)[0]; !reflect.DeepEqual(got, want) {
				t.Errorf("got  %v %v\nwant %v %v", got.Ref, *got.Dependencies, want.Ref, *want.Dependencies)
			}
		})
	}
}

func checkSubject(t *testing.T, bom *cdx.BOM, binary string) {
	t.Helper()
	sum, err := bundle.SHA256(binary)
	if err != nil {
		t.Fatal(err)
	}
	subject := bom.Metadata.Component
	if subject.Name != "kube-apiserver" || subject.Version != "v1.37.1+fairlead.1" {
		t.Errorf("the document is of %s %s", subject.Name, subject.Version)
	}
	if hash := (*subject.Hashes)[0]; hash.Algorithm != cdx.HashAlgoSHA256 || hash.Value != sum {
		t.Errorf("the hash is %v, want %s", hash, sum)
	}
	if bom.Metadata.Timestamp != "2026-11-22T10:00:00Z" {
		t.Errorf("the time is %s", bom.Metadata.Timestamp)
	}
}

func checkModules(t *testing.T, components []cdx.Component) {
	t.Helper()
	byName := map[string]cdx.Component{}
	for _, component := range components {
		byName[component.Name] = component
	}
	unpatched := byName["github.com/inconshreveable/mousetrap"]
	if unpatched.Version != "v1.1.0" || unpatched.Pedigree != nil {
		t.Errorf("an unpatched module is %+v", unpatched)
	}
	sum := &[]cdx.Property{{Name: "go:sum", Value: "h1:wN+x4NVGpMsO7ErUn/mUI3vEoE6Jt13X2s0bqwp9tc8="}}
	if !reflect.DeepEqual(unpatched.Properties, sum) {
		t.Errorf("an unpatched module has the properties %v", unpatched.Properties)
	}
	checkPatched(t, byName["k8s.io/apiserver"])
}

func checkPatched(t *testing.T, patched cdx.Component) {
	t.Helper()
	if patched.Version != "v0.37.1+fairlead.1" || patched.Pedigree == nil {
		t.Fatalf("the patched module is %+v", patched)
	}
	ancestor := (*patched.Pedigree.Ancestors)[0]
	if ancestor.PackageURL != "pkg:golang/k8s.io/apiserver@v0.37.1" {
		t.Errorf("the ancestor of the patched module is %s", ancestor.PackageURL)
	}
	var patches []string
	for _, patch := range *patched.Pedigree.Patches {
		patches = append(patches, patch.Diff.URL)
	}
	if want := []string{
		"staging/patches/k8s.io/apiserver/openapi-definitions.patch",
		"staging/patches/k8s.io/apiserver/v1.37/field-management.patch",
	}; !reflect.DeepEqual(patches, want) {
		t.Errorf("the patches are %q", patches)
	}
	if want := "patched by fairlead; the patches are in its repository at " + revision; patched.Pedigree.Notes != want {
		t.Errorf("the notes are %q", patched.Pedigree.Notes)
	}
}

func TestAModuleInADirectoryMustBeLocked(t *testing.T) {
	root := repository(t)
	lock := filepath.Join(root, "staging", "lines", "v1.37", "upstream.lock")
	if err := os.WriteFile(lock, []byte("k8s.io/kubernetes v1.37.1 h1:x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := run(root, "all", "--url", url)
	want := "SBOM of kube-apiserver for amd64: k8s.io/apiserver is replaced by a directory, " +
		"and upstream.lock of v1.37 does not have it"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestSBOMsFollowTheSchemaOfCycloneDX(t *testing.T) {
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	schemas := filepath.Join(strings.TrimSpace(string(module)), "schema")
	schema := loadSchema(t, schemas, "bom-1.6.schema.json")
	files, err := filepath.Glob(filepath.Join(release(t, repository(t), url), "*.cdx.json"))
	if err != nil || len(files) != 6 {
		t.Fatalf("%d SBOMs, want 6: %v", len(files), err)
	}
	for _, file := range files {
		result, err := schema.Validate(gojsonschema.NewReferenceLoader("file://" + file))
		if err != nil {
			t.Fatal(err)
		}
		for _, failure := range result.Errors() {
			t.Errorf("%s: %s", filepath.Base(file), failure)
		}
	}
}

// loadSchema reads a schema and those that it refers to by URL from files.
func loadSchema(t *testing.T, dir, name string) *gojsonschema.Schema {
	t.Helper()
	file := func(name string) gojsonschema.JSONLoader {
		return gojsonschema.NewReferenceLoader("file://" + filepath.Join(dir, name))
	}
	loader := gojsonschema.NewSchemaLoader()
	if err := loader.AddSchemas(file("spdx.schema.json"), file("jsf-0.82.schemax.json")); err != nil {
		t.Fatal(err)
	}
	schema, err := loader.Compile(file(name))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
