// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/discovery"
)

const defaultsSchema = `
type: object
properties:
  spec:
    type: object
    default: {image: fromParent, replicas: 9}
    properties:
      image: {type: string}
      replicas: {type: integer, default: 1}
`

// TestG8DefaultsOfDisabledFieldsDoNotApply looks at the stored bytes as well.
func TestG8DefaultsOfDisabledFieldsDoNotApply(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, replicasGate)
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = parse[*apiextensionsv1.JSONSchemaProps](t, defaultsSchema)
	s := newSubject(t, crd)
	for name, tc := range map[string]struct{ spec, want string }{
		"own":    {`{image: i}`, "image: i"},
		"parent": {"", "image: fromParent"},
	} {
		u := cronTab(t, crd, name, `{}`)
		delete(u.Object, "spec")
		if tc.spec != "" {
			u = cronTab(t, crd, name, tc.spec)
		}
		created, warnings := create(t, s.client, u, metav1.CreateOptions{})
		if warnings != nil {
			t.Errorf("%s: G8: a default draws warnings: %q", name, warnings)
		}
		if diff := cmp.Diff(tc.want, specOf(t, created)); diff != "" {
			t.Errorf("%s: answer (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tc.want, specOf(t, s.get(name))); diff != "" {
			t.Errorf("%s: read back (-want +got):\n%s", name, diff)
		}
		if stored := s.stored(name); strings.Contains(stored, "replicas") {
			t.Errorf("%s: the stored object has replicas: %s", name, stored)
		}
	}

	// With the gate on the default applies on read; the object in storage is what it was (G11).
	s.flip(map[string]bool{"ReplicasFeatureGate": true}, `{image: i}`, "image: i\nreplicas: 1")
	if diff := cmp.Diff("image: i\nreplicas: 1", specOf(t, s.get("own"))); diff != "" {
		t.Errorf("with the gate on (-want +got):\n%s", diff)
	}
	if stored := s.stored("own"); strings.Contains(stored, "replicas") {
		t.Errorf("the flip rewrote the object: %s", stored)
	}
}

// stored returns the object's bytes in etcd, which for custom resources are JSON.
func (s subject) stored(name string) string {
	s.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{shared.etcd.URL}})
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	key := "/registry/" + s.crd.Spec.Group + "/" + s.crd.Spec.Names.Plural + "/default/" + name
	got, err := client.Get(s.Context(), key)
	if err != nil {
		s.Fatal(err)
	}
	if len(got.Kvs) != 1 {
		s.Fatalf("no object at %s", key)
	}
	var object unstructured.Unstructured
	if err := json.Unmarshal(got.Kvs[0].Value, &object.Object); err != nil {
		s.Fatal(err)
	}
	object.SetManagedFields(nil)
	text, err := json.Marshal(object.Object)
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}

// TestG12OpenAPIPublishesTheGates (rules G12, C8) before and after a flip.
func TestG12OpenAPIPublishesTheGates(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, `{component: istio, featureGates: [{name: G, preRelease: alpha, fieldPaths: [.spec.foo]}, {name: Below, preRelease: beta, fieldPaths: [.spec.foo.qux]}]}`)
	s := newSubject(t, crd)
	client, err := discovery.NewDiscoveryClientForConfig(shared.config)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(crd.Spec.Group, ".")
	slices.Reverse(parts)
	group := strings.Join(parts, ".")
	documents := map[string]struct {
		path   string
		schema []string
	}{
		"v2": {"/openapi/v2", []string{"definitions", group + ".v1.CronTab"}},
		"v3": {"/openapi/v3/apis/" + crd.Spec.Group + "/v1", []string{"components", "schemas", group + ".v1.CronTab"}},
	}
	extension := func(ctx context.Context, path string, at ...string) (any, error) {
		raw, err := client.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx)
		if err != nil {
			return nil, err
		}
		var document map[string]any
		if err := json.Unmarshal(raw, &document); err != nil {
			return nil, err
		}
		value, _, _ := unstructured.NestedFieldNoCopy(document, append(at, "x-kubernetes-feature-gate")...)
		return value, nil
	}
	for name, document := range documents {
		foo := slices.Concat(document.schema, []string{"properties", "spec", "properties", "foo"})
		for _, enabled := range []bool{false, true} {
			s := s.in(t)
			s.flip(map[string]bool{"G": enabled}, `{foo: {baz: 1}}`, map[bool]string{false: "{}", true: "foo:\n  baz: 1"}[enabled])
			want := map[string]any{"component": "istio", "name": "G", "preRelease": "alpha", "enabled": enabled}
			eventually(t, "OpenAPI "+name+" has the gate's state", func(ctx context.Context) (bool, error) {
				got, err := extension(ctx, document.path, foo...)
				return cmp.Equal(any(want), got), err
			})
			// C8: the state of a nested gate is effective.
			got, err := extension(t.Context(), document.path, append(foo, "properties", "qux")...)
			if err != nil {
				t.Fatal(err)
			}
			want = map[string]any{"component": "istio", "name": "Below", "preRelease": "beta", "enabled": enabled}
			if diff := cmp.Diff(any(want), got); diff != "" {
				t.Errorf("OpenAPI %s of the nested field (-want +got):\n%s", name, diff)
			}
		}
	}
}

func TestV1Metrics(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, `
component: istio
featureGates:
- {name: Replicas, preRelease: alpha, fieldPaths: [.spec.replicas, '.spec.containers[*].size']}
- {name: Old, preRelease: deprecated, default: true, fieldPaths: [.spec.image]}
- {name: Foo, preRelease: alpha, fieldPaths: [.spec.foo]}
- {name: Below, preRelease: beta, fieldPaths: [.spec.foo.qux]}
`)
	s := newSubject(t, crd)
	series := func() []string {
		t.Helper()
		var found []string
		for _, line := range strings.Split(shared.metrics(t), "\n") {
			if strings.Contains(line, `group="`+crd.Spec.Group+`"`) && (strings.HasPrefix(line, "apiextensions_apiserver_custom_feature_gate_enabled{") || strings.HasPrefix(line, "apiextensions_apiserver_gated_field_writes_total{")) {
				line = strings.TrimPrefix(line, "apiextensions_apiserver_")
				found = append(found, strings.ReplaceAll(line, `group="`+crd.Spec.Group+`",`, ""))
			}
		}
		return found
	}
	const object = `{image: i, replicas: 3, containers: [{name: a, size: 1}, {name: b, size: 2}]}`
	create(t, s.client, cronTab(t, crd, "dry", object), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	gauges := []string{
		`custom_feature_gate_enabled{component="istio",name="Below",pre_release="beta",resource="crontabs"} 0`,
		`custom_feature_gate_enabled{component="istio",name="Foo",pre_release="alpha",resource="crontabs"} 0`,
		`custom_feature_gate_enabled{component="istio",name="Old",pre_release="deprecated",resource="crontabs"} 1`,
		`custom_feature_gate_enabled{component="istio",name="Replicas",pre_release="alpha",resource="crontabs"} 0`,
	}
	if diff := cmp.Diff(gauges, series()); diff != "" {
		t.Errorf("after a dry run, which does not count (-want +got):\n%s", diff)
	}

	create(t, s.client, cronTab(t, crd, "a", object), metav1.CreateOptions{})
	writes := []string{
		`gated_field_writes_total{action="deprecated",name="Old",resource="crontabs"} 1`,
		`gated_field_writes_total{action="dropped",name="Replicas",resource="crontabs"} 2`,
	}
	if diff := cmp.Diff(append(gauges, writes...), series()); diff != "" {
		t.Errorf("after a create: once per path of a gate (-want +got):\n%s", diff)
	}

	shared.uninstall(t, crd.Name)
	eventually(t, "the series are gone with the CRD", func(context.Context) (bool, error) {
		return len(series()) == 0, nil
	})
}

func TestV2AuditAnnotations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, resources: [{group: \"*\"}]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := startFor(t, options{featureGates: allGates, args: map[string]string{
		"audit-policy-file": policy, "audit-log-path": log, "audit-log-mode": "blocking",
	}})
	crd := newCRD(t, `{component: istio, featureGates: [{name: Replicas, preRelease: alpha, fieldPaths: [.spec.replicas, .spec.foo]}, {name: Old, preRelease: deprecated, default: true, fieldPaths: [.spec.image]}]}`)
	client := server.install(t, crd)
	if _, err := client.Create(t.Context(), cronTab(t, crd, "audited", `{image: i, replicas: 3, foo: {}}`), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	gates := map[string]string{
		"featuregates.apiextensions.k8s.io/dropped":    ".spec.replicas (istio/Replicas),.spec.foo (istio/Replicas)",
		"featuregates.apiextensions.k8s.io/deprecated": ".spec.image (istio/Old)",
	}
	if diff := cmp.Diff(gates, auditAnnotations(t, log, "create", "audited")); diff != "" {
		t.Errorf("of feature gates (-want +got):\n%s", diff)
	}

	crd = newUnionsCRD(t)
	o := object{subject{T: t, crd: crd, client: server.install(t, crd)}, "switched"}
	o.create(`{source: {type: Git, git: {}, proxy: HTTP, http: h}, map: {a: {type: Git, git: {}}}}`)
	if err := o.merge("m", `{source: {type: S3, proxy: SOCKS, socks: s}, map: {a: {type: None}}}`); err != nil {
		t.Fatal(err)
	}
	unions := map[string]string{"unions.apiextensions.k8s.io/cleared": "spec.map.a.git,spec.source.http,spec.source.git"}
	if diff := cmp.Diff(unions, auditAnnotations(t, log, "patch", "switched")); diff != "" {
		t.Errorf("of unions (-want +got):\n%s", diff)
	}
}

// auditAnnotations waits for the event of a request, and returns fairlead's annotations.
func auditAnnotations(t *testing.T, log, verb, name string) map[string]string {
	t.Helper()
	var got map[string]string
	eventually(t, "the event is logged", func(context.Context) (bool, error) {
		file, err := os.Open(log)
		if err != nil {
			return false, err
		}
		defer func() { _ = file.Close() }()
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var event auditv1.Event
			if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
				return false, err
			}
			isIt := event.Verb == verb && event.ObjectRef.Resource == "crontabs" && event.Stage == "ResponseComplete"
			if isIt && (verb == "create" || event.ObjectRef.Name == name) {
				got = event.Annotations
				return true, nil
			}
		}
		return false, lines.Err()
	})
	maps.DeleteFunc(got, func(key, _ string) bool {
		return !strings.HasPrefix(key, "featuregates.") && !strings.HasPrefix(key, "unions.")
	})
	return got
}
