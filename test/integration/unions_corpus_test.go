// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// The corpus: CRDs that others have published, with one-of patterns and without our extension, and what clients do to
// their objects (testdata/unions-corpus, a file per case). All requests go to an unpatched server and to ours, with
// gates off and on, and the answers must be the same, byte for byte.

// crdSets says where the CRDs are in the modules that corpus/go.mod pins. With and without narrow a set down to the
// CRDs that have the one text and not the other.
var crdSets = map[string]struct{ files, with, without string }{
	// A type and its members, or one of two members, by CEL.
	"sigs.k8s.io/gateway-api": {files: "config/crd/standard/*.yaml"},
	// At most one of several members, by oneOf in the schema. DestinationRule has one such union 36 times, which takes
	// long and shows nothing new.
	"istio.io/api": {
		files: "kubernetes/customresourcedefinitions.gen.yaml", with: "oneOf:", without: "kind: DestinationRule",
	},
	// Exactly one of several members, by minProperties and maxProperties.
	"sigs.k8s.io/network-policy-api": {files: "config/crd/*.yaml"},
	// One of several members, by a webhook. The other CRDs repeat what this one has.
	"github.com/cert-manager/cert-manager": {files: "deploy/crds/cert-manager.io_issuers.yaml"},
}

// TestF2ExistingUnionsDoNotBreak is KEP-1027's first risk.
func TestF2ExistingUnionsDoNotBreak(t *testing.T) {
	t.Parallel()
	crds := corpusCRDs(t)
	scenes := slices.Concat(crdScenes(crds), documentScenes(crds), caseScenes(t, crds), []corpusScene{canaryScene()})
	servers := startCorpusServers(t)
	var wg sync.WaitGroup
	for _, s := range servers {
		wg.Go(func() { s.play(t.Context(), scenes) })
	}
	wg.Wait()
	stock, ours := servers[0], servers[1:]
	for _, s := range servers {
		if s.err != nil {
			t.Fatalf("%s: %v", s.name, s.err)
		}
	}
	sent := 0
	for i, scene := range scenes {
		t.Run(scene.name, func(t *testing.T) {
			for _, a := range stock.answers[i] {
				if a.wrong != "" {
					t.Errorf("the case is wrong, says the stock server: %s: %s", a.Request, a.wrong)
				}
			}
			for _, s := range ours {
				if diff := diffAnswers(stock.answers[i], s.answers[i]); (diff != "") != scene.differs {
					t.Errorf("%s (-stock +ours):\n%s", s.name, diff)
				}
			}
		})
		sent += len(stock.answers[i])
	}
	t.Logf("%d CRDs, %d scenes, %d answers of each server", len(crds), len(scenes), sent)
}

// A corpusScene is a part of the play that is compared by itself.
type corpusScene struct {
	name string
	play func(*corpusRecorder)
	// differs is set where the servers must not agree, to see that this would be seen.
	differs bool
}

// corpusCanary is a CRD with one of our fields, which the stock server does not know.
const corpusCanary = `{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
	"metadata": {"name": "canaries.corpus.example.com"},
	"spec": {
		"group": "corpus.example.com", "scope": "Cluster",
		"names": {"plural": "canaries", "kind": "Canary"},
		"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
			"type": "object", "properties": {"spec": {"type": "object"}}
		}}}],
		"customFeatureGates": {"featureGates": [{"name": "G", "preRelease": "alpha", "fieldPaths": [".spec"]}]}
	}
}`

func canaryScene() corpusScene {
	return corpusScene{name: "canary", differs: true, play: func(r *corpusRecorder) {
		accepted := ""
		r.send(corpusRequest{
			name: "create, dry run", method: http.MethodPost, path: crdPath + "?dryRun=All", body: []byte(corpusCanary),
			want: &accepted,
		})
	}}
}

// play records what the server answers in each scene.
func (s *corpusServer) play(ctx context.Context, scenes []corpusScene) {
	for _, scene := range scenes {
		r := &corpusRecorder{ctx: ctx, server: s, corpusNormalizer: corpusNormalizer{since: s.since}}
		scene.play(r)
		s.answers = append(s.answers, r.answers)
		if r.err != nil {
			s.err = fmt.Errorf("%s: %w, after %s", scene.name, r.err, r.last())
			return
		}
	}
}

// corpusServer is one of the servers that are compared, and what it answered in each scene.
type corpusServer struct {
	name    string
	url     string
	client  *http.Client
	etcd    *clientv3.Client
	since   time.Time
	answers [][]corpusAnswer
	err     error
}

// startCorpusServers runs the stock server and ours, the stock one first.
func startCorpusServers(t *testing.T) []*corpusServer {
	t.Helper()
	off := strings.ReplaceAll(allGates, "true", "false")
	servers := []*corpusServer{{name: "stock"}, {name: "gates off"}, {name: "gates on"}}
	binaries, gates := []string{stockBinary(t), "", ""}, []string{"", off, allGates}
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() { s.start(t, binaries[i], gates[i]) })
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return servers
}

// start runs the server over an etcd of its own; without a binary it is the one under test.
func (s *corpusServer) start(t *testing.T, binary, gates string) {
	// Times are in seconds.
	s.since = time.Now().Truncate(time.Second)
	server, err := start(options{program: binary, featureGates: gates})
	if err == nil {
		t.Cleanup(func() {
			if err := server.stop(); err != nil {
				t.Error(err)
			}
		})
		err = s.connect(server.config, server.etcd.URL)
	}
	if err != nil {
		t.Errorf("%s: %v", s.name, err)
		return
	}
	t.Cleanup(func() { _ = s.etcd.Close() })
}

func (s *corpusServer) connect(config *rest.Config, etcd string) (err error) {
	config = rest.CopyConfig(config)
	config.DisableCompression = true
	s.url = strings.TrimSuffix(config.Host, "/")
	if s.client, err = rest.HTTPClientFor(config); err != nil {
		return err
	}
	s.etcd, err = clientv3.New(clientv3.Config{Endpoints: []string{etcd}})
	return err
}

// corpusRequest is one request and where its object is stored.
type corpusRequest struct {
	name        string // what the client does, in words
	method      string
	path        string
	accept      string
	contentType string
	body        any    // bytes, or something to be sent as JSON
	key         string // in etcd; may be empty
	want        *string
}

// corpusAnswer is all that a client sees of a response, and what is stored after it. What no two servers can have in
// common is normalized.
type corpusAnswer struct {
	Request string
	Code    int
	Header  http.Header
	Body    string
	Stored  string
	wrong   string // why this is not the answer that the case is about
}

// A corpusRecorder sends the requests of a scene to a server and writes the answers down. After an error it does
// nothing.
type corpusRecorder struct {
	corpusNormalizer
	ctx     context.Context
	server  *corpusServer
	answers []corpusAnswer
	err     error
}

// send records the answer to a request and returns its body as it came.
func (r *corpusRecorder) send(q corpusRequest) []byte {
	a := r.fetch(q)
	body := a.Body
	a.Stored = r.stored(q.key)
	if r.err != nil {
		return nil
	}
	if failure := a.failure(); q.want != nil && failure != *q.want {
		a.wrong = fmt.Sprintf("%q instead of %q:\n%s", failure, *q.want, body)
	}
	dropHeaders(a.Header)
	a.Body, a.Stored = r.normalize(body), r.normalize(a.Stored)
	r.answers = append(r.answers, a)
	return []byte(body)
}

// last shows the last answer.
func (r *corpusRecorder) last() string {
	if len(r.answers) == 0 {
		return "nothing"
	}
	a := r.answers[len(r.answers)-1]
	return a.Request + ": " + a.indented()
}

// note records a part of an answer as it is.
func (r *corpusRecorder) note(name, body string) {
	r.answers = append(r.answers, corpusAnswer{Request: name, Body: body})
}

// fetch sends a request and returns the answer as it came, which is empty after an error.
func (r *corpusRecorder) fetch(q corpusRequest) corpusAnswer {
	if r.err != nil {
		return corpusAnswer{}
	}
	a, err := r.server.fetch(r.ctx, q)
	r.err = err
	return a
}

func (s *corpusServer) fetch(ctx context.Context, q corpusRequest) (corpusAnswer, error) {
	body, err := q.bytes()
	if err != nil {
		return corpusAnswer{}, err
	}
	out, err := http.NewRequestWithContext(ctx, q.method, s.url+q.path, bytes.NewReader(body))
	if err != nil {
		return corpusAnswer{}, err
	}
	setHeader(out.Header, "Accept", q.accept)
	setHeader(out.Header, "Content-Type", q.contentType)
	in, err := s.client.Do(out)
	if err != nil {
		return corpusAnswer{}, err
	}
	body, err = io.ReadAll(in.Body)
	a := corpusAnswer{Request: q.name, Code: in.StatusCode, Header: in.Header, Body: string(body)}
	return a, errors.Join(err, in.Body.Close())
}

func (q corpusRequest) bytes() ([]byte, error) {
	switch body := q.body.(type) {
	case nil:
		return nil, nil
	case []byte:
		return body, nil
	default:
		return json.Marshal(body)
	}
}

// setHeader sets JSON where nothing else is asked for.
func setHeader(header http.Header, key, value string) {
	if value == "" {
		value = "application/json"
	}
	header.Set(key, value)
}

// dropHeaders leaves the headers that say something about the content.
func dropHeaders(header http.Header) {
	for _, name := range []string{
		"Date", "Audit-Id", // of this request alone
		"Last-Modified",                                                       // when the server made the document
		"Content-Length",                                                      // follows from the body
		"X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid", // of objects the server made at its start
	} {
		header.Del(name)
	}
}

// failure returns the reason for which the request failed, or else the code; nothing if it did not fail.
func (a corpusAnswer) failure() string {
	var status struct{ Reason string }
	if a.Code < http.StatusBadRequest {
		return ""
	}
	if json.Unmarshal([]byte(a.Body), &status) != nil || status.Reason == "" {
		return strconv.Itoa(a.Code)
	}
	return status.Reason
}

// stored returns the bytes in etcd.
func (r *corpusRecorder) stored(key string) string {
	if r.err != nil || key == "" {
		return ""
	}
	got, err := r.server.etcd.Get(r.ctx, key)
	if err != nil {
		r.err = err
		return ""
	}
	if len(got.Kvs) == 0 {
		return "nothing"
	}
	return string(got.Kvs[0].Value)
}

// await waits for what the server does in its own time.
func (r *corpusRecorder) await(what string, condition func() bool) {
	for deadline := time.Now().Add(2 * time.Minute); r.err == nil && !condition(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.err = fmt.Errorf("waited in vain until %s", what)
		}
	}
}

// A corpusNormalizer replaces what no two servers can have in common by what they must: the place of a value among
// those seen so far. So it does not hide that an object changed, or is another one.
type corpusNormalizer struct {
	since  time.Time         // when the server started
	values map[string]string // what to write for a value
}

var (
	// A uid is random.
	uidField  = regexp.MustCompile(`uid"?: ?"?(` + uuidValue.String() + `)`)
	uuidValue = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	// A resourceVersion counts the writes to all of etcd, also those of the server itself. Some errors quote objects.
	resourceVersion = regexp.MustCompile(`(resourceVersion\\*"?: ?\\*")(\d+)`)
	// That of a list is the latest one of any object.
	listVersion     = regexp.MustCompile(`("metadata":\{(?:"continue":"",)?"resourceVersion":)"\d+"\}`)
	listVersionYAML = regexp.MustCompile(`(?m)(^metadata:\n  continue: ""\n  resourceVersion: )"\d+"`)
	// The server's clock: creationTimestamp, deletionTimestamp, times in managedFields and conditions.
	serverTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	// Tables tell an age instead.
	tableAge = regexp.MustCompile(`"(?:\d+m)?\d+s"([],])`)
)

func (n *corpusNormalizer) normalize(text string) string {
	if strings.HasPrefix(text, `{"openapi":`) {
		return text // this is about types, not about objects
	}
	for _, match := range uidField.FindAllStringSubmatch(text, -1) {
		n.nameOf("uid", match[1])
	}
	text = uuidValue.ReplaceAllStringFunc(text, func(value string) string {
		if name, seen := n.values["uid "+value]; seen {
			return name
		}
		return value
	})
	text = listVersion.ReplaceAllString(text, `$1"latest"}`)
	text = listVersionYAML.ReplaceAllString(text, `$1"latest"`)
	text = resourceVersion.ReplaceAllStringFunc(text, func(field string) string {
		parts := resourceVersion.FindStringSubmatch(field)
		return parts[1] + n.nameOf("resourceVersion", parts[2])
	})
	if strings.HasPrefix(text, `{"kind":"Table"`) {
		text = tableAge.ReplaceAllString(text, `"age"$1`)
	}
	// Each controller adds its condition to a CRD, whoever comes first.
	if strings.Contains(text, `"type":"NamesAccepted"`) {
		text = sortArrays(text, `"conditions":`)
	}
	// Discovery has resources in the order of a Go map.
	if strings.Contains(text, `"kind":"APIResourceList"`) || strings.Contains(text, `"freshness":`) {
		text = sortArrays(text, `"resources":`)
	}
	return serverTime.ReplaceAllStringFunc(text, func(value string) string {
		// A time from before the server started is the client's or a default.
		if at, err := time.Parse(time.RFC3339, value); err != nil || at.Before(n.since) {
			return value
		}
		return "now"
	})
}

// sortArrays sorts the items of the arrays in a field.
func sortArrays(text, field string) string {
	head, tail, found := strings.Cut(text, field)
	if !found {
		return text
	}
	var raw []json.RawMessage
	decoder := json.NewDecoder(strings.NewReader(tail))
	if decoder.Decode(&raw) != nil { // a property of this name
		return head + field + sortArrays(tail, field)
	}
	items := make([]string, len(raw))
	for i := range raw {
		items[i] = string(raw[i])
	}
	slices.Sort(items)
	return head + field + "[" + strings.Join(items, ",") + "]" + sortArrays(tail[decoder.InputOffset():], field)
}

// nameOf returns what to write for a value: its kind and how many of the kind came before it.
func (n *corpusNormalizer) nameOf(kind, value string) string {
	if n.values == nil {
		n.values = map[string]string{}
	}
	key := kind + " " + value
	if _, seen := n.values[key]; !seen {
		n.values[key] = fmt.Sprintf("%s %d", kind, len(n.values))
	}
	return n.values[key]
}

// diffAnswers shows the first answers that differ, or nothing. The bytes are compared; the diff is of the indented
// text, where that shows it.
func diffAnswers(want, got []corpusAnswer) string {
	if len(want) != len(got) {
		return fmt.Sprintf("%d answers instead of %d", len(got), len(want))
	}
	var diffs []string
	for i := range want {
		w, g := want[i], got[i]
		w.wrong, g.wrong = "", ""
		if reflect.DeepEqual(w, g) {
			continue
		}
		diff := cmp.Diff(strings.Split(w.indented(), "\n"), strings.Split(g.indented(), "\n"))
		if diff == "" {
			diff = cmp.Diff(fmt.Sprintf("%+v", w), fmt.Sprintf("%+v", g))
		}
		if diffs = append(diffs, w.Request+":\n"+diff); len(diffs) == 3 {
			break
		}
	}
	return strings.Join(diffs, "\n")
}

func (a corpusAnswer) indented() string {
	header, _ := yaml.Marshal(a.Header)
	return fmt.Sprintf("%d\n%s\nbody: %s\nstored: %s", a.Code, header, indentJSON(a.Body), indentJSON(a.Stored))
}

func indentJSON(text string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(text), "", "  ") != nil {
		return text
	}
	return out.String()
}

// corpusCRD is a CRD of the corpus as published.
type corpusCRD struct {
	apiextensionsv1.CustomResourceDefinition
	yaml []byte
}

// corpusCRDs reads the CRDs from the module cache.
func corpusCRDs(t *testing.T) []corpusCRD {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json")
	cmd.Dir = "corpus"
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

// readCRDs returns the CRDs among the documents in a file that have the one text and not the other.
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

// versions are the served ones.
func (c corpusCRD) versions() (names []string) {
	for _, version := range c.Spec.Versions {
		if version.Served {
			names = append(names, version.Name)
		}
	}
	return names
}

// collection is the path of the custom resources of one version.
func (c corpusCRD) collection(version string) string {
	path := "/apis/" + c.Spec.Group + "/" + version
	if c.Spec.Scope == apiextensionsv1.NamespaceScoped {
		path += "/namespaces/default"
	}
	return path + "/" + c.Spec.Names.Plural
}

// pathTemplate is the same as OpenAPI has it.
func (c corpusCRD) pathTemplate(version string) string {
	return strings.Replace(c.collection(version), "/default/", "/{namespace}/", 1)
}

// key is where etcd has a custom resource.
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

// Field managers of one operation are sorted by the second in which they wrote and then by name, so the names are in
// the order in which they write. The server writes a CRD's status as kube-apiserver.
const (
	firstManager  = "fieldManager=a"
	secondManager = "fieldManager=b"
	lastManager   = "fieldManager=z"
)

// crdScenes create the CRDs, one half as they were published and the other half as JSON, and apply them again.
func crdScenes(crds []corpusCRD) (scenes []corpusScene) {
	for i, crd := range crds {
		play := func(r *corpusRecorder) { crd.play(r, i%2 == 0) }
		scenes = append(scenes, corpusScene{name: "CRD/" + crd.Name, play: play})
	}
	return scenes
}

func (c corpusCRD) play(r *corpusRecorder, asJSON bool) {
	object, contentType, accepted := c.yaml, "application/yaml", ""
	if asJSON {
		contentType = "application/json"
		if object, r.err = yaml.YAMLToJSON(c.yaml); r.err != nil {
			return
		}
	}
	// Without what is stored: controllers write the status any moment.
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

// established says that the controllers are done with a CRD.
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

// documentScenes read what the server publishes about the groups of the CRDs.
func documentScenes(crds []corpusCRD) (scenes []corpusScene) {
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
		scenes = append(scenes, corpusScene{name: "documents/" + groupVersion, play: func(r *corpusRecorder) {
			playGroupVersion(r, groupVersion, byVersion[groupVersion])
		}})
	}
	playAll := func(r *corpusRecorder) { playDocuments(r, groups, crds) }
	return append(scenes, corpusScene{name: "documents/all", play: playAll})
}

// playGroupVersion reads the documents of one version of a group.
func playGroupVersion(r *corpusRecorder, groupVersion string, crds []corpusCRD) {
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

// playDocuments notes what belongs to the groups in the documents about everything. The rest of these documents has the
// server's version and the schema of CustomResourceDefinition.
func playDocuments(r *corpusRecorder, groups map[string]bool, crds []corpusCRD) {
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		r.send(corpusRequest{name: "discovery of " + group, path: "/apis/" + group})
	}

	aggregated := "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	var discovery struct{ Items []json.RawMessage }
	r.decode([]byte(r.fetch(corpusRequest{path: "/apis", accept: aggregated}).Body), &discovery)
	for _, item := range discovery.Items {
		var group struct{ Metadata struct{ Name string } }
		if r.decode(item, &group); groups[group.Metadata.Name] {
			r.note("aggregated discovery of "+group.Metadata.Name, r.normalize(string(item)))
		}
	}

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

// openAPIv2 is an OpenAPI v2 document.
type openAPIv2 struct{ Paths, Definitions map[string]json.RawMessage }

// has says whether all served versions of a CRD are in the document.
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

// decode decodes what the server sent, if it sent something.
func (r *corpusRecorder) decode(body []byte, into any) {
	if r.err == nil {
		r.err = json.Unmarshal(body, into)
	}
}

// A corpusCase is a file in testdata/unions-corpus: an object, and what clients want to make of it.
type corpusCase struct {
	CRD     string         `json:"crd"`
	Version string         `json:"version"`
	Object  map[string]any `json:"object"` // without apiVersion, kind and metadata
	Changes []corpusChange `json:"changes"`

	name string
	crd  corpusCRD
}

// A corpusChange is made in every way that clients have: the changed object is created, and it is written over the
// object by all kinds of requests. Each of them is first a dry run with strict field validation.
type corpusChange struct {
	Name        string `json:"name"`
	Subresource string `json:"subresource,omitempty"`
	// At is a JSON pointer to what is set to Value.
	At    string `json:"at,omitempty"`
	Value any    `json:"value,omitempty"`
	// Patch is sent instead as it is: a list is a JSON patch, an object a merge patch.
	Patch any `json:"patch,omitempty"`
	// Want is the reason with which an unpatched server refuses the change, or the code where it gives no reason; empty
	// where it accepts the change. But has the ways with another result. Both are there so that a case cannot fail for
	// another reason than it says.
	Want string            `json:"want,omitempty"`
	But  map[string]string `json:"but,omitempty"`
}

// caseScenes reads testdata/unions-corpus.
func caseScenes(t *testing.T, crds []corpusCRD) (scenes []corpusScene) {
	t.Helper()
	files, err := filepath.Glob("testdata/unions-corpus/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c := corpusCase{name: strings.TrimSuffix(filepath.Base(file), ".yaml")}
		if err := yaml.UnmarshalStrict(text, &c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		i := slices.IndexFunc(crds, func(crd corpusCRD) bool { return crd.Name == c.CRD })
		if i < 0 {
			t.Fatalf("%s: the corpus has no CRD %s", file, c.CRD)
		}
		c.crd = crds[i]
		scenes = append(scenes, corpusScene{name: "objects/" + c.name, play: c.play})
	}
	return scenes
}

// play makes each change, then lists what there is and deletes it.
func (c corpusCase) play(r *corpusRecorder) {
	collection := c.crd.collection(c.Version)
	r.await("the resource is served", func() bool {
		return r.fetch(corpusRequest{path: collection}).Code == http.StatusOK
	})
	for i, change := range c.Changes {
		for _, way := range waysOf(change) {
			c.attempt(r, change, way, fmt.Sprintf("%s-%d-%s", c.name, i, way.name))
		}
	}
	selected := "?labelSelector=corpus%3D" + c.name
	r.send(corpusRequest{name: "list", path: collection + selected})
	r.send(corpusRequest{name: "list as YAML", path: collection + selected, accept: "application/yaml"})
	r.send(corpusRequest{name: "list as a table", path: collection + selected,
		accept: "application/json;as=Table;v=v1;g=meta.k8s.io"})
	r.send(corpusRequest{name: "delete all", method: http.MethodDelete, path: collection + selected})
	r.send(corpusRequest{name: "list after that", path: collection + selected})
}

// attempt makes a change in one way to an object of its own.
func (c corpusCase) attempt(r *corpusRecorder, change corpusChange, way corpusWay, name string) {
	title := change.Name + ", " + way.name
	w := corpusWrite{corpusChange: change, object: c.named(name, c.Object), wanted: c.named(name, c.Object)}
	if change.Patch == nil {
		if err := setAt(w.wanted, change.At, change.Value); err != nil {
			r.err = fmt.Errorf("%s: %w", change.Name, err)
			return
		}
	}
	path, key := c.crd.collection(c.Version), c.crd.key(name)
	accepted := ""
	if way.before != nil {
		before := way.before.request(path, name, w)
		before.name, before.key, before.want = title+": the object before", key, &accepted
		w.live = r.send(before)
	}
	for _, mode := range []string{"&dryRun=All&fieldValidation=Strict", ""} {
		q := way.request(path, name, w)
		q.name, q.path, q.key = title+mode, q.path+mode, key
		if mode == "" {
			q.want = change.want(way)
		}
		r.send(q)
	}
	for _, version := range c.crd.versions() {
		if version == c.Version {
			continue // the lists have it
		}
		r.send(corpusRequest{name: title + ": read as " + version, path: c.crd.collection(version) + "/" + name})
	}
}

// named returns a copy of the object with everything that every object needs.
func (c corpusCase) named(name string, object map[string]any) map[string]any {
	metadata := corpusLabels(c.name)
	metadata["name"] = name
	out := runtime.DeepCopyJSON(object)
	out["apiVersion"], out["kind"], out["metadata"] = c.crd.Spec.Group+"/"+c.Version, c.crd.Spec.Names.Kind, metadata
	return out
}

func (c corpusChange) want(w corpusWay) *string {
	want, other := c.But[w.name]
	if !other {
		want = c.Want
	}
	return &want
}

// corpusWrite is what a way makes a request of.
type corpusWrite struct {
	corpusChange
	object map[string]any // before
	live   []byte         // the same as the server returned it
	wanted map[string]any
}

// A corpusWay is a way to write an object.
type corpusWay struct {
	name        string
	before      *corpusWay // how the object that is written over came about; none for creations
	method      string
	contentType string
	query       string
	body        func(corpusWrite) any
}

func (w corpusWay) request(collection, name string, what corpusWrite) corpusRequest {
	path := collection
	if w.method != http.MethodPost {
		path += "/" + name
	}
	if w.before != nil && what.Subresource != "" {
		path += "/" + what.Subresource
	}
	return corpusRequest{method: w.method, path: path + "?" + w.query, contentType: w.contentType, body: w.body(what)}
}

var (
	postedBefore = &corpusWay{
		method: http.MethodPost, query: firstManager, body: func(w corpusWrite) any { return w.object },
	}
	appliedBefore = &corpusWay{
		method: http.MethodPatch, contentType: "application/apply-patch+yaml", query: firstManager,
		body: func(w corpusWrite) any { return w.object },
	}
	corpusCreate = corpusWay{
		name: "create", method: http.MethodPost, query: firstManager, body: func(w corpusWrite) any { return w.wanted },
	}

	corpusJSONPatch = corpusWay{
		name: "json-patch", before: postedBefore, method: http.MethodPatch, query: secondManager,
		contentType: "application/json-patch+json", body: jsonPatchBody,
	}
	corpusMergePatch = corpusWay{
		name: "merge-patch", before: postedBefore, method: http.MethodPatch, query: secondManager,
		contentType: "application/merge-patch+json", body: mergePatchBody,
	}
	corpusOverwrites = []corpusWay{
		{name: "update", before: postedBefore, method: http.MethodPut, query: secondManager, body: updateBody},
		corpusJSONPatch,
		corpusMergePatch,
		{
			name: "apply", before: appliedBefore, method: http.MethodPatch, query: firstManager,
			contentType: "application/apply-patch+yaml", body: applyBody,
		},
		{
			name: "forced-apply", before: postedBefore, method: http.MethodPatch, query: "force=true&" + secondManager,
			contentType: "application/apply-patch+yaml", body: applyBody,
		},
	}
)

// waysOf returns the ways in which a change is made.
func waysOf(c corpusChange) []corpusWay {
	if _, list := c.Patch.([]any); list {
		return []corpusWay{corpusJSONPatch}
	}
	if c.Patch != nil {
		return []corpusWay{corpusMergePatch}
	}
	if c.Subresource != "" {
		return corpusOverwrites
	}
	return append([]corpusWay{corpusCreate}, corpusOverwrites...)
}

func updateBody(w corpusWrite) any {
	var live struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(w.live, &live)
	w.wanted["metadata"].(map[string]any)["resourceVersion"] = live.Metadata.ResourceVersion
	return w.wanted
}

func jsonPatchBody(w corpusWrite) any {
	if w.Patch != nil {
		return w.Patch
	}
	op := "add" // which replaces what an object has
	if _, err := strconv.Atoi(w.At[strings.LastIndex(w.At, "/")+1:]); err == nil {
		op = "replace"
	}
	return []any{map[string]any{"op": op, "path": w.At, "value": w.Value}}
}

func mergePatchBody(w corpusWrite) any {
	if w.Patch != nil {
		return w.Patch
	}
	before, errBefore := json.Marshal(w.object)
	after, errAfter := json.Marshal(w.wanted)
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(before, after, before)
	if err := errors.Join(errBefore, errAfter, err); err != nil {
		panic(err) // both were read as JSON objects
	}
	return patch
}

// applyBody leaves out what the subresource is not about, as its controllers do.
func applyBody(w corpusWrite) any {
	if w.Subresource == "" {
		return w.wanted
	}
	body := maps.Clone(w.wanted)
	maps.DeleteFunc(body, func(key string, _ any) bool {
		return w.object[key] != nil && !slices.Contains([]string{"apiVersion", "kind", "metadata"}, key)
	})
	return body
}

// setAt sets what the JSON pointer points to.
func setAt(object any, pointer string, value any) error {
	_, pointer, found := strings.Cut(pointer, "/")
	if !found {
		return errors.New("not a JSON pointer")
	}
	key, _, deeper := strings.Cut(pointer, "/")
	switch object := object.(type) {
	case map[string]any:
		if !deeper {
			object[key] = value
			return nil
		}
		return setAt(object[key], pointer[len(key):], value)
	case []any:
		i, err := strconv.Atoi(key)
		if err != nil || i >= len(object) {
			return fmt.Errorf("no item %s", key)
		}
		if !deeper {
			object[i] = value
			return nil
		}
		return setAt(object[i], pointer[len(key):], value)
	default:
		return fmt.Errorf("nothing has %q", key)
	}
}

// TestF2CorpusComparison says what TestF2ExistingUnionsDoNotBreak sees, and what it overlooks.
func TestF2CorpusComparison(t *testing.T) {
	t.Parallel()
	const (
		uid1, uid2 = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
		object     = `{"metadata":{"creationTimestamp":"2026-01-01T00:00:01Z","resourceVersion":"7","uid":"` + uid1 + `"}}`
	)
	// replaced is the object with each text replaced by the one that follows it.
	replaced := func(oldAndNew ...string) string { return strings.NewReplacer(oldAndNew...).Replace(object) }
	tests := map[string]struct {
		stock, ours []string
		same        bool
	}{
		"another uid, resourceVersion and time of the server": {
			stock: []string{object},
			ours:  []string{replaced(uid1, uid2, `"7"`, `"1234"`, "00:00:01Z", "00:01:00Z")},
			same:  true,
		},
		"the same object with another uid than before": {
			stock: []string{object, object},
			ours:  []string{object, replaced(uid1, uid2)},
		},
		"a write that one server made and the other left out": {
			stock: []string{object, object},
			ours:  []string{object, replaced(`"7"`, `"8"`)},
		},
		"values in errors that quote the object": {
			stock: []string{object, `{"message":"uid ` + uid1 + `, {\\\"resourceVersion\\\":\\\"7\\\"}"}`},
			ours: []string{
				replaced(uid1, uid2, `"7"`, `"8"`),
				`{"message":"uid ` + uid2 + `, {\\\"resourceVersion\\\":\\\"8\\\"}"}`,
			},
			same: true,
		},
		"a uid that no object has": {
			stock: []string{`{"spec":{"id":"` + uid1 + `"}}`},
			ours:  []string{`{"spec":{"id":"` + uid2 + `"}}`},
		},
		"a time that is not the server's": {
			stock: []string{`{"lastTransitionTime":"2020-02-02T20:20:20Z"}`},
			ours:  []string{`{"lastTransitionTime":"2020-02-02T20:20:21Z"}`},
		},
		"the resourceVersion of a list": {
			stock: []string{`{"items":[` + object + `],"metadata":{"continue":"","resourceVersion":"7"}}`},
			ours:  []string{`{"items":[` + object + `],"metadata":{"continue":"","resourceVersion":"9"}}`},
			same:  true,
		},
		"the resourceVersion of a list in YAML": {
			stock: []string{"items: []\nmetadata:\n  continue: \"\"\n  resourceVersion: \"7\"\n"},
			ours:  []string{"items: []\nmetadata:\n  continue: \"\"\n  resourceVersion: \"9\"\n"},
			same:  true,
		},
		"the order of a CRD's conditions": {
			stock: []string{`{"conditions":[{"type":"Established"},{"type":"NamesAccepted"}]}`},
			ours:  []string{`{"conditions":[{"type":"NamesAccepted"},{"type":"Established"}]}`},
			same:  true,
		},
		"the order of other conditions": {
			stock: []string{`{"conditions":[{"type":"A"},{"type":"B"}]}`},
			ours:  []string{`{"conditions":[{"type":"B"},{"type":"A"}]}`},
		},
		"the order of keys": {stock: []string{`{"a":1,"b":2}`}, ours: []string{`{"b":2,"a":1}`}},
		"a space":           {stock: []string{`{"a":1}`}, ours: []string{`{"a": 1}`}},
		"a missing answer":  {stock: []string{object, object}, ours: []string{object}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			diff := diffAnswers(answersOf(test.stock), answersOf(test.ours))
			if (diff == "") != test.same {
				t.Errorf("same is %v, the diff:\n%s", diff == "", diff)
			}
		})
	}
	for name, other := range map[string]corpusAnswer{
		"code":    {Code: 201},
		"warning": {Code: 200, Header: http.Header{"Warning": {"299 - w"}}},
		"storage": {Code: 200, Stored: "{}"},
	} {
		if diff := diffAnswers([]corpusAnswer{{Code: 200}}, []corpusAnswer{other}); diff == "" {
			t.Errorf("another %s is not seen", name)
		}
	}
}

// answersOf returns what a server that started with the year would have recorded.
func answersOf(bodies []string) (answers []corpusAnswer) {
	n := corpusNormalizer{since: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for _, body := range bodies {
		answers = append(answers, corpusAnswer{Code: http.StatusOK, Body: n.normalize(body)})
	}
	return answers
}
