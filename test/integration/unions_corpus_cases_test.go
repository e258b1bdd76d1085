// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"sigs.k8s.io/yaml"
)

// corpusCase is a file in testdata/unions-corpus: an object and changes of it.
type corpusCase struct {
	CRD     string         `json:"crd"`
	Version string         `json:"version"`
	Object  map[string]any `json:"object"` // without apiVersion, kind and metadata
	Changes []corpusChange `json:"changes"`

	name string
	crd  corpusCRD
}

// corpusChange is a change of the object. It is made in all corpusWays: the changed object is created, and the object
// is overwritten by all kinds of requests. Each request is first sent as a dry run with strict field validation.
type corpusChange struct {
	Name        string `json:"name"`
	Subresource string `json:"subresource,omitempty"`
	// At is a JSON pointer to the field that is set to Value.
	At    string `json:"at,omitempty"`
	Value any    `json:"value,omitempty"`
	// Patch is sent unchanged instead: a list is a JSON patch, an object is a merge patch.
	Patch any `json:"patch,omitempty"`
	// Want is the reason for which a stock server refuses the change, or the code if there is no reason, or empty if it
	// accepts the change. But has the results of ways for which they differ. They make sure that a case is refused for the
	// reason that it is about.
	Want string            `json:"want,omitempty"`
	But  map[string]string `json:"but,omitempty"`
}

// caseScenarios reads testdata/unions-corpus.
func caseScenarios(t *testing.T, crds []corpusCRD) (scenarios []corpusScenario) {
	t.Helper()
	files := readFiles(t, "testdata/unions-corpus/*.yaml")
	for _, file := range slices.Sorted(maps.Keys(files)) {
		c := corpusCase{name: strings.TrimSuffix(file, ".yaml")}
		if err := yaml.UnmarshalStrict(files[file], &c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		i := slices.IndexFunc(crds, func(crd corpusCRD) bool { return crd.Name == c.CRD })
		if i < 0 {
			t.Fatalf("%s: the corpus has no CRD %s", file, c.CRD)
		}
		c.crd = crds[i]
		scenarios = append(scenarios, corpusScenario{name: "objects/" + c.name, run: c.run})
	}
	return scenarios
}

// run makes each change in each way, and then lists and deletes the objects.
func (c corpusCase) run(r *corpusRecorder) {
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
	r.send(corpusRequest{name: "list after deletion", path: collection + selected})
}

// attempt makes a change in one way, to a new object.
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
			continue // the lists are in this version
		}
		r.send(corpusRequest{name: title + ": read as " + version, path: c.crd.collection(version) + "/" + name})
	}
}

// named returns a copy of the object with apiVersion, kind and metadata.
func (c corpusCase) named(name string, object map[string]any) map[string]any {
	metadata := corpusLabels(c.name)
	metadata["name"] = name
	out := runtime.DeepCopyJSON(object)
	out["apiVersion"], out["kind"], out["metadata"] = c.crd.Spec.Group+"/"+c.Version, c.crd.Spec.Names.Kind, metadata
	return out
}

// want returns the expected result of a way.
func (c corpusChange) want(w corpusWay) *string {
	want, other := c.But[w.name]
	if !other {
		want = c.Want
	}
	return &want
}

// corpusWrite is a change from which a way makes a request.
type corpusWrite struct {
	corpusChange
	object map[string]any // before the change
	live   []byte         // before the change, as returned by the server
	wanted map[string]any // after the change
}

// corpusWay is a way to write an object.
type corpusWay struct {
	name        string
	before      *corpusWay // how the overwritten object is created; nil for creations
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

// waysOf returns the ways to make a change.
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
	op := "add" // replaces a field that exists
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
		panic(err) // both are JSON objects
	}
	return patch
}

// applyBody leaves out the fields that the subresource does not write, as its controllers do.
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

// setAt sets the field at a JSON pointer.
func setAt(object any, pointer string, value any) error {
	_, pointer, found := strings.Cut(pointer, "/")
	if !found {
		return errors.New("not a JSON pointer")
	}
	key, _, deeper := strings.Cut(pointer, "/")
	switch object := object.(type) {
	case map[string]any:
		if deeper {
			return setAt(object[key], pointer[len(key):], value)
		}
		object[key] = value
	case []any:
		i, err := strconv.Atoi(key)
		if err != nil || i >= len(object) {
			return fmt.Errorf("there is no item %s", key)
		}
		if deeper {
			return setAt(object[i], pointer[len(key):], value)
		}
		object[i] = value
	default:
		return fmt.Errorf("%q is not in an object or a list", key)
	}
	return nil
}
