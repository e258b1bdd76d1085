// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// crdSets are the CRDs in the modules that corpus/go.mod pins. The CRDs of a set have the text with and do not have the
// text without.
var crdSets = map[string]struct{ files, with, without string }{
	// A discriminator and its members, or one of two members, by CEL.
	"sigs.k8s.io/gateway-api": {files: "config/crd/standard/*.yaml"},
	// At most one of several members, by oneOf in the schema. DestinationRule repeats one such union 36 times, which takes
	// long.
	"istio.io/api": {
		files: "kubernetes/customresourcedefinitions.gen.yaml", with: "oneOf:", without: "kind: DestinationRule",
	},
	// Exactly one of several members, by minProperties and maxProperties.
	"sigs.k8s.io/network-policy-api": {files: "config/crd/*.yaml"},
	// One of several members, by a webhook. The other CRDs repeat the unions of this one.
	"github.com/cert-manager/cert-manager": {files: "deploy/crds/cert-manager.io_issuers.yaml"},
}

// corpusCRD is a CRD of the corpus with its published manifest.
type corpusCRD struct {
	apiextensionsv1.CustomResourceDefinition
	yaml []byte
}

// corpusCRDs reads the CRDs of crdSets from the module cache.
func corpusCRDs(t *testing.T) []corpusCRD {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json")
	cmd.Dir = "corpus"
	cmd.Env = append(os.Environ(), "GOFLAGS=") // it has a module file of its own
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go mod download in test/integration/corpus: %v\n%s", err, out)
	}
	var crds []corpusCRD
	modules := 0
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); modules++ {
		var module struct{ Path, Dir string }
		if err := decoder.Decode(&module); err != nil {
			t.Fatal(err)
		}
		set := crdSets[module.Path]
		files, err := filepath.Glob(filepath.Join(module.Dir, filepath.FromSlash(set.files)))
		if err != nil || len(files) == 0 {
			t.Fatalf("no CRDs in %s: %v", module.Path, err)
		}
		for _, file := range files {
			crds = append(crds, readCRDs(t, file, set.with, set.without)...)
		}
	}
	if modules != len(crdSets) {
		t.Fatalf("corpus/go.mod has %d modules, crdSets %d", modules, len(crdSets))
	}
	return crds
}

// readCRDs returns the CRDs in a file that have the text with and do not have the text without.
func readCRDs(t *testing.T, file, with, without string) []corpusCRD {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var crds []corpusCRD
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return crds
		}
		crd := corpusCRD{yaml: document}
		if err := errors.Join(err, yaml.Unmarshal(document, &crd.CustomResourceDefinition)); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		wanted := bytes.Contains(document, []byte(with)) && (without == "" || !bytes.Contains(document, []byte(without)))
		if crd.Kind == "CustomResourceDefinition" && wanted {
			crds = append(crds, crd)
		}
	}
}

// versions returns the names of the served versions.
func (c corpusCRD) versions() (names []string) {
	for _, version := range c.Spec.Versions {
		if version.Served {
			names = append(names, version.Name)
		}
	}
	return names
}

// collection returns the path of the custom resources in a version.
func (c corpusCRD) collection(version string) string {
	path := "/apis/" + c.Spec.Group + "/" + version
	if c.Spec.Scope == apiextensionsv1.NamespaceScoped {
		path += "/namespaces/default"
	}
	return path + "/" + c.Spec.Names.Plural
}

// pathTemplate returns the collection's path in OpenAPI.
func (c corpusCRD) pathTemplate(version string) string {
	return strings.Replace(c.collection(version), "/default/", "/{namespace}/", 1)
}

// key returns the etcd key of a custom resource.
func (c corpusCRD) key(name string) string {
	key := "/registry/" + c.Spec.Group + "/" + c.Spec.Names.Plural
	if c.Spec.Scope == apiextensionsv1.NamespaceScoped {
		key += "/default"
	}
	return key + "/" + name
}

const (
	crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	crdKey  = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
)

// Entries of managedFields are sorted by time in seconds, and then by manager. So that their order does not depend on
// the time, the names of the managers are in the order in which they write. The server itself writes a CRD's status as
// kube-apiserver.
const (
	firstManager  = "fieldManager=a"
	secondManager = "fieldManager=b"
	lastManager   = "fieldManager=z"
)

// crdScenarios create and apply the CRDs, every other one as published, and the others as JSON.
func crdScenarios(crds []corpusCRD) (scenarios []corpusScenario) {
	for i, crd := range crds {
		run := func(r *corpusRecorder) { crd.run(r, i%2 == 0) }
		scenarios = append(scenarios, corpusScenario{name: "CRD/" + crd.Name, run: run})
	}
	return scenarios
}

// run creates the CRD, reads it and applies it.
func (c corpusCRD) run(r *corpusRecorder, asJSON bool) {
	object, contentType, accepted := c.yaml, "application/yaml", ""
	if asJSON {
		contentType = "application/json"
		if object, r.err = yaml.YAMLToJSON(c.yaml); r.err != nil {
			return
		}
	}
	// What is in etcd is not compared, since controllers may write the status at any time.
	r.send(corpusRequest{
		name: "create as " + contentType, method: http.MethodPost, path: crdPath + "?" + firstManager,
		contentType: contentType, body: object, want: &accepted,
	})
	path, key := crdPath+"/"+c.Name, crdKey+c.Name
	r.await("the CRD is established", func() bool {
		return established(r.fetch(corpusRequest{path: path}).Body)
	})
	r.send(corpusRequest{name: "read", path: path, key: key})
	r.send(corpusRequest{
		name: "apply", method: http.MethodPatch, path: path + "?force=true&" + lastManager,
		contentType: "application/apply-patch+yaml", body: object, key: key, want: &accepted,
	})
}

// established reports whether the server's controllers have set all conditions of a CRD.
func established(body string) bool {
	var crd apiextensionsv1.CustomResourceDefinition
	if json.Unmarshal([]byte(body), &crd) != nil {
		return false
	}
	types := map[apiextensionsv1.CustomResourceDefinitionConditionType]bool{
		apiextensionsv1.NamesAccepted: true, apiextensionsv1.Established: true,
	}
	if strings.HasSuffix(crd.Spec.Group, ".k8s.io") {
		types[apiextensionsv1.KubernetesAPIApprovalPolicyConformant] = true
	}
	for _, condition := range crd.Status.Conditions {
		if condition.Status == apiextensionsv1.ConditionTrue {
			delete(types, condition.Type)
		}
	}
	return len(types) == 0
}

func corpusLabels(value string) map[string]any {
	return map[string]any{"labels": map[string]any{"corpus": value}}
}

// documentScenarios read OpenAPI and discovery of the groups of the CRDs.
func documentScenarios(crds []corpusCRD) (scenarios []corpusScenario) {
	byVersion := map[string][]corpusCRD{} // of a group
	groups := map[string]bool{}
	for _, crd := range crds {
		groups[crd.Spec.Group] = true
		for _, version := range crd.versions() {
			key := crd.Spec.Group + "/" + version
			byVersion[key] = append(byVersion[key], crd)
		}
	}
	for _, groupVersion := range slices.Sorted(maps.Keys(byVersion)) {
		scenarios = append(scenarios, corpusScenario{name: "documents/" + groupVersion, run: func(r *corpusRecorder) {
			readGroupVersion(r, groupVersion, byVersion[groupVersion])
		}})
	}
	all := func(r *corpusRecorder) { readDocuments(r, groups, crds) }
	return append(scenarios, corpusScenario{name: "documents/all", run: all})
}

// readGroupVersion reads the documents of one version of a group.
func readGroupVersion(r *corpusRecorder, groupVersion string, crds []corpusCRD) {
	v3 := "/openapi/v3/apis/" + groupVersion
	_, version, _ := strings.Cut(groupVersion, "/")
	r.await("OpenAPI v3 has all resources", func() bool {
		body := r.fetch(corpusRequest{path: v3}).Body
		return !slices.ContainsFunc(crds, func(crd corpusCRD) bool {
			return !strings.Contains(body, strconv.Quote(crd.pathTemplate(version)))
		})
	})
	r.await("discovery has all resources", func() bool {
		body := r.fetch(corpusRequest{path: "/apis/" + groupVersion}).Body
		return !slices.ContainsFunc(crds, func(crd corpusCRD) bool {
			return !strings.Contains(body, strconv.Quote(crd.Spec.Names.Plural))
		})
	})
	r.send(corpusRequest{name: "OpenAPI v3", path: v3})
	r.send(corpusRequest{name: "discovery", path: "/apis/" + groupVersion})
}

// readDocuments records the parts of the groups in the documents about all groups. Other parts have the server's
// version and the schema of CustomResourceDefinition.
func readDocuments(r *corpusRecorder, groups map[string]bool, crds []corpusCRD) {
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		r.send(corpusRequest{name: "discovery of " + group, path: "/apis/" + group})
	}
	readAggregatedDiscovery(r, groups)

	var v2 openAPIv2
	r.await("OpenAPI v2 has all resources", func() bool {
		v2 = openAPIv2{}
		r.decode([]byte(r.fetch(corpusRequest{path: "/openapi/v2"}).Body), &v2)
		return !slices.ContainsFunc(crds, func(crd corpusCRD) bool { return !v2.has(crd) })
	})
	for _, path := range slices.Sorted(maps.Keys(v2.Paths)) {
		if groups[groupIn(path)] {
			r.note("OpenAPI v2: "+path, string(v2.Paths[path]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v2.Definitions)) {
		var definition struct {
			Kinds []struct{ Group string } `json:"x-kubernetes-group-version-kind"`
		}
		r.decode(v2.Definitions[name], &definition)
		if len(definition.Kinds) == 1 && groups[definition.Kinds[0].Group] {
			r.note("OpenAPI v2: "+name, string(v2.Definitions[name]))
		}
	}
}

func readAggregatedDiscovery(r *corpusRecorder, groups map[string]bool) {
	const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	var discovery struct{ Items []json.RawMessage }
	r.decode([]byte(r.fetch(corpusRequest{path: "/apis", accept: aggregated}).Body), &discovery)
	for _, item := range discovery.Items {
		var group struct{ Metadata struct{ Name string } }
		if r.decode(item, &group); groups[group.Metadata.Name] {
			r.note("aggregated discovery of "+group.Metadata.Name, r.normalize(string(item)))
		}
	}
}

// openAPIv2 is an OpenAPI v2 document.
type openAPIv2 struct{ Paths, Definitions map[string]json.RawMessage }

// has reports whether the document has all served versions of a CRD.
func (s openAPIv2) has(crd corpusCRD) bool {
	return !slices.ContainsFunc(crd.versions(), func(version string) bool {
		return s.Paths[crd.pathTemplate(version)] == nil
	})
}

// groupIn returns the group in a path of the API.
func groupIn(path string) string {
	parts := strings.Split(path, "/")
	if len(parts) < 3 || parts[1] != "apis" {
		return ""
	}
	return parts[2]
}

// decode decodes a body of the server. After an error it does nothing.
func (r *corpusRecorder) decode(body []byte, into any) {
	if r.err == nil {
		r.err = json.Unmarshal(body, into)
	}
}
